// A window of several channels taken apart together: one time, frequency, duration and chirp rate an atom for all.
#include <algorithm>
#include <cmath>

#include "core/spectrum.hpp"
#include "pursuit/describe.hpp"
#include "pursuit/detrend.hpp"
#include "pursuit/segment.hpp"
#include "pursuit/together.hpp"

namespace envoi::pursuit {
namespace {

// x with P(chi^2 of 2 n degrees of freedom > 2 x) = p: the tail is e^-x sum of x^k / k!, k < n.
double chi_square_half(std::size_t n, double p) {
  const auto log_tail = [&](double x) {
    double term = 1, sum = 1;
    for (std::size_t k = 1; k < n; ++k) sum += term *= x / static_cast<double>(k);
    return std::log(sum) - x;
  };
  double low = 0, high = 1;
  while (log_tail(high) > std::log(p)) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (log_tail(middle) > std::log(p) ? low : high) = middle;
  }
  return high;
}

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return sum;
}

class JointPursuit {
 public:
  JointPursuit(std::span<const Channel> channels, const PursuitOptions& options, const Prepared& prepared,
               const Window& window, core::ThreadPool* pool, SearchState& state, const std::function<void()>& poll)
      : channels_(channels),
        options_(options),
        prepared_(prepared),
        window_(window),
        pool_(pool),
        state_(state),
        poll_(poll),
        one_phase_(options.channels == Channels::joint_phase) {
    state_.forget();
  }

  std::vector<SegmentResult> run();

 private:
  void load();
  std::vector<atoms::Samples> samples_of(const std::vector<std::vector<double>>& values) const {
    std::vector<atoms::Samples> out;
    for (const std::vector<double>& v : values)
      out.push_back({v.data(), data_[0].missing ? data_[0].weight.data() : nullptr, window_.size});
    return out;
  }
  double present() const { return data_[0].present(); }
  bool find(Together& found);
  bool is_noise(const Together& found) const;
  StopReason collect();
  void refit();
  void describe_channel(std::size_t c, const std::vector<std::vector<TermErrors>>& errors, SegmentResult& out) const;

  std::span<const Channel> channels_;
  const PursuitOptions& options_;
  const Prepared& prepared_;
  const Window& window_;
  core::ThreadPool* pool_;
  SearchState& state_;
  const std::function<void()>& poll_;
  const bool one_phase_;
  std::vector<Detrended> data_;  // a channel each, in units of one power of two, with the same missing samples
  std::vector<std::vector<double>> residual_;
  std::vector<Together> terms_;
  Certificate certificate_;
};

// A sample that one channel lacks counts as missing in all.
void JointPursuit::load() {
  const auto begin = static_cast<std::size_t>(window_.begin), size = static_cast<std::size_t>(window_.size);
  std::vector<std::size_t> gaps;
  for (std::size_t n = begin; n < begin + size; ++n) {
    if (std::any_of(channels_.begin(), channels_.end(), [&](const Channel& c) { return std::isnan(c.samples[n]); }))
      gaps.push_back(n - begin);
  }
  int exponent = -4000;
  for (const Channel& channel : channels_) {
    Channel part;
    part.name = channel.name;
    part.rate_hz = channel.rate_hz;
    part.samples.assign(channel.samples.begin() + window_.begin,
                        channel.samples.begin() + window_.begin + window_.size);
    for (const std::size_t n : gaps) part.samples[n] = kUndetermined;
    data_.push_back(detrend(part, {0, window_.size, 0, 0}, options_.detrend));
    if (data_.back().energy > 0) exponent = std::max(exponent, data_.back().exponent);
  }
  for (Detrended& data : data_) {
    if (data.energy > 0) {
      for (double& v : data.value) v = std::ldexp(v, data.exponent - exponent);
      data.energy = std::ldexp(data.energy, 2 * (data.exponent - exponent));
    }
    data.exponent = exponent;
    residual_.push_back(data.value);
  }
}

