// One window: its trend, the atoms that are found in it one after the other, and what is said of them.
#include "pursuit/segment.hpp"

#include <algorithm>
#include <cmath>

#include "core/spectrum.hpp"
#include "pursuit/describe.hpp"
#include "pursuit/detrend.hpp"
#include "pursuit/model.hpp"
#include "pursuit/refine.hpp"

namespace envoi::pursuit {

using atoms::Grid;

namespace {

// White noise alone gives an alarm at a rate between p/5 and p when these shares of a 10% grid's atoms count as
// independent trials; measured by `quality/noise` of the benchmarks.
constexpr double kIndependentShare = 0.2, kIndependentShareOfGabor = 0.5;
constexpr int kRivals = 8;            // other starts refined beside the winner
constexpr double kRefitAlarm = 0.01;  // alarm rate that a joint refit must beat to move an atom, squared

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
  double trials() const { return noise_trials(prepared_.grid); }

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
  const Winner winner =
      prepared_.searcher->best(residual, data.weights(), rivals_of(prepared_, options_), pool_, &state_);
  if (!(winner.energy > 0)) return false;
  if (record) {
    certificate_.survivors.push_back(winner.survivors);
    certificate_.bound = std::max(certificate_.bound, winner.bound);
  }
  const atoms::Samples samples{residual.data(), data.missing ? data.weight.data() : nullptr,
                               static_cast<std::int64_t>(residual.size())};
  return refine_winner(prepared_, winner, samples, options_, found);
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
    if (stop.threshold && std::ldexp(taken, 2 * data.exponent) < *stop.threshold) return StopReason::threshold;
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
    out.atoms.push_back(describe(channel_, window.begin, data, terms[i], errors[i]));
    Chirplet& atom = out.atoms.back();
    if (options_.method == Method::mp) atom.energy_share = energy_of(terms[i], data.samples()) / data.energy;
    atom.energy_left_share = left[i] / data.energy;
    const double centre = static_cast<double>(window.begin) + terms[i].atom.centre();
    atom.kept = centre >= window.owns_from && centre < window.owns_to;
  }
  judge_rebuilt(data, channel_.rate_hz, out.atoms, segment);
  segment.atom_count = out.atoms.size();
  return out;
}

}  // namespace

int rivals_of(const Prepared& prepared, const PursuitOptions& options) {
  // An explicit grid's box belongs to its winner; a promise leaves room for other hills nearly as high.
  return options.refine && !prepared.grid.box ? kRivals : 0;
}

bool refine_winner(const Prepared& prepared, const Winner& winner, const atoms::Samples& residual,
                   const PursuitOptions& options, Term& found) {
  const bool fixed = options.phase == Phase::fixed;
  found.atom = prepared.grid.at(winner.index);
  if (!options.refine) {
    found.alpha = atoms::fit(atoms::moments<double, 1>(residual, found.atom), fixed).alpha;
    return true;
  }
  Refined best = refine(residual, found.atom, prepared.grid.limits_around(found.atom), fixed);
  for (const std::uint64_t index : winner.rivals) {
    const atoms::Atom start = prepared.grid.at(index);
    const Refined other = refine(residual, start, prepared.grid.limits_around(start), fixed);
    if (other.fit.energy > best.fit.energy * (1 + 1e-9)) best = other;
  }
  found = {best.atom, best.fit.alpha};
  return best.fit.energy > 0;
}

double noise_trials(const Grid& grid) {
  const bool gabor = grid.limits.low[atoms::kChirpRate] == grid.limits.high[atoms::kChirpRate];
  return std::max(1.0, (gabor ? kIndependentShareOfGabor : kIndependentShare) * grid.effective_atoms);
}

SegmentResult take_apart(const Channel& channel, const PursuitOptions& options, const Prepared& prepared,
                         const Window& window, core::ThreadPool* pool, SearchState& state,
                         const std::function<void()>& poll) {
  return SegmentPursuit(channel, options, prepared, pool, state, poll).run(window);
}

}  // namespace envoi::pursuit
