// Re-referencing, filters and resampling of a recording in memory: everything is checked first, then done channel by
// channel, each run between missing samples on its own.
#include "condition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"
#include "filters.hpp"
#include "montage.hpp"
#include "resample.hpp"
#include "shared.hpp"

namespace envoi {
namespace {

using signal::bad_argument;
using signal::printable;
using signal::rounded;

constexpr double kNotchQuality = 30;
constexpr double kLowestShare = 1e-5;  // of the rate; below, rounding takes more from a filter than the filter does

void require_positive(const Recording& recording, const char* what, double value_hz) {
  if (!(value_hz > 0) || !std::isfinite(value_hz))
    bad_argument(recording.name, std::string(what) + " of " + rounded(value_hz) + " Hz; it must be above 0");
}

void check_frequencies(const Recording& recording, const Conditioning& c, const std::vector<std::size_t>& channels) {
  if (c.high_pass_hz) require_positive(recording, "a high-pass", *c.high_pass_hz);
  if (c.low_pass_hz) require_positive(recording, "a low-pass", *c.low_pass_hz);
  for (const double notch_hz : c.notch_hz) {
    require_positive(recording, "a notch", notch_hz);
    if (std::count(c.notch_hz.begin(), c.notch_hz.end(), notch_hz) > 1)
      bad_argument(recording.name, "the notch at " + rounded(notch_hz) + " Hz is given twice; give it once");
  }
  if (c.resample_hz) require_positive(recording, "a rate", *c.resample_hz);
  if (c.high_pass_hz && c.low_pass_hz && *c.high_pass_hz >= *c.low_pass_hz)
    bad_argument(recording.name, "a high-pass of " + rounded(*c.high_pass_hz) + " Hz and a low-pass of " +
                                     rounded(*c.low_pass_hz) +
                                     " Hz leave nothing; the high-pass must be the lower of the two");
  for (const std::size_t i : channels) {
    const Channel& channel = recording.channels[i];
    const auto below_nyquist = [&](const char* what, double value_hz) {
      if (value_hz < kLowestShare * channel.rate_hz)
        bad_argument(recording.name, std::string(what) + " of " + rounded(value_hz) + " Hz is too low for channel '" +
                                         printable(channel.name) + "' at " + rounded(channel.rate_hz) +
                                         " Hz to be computed; give " + rounded(kLowestShare * channel.rate_hz) +
                                         " Hz or more");
      if (value_hz < channel.rate_hz / 2) return;
      bad_argument(recording.name, std::string(what) + " of " + rounded(value_hz) + " Hz, but channel '" +
                                       printable(channel.name) + "' has nothing from " + rounded(channel.rate_hz / 2) +
                                       " Hz on (half its rate); lower it, or leave the channel out");
    };
    if (c.high_pass_hz) below_nyquist("a high-pass", *c.high_pass_hz);
    if (c.low_pass_hz) below_nyquist("a low-pass", *c.low_pass_hz);
    for (const double notch_hz : c.notch_hz) below_nyquist("a notch", notch_hz);
    if (c.resample_hz && !signal::rate_ratio(channel.rate_hz, *c.resample_hz))
      bad_argument(recording.name, "channel '" + printable(channel.name) + "' cannot go from " +
                                       rounded(channel.rate_hz, 12) + " to " + rounded(*c.resample_hz, 12) +
                                       " Hz: their ratio is no fraction of numbers up to 262144");
    if (std::any_of(channel.samples.begin(), channel.samples.end(), [](double x) { return std::isinf(x); }))
      throw Error(ErrorKind::numerical, printable(recording.name, 300) + ": channel '" + printable(channel.name) +
                                            "' holds infinite samples, which cannot be filtered");
  }
}

template <class T>
std::vector<T> those(std::vector<T>& all, const std::vector<std::size_t>& which) {
  std::vector<T> out;
  for (const std::size_t i : which) out.push_back(std::move(all.at(i)));
  return out;
}

struct Run {
  std::size_t first = 0;
  std::size_t end = 0;
};

// The stretches without missing samples.
std::vector<Run> runs_of(const std::vector<double>& samples) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < samples.size();) {
    while (i < samples.size() && std::isnan(samples[i])) ++i;
    const std::size_t first = i;
    while (i < samples.size() && !std::isnan(samples[i])) ++i;
    if (i > first) runs.push_back({first, i});
  }
  return runs;
}

