// The inner loops of a grid search, compiled once an instruction set by Highway.
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pursuit/cpu/screen.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "pursuit/cpu/screen.hpp"

HWY_BEFORE_NAMESPACE();
namespace envoi::pursuit {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Frequencies held in registers at once: two sums each, beside two panel vectors and a broadcast.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 8 : 6;

template <class T>
using Tag = hn::CappedTag<T, kMostLanes>;

// One pass: sums[f][first..first+1] for `rows` frequencies. Every sum is one chain of fused multiply-adds over k, so
// it does not depend on its neighbours.
template <int rows, class T>
HWY_INLINE void Pass(const T* HWY_RESTRICT panel, const T* HWY_RESTRICT table, int depth, T* HWY_RESTRICT sums) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  using V = hn::Vec<Tag<T>>;
  V a[rows], b[rows];
  for (int r = 0; r < rows; ++r) a[r] = hn::Zero(d), b[r] = hn::Zero(d);
  for (int k = 0; k < depth; ++k) {
    const V first = hn::LoadU(d, panel), second = hn::LoadU(d, panel + lanes);
    for (int r = 0; r < rows; ++r) {
      const V factor = hn::Set(d, table[r]);
      a[r] = hn::MulAdd(first, factor, a[r]);
      b[r] = hn::MulAdd(second, factor, b[r]);
    }
    panel += 4 * lanes;
    table += kChunk;
  }
  for (int r = 0; r < rows; ++r) {
    T* out = sums + static_cast<size_t>(r) * 4 * lanes;
    hn::StoreU(hn::Add(hn::LoadU(d, out), a[r]), d, out);
    hn::StoreU(hn::Add(hn::LoadU(d, out + lanes), b[r]), d, out + lanes);
  }
}

template <int rows, class T>
HWY_INLINE void PassRemainder(int wanted, const T* panel, const T* table, int depth, T* sums) {
  if constexpr (rows > 0) {
    if (wanted == rows) return Pass<rows>(panel, table, depth, sums);
    PassRemainder<rows - 1>(wanted, panel, table, depth, sums);
  }
}

template <class T>
HWY_NOINLINE void Product(const T* panel, const T* cosine, const T* sine, int depth, int frequencies, T* sums) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t total = static_cast<size_t>(frequencies) * 4 * lanes;
  for (size_t i = 0; i < total; i += lanes) hn::StoreU(hn::Zero(d), d, sums + i);
  for (int k = 0; k < depth; k += kDepth) {
    const int part = HWY_MIN(kDepth, depth - k);
    for (int half = 0; half < 2; ++half) {
      const T* p = panel + static_cast<size_t>(k) * 4 * lanes + static_cast<size_t>(half) * 2 * lanes;
      const T* t = (half ? sine : cosine) + static_cast<size_t>(k) * kChunk;
      T* out = sums + static_cast<size_t>(half) * 2 * lanes;
      int f = 0;
      for (; f + kRows <= frequencies; f += kRows) {
        Pass<kRows>(p, t + f, part, out + static_cast<size_t>(f) * 4 * lanes);
      }
      if (f < frequencies) {
        PassRemainder<kRows - 1>(frequencies - f, p, t + f, part, out + static_cast<size_t>(f) * 4 * lanes);
      }
    }
  }
}

template <class T>
HWY_NOINLINE void Panel(const T* even, const T* odd, const T* chirp_cosine, const T* chirp_sine, int depth, T* panel) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  for (int k = 0; k < depth; ++k) {
    const auto e = hn::LoadU(d, even + static_cast<size_t>(k) * lanes);
    const auto o = hn::LoadU(d, odd + static_cast<size_t>(k) * lanes);
    const auto c = hn::Set(d, chirp_cosine[k]), s = hn::Set(d, chirp_sine[k]);
    T* out = panel + static_cast<size_t>(k) * 4 * lanes;
    hn::StoreU(hn::Mul(e, c), d, out);
    hn::StoreU(hn::Mul(e, s), d, out + lanes);
    hn::StoreU(hn::Mul(o, c), d, out + 2 * lanes);
    hn::StoreU(hn::Mul(o, s), d, out + 3 * lanes);
  }
}

#include "pursuit/cpu/transform-inl.hpp"

