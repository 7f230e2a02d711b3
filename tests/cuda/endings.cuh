// Every ending of the menu run on given operands and held against the same formula in fp64.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support.cuh"

namespace envoi::cuda::tests {

// What the menu offers, its options as entries of their own. `top_...` draws its k from 1, 3, 8 and 64.
enum class Ending {
  store,
  bias,
  bias_relu,
  bias_silu,
  bias_gelu,
  row_scale,
  residual_squares,
  residual_in_place,
  swiglu,
  swiglu_scaled,
  swiglu_kept,
  geglu,
  geglu_scaled,
  geglu_kept,
  rope,
  cross_entropy,
  argmax_columns,
  argmax_columns_magnitude,
  argmax_rows,
  argmax_rows_magnitude,
  top_columns,
  top_columns_magnitude,
  top_rows,
  top_rows_magnitude,
  pair_energy,
};
inline constexpr int kEndings = 25;
const char* to_string(Ending ending);
bool takes_pairs(Ending ending);  // of columns, so that their number is even
// fp32 by three products is there for some endings (src/gemm/cuda/menu/kernels.hpp); the others refuse it.
bool offered(Ending ending, Kind kind);
using EndingOfKind = std::pair<Ending, Kind>;
std::vector<EndingOfKind> all_offered(const std::vector<Kind>& kinds);
std::string name_of(const testing::TestParamInfo<EndingOfKind>& info);
std::string kind_name(const testing::TestParamInfo<Kind>& info);

// Shapes, types and orders of everything that a product refers to.
struct Case {
  Kind kind = Kind::bf16;
  std::int64_t m = 1, n = 1, k = 1;
  Layout a = Layout::packed, b = Layout::packed, operand = Layout::packed, result = Layout::packed;
  DType operand_type = DType::f32, result_type = DType::f32;
  Fill fill = Fill::normal;
  std::string text() const;
};
// Everything but kind and shape at random.
Case draw_case(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k);

// A and B, with sums of products of about 1, and their product in fp64.
struct Prepared {
  Case about;
  Held a, b;
  Reference product;
};
Prepared prepare(const Case& about);
void refer(Prepared& setup);  // again, after a change of A or B

// Runs the ending; adds failures to the test that runs. The largest error as a share of its bound.
double expect_right(Ending ending, const Prepared& setup);

// Winners on the device: [slots][k].
class HeldWinners {
 public:
  HeldWinners(std::int64_t slots, std::int64_t k) : memory_(static_cast<std::size_t>(slots * k) * sizeof(Winner)) {}
  Winner* data() const { return reinterpret_cast<Winner*>(memory_.data()); }
  const Buffer& memory() const { return memory_; }
  std::vector<Winner> take() const;

 private:
  Buffer memory_;
};

}  // namespace envoi::cuda::tests