bool JointPursuit::find(Together& found) {
  poll_();
  ChannelResiduals residuals{{}, data_[0].weights(), one_phase_};
  for (const std::vector<double>& r : residual_) residuals.residual.emplace_back(r);
  const Winner winner = prepared_.searcher->best(residuals, rivals_of(prepared_, options_), pool_, &state_);
  if (!(winner.energy > 0)) return false;
  certificate_.survivors.push_back(winner.survivors);
  certificate_.bound = std::max(certificate_.bound, winner.bound);
  const std::vector<atoms::Samples> samples = samples_of(residual_);
  const bool fixed = options_.phase == Phase::fixed;
  const atoms::Atom start = prepared_.grid.at(winner.index);
  if (!options_.refine) {
    found = fit_together(samples, start, fixed, one_phase_);
    return found.energy > 0;
  }
  found = refine_together(samples, start, prepared_.grid.limits_around(start), fixed, one_phase_);
  for (const std::uint64_t index : winner.rivals) {
    const atoms::Atom other = prepared_.grid.at(index);
    Together climbed = refine_together(samples, other, prepared_.grid.limits_around(other), fixed, one_phase_);
    if (climbed.energy > found.energy * (1 + 1e-9)) found = std::move(climbed);
  }
  return found.energy > 0;
}

// The energies of white noises, each over its own variance, add up to a chi square of two degrees of freedom a channel
// (with one phase: of fewer, so the alarm rate is lower).
bool JointPursuit::is_noise(const Together& found) const {
  const std::vector<atoms::Samples> samples = samples_of(residual_);
  double sum = 0;
  std::size_t channels = 0;
  for (std::size_t c = 0; c < residual_.size(); ++c) {
    const double energy = sum_of_squares(residual_[c]);
    if (!(energy > 0)) continue;
    sum += energy_of({found.atom, found.alpha[c]}, samples[c]) / (energy / present());
    ++channels;
  }
  return channels == 0 || sum / 2 <= chi_square_half(channels, *options_.stop.noise_p / noise_trials(prepared_.grid));
}

StopReason JointPursuit::collect() {
  const StopRules& stop = options_.stop;
  double all = 0;
  for (const Detrended& data : data_) all += data.energy;
  double energy = all;
  for (;;) {
    if (energy <= kLeastResidual * all) return StopReason::exhausted;
    Together found;
    if (!find(found)) return StopReason::exhausted;
    const std::vector<atoms::Samples> samples = samples_of(residual_);
    double taken = 0;
    for (std::size_t c = 0; c < residual_.size(); ++c) taken += energy_of({found.atom, found.alpha[c]}, samples[c]);
    if (stop.threshold && std::ldexp(taken, 2 * data_[0].exponent) < *stop.threshold) return StopReason::threshold;
    if (stop.noise_p && is_noise(found)) return StopReason::noise;
    terms_.push_back(found);
    std::vector<std::vector<double>> before = residual_;
    if (options_.method == Method::omp) {
      refit();
    } else {
      for (std::size_t c = 0; c < residual_.size(); ++c) {
        std::vector<double> next;
        residual_of(samples[c], {{found.atom, found.alpha[c]}}, next);
        residual_[c] = std::move(next);
      }
    }
    double left = 0;
    for (const std::vector<double>& r : residual_) left += sum_of_squares(r);
    if (!(left < energy)) {  // rounding: the atom takes nothing
      terms_.pop_back();
      if (options_.method == Method::omp) refit();
      residual_ = std::move(before);
      return StopReason::exhausted;
    }
    energy = left;
    if (stop.snr_db && 10 * std::log10(all / std::max(energy, kLeastResidual * all)) >= *stop.snr_db)
      return StopReason::snr;
    if (stop.energy_left_share && energy <= *stop.energy_left_share * all) return StopReason::energy;
    if (stop.atoms && terms_.size() >= *stop.atoms) return StopReason::atoms;
  }
}

