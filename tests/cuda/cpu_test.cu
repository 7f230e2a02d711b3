// The GPU beside the CPU engine, with the same numbers: the same bits and winners where sums are exact, a bound where
// they are not.
#include <cstring>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

// A matrix on both sides.
struct Both {
  Held device;
  std::vector<std::byte> bytes;
  gemm::Matrix host;
};
Both both(DType type, std::int64_t rows, std::int64_t columns, Layout layout, Fill kind, double scale) {
  Both x{hold(type, rows, columns, layout), {}, {}};
  fill(x.device, kind, scale);
  x.bytes = x.device.memory->copy();
  x.host = x.device.matrix;
  x.host.data = x.bytes.data() + x.device.first;
  return x;
}

class beside_cpu : public OnGpu<testing::TestWithParam<Kind>> {
 protected:
  Kind kind = GetParam();
  Fp32 fp32 = fp32_of(GetParam());
  std::int64_t m = 0, n = 0, k = 0;
  Both a, b;

  // Multiples of 1/64 with few bits: every sum is exact in fp32, and of the size that activations bend.
  void exact_numbers() { numbers(Fill::integers, 1.0 / 64); }
  void numbers(Fill kind_of, double scale) {
    m = draw_size(400), n = 2 * draw_size(300), k = draw_size(500);
    a = both(type_of(kind), m, k, draw_layout(kReadLayouts), kind_of, 1);
    b = both(type_of(kind), k, n, draw_layout(kReadLayouts), kind_of, scale);
  }
  std::string text() const { return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k); }

  // ours(result) and theirs(result) into matrices of the same kind; elements may differ by `share` of themselves.
  template <class Ours, class Theirs>
  void compare_matrices(DType type, std::int64_t columns, double share, Ours ours, Theirs theirs) {
    const Layout layout = draw_layout(kWriteLayouts);
    const Held device = hold(type, m, columns, layout);
    std::vector<std::byte> bytes(device.memory->size(), std::byte{0xFF});
    gemm::MutableMatrix host = device.writable();
    host.data = bytes.data() + device.first;
    run(ours(device.writable()));
    theirs(host);
    const std::vector<float> got = take(device, "a result");
    Verdict verdict;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto size = static_cast<std::int64_t>(size_of(type));
        const std::byte* at =
            static_cast<const std::byte*>(host.data) + (i * host.row_stride + j * host.column_stride) * size;
        const double want = number(at, type);
        verdict.see(i, j, got[static_cast<std::size_t>(i * columns + j)], want,
                    share == 0 ? 0 : share * std::abs(want) + 2 * rounding(type, want));
      }
    }
    verdict.report(text());
  }
};

TEST_P(beside_cpu, exact_sums_have_the_same_bits) {
  for (int i = 0; i < 10; ++i) {
    exact_numbers();
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      compare_matrices(
          type, n, 0, [&](auto to) { return store(a.device.matrix, b.device.matrix, to, fp32); },
          [&](auto to) { gemm::store(a.host, b.host, to); });
    }
    if (!offered(Ending::bias, kind)) continue;
    const Both bias = both(DType::bf16, 1, n, Layout::packed, Fill::integers, 0.25);
    for (const Activation activation : {Activation::none, Activation::relu}) {
      compare_matrices(
          DType::f32, n, 0,
          [&](auto to) {
            return bias_activation(a.device.matrix, b.device.matrix, bias.device.matrix, activation, to, fp32);
          },
          [&](auto to) { gemm::bias_activation(a.host, b.host, bias.host, activation, to); });
    }
    const Both scale = both(DType::f32, m, 1, Layout::every_third, Fill::integers, 1);
    compare_matrices(
        DType::f16, n, 0,
        [&](auto to) { return row_scale(a.device.matrix, b.device.matrix, scale.device.matrix, to, fp32); },
        [&](auto to) { gemm::row_scale(a.host, b.host, scale.host, to); });
    const Both residual = both(DType::bf16, m, n, Layout::odd_gap, Fill::integers, 1);
    const Held squares = hold(DType::f32, m, 1);
    std::vector<float> host_squares(static_cast<std::size_t>(m));
    compare_matrices(
        DType::bf16, n, 0,
        [&](auto to) {
          return residual_squares(a.device.matrix, b.device.matrix, residual.device.matrix, to, squares.writable(),
                                  fp32);
        },
        [&](auto to) {
          gemm::residual_squares(a.host, b.host, residual.host, to, gemm::MutableMatrix(host_squares.data(), m, 1));
        });
    const std::vector<float> device_squares = take(squares, "squares");
    for (std::size_t r = 0; r < host_squares.size(); ++r) {
      EXPECT_NEAR(device_squares[r], host_squares[r], host_squares[r] * 0x1p-15) << text();
    }
    const Both cosine = both(DType::f32, m, n / 2, Layout::packed, Fill::integers, 0.125);
    const Both sine = both(DType::bf16, m, n / 2, Layout::columns, Fill::integers, 0.125);
    compare_matrices(
        DType::f32, n, 0,
        [&](auto to) {
          return rope(a.device.matrix, b.device.matrix, cosine.device.matrix, sine.device.matrix, to, fp32);
        },
        [&](auto to) { gemm::rope(a.host, b.host, cosine.host, sine.host, to); });
  }
}

