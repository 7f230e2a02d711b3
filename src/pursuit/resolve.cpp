// Defaults by kind of data, and one clear sentence for each option that cannot be met.
#include "pursuit/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "envoi/error.hpp"

namespace envoi::pursuit {
namespace {

constexpr std::int64_t kLeastSamples = 8;
constexpr std::int64_t kWholeUpTo = 4096, kElseWindow = 1024;
constexpr double kMostAtoms = 1e10;

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

void check_range(const std::optional<Range>& range, const char* name, const char* unit, bool equal_is_fine) {
  if (!range) return;
  if (!std::isfinite(range->low) || !std::isfinite(range->high))
    refuse(text(name, " needs two finite numbers, LOW:HIGH in ", unit));
  if (range->low > range->high || (range->low == range->high && !equal_is_fine)) {
    refuse(text(name, " ", range->low, ":", range->high, " is upside down or empty; give LOW:HIGH in ", unit));
  }
}

void check_axis(const Axis& axis, const char* name) {
  if (!std::isfinite(axis.first) || !std::isfinite(axis.last) || !std::isfinite(axis.step))
    refuse(text("grid axis ", name, " needs finite numbers FIRST:LAST:STEP"));
  if (!(axis.step > 0)) refuse(text("grid axis ", name, " has step ", axis.step, "; it must be above 0"));
  if (axis.last < axis.first)
    refuse(text("grid axis ", name, " ends at ", axis.last, " before it begins at ", axis.first));
  if ((axis.last - axis.first) / axis.step > 1e9)
    refuse(text("grid axis ", name, " has over 1e9 points; use a larger step"));
}

void check_stops(const StopRules& stop) {
  if (stop.atoms && *stop.atoms == 0) refuse("--atoms 0 asks for nothing; give at least 1");
  if (stop.snr_db && !std::isfinite(*stop.snr_db)) refuse("--snr needs a finite number of dB");
  if (stop.energy_left_share && !(*stop.energy_left_share > 0 && *stop.energy_left_share < 1))
    refuse("--energy-left must lie between 0 and 1");
  if (stop.threshold && !(std::isfinite(*stop.threshold) && *stop.threshold > 0))
    refuse("--threshold must be an energy above 0, in the channel's unit squared");
  if (stop.density_per_s && !(std::isfinite(*stop.density_per_s) && *stop.density_per_s > 0))
    refuse("--density must be a number of atoms a second, above 0");
  if (stop.noise_p && !(*stop.noise_p > 0 && *stop.noise_p < 1)) refuse("--noise must lie between 0 and 1");
}

// Past half a cycle a sample^2 the frequency crosses the whole band from one sample to the next.
void check_chirp_rates(const Range& range, const char* name, double rate) {
  const double most = rate * rate / 2;
  if (std::max(std::abs(range.low), std::abs(range.high)) > most) {
    refuse(
        text(name, " runs from ", range.low, " to ", range.high, " Hz/s; at ", rate, " Hz it must stay within ", most));
  }
}

std::vector<Window> lay_windows(std::int64_t samples, std::int64_t window, std::int64_t hop, std::int64_t& covered) {
  std::vector<Window> windows;
  std::int64_t begin = 0;
  for (; begin + window <= samples; begin += hop) windows.push_back({begin, window, 0, 0});
  covered = windows.empty() ? 0 : windows.back().begin + window;
  if (covered < samples && 2 * (samples - begin) > window && samples - begin >= kLeastSamples) {
    windows.push_back({begin, samples - begin, 0, 0});
    covered = samples;
  }
  // Each owns the hop at its centre; the first and last also what lies outside.
  const double margin = static_cast<double>(window - hop) / 2;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const double centre = static_cast<double>(windows[i].begin) + margin;
    windows[i].owns_from = i == 0 ? -1e300 : centre;
    windows[i].owns_to = i + 1 == windows.size() ? 1e300 : centre + static_cast<double>(hop);
  }
  return windows;
}

// Windows of events; where they overlap, each owns up to the middle of what both have.
std::vector<Window> windows_at(const Channel& channel, std::vector<double> starts_s, std::int64_t window) {
  std::sort(starts_s.begin(), starts_s.end());
  std::vector<Window> windows;
  for (const double start : starts_s) {
    const double at = std::round((start - channel.start_s) * channel.rate_hz);
    if (!(at >= 0 && at + static_cast<double>(window) <= static_cast<double>(channel.samples.size()))) {
      refuse(text("channel ", channel.name, ": the window from ", start, " s to ",
                  start + static_cast<double>(window) / channel.rate_hz, " s leaves the recording"));
    }
    const auto begin = static_cast<std::int64_t>(at);
    if (!windows.empty() && windows.back().begin == begin) continue;
    windows.push_back({begin, window, -1e300, 1e300});
  }
  for (std::size_t i = 1; i < windows.size(); ++i) {
    Window &a = windows[i - 1], &b = windows[i];
    if (b.begin >= a.begin + window) continue;
    a.owns_to = b.owns_from = static_cast<double>(b.begin + a.begin + window) / 2;
  }
  return windows;
}

}  // namespace

