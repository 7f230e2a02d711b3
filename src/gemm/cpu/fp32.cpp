// The main loop in fp32.
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/cpu/fp32.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "gemm/cpu/kernels.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace envoi::gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "gemm/cpu/tile-inl.hpp"

Kernel<float, float, float> Fp32() { return {HWY_LANES(float), &TileOf<float, float, float>}; }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::gemm {
HWY_EXPORT(Fp32);

template <>
const Kernel<float, float, float>& kernel() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(Fp32)(); });
  return chosen;
}

}  // namespace envoi::gemm
#endif  // HWY_ONCE