// What goes through exp may differ in the last places of fp32.
TEST_P(beside_cpu, gates_and_log_sum_exps_agree) {
  if (!offered(Ending::swiglu, kind)) GTEST_SKIP() << "not in fp32 by three products";
  constexpr double kShare = 0x1p-17;
  for (int i = 0; i < 5; ++i) {
    exact_numbers();
    const Both scale = both(DType::f32, m, 1, Layout::packed, Fill::integers, 0.25);
    const Both bias = both(DType::f32, 1, n, Layout::packed, Fill::integers, 0.25);
    for (const Activation activation : {Activation::silu, Activation::gelu}) {
      compare_matrices(
          DType::f32, n, kShare,
          [&](auto to) {
            return bias_activation(a.device.matrix, b.device.matrix, bias.device.matrix, activation, to, fp32);
          },
          [&](auto to) { gemm::bias_activation(a.host, b.host, bias.host, activation, to); });
    }
    compare_matrices(
        DType::f32, n / 2, kShare,
        [&](auto to) { return swiglu(a.device.matrix, b.device.matrix, scale.device.matrix, to, {}, fp32); },
        [&](auto to) { gemm::swiglu(a.host, b.host, scale.host, to, gemm::MutableMatrix()); });
    compare_matrices(
        DType::bf16, n / 2, kShare,
        [&](auto to) { return geglu(a.device.matrix, b.device.matrix, gemm::Matrix(), to, {}, fp32); },
        [&](auto to) { gemm::geglu(a.host, b.host, to); });
    std::vector<std::int64_t> targets(static_cast<std::size_t>(m));
    for (std::int64_t& target : targets) target = draw(0, n - 1);
    const Targets held_targets(targets);
    const Held lse = hold(DType::f32, m, 1), target = hold(DType::f32, m, 1);
    std::vector<float> host_lse(targets.size()), host_target(targets.size());
    run(cross_entropy(a.device.matrix, b.device.matrix, held_targets.data(), lse.writable(), target.writable(), fp32));
    gemm::cross_entropy(a.host, b.host, targets, gemm::MutableMatrix(host_lse.data(), m, 1),
                        gemm::MutableMatrix(host_target.data(), m, 1));
    EXPECT_EQ(take(target, "target"), host_target) << text();
    const std::vector<float> device_lse = take(lse, "lse");
    for (std::size_t r = 0; r < host_lse.size(); ++r) {
      EXPECT_NEAR(device_lse[r], host_lse[r], 1e-5 * (1 + std::abs(host_lse[r]))) << text();
    }
  }
}

// Exact sums have many ties.
TEST_P(beside_cpu, winners_are_the_same) {
  for (int i = 0; i < 10; ++i) {
    exact_numbers();
    const auto same = [&](const HeldWinners& held, const std::vector<Winner>& theirs, const std::string& about) {
      const std::vector<Winner> ours = held.take();
      ASSERT_EQ(ours.size(), theirs.size());
      for (std::size_t w = 0; w < ours.size(); ++w) {
        ASSERT_EQ(ours[w].index, theirs[w].index) << about << ", winner " << w << ", " << text();
        ASSERT_EQ(ours[w].value, theirs[w].value) << about << ", winner " << w << ", " << text();
      }
    };
    for (const Over over : {Over::columns, Over::rows}) {
      for (const By by : {By::value, By::magnitude}) {
        if (over == Over::rows && by == By::value && !offered(Ending::argmax_rows, kind)) continue;
        for (const std::int64_t places : {1, 3, 8, 64}) {
          const HeldWinners held(over == Over::columns ? m : n, places);
          run(top_k(a.device.matrix, b.device.matrix, over, by, places, held.data(), fp32));
          same(held, gemm::top_k(a.host, b.host, over, by, places), "top " + std::to_string(places));
        }
        const HeldWinners held(over == Over::columns ? m : n, 1);
        run(argmax(a.device.matrix, b.device.matrix, over, by, held.data(), fp32));
        same(held, gemm::argmax(a.host, b.host, over, by), "argmax");
      }
    }
  }
}

// With any numbers the two differ by no more than both bounds, and winners only where they are that near.
TEST_P(beside_cpu, any_numbers_agree_within_the_bounds) {
  for (int i = 0; i < 5; ++i) {
    numbers(Fill::normal, 0.1);
    const Reference product = reference(a.device.matrix, b.device.matrix, kind);
    const auto bound = [&](std::int64_t r, std::int64_t c) {
      const double theirs = static_cast<double>(k + 8) * 0x1p-24 * static_cast<double>(product.size[r * n + c]);
      return product.bound(r, c) + theirs;
    };
    const Held device = hold(DType::f32, m, n);
    std::vector<float> host(static_cast<std::size_t>(m * n));
    run(store(a.device.matrix, b.device.matrix, device.writable(), fp32));
    gemm::store(a.host, b.host, gemm::MutableMatrix(host.data(), m, n));
    compare(take(device, "product"), m, n, {}, [&](std::int64_t r, std::int64_t c) {
      return Want{host[static_cast<std::size_t>(r * n + c)], bound(r, c)};
    }).report(text());
    const HeldWinners held(m, 1);
    run(argmax(a.device.matrix, b.device.matrix, Over::columns, By::value, held.data(), fp32));
    const std::vector<Winner> ours = held.take(), theirs = gemm::argmax(a.host, b.host, Over::columns, By::value);
    for (std::int64_t r = 0; r < m; ++r) {
      const Winner x = ours[static_cast<std::size_t>(r)], y = theirs[static_cast<std::size_t>(r)];
      ASSERT_GE(x.index, 0);
      const double near = bound(r, x.index) + bound(r, y.index);
      EXPECT_TRUE(x.index == y.index || std::abs(product(r, x.index) - product(r, y.index)) <= near) << text();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Engines, beside_cpu, testing::ValuesIn(kKinds), kind_name);

}  // namespace
}  // namespace envoi::cuda::tests
