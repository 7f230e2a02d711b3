// From fitted terms to the chirplets of a result.
#include "pursuit/describe.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "atoms/waveform.hpp"

namespace envoi::pursuit {

double peak_of(const Term& term, std::int64_t samples) {
  double peak = 0;
  atoms::for_each_sample<double>(
      term.atom, atoms::support(term.atom, samples), [&](std::int64_t, double, std::complex<double> g) {
        peak = std::max(peak, std::abs(term.alpha.real() * g.real() - term.alpha.imag() * g.imag()));
      });
  return peak;
}

double energy_of(const Term& term, const atoms::Samples& samples) {
  double energy = 0;
  atoms::for_each_sample<double>(term.atom, atoms::support(term.atom, samples.size),
                                 [&](std::int64_t k, double, std::complex<double> g) {
                                   if (samples.weight && samples.weight[term.atom.sample + k] == 0) return;
                                   const double m = term.alpha.real() * g.real() - term.alpha.imag() * g.imag();
                                   energy += m * m;
                                 });
  return energy;
}

namespace {
double rebuilt_energy(const Detrended& data, double start_s, double rate, std::span<const Chirplet> found) {
  std::vector<double> sum(data.value.size(), 0.0);
  for (Chirplet atom : found) {
    atom.amplitude = std::ldexp(atom.amplitude, -data.exponent);
    atoms::add_chirplet(atom, start_s, rate, sum);
  }
  double energy = 0;
  for (std::size_t n = 0; n < sum.size(); ++n) {
    const double rest = (data.value[n] - sum[n]) * data.weight[n];
    energy += rest * rest;
  }
  return energy;
}
}  // namespace

void judge_rebuilt(const Detrended& data, double rate_hz, std::span<Chirplet> found, Segment& segment) {
  if (found.empty()) return;
  segment.energy_left_share = found.back().energy_left_share =
      rebuilt_energy(data, segment.start_s, rate_hz, found) / data.energy;
  segment.snr_db = -10 * std::log10(std::max(segment.energy_left_share, kLeastResidual));
}

Chirplet describe(const Channel& channel, std::int64_t begin, const Detrended& data, const Term& term,
                  const TermErrors& errors) {
  const double rate = channel.rate_hz;
  Chirplet out;
  out.time_s = channel.start_s + (static_cast<double>(begin + term.atom.sample) + term.atom.offset) / rate;
  out.frequency_hz = term.atom.frequency * rate;
  out.duration_s = term.atom.duration() / rate;
  out.chirp_rate_hz_per_s = term.atom.chirp_rate * rate * rate + 0.0;  // no -0
  out.amplitude = std::ldexp(std::abs(term.alpha), data.exponent);
  out.phase_rad = out.amplitude > 0 ? std::arg(term.alpha) : 0;
  if (out.phase_rad <= -std::numbers::pi) out.phase_rad = std::numbers::pi;
  out.peak = std::ldexp(peak_of(term, data.samples().size), data.exponent);
  out.energy = std::ldexp(energy_of(term, data.samples()), 2 * data.exponent);
  out.energy_share = kUndetermined;
  out.se = {errors[0] / rate,
            errors[1] * rate,
            errors[2] * out.duration_s,
            errors[3] * rate * rate,
            std::ldexp(errors[4], data.exponent),
            errors[5]};
  return out;
}

}  // namespace envoi::pursuit