Resolved resolve(const Channel& channel, const PursuitOptions& given) {
  Resolved out;
  PursuitOptions& o = out.options = given;
  const double rate = channel.rate_hz;
  const auto samples = static_cast<std::int64_t>(channel.samples.size());
  const std::string where = channel.name.empty() ? "" : "channel " + channel.name + ": ";
  if (!std::isfinite(rate) || !(rate > 0))
    refuse(text(where, "the rate is ", rate, " Hz; it must be a finite number above 0"));
  if (rate < 1e-9 || rate > 1e15)
    refuse(text(where, "the rate is ", rate, " Hz; it must lie between 1e-9 and 1e15 Hz"));
  if (samples < kLeastSamples)
    throw Error(ErrorKind::bad_file, text(where, samples, samples == 1 ? " sample is" : " samples are",
                                          " too few to analyse; at least ", kLeastSamples, " are needed"));
  if (o.device != "auto" && o.device != "cpu") {
    if (o.device.rfind("cuda", 0) == 0)
      throw Error(ErrorKind::no_device, "analyses do not run on CUDA devices; use --device cpu");
    refuse("unknown device '" + o.device + "'; use auto or cpu");
  }
  if (!(o.max_loss > 0 && o.max_loss < 1)) refuse(text("--max-loss is ", o.max_loss, "; it must lie between 0 and 1"));
  check_range(o.band_hz, "--band", "Hz", false);
  check_range(o.durations_s, "--durations", "s", true);
  check_range(o.chirp_rates_hz_per_s, "--chirp-rates", "Hz/s", true);
  check_stops(o.stop);

  // Windows.
  if (o.whole_signal) {
    if (given.window_s || given.hop_s || !given.starts_s.empty())
      refuse("--whole knows no windows; leave out --window, --hop and --events");
    if (o.grid) refuse("--whole and --grid exclude each other; give --band, --durations and --chirp-rates");
    if (o.stop.atoms || o.stop.snr_db || o.stop.energy_left_share)
      refuse("--whole stops by --density, --threshold and --noise; --atoms, --snr and --energy-left are of windows");
    if (o.channels != Channels::independent) refuse("--whole takes each channel by itself; leave out --across");
    o.whole = false;
  } else if (o.stop.density_per_s) {
    refuse("--density is of --whole; in windows, --atoms limits their number");
  }
  if (o.channels != Channels::independent && o.method == Method::joint)
    refuse("--method joint refits each channel's parameters, and --across keeps them in common; use mp or omp");
  if (o.channels == Channels::joint_phase && o.method != Method::mp)
    refuse("--method omp refits each channel's phases, and --across joint-phase keeps them in common; use mp");
  if (o.channels == Channels::joint_phase && o.phase == Phase::fixed)
    refuse("--across joint-phase seeks a phase, and --phase fixed has none to seek; give one of them");
  if (o.whole && o.window_s) refuse("--window is both whole and a length; give one");
  std::int64_t window = samples;
  if (o.window_s) {
    if (!std::isfinite(*o.window_s) || !(*o.window_s > 0))
      refuse(text("--window is ", *o.window_s, " s; it must be above 0"));
    const double wanted = std::round(*o.window_s * rate);
    if (wanted > static_cast<double>(samples)) {
      refuse(text(where, "the window of ", *o.window_s, " s is longer than the recording's ",
                  static_cast<double>(samples) / rate, " s; use a shorter --window or --window whole"));
    }
    window = static_cast<std::int64_t>(wanted);
    if (window < kLeastSamples)
      refuse(text(where, "a window of ", *o.window_s, " s has ", window, " samples at ", rate, " Hz; at least ",
                  kLeastSamples, " are needed"));
  } else if (!o.whole) {
    switch (channel.kind) {
      case DataKind::biosignal:
        window = std::llround(2 * rate);
        break;
      case DataKind::audio:
        window = std::llround(0.2 * rate);
        break;
      case DataKind::other:
        window = samples <= kWholeUpTo ? samples : kElseWindow;
        break;
    }
    window = std::min(std::max(window, kLeastSamples), samples);
  }
  std::int64_t hop = window;
  if (o.hop_s) {
    if (!std::isfinite(*o.hop_s) || !(*o.hop_s > 0)) refuse(text("--hop is ", *o.hop_s, " s; it must be above 0"));
    hop = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(std::round(*o.hop_s * rate), 9e15)));
    if (hop > window)
      refuse(text("--hop ", *o.hop_s, " s is longer than the window of ", static_cast<double>(window) / rate,
                  " s, which would leave samples out; use a shorter one"));
  }
  const double length = static_cast<double>(window) / rate;  // s; by it go the defaults
  if (o.whole_signal) window = hop = samples;
  out.window = window;
  if (!o.starts_s.empty()) {
    if (!o.window_s) refuse("windows that begin at given times need a length");
    out.windows = windows_at(channel, o.starts_s, window);
  } else {
    std::int64_t covered = 0;
    out.windows = lay_windows(samples, window, hop, covered);
    out.skipped = samples - covered;
  }
  o.whole = window == samples && o.starts_s.empty();
  o.window_s = static_cast<double>(window) / rate;
  o.hop_s = static_cast<double>(hop) / rate;

  // Atoms.
  if (o.grid) {
    check_axis(o.grid->time, "tc"), check_axis(o.grid->frequency_hz, "fc"), check_axis(o.grid->ln_duration, "lnDt"),
        check_axis(o.grid->chirp_rate_hz_per_s, "c");
    if (o.gabor) refuse("--gabor and --grid exclude each other; give the grid c=0:0:1");
    if (o.grid->frequency_hz.first < 0 || o.grid->frequency_hz.last > rate / 2) {
      refuse(text(where, "grid axis fc runs from ", o.grid->frequency_hz.first, " to ", o.grid->frequency_hz.last,
                  " Hz; it must stay between 0 and half the rate, ", rate / 2, " Hz"));
    }
    if (std::exp(o.grid->ln_duration.last) > 1e6 * length) {
      refuse(text("grid axis lnDt ends at ln ", o.grid->ln_duration.last, ", absurdly longer than the window of ",
                  length, " s"));
    }
    check_chirp_rates({o.grid->chirp_rate_hz_per_s.first, o.grid->chirp_rate_hz_per_s.last}, "grid axis c", rate);
    if (std::exp(o.grid->ln_duration.first) * rate < 0.5)
      refuse(text(where, "grid axis lnDt begins at ", std::exp(o.grid->ln_duration.first), " s, under half a sample"));
  }
  if (!o.band_hz && !o.grid) {
    switch (channel.kind) {
      case DataKind::biosignal:
        o.band_hz = Range{0.5, std::min(45.0, 0.45 * rate)};
        break;
      case DataKind::audio:
        o.band_hz = Range{50, 0.45 * rate};
        break;
      case DataKind::other:
        o.band_hz = Range{1 / length, 0.45 * rate};
        break;
    }
    if (o.band_hz->low >= o.band_hz->high)
      refuse(text(where, "a rate of ", rate, " Hz leaves no room for the default band; give --band"));
  }
  if (o.band_hz) {
    if (o.band_hz->low < 0) refuse(text("--band begins at ", o.band_hz->low, " Hz; it must not be negative"));
    if (o.band_hz->high > rate / 2)
      refuse(text(where, "--band ends at ", o.band_hz->high, " Hz, above half the rate, ", rate / 2, " Hz"));
  }
  if (!o.durations_s && !o.grid) {
    const double least = 2 / rate;
    Range range;
    switch (channel.kind) {
      case DataKind::biosignal:
        range = {0.05, 0.5};
        break;
      case DataKind::audio:
        range = {0.002, 0.05};
        break;
      case DataKind::other:
        range = {std::min(4 / rate, length / 4), length / 4};
        break;
    }
    range.high = std::max(least, std::min(range.high, length / 4));
    range.low = std::min(std::max(least, range.low), range.high);
    o.durations_s = range;
  }
  if (o.durations_s && !(o.durations_s->low * rate >= 0.5))
    refuse(text(where, "--durations begin at ", o.durations_s->low, " s, under half a sample at ", rate, " Hz"));
  const double most = 10 * static_cast<double>(window) / rate;
  if (o.durations_s && o.durations_s->high > most) {
    refuse(text(where, "--durations end at ", o.durations_s->high, " s; past ten times the ",
                o.whole_signal ? "recording, " : "window, ", most, " s, an atom's shape cannot be seen"));
  }
  if (o.chirp_rates_hz_per_s) check_chirp_rates(*o.chirp_rates_hz_per_s, "--chirp-rates", rate);
  if (o.gabor) {
    if (o.chirp_rates_hz_per_s && !(o.chirp_rates_hz_per_s->low <= 0 && o.chirp_rates_hz_per_s->high >= 0))
      refuse("--gabor needs chirp rate 0 in --chirp-rates");
    o.chirp_rates_hz_per_s = Range{0, 0};
  }

  // Stop rules.
  const bool none = !o.stop.atoms && !o.stop.snr_db && !o.stop.energy_left_share && !o.stop.noise_p &&
                    !o.stop.threshold && !o.stop.density_per_s;
  if (none) o.stop.noise_p = 0.01;
  if (o.stop.atoms && *o.stop.atoms > static_cast<std::size_t>(window))
    refuse(text(where, "--atoms ", *o.stop.atoms, " are more than the window's ", window, " samples"));
  if (o.stop.density_per_s && *o.stop.density_per_s > rate)
    refuse(text(where, "--density ", *o.stop.density_per_s, " is more than the ", rate, " samples of a second"));
  if (o.whole_signal) {
    if (!o.stop.density_per_s) o.stop.density_per_s = none ? rate / 50 : rate / 6;
  } else if (!o.stop.atoms) {
    const std::int64_t by_length = none ? std::max<std::int64_t>(10, window / 50) : window / 6;
    o.stop.atoms = static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(by_length, window / 6)));
  }
  o.progress = given.progress;
  return out;
}

