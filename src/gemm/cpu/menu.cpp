// The endings of the menu, compiled once an instruction set.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/cpu/menu.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "envoi/gemm.hpp"
#include "gemm/cpu/menu.hpp"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

#define ENVOI_FN HWY_INLINE
#define ENVOI_SELDOM HWY_NOINLINE

HWY_BEFORE_NAMESPACE();
namespace envoi::gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "gemm/cpu/vector-inl.hpp"
// After the vectors.
#include "envoi/ending/ports.inl"
#include "gemm/endings/all.inl"

template <class T>
Menu<T> MenuOf() {
  return {
#define ENVOI_ENTRY(Name) &apply_ending<Name, Lanes<T>>,
      ENVOI_ENDINGS(ENVOI_ENTRY)
#undef ENVOI_ENTRY
  };
}
Menu<float> MenuF32() { return MenuOf<float>(); }
Menu<double> MenuF64() { return MenuOf<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::gemm
HWY_AFTER_NAMESPACE();
#undef ENVOI_FN
#undef ENVOI_SELDOM

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::gemm {
HWY_EXPORT(MenuF32);
HWY_EXPORT(MenuF64);

template <>
const Menu<float>& menu() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(MenuF32)(); });
  return chosen;
}
template <>
const Menu<double>& menu() {
  static const auto chosen = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(MenuF64)(); });
  return chosen;
}

}  // namespace envoi::gemm
#endif  // HWY_ONCE
