// A row has the same bits alone, in any batch, in any order, in any run: of what is stored and of what is reduced.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

struct Results {
  std::vector<float> product, sum, squares, lse, target;
  std::vector<Winner> best;
};

class rows : public OnGpu<testing::TestWithParam<Kind>> {
 protected:
  static constexpr std::int64_t kRows = 1000;
  Kind kind = GetParam();
  Fp32 fp32 = fp32_of(GetParam());
  std::int64_t n = 0, k = 0;
  std::vector<float> a_values, residual_values;
  std::vector<std::int64_t> targets;
  Held a, b, residual;

  void make(std::int64_t columns, std::int64_t depth) {
    n = columns, k = depth;
    a = hold(type_of(kind), kRows, k), b = hold(type_of(kind), k, n, Layout::columns);
    residual = hold(DType::bf16, kRows, n);
    fill(a), fill(residual);
    fill(b, Fill::normal, 1 / std::sqrt(static_cast<double>(k)));
    a_values = take(a, "A"), residual_values = take(residual, "residual");
    targets.resize(kRows);
    for (std::int64_t& target : targets) target = draw(0, n - 1);
  }

  Results results(const gemm::Matrix& some_a, const gemm::Matrix& some_residual,
                  const std::vector<std::int64_t>& some_targets) const {
    const std::int64_t m = some_a.rows;
    const Targets held_targets(some_targets);
    const Held product = hold(DType::f32, m, n), sum = hold(DType::f32, m, n), squares = hold(DType::f32, m, 1);
    const Held lse = hold(DType::f32, m, 1), target = hold(DType::f32, m, 1);
    const HeldWinners best(m, 1);
    run(store(some_a, b.matrix, product.writable(), fp32));
    run(argmax(some_a, b.matrix, Over::columns, By::value, best.data(), fp32));
    if (!offered(Ending::residual_squares, kind)) return {take(product, "product"), {}, {}, {}, {}, best.take()};
    run(residual_squares(some_a, b.matrix, some_residual, sum.writable(), squares.writable(), fp32));
    run(cross_entropy(some_a, b.matrix, held_targets.data(), lse.writable(), target.writable(), fp32));
    return {take(product, "product"), take(sum, "sum"),       take(squares, "squares"),
            take(lse, "lse"),         take(target, "target"), best.take()};
  }
  Results all() const { return results(a.matrix, residual.matrix, targets); }

  // Copies of these rows as a batch.
  Results batch(const std::vector<std::int64_t>& order) const {
    const auto gather = [&](const std::vector<float>& values, std::int64_t width, DType type) {
      std::vector<float> some;
      for (const std::int64_t row : order) {
        some.insert(some.end(), values.begin() + row * width, values.begin() + (row + 1) * width);
      }
      return device_matrix(type, static_cast<std::int64_t>(order.size()), width, some);
    };
    std::vector<std::int64_t> some_targets;
    for (const std::int64_t row : order) some_targets.push_back(targets[static_cast<std::size_t>(row)]);
    const Held some_a = gather(a_values, k, type_of(kind)), some_residual = gather(residual_values, n, DType::bf16);
    return results(some_a.matrix, some_residual.matrix, some_targets);
  }
  // The same rows where they lie, one after another from `first`, downwards or upwards.
  Results view(std::int64_t first, std::int64_t count, int step) const {
    const auto part = [&](const gemm::Matrix& whole) {
      gemm::Matrix m = whole;
      m.data =
          static_cast<const std::byte*>(m.data) + first * m.row_stride * static_cast<std::int64_t>(size_of(m.dtype));
      m.rows = count, m.row_stride *= step;
      return m;
    };
    std::vector<std::int64_t> some_targets;
    for (std::int64_t i = 0; i < count; ++i)
      some_targets.push_back(targets[static_cast<std::size_t>(first + i * step)]);
    return results(part(a.matrix), part(residual.matrix), some_targets);
  }

  void expect_rows(const Results& whole, const Results& some, const std::vector<std::int64_t>& order,
                   const std::string& about) const {
    const auto same = [&](const std::vector<float>& x, const std::vector<float>& y, std::int64_t width) {
      for (std::size_t i = 0; i < order.size() && !x.empty(); ++i) {  // without: not offered in fp32
        const float* from = x.data() + order[i] * width;
        if (std::memcmp(from, y.data() + static_cast<std::int64_t>(i) * width, width * sizeof(float)) != 0)
          return false;
      }
      return true;
    };
    EXPECT_TRUE(same(whole.product, some.product, n)) << "product, " << about;
    EXPECT_TRUE(same(whole.sum, some.sum, n)) << "sum, " << about;
    EXPECT_TRUE(same(whole.squares, some.squares, 1)) << "squares, " << about;
    EXPECT_TRUE(same(whole.lse, some.lse, 1)) << "log-sum-exp, " << about;
    EXPECT_TRUE(same(whole.target, some.target, 1)) << "target, " << about;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Winner x = whole.best[static_cast<std::size_t>(order[i])], y = some.best[i];
      EXPECT_TRUE(x.index == y.index && x.value == y.value) << "best, " << about;
      if (x.index != y.index) break;
    }
  }

  void in_any_batch(int runs) {
    static constexpr std::int64_t kCounts[] = {1, 7, 64, 333, 1000};
    const Results whole = all();
    for (int i = 0; i < runs; ++i) {
      const std::int64_t count = kCounts[i % 5];
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      const std::int64_t first = draw(0, kRows - count);
      std::iota(order.begin(), order.end(), first);
      const std::string about = std::to_string(count) + " rows, run " + std::to_string(i);
      if (i % 4 == 0) {
        expect_rows(whole, view(first, count, 1), order, about + ", in place");
      } else if (i % 4 == 1) {
        std::reverse(order.begin(), order.end());
        expect_rows(whole, view(first + count - 1, count, -1), order, about + ", in place, reversed");
      } else if (i % 4 == 2) {
        std::reverse(order.begin(), order.end());
        expect_rows(whole, batch(order), order, about + ", copied, reversed");
      } else {
        for (std::int64_t& row : order) row = draw(0, kRows - 1);
        expect_rows(whole, batch(order), order, about + ", copied, at random");
      }
      if (HasFailure()) return;
    }
  }
};

TEST_P(rows, have_their_bits_in_any_batch_and_order) {
  make(520, 776);
  in_any_batch(100);
}
TEST_P(rows, have_their_bits_at_odd_sizes) {
  make(521, 777);
  in_any_batch(100);
}
TEST_P(rows, have_their_bits_in_large_products) {
  make(4096, 4096);
  in_any_batch(10);
}
TEST_P(rows, have_their_bits_with_few_columns) {
  make(40, 1000);
  in_any_batch(20);
}
TEST_P(rows, have_their_bits_in_100_runs_of_one_product) {
  make(1100, 640);
  const Results whole = all();
  std::vector<std::int64_t> order(kRows);
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < 100 && !HasFailure(); ++i) expect_rows(whole, all(), order, "run " + std::to_string(i));
}
INSTANTIATE_TEST_SUITE_P(Bits, rows, testing::ValuesIn(kKinds), kind_name);

}  // namespace
}  // namespace envoi::cuda::tests
