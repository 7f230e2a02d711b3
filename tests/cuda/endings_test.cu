// Every ending and every type of operands on random shapes, orders and types, beside fp64. The suite "Small" is the
// same on small shapes: quick enough for compute-sanitizer.
#include <cstdlib>
#include <iostream>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

class every_ending : public OnGpu<testing::TestWithParam<EndingOfKind>> {
 protected:
  Ending ending = GetParam().first;
  Kind kind = GetParam().second;
  double share = 0;
  void holds_on(std::int64_t m, std::int64_t n, std::int64_t k) {
    const std::int64_t columns = takes_pairs(ending) ? std::max<std::int64_t>(n / 2 * 2, 2) : n;
    share = std::max(share, expect_right(ending, prepare(draw_case(kind, m, columns, k))));
  }
  void TearDown() override {
    if (share > 0) std::cout << "  largest error: " << share << " of its bound\n";
  }
};

class small_shapes : public every_ending {};
TEST_P(small_shapes, agree_with_fp64) {
  holds_on(130, 258, 72);
  holds_on(7, 40, 200);
  holds_on(draw(1, 300), draw(1, 300), draw(1, 300));
}
INSTANTIATE_TEST_SUITE_P(Small, small_shapes,
                         testing::ValuesIn(all_offered({Kind::bf16, Kind::f16, Kind::f32, Kind::tf32})), name_of);

class random_shapes : public every_ending {};
TEST_P(random_shapes, agree_with_fp64) {
  const int rounds = std::getenv("ENVOI_FULL") ? 5 : 1;
  for (int i = 0; i < 8 * rounds; ++i) holds_on(draw_size(600), draw_size(600), draw_size(600));
  holds_on(1, draw_size(5000), draw_size(5000));
  holds_on(draw_size(5000), 1, draw_size(5000));
  holds_on(draw_size(5000), draw_size(600), 1);
  holds_on(draw(1, 200), draw(1, 200), 0);
  for (int i = 0; i < 2 * rounds; ++i) holds_on(draw(1, 5000), draw(1, 5000), draw(1, 5000));
}
INSTANTIATE_TEST_SUITE_P(Random, random_shapes,
                         testing::ValuesIn(all_offered({Kind::bf16, Kind::f16, Kind::f32, Kind::tf32})), name_of);

class every_kind : public OnGpu<testing::TestWithParam<Kind>> {};

// What the GPU's copy engine takes and what it does not, in every pair.
TEST_P(every_kind, every_order_of_a_and_b) {
  for (int a = 0; a < kReadLayouts; ++a) {
    for (int b = 0; b < kReadLayouts; ++b) {
      Case about{GetParam(), draw(1, 200), draw(1, 300), draw(1, 150)};
      about.a = static_cast<Layout>(a), about.b = static_cast<Layout>(b);
      about.result = draw_layout(kWriteLayouts);
      expect_right(Ending::store, prepare(about));
    }
  }
}

// Sizes about the borders of tiles, stages and vectors.
TEST_P(every_kind, borders_of_tiles) {
  static constexpr std::int64_t kSizes[] = {1,   2,   7,   8,   15,  16,  17,  63,  64,  65, 127,
                                            128, 129, 255, 256, 257, 383, 384, 385, 511, 513};
  for (const std::int64_t size : kSizes) {
    for (int i = 0; i < 4; ++i) {
      std::int64_t shape[3] = {size, kSizes[draw(0, std::size(kSizes) - 1)], kSizes[draw(0, std::size(kSizes) - 1)]};
      std::swap(shape[0], shape[i % 3]);
      Case about{GetParam(), shape[0], shape[1], shape[2]};
      about.a = draw_layout(3), about.b = draw_layout(3), about.result = draw_layout(kWriteLayouts);
      about.result_type = i % 2 == 0 ? DType::f32 : DType::bf16;
      expect_right(Ending::store, prepare(about));
    }
  }
}

TEST_P(every_kind, large_and_even) {
  Case about{GetParam(), 4096, 4096, 4096};
  about.b = Layout::columns, about.result_type = DType::bf16;
  const double share = expect_right(Ending::store, prepare(about));
  std::cout << "  largest error: " << share << " of its bound\n";
}

TEST_P(every_kind, large_and_odd) {
  Case about{GetParam(), 4097, 4099, 4093};
  expect_right(Ending::store, prepare(about));
  about = {GetParam(), 5000, 5000, 5000};
  about.result_type = DType::f16;
  expect_right(Ending::store, prepare(about));
}

// Sums of small integers are exact in any order.
TEST_P(every_kind, integers_are_exact) {
  for (int i = 0; i < 20; ++i) {
    Case about = draw_case(GetParam(), draw_size(1000), draw_size(1000), draw_size(1000));
    about.fill = Fill::integers, about.result_type = DType::f32;
    const Prepared setup = prepare(about);
    const Held c = hold(DType::f32, about.m, about.n, about.result);
    run(store(setup.a.matrix, setup.b.matrix, c.writable(), fp32_of(about.kind)));
    const std::vector<float> got = take(c, "product");
    for (std::int64_t e = 0; e < about.m * about.n; ++e) {
      ASSERT_EQ(got[static_cast<std::size_t>(e)], setup.product.value[e]) << about.text() << ", element " << e;
    }
  }
}

TEST_P(every_kind, errors_are_small_on_average) {
  Case about{GetParam(), 512, 512, 2048};
  about.b = Layout::columns;
  const Prepared setup = prepare(about);
  const Held c = hold(DType::f32, about.m, about.n);
  run(store(setup.a.matrix, setup.b.matrix, c.writable(), fp32_of(about.kind)));
  const std::vector<float> got = take(c, "product");
  double error = 0, size = 0, bias = 0;
  for (std::int64_t e = 0; e < about.m * about.n; ++e) {
    const double want = setup.product.value[e], off = got[static_cast<std::size_t>(e)] - want;
    error += off * off, size += want * want, bias += off * (want < 0 ? -1 : 1);
  }
  const double relative = std::sqrt(error / size);
  const double mean = bias / std::sqrt(size * static_cast<double>(about.m * about.n));
  std::cout << "  error / size, root mean square: " << relative << ", in the direction of the number: " << mean << "\n";
  // TF32: two operands, each off by some 2^-13 of itself. The others: each step of the sum cuts off some 2^-24.
  EXPECT_LT(relative, about.kind == Kind::tf32 ? 0x1p-11 : 0x1p-15);
  // Operands cut off instead of rounded would make every number smaller by 2^-12 or so.
  if (about.kind == Kind::tf32) EXPECT_LT(std::abs(mean), 0x1p-15);
}
INSTANTIATE_TEST_SUITE_P(Store, every_kind, testing::ValuesIn(kKinds), kind_name);

}  // namespace
}  // namespace envoi::cuda::tests
