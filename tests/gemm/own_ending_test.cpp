// Endings compiled by a user: the menu's own files once more, on plain lanes, beside the library's.
#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm {
#include "gemm/endings/all.inl"
}

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

}  // namespace
}  // namespace envoi::gemm::tests
