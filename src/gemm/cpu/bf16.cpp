// The main loop with bf16 on either side or both, summed in fp32.
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/cpu/bf16.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "gemm/cpu/kernels.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace envoi::gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "gemm/cpu/tile-inl.hpp"

Kernel<bfloat16, float, float> Bf16Rows() { return {HWY_LANES(float), &TileOf<bfloat16, float, float>}; }
Kernel<float, bfloat16, float> Bf16Columns() { return {HWY_LANES(float), &TileOf<float, bfloat16, float>}; }
Kernel<bfloat16, bfloat16, float> Bf16Both() { return {HWY_LANES(float), &TileOf<bfloat16, bfloat16, float>}; }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::gemm {
HWY_EXPORT(Bf16Rows);
HWY_EXPORT(Bf16Columns);
HWY_EXPORT(Bf16Both);

template <>
const Kernel<bfloat16, float, float>& kernel() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(Bf16Rows)(); });
  return chosen;
}
template <>
const Kernel<float, bfloat16, float>& kernel() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(Bf16Columns)(); });
  return chosen;
}
template <>
const Kernel<bfloat16, bfloat16, float>& kernel() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(Bf16Both)(); });
  return chosen;
}

}  // namespace envoi::gemm
#endif  // HWY_ONCE
