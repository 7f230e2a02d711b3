// Endings compiled with -ffast-math: everything holds that does not need NaN or infinity.
#include <algorithm>
#include <cmath>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm {

struct Everything {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    ArgmaxM<V> row;
    ArgmaxN<V> column;
    TopkN<V> two;
    MaxN<V> largest;
    LseN<V> lse;
    SumN<V> sum;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {.row = acc, .column = acc, .two = acc, .largest = acc, .lse = acc, .sum = acc};
  }
};

struct LargestPair {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    ArgmaxHalfN<V> pair;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {.pair = acc.even};
  }
};

}  // namespace envoi::gemm

namespace envoi::gemm::tests {
namespace {

template <class T>
void check(std::int64_t rows, std::int64_t columns, double shift) {
  std::vector<T> a = noise<T>(rows), b(static_cast<std::size_t>(columns), T(1)), c, spread = noise<T>(columns);
  // A B is a[m] + spread[n] + shift: depth 3.
  std::vector<T> left, right;
  for (std::int64_t m = 0; m < rows; ++m) left.insert(left.end(), {a[static_cast<std::size_t>(m)], T(1), T(1)});
  right = b;
  right.insert(right.end(), spread.begin(), spread.end());
  right.insert(right.end(), static_cast<std::size_t>(columns), static_cast<T>(shift));
  c.resize(static_cast<std::size_t>(rows * columns));
  const Matrix x(left.data(), rows, 3), y(right.data(), 3, columns);
  store(x, y, MutableMatrix(c.data(), rows, columns));

  std::vector<Winner> row(static_cast<std::size_t>(columns)), column(static_cast<std::size_t>(rows)),
      two(2 * column.size());
  std::vector<double> largest(column.size(), -1), lse = largest, sum = largest;
  run_ending(x, y, Everything{}, {},
             {.row = row,
              .column = column,
              .two = two,
              .largest = MutableMatrix(largest.data(), rows, 1),
              .lse = MutableMatrix(lse.data(), rows, 1),
              .sum = MutableMatrix(sum.data(), rows, 1)},
             2);
  const auto at_place = [&](std::int64_t m, std::int64_t n) { return c[static_cast<std::size_t>(m * columns + n)]; };
  for (std::int64_t m = 0; m < rows; ++m) {
    std::int64_t best = 0, second = -1;
    for (std::int64_t n = 1; n < columns; ++n) {
      if (at_place(m, n) > at_place(m, best)) {
        second = best, best = n;
      } else if (second < 0 || at_place(m, n) > at_place(m, second)) {
        second = n;
      }
    }
    const auto i = static_cast<std::size_t>(m);
    EXPECT_EQ(column[i].index, best);
    EXPECT_EQ(column[i].value, at_place(m, best));
    EXPECT_EQ(two[2 * i].index, best);
    EXPECT_EQ(two[2 * i + 1].index, second);
    EXPECT_EQ(largest[i], at_place(m, best));
    double total = 0, exponentials = 0;
    for (std::int64_t n = 0; n < columns; ++n) {
      total += at_place(m, n), exponentials += std::exp(at_place(m, n) - double(at_place(m, best)));
    }
    const double bound = (sizeof(T) == 4 ? 1e-5 : 1e-12) * (std::abs(shift) + 10);
    EXPECT_NEAR(lse[i], at_place(m, best) + std::log(exponentials), bound);
    EXPECT_NEAR(sum[i], total, bound * static_cast<double>(columns));
  }
  for (std::int64_t n = 0; n < columns; ++n) {
    std::int64_t best = 0;
    for (std::int64_t m = 1; m < rows; ++m) best = at_place(m, n) > at_place(best, n) ? m : best;
    EXPECT_EQ(row[static_cast<std::size_t>(n)].index, best);
  }
  if (columns % 2 == 0) {
    run_ending(x, y, LargestPair{}, {}, {.pair = column}, 2);
    for (std::int64_t m = 0; m < rows; ++m) {
      std::int64_t best = 0;
      for (std::int64_t n = 2; n < columns; n += 2) best = at_place(m, n) > at_place(m, best) ? n : best;
      EXPECT_EQ(column[static_cast<std::size_t>(m)].index, best / 2);
    }
  }
}

TEST(fast_math, everything_holds_that_needs_no_nan) {
  for (const std::int64_t columns : {1, 2, 7, 14, 64, 65, 129, 130}) {
    for (const std::int64_t rows : {1, 5, 64, 67, 140}) {
      for (const double shift : {0.0, -300.0, 1000.0}) {
        check<float>(rows, columns, shift);
        check<double>(rows, columns, shift);
      }
    }
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
