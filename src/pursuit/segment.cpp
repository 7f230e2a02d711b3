// One window: its trend, the atoms that are found in it one after the other, and what is said of them.
#include "pursuit/segment.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "atoms/waveform.hpp"
#include "core/spectrum.hpp"
#include "envoi/error.hpp"
#include "pursuit/model.hpp"
#include "pursuit/refine.hpp"

namespace envoi::pursuit {

using atoms::Grid;

namespace {

// White noise alone gives an alarm at a rate between p/5 and p when these shares of a 10% grid's atoms count as
// independent trials; measured by `quality/noise` of the benchmarks.
constexpr double kIndependentShare = 0.2, kIndependentShareOfGabor = 0.5;
constexpr int kRivals = 8;                // other starts refined beside the winner
constexpr double kRefitAlarm = 0.01;      // alarm rate that a joint refit must beat to move an atom, squared
constexpr double kLeastResidual = 1e-32;  // of the segment's energy: where rounding ends a pursuit

// The window's samples without their trend, scaled by a power of two; NaN becomes weight 0.
struct Detrended {
  std::vector<double> value, weight;
  double mean = 0, slope_per_s = 0, energy = 0;
  std::size_t missing = 0;
  int exponent = 0;  // the values are in units of 2^exponent, so that squares neither overflow nor vanish
  std::span<const double> weights() const {
    return missing ? std::span<const double>(weight) : std::span<const double>();
  }
  atoms::Samples samples() const {
    return {value.data(), missing ? weight.data() : nullptr, static_cast<std::int64_t>(value.size())};
  }
  double present() const { return static_cast<double>(value.size() - missing); }
};

Detrended detrend(const Channel& channel, const Window& window, Detrend how) {
  Detrended out;
  const auto size = static_cast<std::size_t>(window.size);
  const double* x = channel.samples.data() + window.begin;
  out.value.assign(x, x + size);
  out.weight.assign(size, 1.0);
  double sum = 0, time_sum = 0, largest = 0;
  for (std::size_t n = 0; n < size; ++n) {
    if (std::isnan(x[n])) {
      out.value[n] = out.weight[n] = 0;
      ++out.missing;
    } else if (std::isinf(x[n])) {
      throw Error(ErrorKind::numerical, "channel " + channel.name + ": sample " +
                                            std::to_string(window.begin + static_cast<std::int64_t>(n) + 1) +
                                            " is infinite; mend it or mark it missing (NaN)");
    } else {
      sum += x[n];
      time_sum += static_cast<double>(n);
      largest = std::max(largest, std::abs(x[n]));
    }
  }
  const double present = out.present();
  if (present == 0) return out;
  if (!std::isfinite(largest * largest * present)) {
    std::ostringstream text;
    text << "channel " << channel.name << ": samples up to " << largest
         << " overflow when squared; rescale the recording";
    throw Error(ErrorKind::numerical, text.str());
  }
  double slope = 0;  // a sample
  const double mean_time = time_sum / present;
  if (how != Detrend::none) {
    out.mean = sum / present;
    double rest = 0;  // what rounding of the sum has left of the mean
    for (std::size_t n = 0; n < size; ++n) rest += (out.value[n] - out.mean) * out.weight[n];
    out.mean += rest / present;
  }
  if (how == Detrend::linear) {
    double st = 0, tt = 0;
    for (std::size_t n = 0; n < size; ++n) {
      const double t = (static_cast<double>(n) - mean_time) * out.weight[n];
      st += t * out.value[n], tt += t * t;
    }
    if (tt > 0) slope = st / tt;
    out.mean -= slope * mean_time;
    out.slope_per_s = slope * channel.rate_hz;
  }
  for (std::size_t n = 0; n < size; ++n) {
    if (out.weight[n] == 0) continue;
    out.value[n] -= out.mean + out.slope_per_s * (static_cast<double>(n) / channel.rate_hz);
  }
  double rest_largest = 0;
  for (const double v : out.value) rest_largest = std::max(rest_largest, std::abs(v));
  if (rest_largest > 0) std::frexp(rest_largest, &out.exponent);
  out.energy = 0;
  for (double& v : out.value) {
    v = std::ldexp(v, -out.exponent);
    out.energy += v * v;
  }
  const double rounding = std::ldexp(2e-15 * largest, -out.exponent);
  if (how != Detrend::none && out.energy <= present * rounding * rounding) {  // a constant, to rounding
    std::fill(out.value.begin(), out.value.end(), 0.0);
    out.energy = 0;
  }
  return out;
}

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

// What the atoms leave, from the numbers that the result will hold: so that whoever rebuilds the signal finds the same.
double rebuilt_energy(const Detrended& data, const Segment& segment, double rate, const std::vector<Chirplet>& found) {
  std::vector<double> sum(data.value.size(), 0.0);
  for (Chirplet atom : found) {
    atom.amplitude = std::ldexp(atom.amplitude, -data.exponent);
    atoms::add_chirplet(atom, segment.start_s, rate, sum);
  }
  double energy = 0;
  for (std::size_t n = 0; n < sum.size(); ++n) {
    const double rest = (data.value[n] - sum[n]) * data.weight[n];
    energy += rest * rest;
  }
  return energy;
}

// Limits for a joint fit: an explicit grid's box is around single winners, so only what keeps an atom an atom is left.
atoms::Limits joint_limits(const Grid& grid) {
  if (!grid.box) return grid.limits;
  const double n = static_cast<double>(grid.samples);
  atoms::Limits limits;
  limits.low = {-n, 1e-6, 0, -0.5};
  limits.high = {2 * n, 0.5 - 1e-6, std::log(4 * n), 0.5};
  return limits;
}

class SegmentPursuit {
 public:
  SegmentPursuit(const Channel& channel, const PursuitOptions& options, const Prepared& prepared,
                 core::ThreadPool* pool, SearchState& state, const std::function<void()>& poll)
      : channel_(channel),
        options_(options),
        prepared_(prepared),
        pool_(pool),
        state_(state),
        poll_(poll),
        fixed_(options.phase == Phase::fixed) {
    state_.forget();
  }

