// One chirplet on one segment: moments, fitted amplitude and phase, energy, gradient and Hessian.
// Pure functions in units of samples; no I/O, no allocation. `Real` is double, or long double in tests.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

namespace envoi::atoms {

inline constexpr double kSupport = 6.0;       // an atom ends at +-6 durations
inline constexpr double kParallelGap = 1e-3;  // below this 1 - |kappa| the two quadratures count as one
inline constexpr int kParameters = 4;         // order everywhere: centre, frequency, ln duration, chirp rate
enum Parameter { kCentre, kFrequency, kLnDuration, kChirpRate };

// g(u) = exp(-u^2 / (2 D^2)) exp(i 2 pi (f u + c u^2 / 2)), u = n - sample - offset.
// The centre is an integer plus an offset in [-1/2, 1/2), so a shift by whole samples changes no other bit.
struct Atom {
  std::int64_t sample = 0;
  double offset = 0;
  double frequency = 0;    // cycles a sample
  double ln_duration = 0;  // ln of the duration in samples
  double chirp_rate = 0;   // cycles a sample^2

  double duration() const { return std::exp(ln_duration); }
  double centre() const { return static_cast<double>(sample) + offset; }
  void set_centre(double tc) { move_to(0, tc); }
  // Centre = base + shift, with the integer part kept apart.
  void move_to(std::int64_t base, double shift) {
    const double whole = std::floor(shift + 0.5);
    sample = base + static_cast<std::int64_t>(whole);
    offset = shift - whole;
  }
};

// The samples of a segment; weight is null (all ones) or 0/1 a sample.
struct Samples {
  const double* value = nullptr;
  const double* weight = nullptr;
  std::int64_t size = 0;
};

// First and one past the last sample of the atom's support, relative to atom.sample, cut at the segment's edges.
struct Support {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline Support support(const Atom& atom, std::int64_t size) {
  const double reach = kSupport * atom.duration();
  const double low = std::max(std::ceil(atom.offset - reach), static_cast<double>(-atom.sample));
  const double high = std::min(std::floor(atom.offset + reach), static_cast<double>(size - 1 - atom.sample));
  if (!(low <= high)) return {0, 0};
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high) + 1};
}

// Calls visit(k, u, g) for each sample k of the support (relative to atom.sample), in ascending order.
// g follows a recurrence of ratios that is restarted from exp and sin every 16 samples (of k, so that the values do
// not depend on where a segment's edge cuts the support); its relative error stays below 1e-13 in double.
template <class Real, class Visit>
void for_each_sample(const Atom& atom, Support range, Visit&& visit) {
  using Complex = std::complex<Real>;
  constexpr std::int64_t kRestart = 16;
  const Real two_pi = 2 * std::numbers::pi_v<Real>;
  const Real d = std::exp(static_cast<Real>(atom.ln_duration));
  const Real inverse = 1 / (d * d);
  const Real f = atom.frequency, c = atom.chirp_rate, offset = atom.offset;
  const Complex growth = std::polar(std::exp(-inverse), two_pi * c);
  Complex g, ratio;
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const Real u = static_cast<Real>(k) - offset;
    if (k == range.begin || k % kRestart == 0) {
      const std::int64_t base = k >= 0 ? k / kRestart * kRestart : -((-k + kRestart - 1) / kRestart) * kRestart;
      const Real v = static_cast<Real>(base) - offset;
      g = std::polar(std::exp(-v * v * inverse / 2), two_pi * v * (f + c * v / 2));
      ratio = std::polar(std::exp(-(v + Real(0.5)) * inverse), two_pi * (f + c * (v + Real(0.5))));
      for (std::int64_t j = base; j < k; ++j) {
        g = Complex(g.real() * ratio.real() - g.imag() * ratio.imag(),
                    g.real() * ratio.imag() + g.imag() * ratio.real());
        ratio = Complex(ratio.real() * growth.real() - ratio.imag() * growth.imag(),
                        ratio.real() * growth.imag() + ratio.imag() * growth.real());
      }
    }
    visit(k, u, g);
    g = Complex(g.real() * ratio.real() - g.imag() * ratio.imag(), g.real() * ratio.imag() + g.imag() * ratio.real());
    ratio = Complex(ratio.real() * growth.real() - ratio.imag() * growth.imag(),
                    ratio.real() * growth.imag() + ratio.imag() * growth.real());
  }
}

