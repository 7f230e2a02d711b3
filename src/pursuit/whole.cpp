// The rounds of the whole-signal pursuit.
#include "pursuit/whole.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/spectrum.hpp"
#include "pursuit/refine.hpp"

namespace envoi::pursuit {
namespace {

using atoms::Samples;

constexpr std::int64_t kLeastStretch = 256;
constexpr double kSlack = 1;  // durations that refinement may move a centre out of its stretch

// One stretch and where it stands. `round` counts its searches from 0.
struct Stretch {
  std::int64_t begin = 0, end = 0;  // centres that it owns
  std::int64_t from = 0, to = 0;    // samples that it sees
  const Prepared* prepared = nullptr;
  std::size_t quota = 0;
  bool missing = false;  // some of the samples that it sees

  bool loaded = false, decided = true, closed = false, touched = true, replayed = false, told = false;
  std::int32_t round = -1;
  double key = 0;                                          // the candidate's energy in this round
  double floor = std::numeric_limits<double>::infinity();  // lowest rank taken so far
  Winner winner;
  SearchState state;
  StretchRecord record;
};

class WholePursuit {
 public:
  WholePursuit(const Channel& channel, const PursuitOptions& options, core::ThreadPool& pool, const WholeHooks& hooks,
               std::int64_t at_once)
      : channel_(channel),
        options_(options),
        pool_(pool),
        hooks_(hooks),
        at_once_(at_once),
        scratch_(pool.size()),
        data_(detrend(channel, {0, static_cast<std::int64_t>(channel.samples.size()), 0, 0}, options.detrend)) {}

  SegmentResult run();

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(data_.value.size()); }
  void lay_stretches();
  bool fits(const Stretch& stretch, const StretchRecord& record) const;
  void load(Stretch& stretch, std::int64_t index);
  bool can_decide(std::int64_t i) const;
  bool best_of_its_round(std::int64_t i) const;
  bool can_search(std::int64_t i) const;
  void take(std::int64_t i);
  void search(std::int64_t i, unsigned worker);
  bool advance(std::int64_t low, std::int64_t high);
  void close(Stretch& stretch, StopReason reason);
  Samples seen(const Stretch& stretch, const std::vector<double>& values) const {
    return {values.data() + stretch.from, stretch.missing ? data_.weight.data() + stretch.from : nullptr,
            stretch.to - stretch.from};
  }
  double present(const Stretch& stretch) const;
  void pursue();
  double in_band_share() const;

