// The signal that a decomposition stands for: trend and kept atoms, sample by sample.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

constexpr double kSupport = 6;  // durations on either side of the centre
constexpr double kMostSamples = 1099511627776.0;

// A segment's place among its channel's samples.
struct Placed {
  const Segment* segment;
  std::size_t first, end;
};

void add_atom(const Chirplet& atom, const Placed& placed, double rate, double* samples) {
  // Times are counted from the segment's start: exact for whole samples, and no large number is ever squared.
  const double centre = atom.time_s - placed.segment->start_s;
  const double reach = kSupport * atom.duration_s;
  const double last = static_cast<double>(placed.end - placed.first) - 1;
  const double low = std::max(0.0, std::ceil((centre - reach) * rate) - 1);
  const double high = std::min(last, std::floor((centre + reach) * rate) + 1);
  if (!(low <= high)) return;
  const double turn = 2 * std::numbers::pi;
  for (auto n = static_cast<std::size_t>(low); n <= static_cast<std::size_t>(high); ++n) {
    const double t = static_cast<double>(n) / rate - centre;
    if (std::abs(t) > reach * (1 + 1e-12)) continue;
    const double u = t / atom.duration_s;
    samples[placed.first + n] +=
        atom.amplitude * std::exp(-0.5 * u * u) *
        std::cos(turn * (atom.frequency_hz * t + 0.5 * atom.chirp_rate_hz_per_s * t * t) + atom.phase_rad);
  }
}

// Trends do not add up: where segments overlap, each holds as far as the middle of the overlap, which is the end of
// its central hop.
void add_trends(const std::vector<Placed>& placed, double rate, std::vector<double>& samples) {
  std::size_t from = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const Segment& segment = *placed[i].segment;
    std::size_t to = placed[i].end;
    if (i + 1 < placed.size() && placed[i + 1].first < to) to = (to + placed[i + 1].first + 1) / 2;
    for (std::size_t n = std::max(from, placed[i].first); n < to; ++n)
      samples[n] += segment.mean + segment.slope_per_s * (static_cast<double>(n - placed[i].first) / rate);
    from = std::max(from, to);
  }
}

Channel rebuild(const Decomposition& result, std::size_t index) {
  const AnalysedChannel& analysed = result.channels[index];
  Channel channel;
  channel.name = analysed.name;
  channel.unit = analysed.unit;
  channel.rate_hz = analysed.rate_hz;
  const std::string& source = result.source.name;

  std::vector<const Segment*> segments;
  for (const Segment& segment : result.segments)
    if (segment.channel == index && segment.samples > 0) segments.push_back(&segment);
  if (segments.empty()) return channel;
  std::stable_sort(segments.begin(), segments.end(),
                   [](const Segment* a, const Segment* b) { return a->start_s < b->start_s; });
  channel.start_s = segments.front()->start_s;

  double length = 0;
  for (const Segment* segment : segments)
    length = std::max(length, std::round((segment->start_s - channel.start_s) * channel.rate_hz) +
                                  static_cast<double>(segment->samples));
  if (!(length < kMostSamples))
    throw Error(ErrorKind::bad_file, source + ": channel '" + channel.name + "' would have " +
                                         signal::rounded(length, 3) + " samples; the result cannot be right");
  signal::require_memory(source, length);
  channel.samples.assign(static_cast<std::size_t>(length), kUndetermined);

  std::vector<Placed> placed;
  for (const Segment* segment : segments) {
    if (segment->stop_reason == StopReason::missing) continue;  // left out of the analysis
    const auto first = static_cast<std::size_t>(std::round((segment->start_s - channel.start_s) * channel.rate_hz));
    placed.push_back({segment, first, first + segment->samples});
  }
  for (const Placed& p : placed)
    std::fill_n(channel.samples.begin() + static_cast<std::ptrdiff_t>(p.first), p.end - p.first, 0.0);
  add_trends(placed, channel.rate_hz, channel.samples);
  for (const Placed& p : placed)
    for (const Chirplet& atom : result.atoms_of(*p.segment))
      if (atom.kept) add_atom(atom, p, channel.rate_hz, channel.samples.data());
  return channel;
}

}  // namespace

std::vector<Channel> reconstruct(const Decomposition& result) {
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < result.channels.size(); ++i) channels.push_back(rebuild(result, i));
  return channels;
}

}  // namespace envoi
