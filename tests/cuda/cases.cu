// Names, shapes and operands of what is tested.
#include <cstring>
#include <sstream>

#include "endings.cuh"

namespace envoi::cuda::tests {

const char* to_string(Ending ending) {
  static constexpr const char* kNames[] = {"store",
                                           "bias",
                                           "bias_relu",
                                           "bias_silu",
                                           "bias_gelu",
                                           "row_scale",
                                           "residual_squares",
                                           "residual_in_place",
                                           "swiglu",
                                           "swiglu_scaled",
                                           "swiglu_kept",
                                           "geglu",
                                           "geglu_scaled",
                                           "geglu_kept",
                                           "rope",
                                           "cross_entropy",
                                           "argmax_columns",
                                           "argmax_columns_magnitude",
                                           "argmax_rows",
                                           "argmax_rows_magnitude",
                                           "top_columns",
                                           "top_columns_magnitude",
                                           "top_rows",
                                           "top_rows_magnitude",
                                           "pair_energy"};
  static_assert(std::size(kNames) == kEndings);
  return kNames[static_cast<int>(ending)];
}

bool takes_pairs(Ending ending) {
  return (ending >= Ending::swiglu && ending <= Ending::rope) || ending == Ending::pair_energy;
}

bool offered(Ending ending, Kind kind) {
  if (kind != Kind::f32) return true;
  const bool by_rows = ending == Ending::argmax_rows || ending == Ending::top_rows;
  return ending == Ending::store || (ending >= Ending::argmax_columns && !by_rows);
}

std::vector<EndingOfKind> all_offered(const std::vector<Kind>& kinds) {
  std::vector<EndingOfKind> all;
  for (int e = 0; e < kEndings; ++e) {
    for (const Kind kind : kinds) {
      if (offered(static_cast<Ending>(e), kind)) all.emplace_back(static_cast<Ending>(e), kind);
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<EndingOfKind>& info) {
  return std::string(to_string(info.param.first)) + "_" + to_string(info.param.second);
}
std::string kind_name(const testing::TestParamInfo<Kind>& info) { return to_string(info.param); }

std::string Case::text() const {
  std::ostringstream text;
  text << to_string(kind) << " " << m << " x " << n << " x " << k << ", A " << to_string(a) << ", B " << to_string(b)
       << ", operands " << to_string(operand_type) << " " << to_string(operand) << ", results "
       << to_string(result_type) << " " << to_string(result);
  return text.str();
}

Case draw_case(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  static constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};
  Case about{kind, m, n, k};
  // Half of the operands are as the GPU's copy engine takes them.
  about.a = draw_layout(draw(0, 1) == 0 ? 3 : kReadLayouts), about.b = draw_layout(draw(0, 1) == 0 ? 3 : kReadLayouts);
  about.operand = draw_layout(kReadLayouts), about.result = draw_layout(kWriteLayouts);
  about.operand_type = kTypes[draw(0, 2)], about.result_type = kTypes[draw(0, 2)];
  return about;
}

Prepared prepare(const Case& about) {
  Prepared setup{about,
                 hold(type_of(about.kind), about.m, about.k, about.a),
                 hold(type_of(about.kind), about.k, about.n, about.b),
                 {}};
  fill(setup.a, about.fill);
  const double depth = static_cast<double>(std::max<std::int64_t>(about.k, 1));
  fill(setup.b, about.fill, about.fill == Fill::normal ? 1 / std::sqrt(depth) : 1);
  refer(setup);
  return setup;
}

void refer(Prepared& setup) { setup.product = reference(setup.a.matrix, setup.b.matrix, setup.about.kind); }

std::vector<Winner> HeldWinners::take() const {
  memory_.expect_guards("the winners");
  const std::vector<std::byte> bytes = memory_.copy();
  std::vector<Winner> winners(bytes.size() / sizeof(Winner));
  if (!bytes.empty()) std::memcpy(winners.data(), bytes.data(), bytes.size());
  return winners;
}

}  // namespace envoi::cuda::tests
