// The signal that a decomposition stands for: trend and kept atoms, sample by sample.
#include <algorithm>
#include <cmath>
#include <span>

#include "atoms/waveform.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

constexpr double kMostSamples = 1099511627776.0;

// A segment's place among its channel's samples.
struct Placed {
  const Segment* segment;
  std::size_t first, end;
};

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
      if (atom.kept)
        atoms::add_chirplet(atom, p.segment->start_s, channel.rate_hz,
                            std::span(channel.samples).subspan(p.first, p.end - p.first));
  return channel;
}

}  // namespace

std::vector<Channel> reconstruct(const Decomposition& result) {
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < result.channels.size(); ++i) channels.push_back(rebuild(result, i));
  return channels;
}

}  // namespace envoi