// x[q] = sum w x u^q g, p[q] = sum w u^q |g|^2, s[q] = sum w u^q g^2.
template <class Real>
struct Moments {
  std::array<std::complex<Real>, 5> x{};
  std::array<Real, 5> p{};
  std::array<std::complex<Real>, 5> s{};
};

// The first `orders` moments (1 for the energy alone, 5 for the Hessian), summed in ascending order of samples.
template <class Real, int orders>
Moments<Real> moments(const Samples& samples, const Atom& atom) {
  Real xr[5] = {}, xi[5] = {}, p[5] = {}, sr[5] = {}, si[5] = {};
  for_each_sample<Real>(atom, support(atom, samples.size), [&](std::int64_t k, Real u, std::complex<Real> g) {
    const std::int64_t n = atom.sample + k;
    if (samples.weight && samples.weight[n] == 0) return;
    Real x = samples.value[n], re = g.real(), im = g.imag();
    Real power = re * re + im * im, square_re = re * re - im * im, square_im = 2 * re * im;
    re *= x, im *= x;
    for (int q = 0; q < orders; ++q) {
      xr[q] += re, xi[q] += im, p[q] += power, sr[q] += square_re, si[q] += square_im;
      if (q + 1 < orders) re *= u, im *= u, power *= u, square_re *= u, square_im *= u;
    }
  });
  Moments<Real> m;
  for (int q = 0; q < 5; ++q) m.x[q] = {xr[q], xi[q]}, m.p[q] = p[q], m.s[q] = {sr[q], si[q]};
  return m;
}

// The fitted real atom Re(alpha g) and the energy it takes out.
template <class Real>
struct Fit {
  std::complex<Real> alpha{};  // amplitude e^{i phase}
  Real energy = 0;
  Real kappa_magnitude = 0;
  bool parallel = false;  // only one quadrature was fitted
};

// Least-squares amplitude and phase (or the amplitude at phase 0) from the moments of order 0.
template <class Real>
Fit<Real> fit(const Moments<Real>& m, bool phase_fixed) {
  Fit<Real> result;
  const Real norm2 = m.p[0];
  if (!(norm2 > 0)) return result;
  const std::complex<Real> kappa = m.s[0] / norm2;
  result.kappa_magnitude = std::min(std::abs(kappa), Real(1));
  if (phase_fixed) {
    const Real real_norm2 = (norm2 + m.s[0].real()) / 2;
    if (!(real_norm2 > Real(1e-12) * norm2)) return result;
    result.alpha = m.x[0].real() / real_norm2;
    result.energy = m.x[0].real() * m.x[0].real() / real_norm2;
    result.parallel = true;
    return result;
  }
  const std::complex<Real> turn = std::polar(Real(1), std::arg(kappa) / 2);  // e^{i psi}
  const std::complex<Real> z = std::conj(m.x[0]) / std::sqrt(norm2) * turn;
  const Real sum = 1 + result.kappa_magnitude, gap = 1 - result.kappa_magnitude;
  result.parallel = gap < Real(kParallelGap);
  const Real second = result.parallel ? Real(0) : z.imag() / gap;
  result.energy = 2 * (z.real() * z.real() / sum + z.imag() * second);
  result.alpha = std::conj(turn) * std::complex<Real>(z.real() / sum, second) * (2 / std::sqrt(norm2));
  return result;
}