// Returns how many runs end before an impulse response of the filters has fallen to a tenth. The order bears on the
// ends alone: the notches come first, since the other filters would take a hum that ends for more than a hum.
std::size_t filter(Channel& channel, const Conditioning& c) {
  std::vector<std::vector<signal::Section>> passes;
  if (c.high_pass_hz) passes.push_back(signal::butterworth_high_pass(*c.high_pass_hz, channel.rate_hz));
  if (c.low_pass_hz) passes.push_back(signal::butterworth_low_pass(*c.low_pass_hz, channel.rate_hz));
  std::vector<std::vector<signal::Section>> notches;
  for (const double notch_hz : c.notch_hz) notches.push_back(signal::notch(notch_hz, channel.rate_hz, kNotchQuality));
  std::size_t settling = 0, short_runs = 0;
  for (const auto& filters : {passes, notches})
    for (const auto& sections : filters) settling = std::max(settling, signal::settling_samples(sections));
  for (const Run& run : runs_of(channel.samples)) {
    short_runs += run.end - run.first < settling / 3 ? 1 : 0;
    const std::span<double> samples = std::span(channel.samples).subspan(run.first, run.end - run.first);
    for (std::size_t i = 0; i < notches.size(); ++i)
      signal::notch_both_ways(notches[i], samples, c.notch_hz[i], channel.rate_hz);
    for (const auto& sections : passes) signal::filter_both_ways(sections, samples);
  }
  return short_runs;
}

// First new sample at or after `old` - 1/2: a sample stands for half a step to either side.
std::size_t first_new_of(std::size_t old, signal::RateRatio ratio) {
  if (old == 0) return 0;
  const std::uint64_t whole = (old - 1) / ratio.down * ratio.up;
  const std::uint64_t rest = (2 * ((old - 1) % ratio.down) + 1) * ratio.up;
  return whole + (rest + 2 * ratio.down - 1) / (2 * ratio.down);
}

void resample(Channel& channel, double rate_hz, const signal::Resampler& resampler, signal::RateRatio ratio) {
  const std::vector<double> old = std::move(channel.samples);
  channel.samples.assign(signal::resampled_count(old.size(), ratio), std::numeric_limits<double>::quiet_NaN());
  channel.rate_hz = rate_hz;
  for (const Run& run : runs_of(old)) {
    const std::size_t first = first_new_of(run.first, ratio);
    const std::size_t end = run.end == old.size() ? channel.samples.size() : first_new_of(run.end, ratio);
    if (first >= end) continue;  // between two new samples
    resampler.apply(std::span(old).subspan(run.first, run.end - run.first), run.first,
                    std::span(channel.samples).subspan(first, end - first), first);
  }
}

}  // namespace

std::size_t signal::condition_and_count(Recording& recording, const Conditioning& c, const Wanted& wanted) {
  if (c.empty() || recording.channels.empty()) return 0;
  std::vector<signal::Difference> differences = signal::find_differences(recording, c.bipolar, wanted.file_names);
  if (!differences.empty() && wanted.channels) differences = those(differences, *wanted.channels);
  std::vector<std::size_t> needed;
  if (!differences.empty()) {
    for (const signal::Difference& d : differences) needed.insert(needed.end(), {d.plus, d.minus});
  } else if (wanted.channels) {
    needed = *wanted.channels;
  } else {
    needed.resize(recording.channels.size());
    std::iota(needed.begin(), needed.end(), std::size_t{0});
  }
  std::optional<signal::Reference> reference;
  if (!c.reference.empty()) reference = signal::find_reference(recording, c.reference, needed, wanted.file_names);
  check_frequencies(recording, c, needed);

  if (reference) signal::apply_reference(recording, *reference);
  if (!differences.empty())
    signal::apply_differences(recording, differences);
  else if (wanted.channels)
    recording.channels = those(recording.channels, needed);
  std::size_t short_runs = 0;
  for (Channel& channel : recording.channels) short_runs += filter(channel, c);
  if (!c.resample_hz) return short_runs;
  std::map<std::pair<std::uint64_t, std::uint64_t>, signal::Resampler> resamplers;
  for (Channel& channel : recording.channels) {
    const signal::RateRatio ratio = *signal::rate_ratio(channel.rate_hz, *c.resample_hz);
    if (ratio.up == ratio.down) continue;
    const auto known = resamplers.try_emplace({ratio.up, ratio.down}, ratio).first;
    resample(channel, *c.resample_hz, known->second, ratio);
  }
  return short_runs;
}

std::string signal::short_stretches_warning(std::size_t count) {
  return std::to_string(count) +
         " stretches (of all channels) are shorter than the filters take to settle; what the filters leave of them "
         "depends on how their ends are continued";
}

void condition(Recording& recording, const Conditioning& c) {
  if (const std::size_t short_runs = signal::condition_and_count(recording, c); short_runs > 0)
    recording.warnings.push_back(signal::short_stretches_warning(short_runs));
}

}  // namespace envoi
