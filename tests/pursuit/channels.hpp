// Channels of made signals.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <random>

#include "envoi/decomposition.hpp"
#include "envoi/recording.hpp"

namespace envoi::tests {

inline Channel noise_channel(std::size_t samples, std::uint64_t seed, double rate_hz = 256) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Channel channel;
  channel.name = "x";
  channel.rate_hz = rate_hz;
  channel.kind = DataKind::biosignal;
  for (std::size_t i = 0; i < samples; ++i) channel.samples.push_back(normal(random));
  return channel;
}

inline void add_chirplet(Channel& channel, double time, double frequency, double duration, double chirp_rate,
                         double amplitude, double phase) {
  for (std::size_t n = 0; n < channel.samples.size(); ++n) {
    const double t = channel.start_s + static_cast<double>(n) / channel.rate_hz - time;
    channel.samples[n] += amplitude * std::exp(-t * t / (2 * duration * duration)) *
                          std::cos(2 * std::numbers::pi * (frequency * t + chirp_rate * t * t / 2) + phase);
  }
}

inline bool same_bits(const Chirplet& a, const Chirplet& b) {
  const auto same = [](double x, double y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  };
  return same(a.time_s, b.time_s) && same(a.frequency_hz, b.frequency_hz) && same(a.duration_s, b.duration_s) &&
         same(a.chirp_rate_hz_per_s, b.chirp_rate_hz_per_s) && same(a.amplitude, b.amplitude) &&
         same(a.phase_rad, b.phase_rad) && same(a.peak, b.peak) && same(a.energy, b.energy) &&
         same(a.energy_left_share, b.energy_left_share) && same(a.se.time_s, b.se.time_s) &&
         same(a.se.phase_rad, b.se.phase_rad);
}

}  // namespace envoi::tests
