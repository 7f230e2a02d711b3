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
HWY_NOINLINE void Window(const T* even, const T* odd, const T* window, int depth, T* out_even, T* out_odd,
                         T* magnitude) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d), other = hn::Zero(d);
  for (int k = 0; k < depth; ++k) {
    const size_t at = static_cast<size_t>(k) * lanes;
    const auto w = hn::Set(d, window[k]);
    const auto e = hn::Mul(hn::LoadU(d, even + at), w), o = hn::Mul(hn::LoadU(d, odd + at), w);
    hn::StoreU(e, d, out_even + at);
    hn::StoreU(o, d, out_odd + at);
    sum = hn::Add(sum, hn::Abs(e));
    other = hn::Add(other, hn::Abs(o));
  }
  hn::StoreU(hn::Add(sum, other), d, magnitude);
}

// A sample's part in a row of the panel.
template <class T>
struct PanelRow {
  hn::Vec<Tag<T>> ec, es, oc, os;
};
// `mirrored`: the sample lies before a whole period, so its sines are those of the row with the other sign.
template <bool mirrored, class T>
HWY_INLINE void AddSample(const T* even, const T* odd, const T* chirp_cosine, const T* chirp_sine, int k,
                          PanelRow<T>& row) {
  const Tag<T> d;
  const size_t at = static_cast<size_t>(k) * hn::Lanes(d);
  const auto e = hn::LoadU(d, even + at), o = hn::LoadU(d, odd + at);
  const auto c = hn::Set(d, chirp_cosine[k]), s = hn::Set(d, chirp_sine[k]);
  row.ec = hn::MulAdd(e, c, row.ec);
  row.es = hn::MulAdd(e, s, row.es);
  row.oc = mirrored ? hn::NegMulAdd(o, c, row.oc) : hn::MulAdd(o, c, row.oc);
  row.os = mirrored ? hn::NegMulAdd(o, s, row.os) : hn::MulAdd(o, s, row.os);
}

template <class T>
HWY_NOINLINE void Panel(const T* HWY_RESTRICT even, const T* HWY_RESTRICT odd, const T* HWY_RESTRICT chirp_cosine,
                        const T* HWY_RESTRICT chirp_sine, int depth, Folding folding, T* HWY_RESTRICT panel) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const int rows = folding.rows(depth), period = rows < depth ? folding.period : 2 * depth + rows;
  for (int r = 0; r < rows; ++r) {
    PanelRow<T> row{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    AddSample<false>(even, odd, chirp_cosine, chirp_sine, r, row);
    for (int turn = period; turn - r < depth; turn += period) {
      // Each sample once: halfway its mirror image is itself, and so it is at whole periods.
      if (2 * r != period) AddSample<true>(even, odd, chirp_cosine, chirp_sine, turn - r, row);
      if (r != 0 && turn + r < depth) AddSample<false>(even, odd, chirp_cosine, chirp_sine, turn + r, row);
    }
    T* out = panel + static_cast<size_t>(r) * 4 * lanes;
    hn::StoreU(row.ec, d, out);
    hn::StoreU(row.es, d, out + lanes);
    hn::StoreU(row.oc, d, out + 2 * lanes);
    hn::StoreU(row.os, d, out + 3 * lanes);
  }
}

#include "pursuit/cpu/transform-inl.hpp"

// z = re - i im of frequency f with chirp rate +c (sign 0) or -c (sign 1).
template <class T>
struct Sums {
  hn::Vec<Tag<T>> re, im;
};
template <class T>
HWY_INLINE Sums<T> PairedSums(const hn::Vec<Tag<T>>* s, int sign) {
  return {sign ? hn::Add(s[0], s[3]) : hn::Sub(s[0], s[3]), sign ? hn::Sub(s[2], s[1]) : hn::Add(s[2], s[1])};
}