// Upper bound of the energy of frequency f with chirp rate +c (sign 0) or -c (sign 1).
// With M the map from z to sqrt(energy), |M(z + dz)| <= |Mz| + |M| |dz|, and (a + b)^2 <= a^2 (1 + eta) + b^2 (1 +
// 1/eta).
template <class T>
HWY_INLINE hn::Vec<Tag<T>> Bound(const ItemScores<T>& item, int f, int sign) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<Tag<T>> re, im;  // im is minus the imaginary part
  if (item.paired) {
    const T* s = item.sums + static_cast<size_t>(f) * 4 * lanes;
    const auto ec = hn::LoadU(d, s), es = hn::LoadU(d, s + lanes);
    const auto oc = hn::LoadU(d, s + 2 * lanes), os = hn::LoadU(d, s + 3 * lanes);
    re = sign ? hn::Add(ec, os) : hn::Sub(ec, os);
    im = sign ? hn::Sub(oc, es) : hn::Add(oc, es);
  } else {
    const T* s = item.sums + static_cast<size_t>(f) * 2 * lanes;
    re = hn::LoadU(d, s);
    im = hn::Neg(hn::LoadU(d, s + lanes));
  }
  const size_t signs = item.paired ? 2 : 1;
  const T* kappa = item.kappa + (static_cast<size_t>(f) * signs + static_cast<size_t>(sign)) * 2 * lanes;
  const auto kr = hn::LoadU(d, kappa), ki = hn::LoadU(d, kappa + lanes);
  const auto inverse_norm = hn::LoadU(d, item.inverse_norm), error2 = hn::LoadU(d, item.error2);
  const auto one = hn::Set(d, T(1)), two = hn::Set(d, T(2)), slack = hn::Set(d, item.kappa_error);
  const auto grow = hn::Set(d, 1 + item.eta), spread = hn::Mul(error2, hn::Set(d, 1 + 1 / item.eta));
  if (item.phase_fixed) {
    const auto norm = hn::Sub(hn::Add(one, kr), slack);
    const auto value = hn::Mul(hn::Mul(two, inverse_norm), hn::MulAdd(hn::Mul(re, re), grow, spread));
    const auto sure = hn::Gt(norm, hn::Set(d, T(1e-5)));
    const auto huge = hn::IfThenElse(hn::Gt(inverse_norm, hn::Zero(d)), hn::Set(d, T(1e30)), hn::Zero(d));
    return hn::IfThenElse(sure, hn::Div(value, hn::Max(norm, hn::Set(d, T(1e-5)))), huge);
  }
  const auto rr = hn::Mul(re, re), ii = hn::Mul(im, im);
  const auto power = hn::Add(rr, ii);
  // Re(kappa z^2) with z = re - i im.
  const auto mixed = hn::MulAdd(kr, hn::Sub(rr, ii), hn::Mul(hn::Mul(two, ki), hn::Mul(re, im)));
  const auto kappa2 = hn::MulAdd(kr, kr, hn::Mul(ki, ki));
  const auto gap = hn::Sub(hn::Sub(one, kappa2), hn::Mul(hn::Set(d, T(2.5)), slack));
  const auto padded = hn::MulAdd(slack, power, power);  // room for kappa's own error
  const auto both = hn::MulAdd(hn::Sub(padded, mixed), hn::Mul(two, grow), hn::Mul(hn::Set(d, T(4)), spread));
  // |kappa| so near 1 that the second quadrature is certainly dropped (1 - |kappa| < 1e-3, i.e. 1 - |kappa|^2
  // < 1.999e-3).
  const auto parallel = hn::Lt(hn::Add(gap, hn::Mul(hn::Set(d, T(5)), slack)), hn::Set(d, T(1.998e-3)));
  const auto along = hn::MulAdd(hn::Set(d, T(1.002)), hn::Max(mixed, hn::Zero(d)), hn::MulAdd(slack, power, power));
  const auto one_value = hn::Mul(hn::Set(d, T(1.004)), hn::MulAdd(hn::Mul(along, hn::Set(d, T(0.5))), grow, spread));
  const auto both_value = hn::Div(both, hn::Max(gap, hn::Set(d, T(1e-9))));
  return hn::Mul(inverse_norm, hn::IfThenElse(parallel, one_value, both_value));
}

template <class T>
HWY_NOINLINE T Largest(const ItemScores<T>& item) {
  const Tag<T> d;
  auto largest = hn::Zero(d);
  for (int sign = 0; sign < 2; ++sign) {
    for (int f = item.begin[sign]; f < item.end[sign]; ++f) largest = hn::Max(largest, Bound(item, f, sign));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

template <class T>
HWY_NOINLINE void Bounds(const ItemScores<T>& item, T* bounds) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  for (int f = 0; f < item.frequencies; ++f) {
    for (int sign = 0; sign < 2; ++sign) {
      const bool there = f >= item.begin[sign] && f < item.end[sign];
      hn::StoreU(there ? Bound(item, f, sign) : hn::Zero(d), d,
                 bounds + (static_cast<size_t>(f) * 2 + static_cast<size_t>(sign)) * lanes);
    }
  }
}

template <class T>
ScreenKernels<T> Kernels() {
  const Tag<T> d;
  return {static_cast<int>(hn::Lanes(d)), &Product<T>, &Panel<T>, &Wrap<T>, &Transform<T>, &Largest<T>, &Bounds<T>};
}
ScreenKernels<float> KernelsF32() { return Kernels<float>(); }
ScreenKernels<double> KernelsF64() { return Kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::pursuit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::pursuit {
HWY_EXPORT(KernelsF32);
HWY_EXPORT(KernelsF64);

template <>
const ScreenKernels<float>& screen_kernels<float>() {
  static const ScreenKernels<float> kernels = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(KernelsF32)(); });
  return kernels;
}
template <>
const ScreenKernels<double>& screen_kernels<double>() {
  static const ScreenKernels<double> kernels = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(KernelsF64)(); });
  return kernels;
}

}  // namespace envoi::pursuit
#endif  // HWY_ONCE
