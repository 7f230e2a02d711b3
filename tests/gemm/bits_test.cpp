// The numerics contract: the bits of a row depend on nothing but that row, B and the instruction set.
#include <algorithm>
#include <numeric>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

struct Everything {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    Store<V> product;
    SumN<V> sums;
    LseN<V> lse;
    ArgmaxN<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc * acc, acc, acc};
  }
};

template <class T>
struct Outcome {
  std::vector<T> product, sums, lse;
  std::vector<Winner> best;
  Outcome(const Operand& a, const Columns& b, unsigned threads)
      : product(static_cast<std::size_t>(a.rows() * b.columns())),
        sums(static_cast<std::size_t>(a.rows())),
        lse(sums),
        best(static_cast<std::size_t>(a.rows())) {
    run_ending(a, b, Everything{}, {},
               {.product = MutableMatrix(product.data(), a.rows(), b.columns()),
                .sums = MutableMatrix(sums.data(), a.rows(), 1),
                .lse = MutableMatrix(lse.data(), a.rows(), 1),
                .best = best},
               threads);
  }
};

// Row `row` of `one` is row `from` of `all`, in every result.
template <class T>
void expect_same_row(const Outcome<T>& one, std::int64_t row, const Outcome<T>& all, std::int64_t from,
                     std::int64_t n) {
  ASSERT_TRUE(
      std::equal(one.product.begin() + row * n, one.product.begin() + (row + 1) * n, all.product.begin() + from * n));
  const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(from);
  ASSERT_EQ(one.sums[i], all.sums[j]);
  ASSERT_EQ(one.lse[i], all.lse[j]);
  ASSERT_EQ(one.best[i].index, all.best[j].index);
  ASSERT_EQ(one.best[i].value, all.best[j].value);
}

template <class T>
void check_rows() {
  for (int run = 0; run < effort(100); ++run) {
    const std::int64_t m = draw(2, 200), n = draw(1, 200), k = draw(1, 120);
    const std::vector<T> a = noise<T>(m * k), b = noise<T>(k * n);
    const Packed right(Matrix(b.data(), k, n));
    const Outcome<T> all(Matrix(a.data(), m, k), right, 1);
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
      // In another order, some of them twice, among others.
      std::vector<std::int64_t> order(static_cast<std::size_t>(draw(1, static_cast<int>(m))));
      for (std::int64_t& row : order) row = draw(0, static_cast<int>(m) - 1);
      const Outcome<T> some(Operand::gathered(Matrix(a.data(), m, k), order), right, threads);
      for (std::size_t i = 0; i < order.size(); ++i) {
        expect_same_row(some, static_cast<std::int64_t>(i), all, order[i], n);
      }
      const std::int64_t row = draw(0, static_cast<int>(m) - 1);
      expect_same_row(Outcome<T>(Matrix(a.data() + row * k, 1, k), right, threads), 0, all, row, n);
    }
  }
}
TEST(gemm_bits, a_row_alone_in_any_batch_in_any_order_with_any_threads_fp32) { check_rows<float>(); }
TEST(gemm_bits, a_row_alone_in_any_batch_in_any_order_with_any_threads_fp64) { check_rows<double>(); }

struct ColumnResults {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    Store<V> product;
    SumM<V> sums;
    MaxAbsM<V> maxima;
    ArgmaxAbsM<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc, acc, acc};
  }
};

TEST(gemm_bits, a_column_alone_is_the_column_of_a_batch) {
  for (int run = 0; run < effort(100); ++run) {
    const std::int64_t m = draw(1, 300), n = draw(2, 150), k = draw(1, 120), column = draw(0, static_cast<int>(n) - 1);
    const std::vector<float> a = noise<float>(m * k), b = noise<float>(k * n);
    const auto results = [&](const Matrix& right, unsigned threads) {
      std::vector<float> product(static_cast<std::size_t>(m * right.columns));
      std::vector<float> sums(static_cast<std::size_t>(right.columns)), maxima = sums;
      std::vector<Winner> best(sums.size());
      run_ending(Matrix(a.data(), m, k), right, ColumnResults{}, {},
                 {.product = MutableMatrix(product.data(), m, right.columns),
                  .sums = MutableMatrix(sums.data(), 1, right.columns),
                  .maxima = MutableMatrix(maxima.data(), 1, right.columns),
                  .best = best},
                 threads);
      return std::tuple(product, sums, maxima, best);
    };
    const auto [product, sums, maxima, best] = results(Matrix(b.data(), k, n), 1);
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
      const auto [one, sum, maximum, winner] = results(Matrix(b.data() + column, k, 1, n), threads);
      for (std::int64_t i = 0; i < m; ++i) {
        ASSERT_EQ(one[static_cast<std::size_t>(i)], product[static_cast<std::size_t>(i * n + column)]);
      }
      const auto c = static_cast<std::size_t>(column);
      ASSERT_EQ(sum[0], sums[c]);
      ASSERT_EQ(maximum[0], maxima[c]);
      ASSERT_EQ(winner[0].index, best[c].index);
      ASSERT_EQ(winner[0].value, best[c].value);
    }
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
