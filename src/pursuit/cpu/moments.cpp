// Moments of samples against one atom, compiled once an instruction set by Highway.
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pursuit/cpu/moments.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "pursuit/cpu/moments.hpp"

HWY_BEFORE_NAMESPACE();
namespace envoi::pursuit {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<double>;
using V = hn::Vec<Tag>;

constexpr int64_t kLanes = HWY_LANES(double);
constexpr int64_t kRestart = 16;  // steps between values made anew from exp and sin
constexpr int kOrders = 5;

// g = exp(magnitude) e^(i phase) of every lane.
struct Wave {
  V re, im;
};
template <class Exponent>
HWY_INLINE Wave FromPolar(const Exponent& exponent) {
  HWY_ALIGN double re[kLanes], im[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    double log_magnitude, phase;
    exponent(lane, log_magnitude, phase);
    const double magnitude = std::exp(log_magnitude);
    re[lane] = magnitude * std::cos(phase);
    im[lane] = magnitude * std::sin(phase);
  }
  return {hn::Load(Tag(), re), hn::Load(Tag(), im)};
}
HWY_INLINE Wave Times(Wave a, Wave b) {
  return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

void Moments5(const atoms::Samples& samples, const atoms::Atom& atom, atoms::Moments<double>& out) {
  const Tag d;
  const atoms::Support range = atoms::support(atom, samples.size);
  const double duration = std::exp(atom.ln_duration), inverse = 1 / (duration * duration);
  const double f = atom.frequency, c = atom.chirp_rate, turn = 2 * std::numbers::pi;
  constexpr double step = kLanes;
  const Wave growth = FromPolar([&](int64_t, double& log_magnitude, double& phase) {
    log_magnitude = -step * step * inverse;
    phase = turn * c * step * step;
  });
  V xr[kOrders], xi[kOrders], p[kOrders], sr[kOrders], si[kOrders];
  for (int q = 0; q < kOrders; ++q) xr[q] = xi[q] = p[q] = sr[q] = si[q] = hn::Zero(d);

  const double* value = samples.value + atom.sample;
  const double* weight = samples.weight ? samples.weight + atom.sample : nullptr;
  Wave g{hn::Zero(d), hn::Zero(d)}, ratio = g;
  V u = hn::Zero(d);
  int64_t until_restart = 0;
  for (int64_t k = range.begin; k < range.end; k += kLanes, --until_restart) {
    const double v0 = static_cast<double>(k) - atom.offset;
    if (until_restart == 0) {
      until_restart = kRestart;
      g = FromPolar([&](int64_t lane, double& log_magnitude, double& phase) {
        const double v = v0 + static_cast<double>(lane);
        log_magnitude = -v * v * inverse / 2;
        phase = turn * v * (f + c * v / 2);
      });
      ratio = FromPolar([&](int64_t lane, double& log_magnitude, double& phase) {
        const double v = v0 + static_cast<double>(lane);
        log_magnitude = -(v + step / 2) * step * inverse;
        phase = turn * step * (f + c * (v + step / 2));
      });
      HWY_ALIGN double at[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) at[lane] = v0 + static_cast<double>(lane);
      u = hn::Load(d, at);
    }
    V x, there;
    if (k + kLanes <= range.end) {
      x = hn::LoadU(d, value + k);
      there = weight ? hn::LoadU(d, weight + k) : hn::Set(d, 1.0);
    } else {
      HWY_ALIGN double some[kLanes] = {}, of[kLanes] = {};
      for (int64_t lane = 0; k + lane < range.end; ++lane) {
        some[lane] = value[k + lane];
        of[lane] = weight ? weight[k + lane] : 1;
      }
      x = hn::Load(d, some);
      there = hn::Load(d, of);
    }
    const V wr = hn::Mul(g.re, there), wi = hn::Mul(g.im, there);
    V re = hn::Mul(wr, x), im = hn::Mul(wi, x);
    V power = hn::MulAdd(wr, g.re, hn::Mul(wi, g.im)), square_re = hn::Sub(hn::Mul(wr, g.re), hn::Mul(wi, g.im));
    V square_im = hn::Mul(hn::Add(wr, wr), g.im);
    for (int q = 0; q < kOrders; ++q) {
      xr[q] = hn::Add(xr[q], re), xi[q] = hn::Add(xi[q], im), p[q] = hn::Add(p[q], power);
      sr[q] = hn::Add(sr[q], square_re), si[q] = hn::Add(si[q], square_im);
      if (q + 1 < kOrders) {
        re = hn::Mul(re, u), im = hn::Mul(im, u), power = hn::Mul(power, u);
        square_re = hn::Mul(square_re, u), square_im = hn::Mul(square_im, u);
      }
    }
    g = Times(g, ratio);
    ratio = Times(ratio, growth);
    u = hn::Add(u, hn::Set(d, step));
  }
  const auto sum = [&](V v) {
    HWY_ALIGN double lane[kLanes];
    hn::Store(v, d, lane);
    double total = 0;
    for (const double part : lane) total += part;
    return total;
  };
  for (int q = 0; q < kOrders; ++q) {
    out.x[static_cast<size_t>(q)] = {sum(xr[q]), sum(xi[q])};
    out.p[static_cast<size_t>(q)] = sum(p[q]);
    out.s[static_cast<size_t>(q)] = {sum(sr[q]), sum(si[q])};
  }
}

using Kernel = void (*)(const atoms::Samples&, const atoms::Atom&, atoms::Moments<double>&);
Kernel MomentsKernel() { return &Moments5; }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::pursuit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::pursuit {
HWY_EXPORT(MomentsKernel);

atoms::Moments<double> fast_moments(const atoms::Samples& samples, const atoms::Atom& atom) {
  static const auto kernel = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(MomentsKernel)(); });
  atoms::Moments<double> out;
  kernel(samples, atom, out);
  return out;
}

}  // namespace envoi::pursuit
#endif  // HWY_ONCE