// A symmetric positive definite solve of small size, in place: a becomes its Cholesky factor.
template <class Real, int size>
struct SmallMatrix {
  std::array<std::array<Real, size>, size> a{};
  std::array<Real, size>& operator[](int i) { return a[i]; }
  const std::array<Real, size>& operator[](int i) const { return a[i]; }
};
template <class Real, int size>
bool cholesky(SmallMatrix<Real, size>& m, int n = size) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      Real sum = m[i][j];
      for (int k = 0; k < j; ++k) sum -= m[i][k] * m[j][k];
      if (i == j) {
        if (!(sum > 0)) return false;
        m[i][i] = std::sqrt(sum);
      } else {
        m[i][j] = sum / m[j][j];
      }
    }
  }
  return true;
}
template <class Real, int size>
void cholesky_solve(const SmallMatrix<Real, size>& factor, Real* b, int n = size) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) b[i] -= factor[i][k] * b[k];
    b[i] /= factor[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) b[i] -= factor[k][i] * b[k];
    b[i] /= factor[i][i];
  }
}

// Second-order information of E(theta), the energy with amplitude and phase solved, at the fitted atom.
template <class Real>
struct Curvature {
  Fit<Real> fit;
  std::array<Real, kParameters> gradient{};  // dE/dtheta
  std::complex<Real> left{};                 // sum of the residual times g
  // Half the Hessian of the squared residual in (theta, Re alpha, Im alpha); the last row is unused if one quadrature.
  SmallMatrix<Real, 6> full{};
  SmallMatrix<Real, 6> expected{};           // the same without the residual's terms: J'J
  SmallMatrix<Real, kParameters> reduced{};  // with the amplitudes eliminated: -1/2 d2E/dtheta2
};

// L_i = d log g / d theta_i as a polynomial in u: coefficients of 1, u, u^2.
template <class Real>
std::array<std::array<std::complex<Real>, 3>, kParameters> log_derivatives(const Atom& atom) {
  using Complex = std::complex<Real>;
  const Real pi = std::numbers::pi_v<Real>;
  const Real inverse = std::exp(-2 * static_cast<Real>(atom.ln_duration));
  const Real f = atom.frequency, c = atom.chirp_rate;
  return {{{Complex(0, -2 * pi * f), Complex(inverse, -2 * pi * c), Complex(0)},
           {Complex(0), Complex(0, 2 * pi), Complex(0)},
           {Complex(0), Complex(0), Complex(inverse)},
           {Complex(0), Complex(0), Complex(0, pi)}}};
}

// At any amplitude alpha: all but `fit` and `reduced`. `m`: the moments of all five orders.
template <class Real>
Curvature<Real> curvature_at(const Moments<Real>& m, const Atom& atom, std::complex<Real> alpha) {
  using Complex = std::complex<Real>;
  Curvature<Real> out;
  const Real pi = std::numbers::pi_v<Real>;
  const Real inverse = std::exp(-2 * static_cast<Real>(atom.ln_duration));
  const Real c = atom.chirp_rate;

  std::array<Complex, 5> r;  // moments of the residual x - Re(alpha g)
  for (int q = 0; q < 5; ++q) r[q] = m.x[q] - (alpha * m.s[q] + std::conj(alpha) * m.p[q]) / Real(2);

  out.left = r[0];

  const auto L = log_derivatives<Real>(atom);
  // d_i L_j, in the same form.
  std::array<std::array<std::array<Complex, 3>, kParameters>, kParameters> dL{};
  dL[kCentre][kCentre][0] = Complex(-inverse, 2 * pi * c);
  dL[kCentre][kFrequency][0] = dL[kFrequency][kCentre][0] = Complex(0, -2 * pi);
  dL[kCentre][kLnDuration][1] = dL[kLnDuration][kCentre][1] = Complex(-2 * inverse);
  dL[kCentre][kChirpRate][1] = dL[kChirpRate][kCentre][1] = Complex(0, -2 * pi);
  dL[kLnDuration][kLnDuration][2] = Complex(-2 * inverse);

  const Complex i_unit(0, 1);
  for (int i = 0; i < kParameters; ++i) {
    Complex lr{}, lp{}, ls{};
    for (int a = 0; a < 3; ++a) lr += L[i][a] * r[a], lp += L[i][a] * m.p[a], ls += L[i][a] * m.s[a];
    out.gradient[i] = 2 * (alpha * lr).real();
    // Against the two quadratures Re g and Re(i g).
    out.expected[i][4] = (alpha * (ls + lp)).real() / 2;
    out.expected[i][5] = (alpha * i_unit * (ls - lp)).real() / 2;
    out.full[i][4] = out.expected[i][4] - lr.real();
    out.full[i][5] = out.expected[i][5] - (i_unit * lr).real();
    for (int j = 0; j < kParameters; ++j) {
      Complex with_p{}, with_s{}, with_r{};
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
          const Complex product = L[i][a] * L[j][b];
          with_p += L[i][a] * std::conj(L[j][b]) * m.p[a + b];
          with_s += product * m.s[a + b];
          with_r += product * r[a + b];
        }
        with_r += dL[i][j][a] * r[a];
      }
      out.expected[i][j] = (std::norm(alpha) * with_p + alpha * alpha * with_s).real() / 2;
      out.full[i][j] = out.expected[i][j] - (alpha * with_r).real();
    }
  }
  out.full[4][4] = (m.p[0] + m.s[0].real()) / 2;
  out.full[5][5] = (m.p[0] - m.s[0].real()) / 2;
  out.full[4][5] = -m.s[0].imag() / 2;
  for (int i = 4; i < 6; ++i) {
    for (int j = 4; j < 6; ++j) {
      if (j < i) out.full[i][j] = out.full[j][i];
    }
  }
  for (int i = 4; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) out.full[i][j] = out.full[j][i], out.expected[i][j] = out.expected[j][i];
    for (int j = 4; j < 6; ++j) out.expected[i][j] = out.full[i][j];
  }
  return out;
}

