// What an atom's parameters say without the signal: its peak and energy over a segment. For results of other programs,
// which do not tell both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "atoms/waveform.hpp"
#include "envoi/decomposition.hpp"

namespace envoi::results {

struct Measure {
  double peak = 0;
  double energy = 0;
};

// Over at most so many samples around the atom's centre, so that absurd numbers of a file cost no hours.
inline constexpr double kMostMeasured = 1 << 20;

inline Measure measure(const Chirplet& atom, const Segment& segment, double rate_hz, double most = kMostMeasured) {
  const double centre = (atom.time_s - segment.start_s) * rate_hz;
  const double reach = std::min(atoms::kSupport * atom.duration_s * rate_hz + 2, most / 2);
  const double first = std::max(0.0, std::ceil(centre - reach));
  const double end = std::min(static_cast<double>(segment.samples), std::floor(centre + reach) + 1);
  Measure out;
  if (!(first < end)) return out;
  std::vector<double> samples(static_cast<std::size_t>(end - first), 0.0);
  Chirplet moved = atom;
  moved.time_s = atom.time_s - segment.start_s - first / rate_hz;
  atoms::add_chirplet(moved, 0, rate_hz, samples);
  for (const double sample : samples) {
    out.peak = std::max(out.peak, std::abs(sample));
    out.energy += sample * sample;
  }
  return out;
}

// Where a channel's segments overlap, an atom is kept by the one whose stretch, as far as the middle of each overlap,
// holds its centre. `segments` and `atoms_of` are of one channel, in order of time.
inline void mark_kept(const std::vector<Segment>& segments, std::vector<std::vector<Chirplet>>& atoms_of,
                      double rate_hz) {
  const auto end_of = [&](std::size_t i) {
    return segments[i].start_s + static_cast<double>(segments[i].samples) / rate_hz;
  };
  for (std::size_t i = 0; i < segments.size(); ++i) {
    double from = -HUGE_VAL, to = HUGE_VAL;
    const double tolerance = 0.5 / rate_hz;  // segments side by side do not overlap
    if (i > 0 && end_of(i - 1) > segments[i].start_s + tolerance) from = (end_of(i - 1) + segments[i].start_s) / 2;
    if (i + 1 < segments.size() && end_of(i) > segments[i + 1].start_s + tolerance)
      to = (end_of(i) + segments[i + 1].start_s) / 2;
    for (Chirplet& atom : atoms_of[i]) atom.kept = atom.time_s >= from && atom.time_s < to;
  }
}

}  // namespace envoi::results