// Upper bound of the energy of z times sum |g|^2, given kappa.
// With M the map from z to sqrt(energy), |M(z + dz)| <= |Mz| + |M| |dz|, and (a + b)^2 <= a^2 (1 + eta) + b^2 (1 +
// 1/eta).
template <class T>
HWY_INLINE hn::Vec<Tag<T>> Bound(const BlockScores<T>& block, bool phase_fixed, const T* kappa, const Sums<T>& z) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto re = z.re, im = z.im;
  const auto kr = hn::LoadU(d, kappa), ki = hn::LoadU(d, kappa + lanes);
  const auto error2 = hn::LoadU(d, block.error2);
  const auto one = hn::Set(d, T(1)), two = hn::Set(d, T(2)), slack = hn::Set(d, block.kappa_error);
  const auto grow = hn::Set(d, 1 + block.eta), spread = hn::Mul(error2, hn::Set(d, 1 + 1 / block.eta));
  if (phase_fixed) {
    const auto norm = hn::Sub(hn::Add(one, kr), slack);
    const auto value = hn::Mul(two, hn::MulAdd(hn::Mul(re, re), grow, spread));
    const auto sure = hn::Gt(norm, hn::Set(d, T(1e-5)));
    return hn::IfThenElse(sure, hn::Div(value, hn::Max(norm, hn::Set(d, T(1e-5)))), hn::Set(d, T(1e30)));
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
  return hn::IfThenElse(parallel, one_value, both_value);
}

// The same from the bins of a transform.
template <class T>
HWY_INLINE Sums<T> BinSums(const UnitSums<T>& unit, int f, int sign) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const int mirrored = unit.mirror - f;
  const int bin = sign == 0 ? f : mirrored < 0 ? mirrored + unit.points : mirrored;
  const T* z = unit.sums + static_cast<size_t>(bin) * 2 * lanes;
  const auto im = hn::LoadU(d, z + lanes);
  return {hn::LoadU(d, z), sign == 0 ? hn::Neg(im) : im};
}

// Sums of frequency f for `blocks` blocks, from those of the basis windows.
template <int blocks, class T>
HWY_INLINE void Mix(const UnitSums<T>& unit, const BlockScores<T>* block, int f, hn::Vec<Tag<T>> (&sums)[blocks][4]) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const T* from = unit.sums + static_cast<size_t>(f) * 4 * lanes;
  for (int b = 0; b < blocks; ++b) {
    for (int p = 0; p < 4; ++p) sums[b][p] = hn::Zero(d);
  }
  for (int j = 0; j < unit.rank; ++j, from += unit.stride) {
    for (int p = 0; p < 4; ++p) {
      const auto v = hn::LoadU(d, from + static_cast<size_t>(p) * lanes);
      for (int b = 0; b < blocks; ++b) {
        const auto mix = hn::Set(d, block[b].mix[j]);
        sums[b][p] = hn::MulAdd(v, mix, sums[b][p]);
      }
    }
  }
}

