// Fits and slopes of one atom on several channels.
#include "pursuit/together.hpp"

#include <algorithm>
#include <cmath>

#include "pursuit/cpu/moments.hpp"

namespace envoi::pursuit {

using atoms::Atom;
using atoms::Fit;
using atoms::kParameters;
using atoms::Moments;
using atoms::Samples;
using Complex = std::complex<double>;

namespace {

// One phase for all: with w = e^{2 i phase}, x the channels' sums of x g, p and s those of |g|^2 and g^2, the energy is
// (a + Re(w q)) / (p + Re(w s)) where a = sum |x|^2, q = sum x^2. Its maximum is the larger root of a quadratic; where
// the two quadratures are parallel, the phase of the stronger one is taken as for a single channel.
struct OnePhase {
  Complex turn{1, 0};  // e^{i phase}
  double energy = 0;
};
OnePhase one_phase_of(std::span<const Complex> x, double p, Complex s) {
  OnePhase out;
  if (!(p > 0)) return out;
  double a = 0;
  Complex q = 0;
  for (const Complex v : x) a += std::norm(v), q += v * v;
  const double kappa = std::min(std::abs(s) / p, 1.0);
  if (1 - kappa < atoms::kParallelGap) {
    out.turn = std::polar(1.0, -std::arg(s) / 2);
  } else {
    const double quadratic = p * p - std::norm(s), linear = a * p - (q * std::conj(s)).real();
    const double rest = std::max(0.0, linear * linear - quadratic * (a * a - std::norm(q)));
    const double root = (linear + std::sqrt(rest)) / quadratic;
    const Complex w = std::conj(q - root * s);
    out.turn = std::abs(w) > 0 ? std::polar(1.0, std::arg(w) / 2) : Complex(1, 0);
  }
  const double norm2 = (p + (out.turn * out.turn * s).real()) / 2;
  for (const Complex v : x) {
    const double along = (out.turn * v).real();
    out.energy += along * along / norm2;
  }
  return out;
}

template <int orders>
std::vector<Moments<double>> moments_of(std::span<const Samples> channels, const Atom& atom) {
  std::vector<Moments<double>> out;
  out.reserve(channels.size());
  for (const Samples& samples : channels) out.push_back(atoms::moments<double, orders>(samples, atom));
  return out;
}

Together fit_moments(std::span<const Moments<double>> moments, const Atom& atom, bool phase_fixed, bool one_phase) {
  Together out;
  out.atom = atom;
  if (!one_phase) {
    for (const Moments<double>& m : moments) {
      const Fit<double> fit = atoms::fit(m, phase_fixed);
      out.alpha.push_back(fit.alpha);
      out.energy += fit.energy;
    }
    return out;
  }
  std::vector<Complex> x;
  for (const Moments<double>& m : moments) x.push_back(m.x[0]);
  const double p = moments[0].p[0];
  const Complex s = moments[0].s[0];
  const OnePhase phase = one_phase_of(x, p, s);
  const double norm2 = (p + (phase.turn * phase.turn * s).real()) / 2;
  for (const Complex v : x)
    out.alpha.push_back(norm2 > 0 ? phase.turn * ((phase.turn * v).real() / norm2) : Complex(0));
  out.energy = phase.energy;
  return out;
}

// One phase: parameters (theta, phase) with the amplitudes eliminated, then the phase.
Slope slope_of_one_phase(std::span<const Samples> channels, const Atom& atom) {
  Slope out;
  const std::vector<Moments<double>> moments = moments_of<1>(channels, atom);
  const Together fitted = fit_moments(moments, atom, false, true);
  out.energy = fitted.energy;
  if (!(out.energy > 0)) return out;
  atoms::SmallMatrix<double, kParameters + 1> sum{};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const Complex alpha = fitted.alpha[c];
    const double length = std::abs(alpha);
    if (length == 0) continue;
    const auto here = atoms::curvature_at(fast_moments(channels[c], atom), atom, alpha);
    const double along[2] = {alpha.real() / length, alpha.imag() / length};
    const double turning[2] = {-alpha.imag(), alpha.real()};  // d alpha / d phase
    const auto across = [&](int i, const double(&d)[2]) { return here.full[i][4] * d[0] + here.full[i][5] * d[1]; };
    const auto both = [&](const double(&d)[2], const double(&e)[2]) {
      return d[0] * (here.full[4][4] * e[0] + here.full[4][5] * e[1]) +
             d[1] * (here.full[5][4] * e[0] + here.full[5][5] * e[1]);
    };
    const double n = both(along, along);
    if (!(n > 0)) continue;
    double with_amplitude[kParameters + 1], half[kParameters + 1][kParameters + 1];
    for (int i = 0; i < kParameters; ++i) {
      out.gradient[i] += here.gradient[i];
      with_amplitude[i] = across(i, along);
      for (int j = 0; j < kParameters; ++j) half[i][j] = here.full[i][j];
      half[i][kParameters] = half[kParameters][i] = across(i, turning);
    }
    // The amplitude times what is left against the turned quadrature: the mixed derivative has that besides J'J.
    const Complex turn(along[0], along[1]);
    with_amplitude[kParameters] = both(along, turning) - (Complex(0, 1) * turn * here.left).real();
    half[kParameters][kParameters] = both(turning, turning) + (alpha * here.left).real();
    for (int i = 0; i <= kParameters; ++i) {
      for (int j = 0; j <= kParameters; ++j) sum[i][j] += half[i][j] - with_amplitude[i] * with_amplitude[j] / n;
    }
  }
  const double turning = sum[kParameters][kParameters];
  for (int i = 0; i < kParameters; ++i) {
    for (int j = 0; j < kParameters; ++j) {
      out.curvature[i][j] = sum[i][j];
      if (turning > 0) out.curvature[i][j] -= sum[i][kParameters] * sum[kParameters][j] / turning;
    }
  }
  return out;
}

Slope slope_of(std::span<const Samples> channels, const Atom& atom, bool phase_fixed) {
  Slope out;
  for (const Samples& samples : channels) {
    const auto here = atoms::curvature(fast_moments(samples, atom), atom, phase_fixed);
    out.energy += here.fit.energy;
    for (int i = 0; i < kParameters; ++i) {
      out.gradient[i] += here.gradient[i];
      for (int j = 0; j < kParameters; ++j) out.curvature[i][j] += here.reduced[i][j];
    }
  }
  return out;
}

}  // namespace