atoms::Grid grid_for(const Channel& channel, const PursuitOptions& o, std::int64_t samples, bool limit_size) {
  const double rate = channel.rate_hz;
  const auto too_many = [&](double count) {
    if (limit_size && !o.force && count > kMostAtoms) {
      refuse(text("the grid has ", count, " atoms, over the limit of 1e10; stored as a dictionary it would take ",
                  count * static_cast<double>(samples) * 4 / 1e9,
                  " GB. Narrow the ranges or widen the steps, see --plan, or insist with --force"));
    }
  };
  if (o.grid) {
    too_many(atoms::count_atoms(*o.grid));
    return atoms::make_grid(*o.grid, rate, samples, o);
  }
  atoms::Ranges ranges;
  ranges.frequency = {o.band_hz->low / rate, o.band_hz->high / rate};
  ranges.duration = {o.durations_s->low * rate, o.durations_s->high * rate};
  if (o.chirp_rates_hz_per_s) {
    ranges.chirp_rate_given = true;
    ranges.chirp_rate = {o.chirp_rates_hz_per_s->low / (rate * rate), o.chirp_rates_hz_per_s->high / (rate * rate)};
  }
  atoms::Grid grid = atoms::make_grid(ranges, o.max_loss, samples);
  if (grid.size == 0)
    refuse(
        "no atom has its ridge inside the band at these durations and chirp rates; widen --band, or narrow --durations "
        "or --chirp-rates");
  too_many(static_cast<double>(grid.size));
  return grid;
}

}  // namespace envoi::pursuit