// omp: all amplitudes and phases of each channel again.
void JointPursuit::refit() {
  for (std::size_t c = 0; c < residual_.size(); ++c) {
    std::vector<Term> own;
    for (const Together& term : terms_) own.push_back({term.atom, term.alpha[c]});
    std::vector<double> left;
    solve_amplitudes(data_[c].samples(), options_.phase == Phase::fixed, own, left);
    for (std::size_t i = 0; i < own.size(); ++i) terms_[i].alpha[c] = own[i].alpha;
    residual_of(data_[c].samples(), own, residual_[c]);
  }
}

void JointPursuit::describe_channel(std::size_t c, const std::vector<std::vector<TermErrors>>& errors,
                                    SegmentResult& out) const {
  const Channel& channel = channels_[c];
  const Detrended& data = data_[c];
  Segment& segment = out.segment;
  if (!(data.energy > 0)) {
    segment.stop_reason = StopReason::silence;
    return;
  }
  const Range band =
      options_.band_hz ? *options_.band_hz : Range{options_.grid->frequency_hz.first, options_.grid->frequency_hz.last};
  segment.in_band_share = core::share_in_band(data.value, band.low / channel.rate_hz, band.high / channel.rate_hz);
  std::vector<double> rest = data.value, next;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const Term term{terms_[i].atom, terms_[i].alpha[c]};
    const double left =
        residual_of({rest.data(), data.missing ? data.weight.data() : nullptr, window_.size}, {term}, next);
    rest.swap(next);
    out.atoms.push_back(describe(channel, window_.begin, data, term, errors[i][c]));
    Chirplet& atom = out.atoms.back();
    if (options_.method == Method::mp) atom.energy_share = energy_of(term, data.samples()) / data.energy;
    atom.energy_left_share = left / data.energy;
    const double centre = static_cast<double>(window_.begin) + term.atom.centre();
    atom.kept = centre >= window_.owns_from && centre < window_.owns_to;
  }
  judge_rebuilt(data, channel.rate_hz, out.atoms, segment);
  segment.atom_count = out.atoms.size();
}

std::vector<SegmentResult> JointPursuit::run() {
  load();
  std::vector<SegmentResult> out(channels_.size());
  certificate_ = {options_.precision == Precision::exact ? "f32" : "f64", 0, {}};
  const bool left_out = (data_[0].missing && options_.missing == Missing::reject) || present() == 0;
  double energy = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    Segment& segment = out[c].segment;
    segment.start_s = channels_[c].start_s + static_cast<double>(window_.begin) / channels_[c].rate_hz;
    segment.samples = static_cast<std::size_t>(window_.size);
    segment.missing_samples = data_[c].missing;
    segment.certificate = certificate_;
    segment.stop_reason = left_out ? StopReason::missing : StopReason::silence;
    if (left_out) continue;
    segment.mean = data_[c].mean;
    segment.slope_per_s = data_[c].slope_per_s;
    segment.energy = std::ldexp(data_[c].energy, 2 * data_[c].exponent);
    energy += data_[c].energy;
  }
  if (left_out || !(energy > 0)) return out;

  const StopReason reason = collect();
  std::vector<std::vector<TermErrors>> errors;
  const std::vector<atoms::Samples> left = samples_of(residual_);
  for (const Together& term : terms_) errors.push_back(standard_errors_together(left, term));
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c].segment.stop_reason = reason;
    out[c].segment.certificate = certificate_;
    describe_channel(c, errors, out[c]);
  }
  return out;
}

}  // namespace

std::vector<SegmentResult> take_apart_together(std::span<const Channel> channels, const PursuitOptions& options,
                                               const Prepared& prepared, const Window& window, core::ThreadPool* pool,
                                               SearchState& state, const std::function<void()>& poll) {
  return JointPursuit(channels, options, prepared, window, pool, state, poll).run();
}

}  // namespace envoi::pursuit
