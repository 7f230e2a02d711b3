// Endings compiled by a user: the menu's own files once more, on plain lanes, beside the library's.
#include <limits>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm {
#include "gemm/endings/all.inl"

struct Reductions {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    SumN<V> sum;
    MaxN<V> largest;
    MaxAbsN<V> largest_magnitude;
    LseN<V> lse;
    ArgmaxN<V> best;
    TopkN<V> two;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc, acc, acc, acc, acc};
  }
};
struct Swapped {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    Store<V> swapped;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {{acc.odd, acc.even}};
  }
};
struct ReductionsOverRows {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    SumM<V> sum;
    MaxAbsM<V> largest_magnitude;
    ArgmaxM<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc, acc};
  }
};

}  // namespace envoi::gemm

namespace envoi::gemm::tests {
namespace {

template <class T>
MutableMatrix to(std::vector<T>& values, std::int64_t rows, std::int64_t columns) {
  values.assign(static_cast<std::size_t>(rows * columns), poison<T>());
  return {values.data(), rows, columns};
}

TEST(own_ending, store_gives_the_bits_of_the_library) {
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t m = draw(1, 150), n = draw(1, 150), k = draw(0, 60);
    const Held<float> a = hold<float>(m, k, draw(0, 5)), b = hold<float>(k, n, draw(0, 5));
    std::vector<float> theirs, ours;
    run_ending(a.matrix, b.matrix, StoreProduct{}, {}, {.product = to(ours, m, n)}, 2);
    store(a.matrix, b.matrix, to(theirs, m, n));
    ASSERT_EQ(ours, theirs);
    const std::vector<Winner> wanted = top_k(a.matrix, b.matrix, Over::rows, By::magnitude, 3);
    std::vector<Winner> found(wanted.size());
    run_ending(a.matrix, b.matrix, TopRowsMagnitude{}, {}, {.best = found}, 2);
    for (std::size_t w = 0; w < found.size(); ++w) ASSERT_EQ(found[w].index, wanted[w].index);
  }
}

TEST(own_ending, two_values_are_a_pair) {
  const float a = 1, b[4] = {1, 2, 3, 4};
  std::vector<float> swapped;
  run_ending(Matrix(&a, 1, 1), Matrix(b, 1, 4), Swapped{}, {}, {.swapped = to(swapped, 1, 4)});
  EXPECT_EQ(swapped, (std::vector<float>{2, 1, 4, 3}));
}

TEST(own_ending, reductions_of_nothing_are_neutral) {
  const float number = 1;
  std::vector<float> sum, largest, magnitude, lse;
  std::vector<Winner> best(3, Winner{5, 5}), two(6, Winner{5, 5});
  run_ending(Matrix(&number, 3, 1, 0), Matrix(&number, 1, 0), Reductions{}, {},
             {.sum = to(sum, 3, 1),
              .largest = to(largest, 3, 1),
              .largest_magnitude = to(magnitude, 3, 1),
              .lse = to(lse, 3, 1),
              .best = best,
              .two = two});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum, std::vector<float>(3, 0));
  EXPECT_EQ(largest, std::vector<float>(3, -kInfinity));
  EXPECT_EQ(magnitude, std::vector<float>(3, 0));
  EXPECT_EQ(lse, std::vector<float>(3, -kInfinity));
  for (const Winner& winner : best) EXPECT_EQ(winner.index, -1);
  for (const Winner& winner : two) EXPECT_EQ(winner.index, -1);
  best.assign(3, Winner{5, 5});
  run_ending(Matrix(&number, 0, 1), Matrix(&number, 1, 3, 3, 0), ReductionsOverRows{}, {},
             {.sum = to(sum, 1, 3), .largest_magnitude = to(magnitude, 1, 3), .best = best});
  EXPECT_EQ(sum, std::vector<float>(3, 0));
  EXPECT_EQ(magnitude, std::vector<float>(3, 0));
  for (const Winner& winner : best) EXPECT_EQ(winner.index, -1);
}

// Minus infinity is a number like others: it wins where nothing is larger, and its exponential is 0.
TEST(own_ending, rows_of_minus_infinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : {1, 7, 65, 129}) {
    const float one = 1, low = -kInfinity;
    std::vector<float> sum, largest, magnitude, lse;
    std::vector<Winner> best(3), two(6);
    run_ending(Matrix(&one, 3, 1, 0), Matrix(&low, 1, n, 0, 0), Reductions{}, {},
               {.sum = to(sum, 3, 1),
                .largest = to(largest, 3, 1),
                .largest_magnitude = to(magnitude, 3, 1),
                .lse = to(lse, 3, 1),
                .best = best,
                .two = two});
    EXPECT_EQ(largest, std::vector<float>(3, -kInfinity));
    EXPECT_EQ(magnitude, std::vector<float>(3, kInfinity));
    EXPECT_EQ(lse, std::vector<float>(3, -kInfinity));
    for (std::size_t m = 0; m < 3; ++m) {
      EXPECT_EQ(best[m].index, 0);
      EXPECT_EQ(two[2 * m + 1].index, n > 1 ? 1 : -1);
    }
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