  const Channel& channel_;
  const PursuitOptions& options_;
  core::ThreadPool& pool_;
  const WholeHooks& hooks_;
  const std::int64_t at_once_;
  std::vector<SearchState> scratch_;  // a worker each
  const Detrended data_;
  std::vector<double> residual_;
  Layout layout_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Prepared> prepared_;
  std::vector<Stretch> stretches_;
};

void WholePursuit::lay_stretches() {
  const double rate = channel_.rate_hz;
  layout_ = lay_out(size(), options_.durations_s->high * rate);
  const double slack = kSlack * options_.durations_s->high * rate;
  stretches_.resize(static_cast<std::size_t>(layout_.count));
  for (std::int64_t i = 0; i < layout_.count; ++i) {
    Stretch& s = stretches_[static_cast<std::size_t>(i)];
    s.begin = layout_.begin(i), s.end = layout_.end(i), s.from = layout_.from(i), s.to = layout_.to(i);
    // Whole atoms by the seconds that have begun, so that every stretch has its share.
    const double density = options_.stop.density_per_s ? *options_.stop.density_per_s : rate / 6;
    const auto quota_to = [&](std::int64_t sample) {
      return std::floor(density * static_cast<double>(sample) / rate + 1e-9);
    };
    s.quota = static_cast<std::size_t>(quota_to(s.end) - quota_to(s.begin));
    if (data_.missing) {
      for (std::int64_t n = s.from; n < s.to && !s.missing; ++n)
        s.missing = data_.weight[static_cast<std::size_t>(n)] == 0;
    }
    const std::int64_t left = s.begin - s.from, own = s.end - s.begin, all = s.to - s.from;
    const auto [at, fresh] = prepared_.try_emplace({left, own, all});
    s.prepared = &at->second;
    if (!fresh) continue;
    atoms::Grid& grid = at->second.grid = grid_for(channel_, options_, own);
    for (atoms::Block& block : grid.blocks) block.centre_first += static_cast<double>(left);
    grid.samples = all;
    grid.limits.low[atoms::kCentre] = std::max(0.0, static_cast<double>(left) - slack);
    grid.limits.high[atoms::kCentre] =
        std::min(static_cast<double>(all - 1), static_cast<double>(left + own - 1) + slack);
    at->second.searcher = std::make_unique<Searcher>(grid, options_.precision, options_.phase == Phase::fixed, pool_);
  }
}

double WholePursuit::present(const Stretch& stretch) const {
  if (!stretch.missing) return static_cast<double>(stretch.to - stretch.from);
  double sum = 0;
  for (std::int64_t n = stretch.from; n < stretch.to; ++n) sum += data_.weight[static_cast<std::size_t>(n)];
  return sum;
}

// A record is of this stretch; whatever else it says could not do harm.
bool WholePursuit::fits(const Stretch& stretch, const StretchRecord& record) const {
  const double longest = stretch.prepared->grid.limits.high[atoms::kLnDuration];
  return std::all_of(record.takes.begin(), record.takes.end(), [&](const Take& take) {
    const atoms::Atom& a = take.term.atom;
    return a.sample >= stretch.from && a.sample < stretch.to && std::abs(a.offset) <= 0.5 &&
           a.ln_duration <= longest + 1e-9 && a.ln_duration > -20 && std::isfinite(a.frequency) &&
           std::isfinite(a.chirp_rate) && std::isfinite(take.term.alpha.real()) &&
           std::isfinite(take.term.alpha.imag()) && take.round >= 0 && take.round <= record.closed;
  });
}

void WholePursuit::load(Stretch& stretch, std::int64_t index) {
  stretch.loaded = true;
  if (!hooks_.recall) return;
  if (auto record = hooks_.recall(index); record && fits(stretch, *record)) {
    stretch.record = std::move(*record);
    stretch.replayed = true;
  }
}

bool WholePursuit::can_decide(std::int64_t i) const {
  const Stretch& s = stretches_[static_cast<std::size_t>(i)];
  if (s.closed || s.decided) return false;
  for (const std::int64_t j : {i - 1, i + 1}) {
    if (j < 0 || j >= layout_.count) continue;
    const Stretch& n = stretches_[static_cast<std::size_t>(j)];
    if (n.closed && n.round < s.round) continue;
    if (!n.loaded || n.round != s.round) return false;
  }
  return true;
}

// Whether the stretch acts in this round: takes its candidate, or finds that it has none.
bool WholePursuit::best_of_its_round(std::int64_t i) const {
  const Stretch& s = stretches_[static_cast<std::size_t>(i)];
  if (!(s.key > 0)) return true;
  for (const std::int64_t j : {i - 1, i + 1}) {
    if (j < 0 || j >= layout_.count) continue;
    const Stretch& n = stretches_[static_cast<std::size_t>(j)];
    if (n.closed && n.round < s.round) continue;
    if (n.key > s.key || (n.key == s.key && j < i)) return false;
  }
  return true;
}

bool WholePursuit::can_search(std::int64_t i) const {
  const Stretch& s = stretches_[static_cast<std::size_t>(i)];
  if (!s.loaded || s.closed || !s.decided) return false;
  if (s.round < 0) return true;
  for (const std::int64_t j : {i - 1, i + 1}) {
    if (j < 0 || j >= layout_.count) continue;
    const Stretch& n = stretches_[static_cast<std::size_t>(j)];
    if (!n.closed && (n.round < s.round || (n.round == s.round && !n.decided))) return false;
  }
  return true;
}

void WholePursuit::close(Stretch& stretch, StopReason reason) {
  stretch.closed = true;
  stretch.record.reason = reason;
  stretch.record.closed = stretch.round;
}

// Refines the candidate, asks the stop rules, subtracts.
void WholePursuit::take(std::int64_t i) {
  Stretch& s = stretches_[static_cast<std::size_t>(i)];
  const auto subtract = [&](const Term& term) {  // centre within what the stretch sees; returns what it gains
    double gain = 0;
    atoms::for_each_sample<double>(term.atom, atoms::support(term.atom, s.to - s.from),
                                   [&](std::int64_t k, double, std::complex<double> g) {
                                     const auto n = static_cast<std::size_t>(s.from + term.atom.sample + k);
                                     if (s.missing && data_.weight[n] == 0) return;
                                     const double m = term.alpha.real() * g.real() - term.alpha.imag() * g.imag();
                                     gain += m * (2 * residual_[n] - m);
                                     residual_[n] -= m;
                                   });
    return gain;
  };
  const auto touch = [&](const Term& term) {
    const atoms::Support range = atoms::support(term.atom, s.to - s.from);
    const std::int64_t begin = s.from + term.atom.sample + range.begin, end = s.from + term.atom.sample + range.end;
    for (std::int64_t j = std::max<std::int64_t>(0, i - 1); j <= std::min(layout_.count - 1, i + 1); ++j) {
      Stretch& n = stretches_[static_cast<std::size_t>(j)];
      if (begin < n.to && end > n.from) n.touched = true;
    }
  };
  if (s.replayed) {
    if (s.key > 0) {
      const auto at =
          std::find_if(s.record.takes.begin(), s.record.takes.end(), [&](const Take& t) { return t.round == s.round; });
      if (at != s.record.takes.end()) {
        Term term = at->term;
        term.atom.sample -= s.from;
        subtract(term);
        touch(term);
        s.floor = at->rank;
      }
    }
    if (s.round == s.record.closed) s.closed = true;
    return;
  }
  if (!(s.key > 0)) {
    return close(s, s.quota == 0 ? StopReason::density : present(s) == 0 ? StopReason::missing : StopReason::exhausted);
  }
  const Samples samples = seen(s, residual_);
  Term term;
  if (!refine_winner(*s.prepared, s.winner, samples, options_, term)) return close(s, StopReason::exhausted);
  const double taken = energy_of(term, samples);
  const StopRules& stop = options_.stop;
  if (stop.threshold && std::ldexp(taken, 2 * data_.exponent) < *stop.threshold) return close(s, StopReason::threshold);
  if (stop.noise_p) {
    double energy = 0;
    for (std::int64_t n = 0; n < samples.size; ++n) energy += samples.value[n] * samples.value[n];
    if (taken <= 2 * energy / present(s) * std::log(noise_trials(s.prepared->grid) / *stop.noise_p))
      return close(s, StopReason::noise);
  }
  Take take;
  take.gain = subtract(term);
  if (!(take.gain > kLeastResidual * data_.energy)) {
    Term back = term;
    back.alpha = -back.alpha;
    subtract(back);
    touch(term);
    return close(s, StopReason::exhausted);
  }
  touch(term);
  take.round = s.round;
  take.rank = take.gain;
  for (std::int64_t j = std::max<std::int64_t>(0, i - 1); j <= std::min(layout_.count - 1, i + 1); ++j)
    take.rank = std::min(take.rank, stretches_[static_cast<std::size_t>(j)].floor);
  s.floor = take.rank;
  take.bound = s.winner.bound;
  take.survivors = s.winner.survivors;
  take.term = term;
  take.term.atom.sample += s.from;
  s.record.takes.push_back(take);
  if (s.record.takes.size() >= s.quota) close(s, StopReason::density);
}

void WholePursuit::search(std::int64_t i, unsigned worker) {
  Stretch& s = stretches_[static_cast<std::size_t>(i)];
  ++s.round;
  s.decided = false;
  if (s.replayed) {
    s.key = s.record.keys[static_cast<std::size_t>(s.round)];
    return;
  }
  if (s.touched) {
    hooks_.poll();
    s.touched = false;
    if (s.quota == 0) {
      s.winner = {};
    } else {
      const Samples samples = seen(s, residual_);
      const auto all = static_cast<std::size_t>(samples.size);
      s.state.swap_scratch(scratch_[worker]);
      s.winner = s.prepared->searcher->best({samples.value, all},
                                            samples.weight ? std::span(samples.weight, all) : std::span<const double>(),
                                            rivals_of(*s.prepared, options_), nullptr, &s.state);
      s.state.swap_scratch(scratch_[worker]);
    }
    s.key = s.winner.energy;
  }
  s.record.keys.push_back(s.key);
}

// One step of every stretch in [low, high) that can make one; false if none can.
bool WholePursuit::advance(std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> deciding, acting, searching;
  for (std::int64_t i = low; i < high; ++i) {
    if (!can_decide(i)) continue;
    deciding.push_back(i);
    if (best_of_its_round(i)) acting.push_back(i);
  }
  // Those that act are no neighbours, and what they touch is apart; a flag of a stretch between two may be set by both.
  for (const std::size_t odd : {0u, 1u}) {
    std::vector<std::int64_t> half;
    for (std::size_t n = odd; n < acting.size(); n += 2) half.push_back(acting[n]);
    pool_.run(half.size(), [&](std::size_t n, unsigned) { take(half[n]); });
  }
  for (const std::int64_t i : deciding) stretches_[static_cast<std::size_t>(i)].decided = true;
  for (std::int64_t i = low; i < high; ++i) {
    if (can_search(i)) searching.push_back(i);
  }
  pool_.run(searching.size(), [&](std::size_t n, unsigned worker) { search(searching[n], worker); });
  return !deciding.empty() || !searching.empty();
}

void WholePursuit::pursue() {
  std::int64_t low = 0, high = 0, open = 0;
  const auto extend = [&] {
    if (high == layout_.count) return false;
    load(stretches_[static_cast<std::size_t>(high)], high);
    ++high, ++open;
    return true;
  };
  while (low < layout_.count) {
    while (open < at_once_ && extend()) {
    }
    if (!advance(low, high)) extend();
    open = 0;
    for (std::int64_t i = low; i < high; ++i) {
      Stretch& s = stretches_[static_cast<std::size_t>(i)];
      if (!s.closed) {
        ++open;
      } else if (!s.told) {
        s.told = true;
        s.state = SearchState();
        if (hooks_.finished && !s.replayed) hooks_.finished(i, s.record);
        hooks_.done(s.end - s.begin);
      }
    }
    while (low < high && stretches_[static_cast<std::size_t>(low)].closed) ++low;
  }
}

double WholePursuit::in_band_share() const {
  double inside = 0, all = 0;
  for (const Stretch& s : stretches_) {
    const std::span<const double> own(data_.value.data() + s.begin, static_cast<std::size_t>(s.end - s.begin));
    double energy = 0;
    for (const double v : own) energy += v * v;
    all += energy;
    if (energy > 0)
      inside += energy * core::share_in_band(own, options_.band_hz->low / channel_.rate_hz,
                                             options_.band_hz->high / channel_.rate_hz);
  }
  return inside / all;
}

SegmentResult WholePursuit::run() {
  SegmentResult out;
  Segment& segment = out.segment;
  segment.start_s = channel_.start_s;
  segment.samples = data_.value.size();
  segment.missing_samples = data_.missing;
  segment.certificate = {options_.precision == Precision::exact ? "f32" : "f64", 0, {}};
  if (data_.present() == 0) {
    segment.stop_reason = StopReason::missing;
    return out;
  }
  segment.mean = data_.mean;
  segment.slope_per_s = data_.slope_per_s;
  segment.energy = std::ldexp(data_.energy, 2 * data_.exponent);
  if (!(data_.energy > 0)) {
    segment.stop_reason = StopReason::silence;
    return out;
  }
  residual_ = data_.value;
  lay_stretches();
  segment.in_band_share = in_band_share();
  pursue();
  std::vector<const StretchRecord*> records;
  for (const Stretch& s : stretches_) records.push_back(&s.record);
  summarise_whole(channel_, options_, layout_, data_, records, prepared_.begin()->second.grid.limits, pool_,
                  hooks_.poll, residual_, out);
  return out;
}

}  // namespace

Layout lay_out(std::int64_t samples, double longest_duration) {
  Layout out;
  out.samples = samples;
  out.reach = static_cast<std::int64_t>(std::ceil((atoms::kSupport + kSlack) * longest_duration)) + 1;
  out.stretch = std::max(kLeastStretch, 2 * out.reach);
  // A rest that is shorter than half a stretch belongs to the last one.
  out.count = std::max<std::int64_t>(1, (samples + out.stretch / 2) / out.stretch);
  return out;
}

atoms::Grid whole_grid(const Channel& channel, const PursuitOptions& resolved, bool limit_size) {
  const auto samples = static_cast<std::int64_t>(channel.samples.size());
  const Layout layout = lay_out(samples, resolved.durations_s->high * channel.rate_hz);
  return grid_for(channel, resolved, layout.count == 1 ? samples : layout.stretch, limit_size);
}

SegmentResult take_apart_whole(const Channel& channel, const PursuitOptions& options, core::ThreadPool& pool,
                               const WholeHooks& hooks, std::int64_t at_once) {
  return WholePursuit(channel, options, pool, hooks, at_once).run();
}

}  // namespace envoi::pursuit