  SegmentResult run(const Window& window);

 private:
  bool find(const Detrended& data, const std::vector<double>& residual, Term& found, bool record);
  StopReason collect(const Detrended& data, std::vector<Term>& terms, std::vector<double>& left);
  double trials() const {
    const bool gabor = prepared_.grid.limits.low[atoms::kChirpRate] == prepared_.grid.limits.high[atoms::kChirpRate];
    return std::max(1.0, (gabor ? kIndependentShareOfGabor : kIndependentShare) * prepared_.grid.effective_atoms);
  }
  Chirplet describe(const Window& window, const Detrended& data, const Term& term, const TermErrors& errors) const;

  const Channel& channel_;
  const PursuitOptions& options_;
  const Prepared& prepared_;
  core::ThreadPool* pool_;
  SearchState& state_;
  const std::function<void()>& poll_;  // throws to cancel
  bool fixed_;
  Certificate certificate_;
};

// The best atom of a residual, refined; false if there is none.
bool SegmentPursuit::find(const Detrended& data, const std::vector<double>& residual, Term& found, bool record) {
  poll_();
  // An explicit grid's box belongs to its winner; a promise leaves room for other hills nearly as high.
  const int rivals = options_.refine && !prepared_.grid.box ? kRivals : 0;
  const Winner winner = prepared_.searcher->best(residual, data.weights(), rivals, pool_, &state_);
  if (!(winner.energy > 0)) return false;
  if (record) {
    certificate_.survivors.push_back(winner.survivors);
    certificate_.bound = std::max(certificate_.bound, winner.bound);
  }
  found.atom = prepared_.grid.at(winner.index);
  const atoms::Samples samples{residual.data(), data.missing ? data.weight.data() : nullptr,
                               static_cast<std::int64_t>(residual.size())};
  if (options_.refine) {
    Refined best = refine(samples, found.atom, prepared_.grid.limits_around(found.atom), fixed_);
    for (const std::uint64_t index : winner.rivals) {
      const atoms::Atom start = prepared_.grid.at(index);
      const Refined other = refine(samples, start, prepared_.grid.limits_around(start), fixed_);
      if (other.fit.energy > best.fit.energy * (1 + 1e-9)) best = other;
    }
    found = {best.atom, best.fit.alpha};
    return best.fit.energy > 0;
  }
  found.alpha = atoms::fit(atoms::moments<double, 1>(samples, found.atom), fixed_).alpha;
  return true;
}

StopReason SegmentPursuit::collect(const Detrended& data, std::vector<Term>& terms, std::vector<double>& left) {
  const StopRules& stop = options_.stop;
  std::vector<double> residual = data.value;
  double energy = data.energy;
  for (;;) {
    if (energy <= kLeastResidual * data.energy) return StopReason::exhausted;
    Term found;
    if (!find(data, residual, found, true)) return StopReason::exhausted;
    const double taken = energy_of(found, data.samples());
    if (stop.noise_p) {
      if (taken <= 2 * energy / data.present() * std::log(trials() / *stop.noise_p)) return StopReason::noise;
    }
    terms.push_back(found);
    if (options_.method == Method::omp) solve_amplitudes(data.samples(), fixed_, terms, left);
    std::vector<double> next;
    double next_energy = 0;
    if (options_.method == Method::omp) {
      next_energy = residual_of(data.samples(), terms, next);
    } else {
      const atoms::Samples before{residual.data(), data.missing ? data.weight.data() : nullptr,
                                  static_cast<std::int64_t>(residual.size())};
      next_energy = residual_of(before, {found}, next);
    }
    if (!(next_energy < energy)) {  // rounding: the atom takes nothing
      terms.pop_back();
      if (options_.method == Method::omp) solve_amplitudes(data.samples(), fixed_, terms, left);
      return StopReason::exhausted;
    }
    residual = std::move(next);
    energy = next_energy;
    if (options_.method != Method::omp) left.push_back(energy);
    if (stop.snr_db && 10 * std::log10(data.energy / std::max(energy, kLeastResidual * data.energy)) >= *stop.snr_db)
      return StopReason::snr;
    if (stop.energy_left_share && energy <= *stop.energy_left_share * data.energy) return StopReason::energy;
    if (stop.atoms && terms.size() >= *stop.atoms) return StopReason::atoms;
  }
}

Chirplet SegmentPursuit::describe(const Window& window, const Detrended& data, const Term& term,
                                  const TermErrors& errors) const {
  const double rate = channel_.rate_hz;
  Chirplet out;
  out.time_s = channel_.start_s + (static_cast<double>(window.begin + term.atom.sample) + term.atom.offset) / rate;
  out.frequency_hz = term.atom.frequency * rate;
  out.duration_s = term.atom.duration() / rate;
  out.chirp_rate_hz_per_s = term.atom.chirp_rate * rate * rate + 0.0;  // no -0
  out.amplitude = std::ldexp(std::abs(term.alpha), data.exponent);
  out.phase_rad = out.amplitude > 0 ? std::arg(term.alpha) : 0;
  if (out.phase_rad <= -std::numbers::pi) out.phase_rad = std::numbers::pi;
  out.peak = std::ldexp(peak_of(term, window.size), data.exponent);
  const double energy = energy_of(term, data.samples());
  out.energy = std::ldexp(energy, 2 * data.exponent);
  out.energy_share = options_.method == Method::mp ? energy / data.energy : kUndetermined;
  out.se = {errors[0] / rate,
            errors[1] * rate,
            errors[2] * out.duration_s,
            errors[3] * rate * rate,
            std::ldexp(errors[4], data.exponent),
            errors[5]};
  const double centre = static_cast<double>(window.begin) + term.atom.centre();
  out.kept = centre >= window.owns_from && centre < window.owns_to;
  return out;
}

SegmentResult SegmentPursuit::run(const Window& window) {
  SegmentResult out;
  Segment& segment = out.segment;
  const Detrended data = detrend(channel_, window, options_.detrend);
  segment.start_s = channel_.start_s + static_cast<double>(window.begin) / channel_.rate_hz;
  segment.samples = static_cast<std::size_t>(window.size);
  segment.missing_samples = data.missing;
  certificate_ = {options_.precision == Precision::exact ? "f32" : "f64", 0, {}};
  segment.certificate = certificate_;
  if ((data.missing && options_.missing == Missing::reject) || data.present() == 0) {
    segment.stop_reason = StopReason::missing;
    return out;
  }
  segment.mean = data.mean;
  segment.slope_per_s = data.slope_per_s;
  segment.energy = std::ldexp(data.energy, 2 * data.exponent);
  if (!(data.energy > 0)) {
    segment.stop_reason = StopReason::silence;
    return out;
  }
  const Range band =
      options_.band_hz ? *options_.band_hz : Range{options_.grid->frequency_hz.first, options_.grid->frequency_hz.last};
  segment.in_band_share = core::share_in_band(data.value, band.low / channel_.rate_hz, band.high / channel_.rate_hz);

  std::vector<Term> terms;
  std::vector<double> left;
  segment.stop_reason = collect(data, terms, left);
  if (options_.method == Method::joint && !terms.empty()) {
    const auto again = [&](const std::vector<double>& residual, Term& found) {
      return find(data, residual, found, false);
    };
    fit_thoroughly(data.samples(), joint_limits(prepared_.grid), fixed_, again, 4 * std::log(trials() / kRefitAlarm),
                   terms);
    // The order of the list is by energy; its amplitudes are those of the joint fit.
    std::stable_sort(terms.begin(), terms.end(), [&](const Term& a, const Term& b) {
      return energy_of(a, data.samples()) > energy_of(b, data.samples());
    });
    solve_amplitudes(data.samples(), fixed_, terms, left);
  }
  segment.certificate = certificate_;
  const auto errors = standard_errors(data.samples(), fixed_, options_.method == Method::joint, terms);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    out.atoms.push_back(describe(window, data, terms[i], errors[i]));
    out.atoms.back().energy_left_share = left[i] / data.energy;
  }
  if (!terms.empty()) {
    segment.energy_left_share = out.atoms.back().energy_left_share =
        rebuilt_energy(data, segment, channel_.rate_hz, out.atoms) / data.energy;
    segment.snr_db = -10 * std::log10(std::max(segment.energy_left_share, kLeastResidual));
  }
  segment.atom_count = out.atoms.size();
  return out;
}

}  // namespace

SegmentResult take_apart(const Channel& channel, const PursuitOptions& options, const Prepared& prepared,
                         const Window& window, core::ThreadPool* pool, SearchState& state,
                         const std::function<void()>& poll) {
  return SegmentPursuit(channel, options, prepared, pool, state, poll).run(window);
}

}  // namespace envoi::pursuit