template <class Real>
Curvature<Real> curvature(const Moments<Real>& m, const Atom& atom, bool phase_fixed) {
  const Fit<Real> fitted = fit(m, phase_fixed);
  const std::complex<Real> alpha = fitted.alpha;
  Curvature<Real> out = curvature_at(m, atom, alpha);
  out.fit = fitted;

  // Eliminate the amplitudes: one direction (phase fixed, or parallel quadratures: that of alpha), or both.
  if (phase_fixed || out.fit.parallel) {
    const Real length = std::abs(alpha);
    const Real a0 = length > 0 ? alpha.real() / length : Real(1), a1 = length > 0 ? alpha.imag() / length : Real(0);
    const Real aa = a0 * a0 * out.full[4][4] + 2 * a0 * a1 * out.full[4][5] + a1 * a1 * out.full[5][5];
    for (int i = 0; i < kParameters; ++i) {
      for (int j = 0; j < kParameters; ++j) {
        const Real hi = a0 * out.full[i][4] + a1 * out.full[i][5], hj = a0 * out.full[j][4] + a1 * out.full[j][5];
        out.reduced[i][j] = out.full[i][j] - (aa > 0 ? hi * hj / aa : Real(0));
      }
    }
  } else {
    const Real a = out.full[4][4], b = out.full[4][5], d = out.full[5][5], det = a * d - b * b;
    for (int i = 0; i < kParameters; ++i) {
      for (int j = 0; j < kParameters; ++j) {
        const Real i0 = out.full[i][4], i1 = out.full[i][5], j0 = out.full[j][4], j1 = out.full[j][5];
        out.reduced[i][j] = out.full[i][j] - (d * i0 * j0 - b * (i0 * j1 + i1 * j0) + a * i1 * j1) / det;
      }
    }
  }
  return out;
}

template <class Real>
Curvature<Real> curvature(const Samples& samples, const Atom& atom, bool phase_fixed) {
  return curvature(moments<Real, 5>(samples, atom), atom, phase_fixed);
}

// The energy alone: the score of an atom, in fp64, summed in ascending order of samples.
inline double energy(const Samples& samples, const Atom& atom, bool phase_fixed) {
  return fit(moments<double, 1>(samples, atom), phase_fixed).energy;
}

// destination[n] += scale * Re(alpha g(n)) on the support.
inline void add_atom(const Atom& atom, std::complex<double> alpha, double scale, double* destination,
                     std::int64_t size) {
  for_each_sample<double>(atom, support(atom, size), [&](std::int64_t k, double, std::complex<double> g) {
    destination[atom.sample + k] += scale * (alpha.real() * g.real() - alpha.imag() * g.imag());
  });
}

}  // namespace envoi::atoms
