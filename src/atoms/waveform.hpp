// The samples that a chirplet of a result stands for, from the numbers that a result holds and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include "atoms/chirplet.hpp"
#include "envoi/decomposition.hpp"

namespace envoi::atoms {

// segment[n] += the atom at segment_start_s + n / rate, within +-6 durations of its centre.
inline void add_chirplet(const Chirplet& atom, double segment_start_s, double rate, std::span<double> segment) {
  // Times are counted from the segment's start: exact for whole samples, and no large number is ever squared.
  const double centre = atom.time_s - segment_start_s;
  const double reach = kSupport * atom.duration_s;
  const double low = std::max(0.0, std::ceil((centre - reach) * rate) - 1);
  const double high = std::min(static_cast<double>(segment.size()) - 1, std::floor((centre + reach) * rate) + 1);
  if (!(low <= high)) return;
  const double turn = 2 * std::numbers::pi;
  for (auto n = static_cast<std::size_t>(low); n <= static_cast<std::size_t>(high); ++n) {
    const double t = static_cast<double>(n) / rate - centre;
    if (std::abs(t) > reach * (1 + 1e-12)) continue;
    const double u = t / atom.duration_s;
    segment[n] += atom.amplitude * std::exp(-0.5 * u * u) *
                  std::cos(turn * (atom.frequency_hz * t + 0.5 * atom.chirp_rate_hz_per_s * t * t) + atom.phase_rad);
  }
}

}  // namespace envoi::atoms