template <int blocks, bool paired, class T>
HWY_INLINE void LargestOf(const UnitSums<T>& unit, const BlockScores<T>* block, T* largest) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const int signs = unit.signs();
  using V = hn::Vec<Tag<T>>;
  V bounded[blocks], exact[blocks];
  for (int b = 0; b < blocks; ++b) bounded[b] = exact[b] = hn::Zero(d);
  const int first = HWY_MIN(unit.begin[0], unit.begin[1]), last = HWY_MAX(unit.end[0], unit.end[1]);
  for (int f = first; f < last; ++f) {
    V sums[blocks][4];
    if (paired) Mix<blocks>(unit, block, f, sums);
    for (int sign = 0; sign < signs; ++sign) {
      if (f < unit.begin[sign] || f >= unit.end[sign]) continue;
      for (int b = 0; b < blocks; ++b) {
        const Sums<T> z = paired ? PairedSums<T>(sums[b], sign) : BinSums(unit, f, sign);
        const KappaRow<T>& kappa = block[b].kappa;
        const std::int32_t at = kappa.at[f * signs + sign];
        if (at < 0) {
          auto power = hn::Mul(z.re, z.re);
          if (!unit.phase_fixed) power = hn::MulAdd(z.im, z.im, power);
          bounded[b] = hn::Max(bounded[b], hn::Mul(power, hn::Set(d, kappa.weight[f * signs + sign])));
        } else {
          exact[b] = hn::Max(exact[b],
                             Bound(block[b], unit.phase_fixed, kappa.exact + static_cast<size_t>(at) * 2 * lanes, z));
        }
      }
    }
  }
  for (int b = 0; b < blocks; ++b) {
    const auto spread =
        hn::Mul(hn::LoadU(d, block[b].error2), hn::Set(d, (1 + 1 / block[b].eta) * block[b].kappa.largest_weight));
    const auto most = hn::Max(exact[b], hn::MulAdd(bounded[b], hn::Set(d, 1 + block[b].eta), spread));
    // Where there is no lane even an infinite bound counts for nothing.
    const auto inverse_norm = hn::LoadU(d, block[b].inverse_norm);
    const auto there = hn::Gt(inverse_norm, hn::Zero(d));
    largest[b] = hn::GetLane(hn::MaxOfLanes(d, hn::IfThenElseZero(there, hn::Mul(most, inverse_norm))));
  }
}

// Blocks at a time: four sums each, beside the vector that is read and a factor.
constexpr int kBlocks = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 4 : 2;

template <bool paired, class T>
HWY_INLINE void LargestOfAll(const UnitSums<T>& unit, const BlockScores<T>* blocks, int count, T* largest) {
  int b = 0;
  for (; b + kBlocks <= count; b += kBlocks) LargestOf<kBlocks, paired>(unit, blocks + b, largest + b);
  for (; b < count; ++b) LargestOf<1, paired>(unit, blocks + b, largest + b);
}

template <class T>
HWY_NOINLINE void Largest(const UnitSums<T>& unit, const BlockScores<T>* blocks, int count, T* largest) {
  if (unit.paired) {
    LargestOfAll<true>(unit, blocks, count, largest);
  } else {
    LargestOfAll<false>(unit, blocks, count, largest);
  }
}

// Every kappa of the block must have its entry.
template <class T>
HWY_NOINLINE void Bounds(const UnitSums<T>& unit, const BlockScores<T>& block, T* bounds) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto inverse_norm = hn::LoadU(d, block.inverse_norm);
  const auto there = hn::Gt(inverse_norm, hn::Zero(d));
  const int signs = unit.signs();
  for (int f = 0; f < unit.frequencies; ++f) {
    hn::Vec<Tag<T>> sums[1][4] = {{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)}};
    if (unit.paired) Mix<1>(unit, &block, f, sums);
    for (int sign = 0; sign < 2; ++sign) {
      auto value = hn::Zero(d);
      if (f >= unit.begin[sign] && f < unit.end[sign]) {
        const Sums<T> z = unit.paired ? PairedSums<T>(sums[0], sign) : BinSums(unit, f, sign);
        const T* kappa = block.kappa.exact + static_cast<size_t>(f * signs + sign) * 2 * lanes;
        value = hn::IfThenElseZero(there, hn::Mul(inverse_norm, Bound(block, unit.phase_fixed, kappa, z)));
      }
      hn::StoreU(value, d, bounds + (static_cast<size_t>(f) * 2 + static_cast<size_t>(sign)) * lanes);
    }
  }
}

template <class T>
ScreenKernels<T> Kernels() {
  const Tag<T> d;
  return {static_cast<int>(hn::Lanes(d)),
          &Window<T>,
          &Product<T>,
          &Panel<T>,
          &Wrap<T>,
          &Transform<T>,
          &Largest<T>,
          &Bounds<T>};
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