double together_energy(std::span<const Samples> channels, const Atom& atom, bool phase_fixed, bool one_phase) {
  if (channels.size() == 1) return atoms::energy(channels[0], atom, phase_fixed);
  return fit_together(channels, atom, phase_fixed, one_phase).energy;
}

Together fit_together(std::span<const Samples> channels, const Atom& atom, bool phase_fixed, bool one_phase) {
  return fit_moments(moments_of<1>(channels, atom), atom, phase_fixed, one_phase);
}

Together refine_together(std::span<const Samples> channels, const Atom& start, const atoms::Limits& limits,
                         bool phase_fixed, bool one_phase) {
  const Atom top = climb(
      [&](const Atom& atom) {
        return one_phase ? slope_of_one_phase(channels, atom) : slope_of(channels, atom, phase_fixed);
      },
      start, limits);
  return fit_together(channels, top, phase_fixed, one_phase);
}

std::vector<TermErrors> standard_errors_together(std::span<const Samples> residual, const Together& term) {
  std::vector<TermErrors> out(residual.size());
  std::vector<atoms::Curvature<double>> here;
  std::vector<double> variance;
  atoms::SmallMatrix<double, kParameters> information{};
  for (std::size_t c = 0; c < residual.size(); ++c) {
    out[c].fill(kUndetermined);
    const Samples& samples = residual[c];
    std::vector<double> own(samples.value, samples.value + samples.size);
    double energy = 0, present = 0;
    for (std::int64_t n = 0; n < samples.size; ++n) {
      energy += own[static_cast<std::size_t>(n)] * own[static_cast<std::size_t>(n)];
      present += samples.weight ? samples.weight[n] : 1;
    }
    atoms::add_atom(term.atom, term.alpha[c], 1, own.data(), samples.size);
    const Samples with{own.data(), samples.weight, samples.size};
    here.push_back(atoms::curvature<double>(with, term.atom, false));
    variance.push_back(energy / std::max(1.0, present - 6));
    if (!(variance.back() > 0)) continue;
    for (int i = 0; i < kParameters; ++i) {
      for (int j = 0; j < kParameters; ++j) information[i][j] += here.back().reduced[i][j] / variance.back();
    }
  }
  // Scaled to a unit diagonal, inverted column by column.
  double scale[kParameters], covariance[kParameters][kParameters];
  for (int i = 0; i < kParameters; ++i) {
    if (!(information[i][i] > 0)) return out;
    scale[i] = 1 / std::sqrt(information[i][i]);
  }
  for (int i = 0; i < kParameters; ++i) {
    for (int j = 0; j < kParameters; ++j) information[i][j] *= scale[i] * scale[j];
  }
  if (!atoms::cholesky(information)) return out;
  for (int j = 0; j < kParameters; ++j) {
    double column[kParameters] = {};
    column[j] = 1;
    atoms::cholesky_solve(information, column);
    for (int i = 0; i < kParameters; ++i) covariance[i][j] = column[i] * scale[i] * scale[j];
  }
  for (std::size_t c = 0; c < residual.size(); ++c) {
    for (std::size_t i = 0; i < kParameters; ++i) out[c][i] = std::sqrt(covariance[i][i]);
    const Complex alpha = term.alpha[c];
    const double a = here[c].full[4][4], b = here[c].full[4][5], d = here[c].full[5][5], det = a * d - b * b;
    const double size2 = std::norm(alpha);
    if (here[c].fit.parallel || !(det > 0) || !(size2 > 0) || !(variance[c] > 0)) continue;
    const double inverse[2][2] = {{d / det, -b / det}, {-b / det, a / det}};
    double moves[2][kParameters];  // of the amplitude's two parts with each parameter
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < kParameters; ++j)
        moves[i][j] = inverse[i][0] * here[c].full[j][4] + inverse[i][1] * here[c].full[j][5];
    }
    const auto spread = [&](double re, double im) {
      const double direction[2] = {re, im};
      double sum = 0;
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          double part = variance[c] * inverse[i][j];
          for (int k = 0; k < kParameters; ++k) {
            for (int l = 0; l < kParameters; ++l) part += moves[i][k] * covariance[k][l] * moves[j][l];
          }
          sum += direction[i] * part * direction[j];
        }
      }
      return std::sqrt(sum);
    };
    const double size = std::sqrt(size2);
    out[c][4] = spread(alpha.real() / size, alpha.imag() / size);
    out[c][5] = spread(-alpha.imag() / size, alpha.real() / size) / size;
  }
  return out;
}

}  // namespace envoi::pursuit
