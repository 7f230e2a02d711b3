#include "signals.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

namespace bench {

using std::numbers::pi;

Mixture mixture(int index) {
  std::mt19937 generator(static_cast<std::mt19937::result_type>(42 + index));
  std::normal_distribution<double> noise(0.0, 0.1);
  Mixture out;
  for (int n = 0; n < kSamples; ++n) {
    const double t = n / kRate;
    out.clean.push_back(0.5 * std::sin(2 * pi * 10 * t) + 0.3 * std::sin(2 * pi * 20 * t) +
                        0.4 * std::sin(2 * pi * 6 * t) + 0.2 * std::sin(2 * pi * (8 * t + t * t)));
    out.noisy.push_back(out.clean.back() + noise(generator));
  }
  return out;
}

envoi::ExplicitGrid mixture_grid() {
  envoi::ExplicitGrid grid;
  grid.time = {0, 511, 16};
  grid.time_in_samples = true;
  grid.frequency_hz = {0.5, 20, 1};
  grid.ln_duration = {-1.90, -0.10, 0.08};
  grid.chirp_rate_hz_per_s = {-40, 40, 2};
  return grid;
}

envoi::PursuitOptions mixture_options(envoi::Method method) {
  envoi::PursuitOptions options;
  options.grid = mixture_grid();
  options.detrend = envoi::Detrend::none;
  options.whole = true;
  options.stop.atoms = 10;
  options.method = method;
  return options;
}

envoi::Channel as_channel(std::vector<double> samples) {
  envoi::Channel channel;
  channel.name = "signal";
  channel.rate_hz = kRate;
  channel.kind = envoi::DataKind::biosignal;
  channel.samples = std::move(samples);
  return channel;
}

std::vector<double> rebuild(std::span<const envoi::Chirplet> atoms, std::size_t samples, double rate_hz,
                            double start_s) {
  std::vector<double> sum(samples);
  for (const envoi::Chirplet& atom : atoms) {
    for (std::size_t n = 0; n < samples; ++n) {
      const double u = start_s + static_cast<double>(n) / rate_hz - atom.time_s;
      if (std::abs(u) > 6 * atom.duration_s) continue;
      const double cycles = atom.frequency_hz * u + atom.chirp_rate_hz_per_s * u * u / 2;
      sum[n] += atom.amplitude * std::exp(-u * u / (2 * atom.duration_s * atom.duration_s)) *
                std::cos(2 * pi * cycles + atom.phase_rad);
    }
  }
  return sum;
}

double snr_db(std::span<const double> signal, std::span<const double> model) {
  double energy = 0, left = 0;
  for (std::size_t n = 0; n < signal.size(); ++n) {
    energy += signal[n] * signal[n];
    left += (signal[n] - model[n]) * (signal[n] - model[n]);
  }
  return 10 * std::log10(energy / left);
}

Truth truth_of(const envoi::Chirplet& atom) {
  return {atom.time_s,    atom.frequency_hz, std::log(atom.duration_s), atom.chirp_rate_hz_per_s,
          atom.amplitude, atom.phase_rad};
}

envoi::Chirplet chirplet_of(const Truth& truth) {
  envoi::Chirplet atom;
  atom.time_s = truth[0];
  atom.frequency_hz = truth[1];
  atom.duration_s = std::exp(truth[2]);
  atom.chirp_rate_hz_per_s = truth[3];
  atom.amplitude = truth[4];
  atom.phase_rad = truth[5];
  return atom;
}

Truth standard_errors_of(const envoi::Chirplet& atom) {
  return {atom.se.time_s,    atom.se.frequency_hz, atom.se.duration_s / atom.duration_s, atom.se.chirp_rate_hz_per_s,
          atom.se.amplitude, atom.se.phase_rad};
}

Truth difference(const Truth& found, const Truth& true_value) {
  Truth out;
  for (int i = 0; i < kTruths; ++i) out[i] = found[i] - true_value[i];
  out[5] = std::remainder(out[5], 2 * pi);
  return out;
}

// sigma^2 (J'J)^-1, J the derivatives of the sum of the chirplets' samples.
std::vector<Truth> cramer_rao(std::span<const Truth> chirplets, double sigma) {
  const std::size_t size = chirplets.size() * kTruths;
  std::vector<std::vector<long double>> information(size, std::vector<long double>(2 * size));
  for (int n = 0; n < kSamples; ++n) {
    std::vector<long double> slope;
    for (const auto& [tc, fc, ln_duration, chirp_rate, amplitude, phase] : chirplets) {
      const double u = n / kRate - tc, duration = std::exp(ln_duration);
      const bool inside = std::abs(u) <= 6 * duration;
      const std::complex<double> value =
          inside ? amplitude * std::exp(std::complex<double>(-u * u / (2 * duration * duration),
                                                             2 * pi * (fc * u + chirp_rate * u * u / 2) + phase))
                 : 0.0;
      const std::complex<double> i(0, 1);
      slope.push_back((value * (u / (duration * duration) - i * 2.0 * pi * (fc + chirp_rate * u))).real());
      slope.push_back((value * i * 2.0 * pi * u).real());
      slope.push_back(value.real() * u * u / (duration * duration));
      slope.push_back((value * i * pi * u * u).real());
      slope.push_back(value.real() / amplitude);
      slope.push_back((value * i).real());
    }
    for (std::size_t r = 0; r < size; ++r) {
      for (std::size_t c = 0; c < size; ++c) information[r][c] += slope[r] * slope[c];
    }
  }
  // Gauss-Jordan with the unit diagonal's scale taken out first.
  std::vector<long double> scale(size);
  for (std::size_t r = 0; r < size; ++r) scale[r] = std::sqrt(information[r][r]);
  for (std::size_t r = 0; r < size; ++r) {
    for (std::size_t c = 0; c < size; ++c) information[r][c] /= scale[r] * scale[c];
    information[r][size + r] = 1;
  }
  for (std::size_t p = 0; p < size; ++p) {
    std::size_t pivot = p;
    for (std::size_t r = p; r < size; ++r) {
      if (std::abs(information[r][p]) > std::abs(information[pivot][p])) pivot = r;
    }
    std::swap(information[p], information[pivot]);
    const long double inverse = 1 / information[p][p];
    for (long double& x : information[p]) x *= inverse;
    for (std::size_t r = 0; r < size; ++r) {
      if (r == p) continue;
      const long double factor = information[r][p];
      for (std::size_t c = 0; c < 2 * size; ++c) information[r][c] -= factor * information[p][c];
    }
  }
  std::vector<Truth> bounds(chirplets.size());
  for (std::size_t r = 0; r < size; ++r) {
    bounds[r / kTruths][r % kTruths] = sigma * static_cast<double>(std::sqrt(information[r][size + r]) / scale[r]);
  }
  return bounds;
}

}  // namespace bench
