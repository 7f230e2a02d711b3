// The main loop in fp64.
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/cpu/fp64.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "gemm/cpu/kernels.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace envoi::gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "gemm/cpu/tile-inl.hpp"

Kernel<double, double, double> Fp64() { return {HWY_LANES(double), &TileOf<double, double, double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::gemm {
HWY_EXPORT(Fp64);

template <>
const Kernel<double, double, double>& kernel() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(Fp64)(); });
  return chosen;
}

}  // namespace envoi::gemm
#endif  // HWY_ONCE
