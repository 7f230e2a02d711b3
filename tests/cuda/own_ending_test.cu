// Endings of a user's own on a GPU: right beside fp64 in every tile, the same bits in all of them.
#include <limits>

#include "envoi/error.hpp"
#include "own_endings.cuh"

namespace envoi::cuda::tests {
namespace {

template <class Call, class... Shapes>
void expect_right_in(const Case& about) {
  const Call call(about);
  call.template run_it<Shapes...>();
  call.expect_right();
}
// In every tile that the kind runs on.
template <class Call>
void expect_right_everywhere(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (kind == Kind::f32) {
    expect_right_in<Call, ThreeTermTile>(draw_case(kind, m, n, k));
  } else {
    expect_right_in<Call, LargeTile>(draw_case(kind, m, n, k));
    expect_right_in<Call, SmallTile>(draw_case(kind, m, n, k));
  }
  expect_right_in<Call>(draw_case(kind, m, n, k));  // whichever is chosen
}

class own_ending : public OnGpu<testing::TestWithParam<Kind>> {};

TEST_P(own_ending, with_members_and_every_operand_agrees_with_fp64) {
  expect_right_everywhere<LayerCall>(GetParam(), 200, 516, 130);
  expect_right_everywhere<LayerCall>(GetParam(), 3, 40, 72);
  for (int i = 0; i < 4; ++i) {
    expect_right_everywhere<LayerCall>(GetParam(), draw_size(700), 2 * draw_size(500), draw_size(500));
  }
}
TEST_P(own_ending, over_rows_agrees_with_fp64) {
  expect_right_everywhere<OverRowsCall>(GetParam(), 333, 270, 100);
  expect_right_everywhere<OverRowsCall>(GetParam(), 5, 65, 40);
  for (int i = 0; i < 4; ++i) {
    expect_right_everywhere<OverRowsCall>(GetParam(), draw_size(700), draw_size(700), draw_size(500));
  }
}
TEST_P(own_ending, over_columns_agrees_with_fp64) {
  expect_right_everywhere<OverColumnsCall>(GetParam(), 140, 517, 100);
  expect_right_everywhere<OverColumnsCall>(GetParam(), 5, 65, 40);
  for (int i = 0; i < 4; ++i) {
    expect_right_everywhere<OverColumnsCall>(GetParam(), draw_size(700), draw_size(700), draw_size(500));
  }
}

TEST_P(own_ending, leaves_out_what_is_not_bound) {
  const LayerCall call(draw_case(GetParam(), 150, 300, 90));
  call.run_it(false);
  call.expect_right(false);
}

TEST_P(own_ending, says_where_nan_is) {
  OverColumnsCall across({GetParam(), 70, 90, 40});
  poke(across.setup.a, 33, 7, std::numeric_limits<float>::quiet_NaN());
  refer(across.setup);
  across.run_it();
  across.expect_right();
  OverRowsCall down({GetParam(), 150, 90, 40});
  poke(down.setup.b, 7, 33, std::numeric_limits<float>::quiet_NaN());
  refer(down.setup);
  down.run_it();
  down.expect_right();
}
INSTANTIATE_TEST_SUITE_P(Own, own_ending, testing::ValuesIn(kKinds), kind_name);

class own_ending_bits : public GpuTest {};

TEST_F(own_ending_bits, are_the_same_in_tiles_of_every_size) {
  LayerCall call({Kind::bf16, 300, 1100, 200});
  std::vector<std::vector<std::byte>> first;
  const auto same_again = [&](const char* tile) {
    const std::vector<std::vector<std::byte>> now{call.layer.memory->copy(), call.gated.memory->copy(),
                                                  call.sum.memory->copy(), call.largest.memory->copy(),
                                                  call.best_gated.memory().copy()};
    if (first.empty()) first = now;
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(now[i] == first[i]) << tile << ", result " << i + 1;
    call.place();
  };
  call.run_it<LargeTile>();
  same_again("large");
  call.run_it<MediumTile>();
  same_again("medium");
  call.run_it<SmallTile>();
  same_again("small");
}

class own_ending_kernels : public GpuTest {};
TEST_F(own_ending_kernels, of_large_tiles_refuse_fp32_in_full_precision) {
  const LayerCall call({Kind::f32, 20, 30, 10});
  try {
    call.run_it<LargeTile>();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_argument);
    EXPECT_NE(std::string(error.what()).find("ThreeTermTile"), std::string::npos) << error.what();
  }
}

// Arguments are looked at first, also where there is no GPU.
TEST(own_ending_arguments, that_do_not_fit_are_named) {
  std::vector<float> a(20), b(30), bias(6), lse(4), chosen(4), largest(4);
  std::vector<std::int64_t> targets(4);
  std::vector<Winner> best(4), best_magnitude(4);
  const auto refusal = [&](std::int64_t width, std::int64_t places) {
    try {
      product(Matrix(a.data(), 4, 5), Matrix(b.data(), 5, 6), mine::OverColumns{},
              {.bias = Matrix(bias.data(), 1, width)},
              {.best = {best.data(), places},
               .lse = MutableMatrix(lse.data(), 4, 1),
               .chosen = {MutableMatrix(chosen.data(), 4, 1), targets.data(), 4},
               .largest = MutableMatrix(largest.data(), 4, 1),
               .best_magnitude = best_magnitude});
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::bad_argument) return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(5, 4).find("operand 1 (row) is 1 x 5"), std::string::npos) << refusal(5, 4);
  EXPECT_NE(refusal(6, 3).find("result 1 (argmax_n) has room for 3 winners"), std::string::npos) << refusal(6, 3);
  EXPECT_EQ(refusal(6, 4), "");
}

}  // namespace
}  // namespace envoi::cuda::tests
