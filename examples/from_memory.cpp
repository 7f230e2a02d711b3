// A signal made in memory, taken apart and put together again: nothing is read or written.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <envoi/envoi.hpp>
#include <numbers>
#include <vector>

int main() {
  // Two seconds at 256 Hz: a falling chirp around 0.7 s and a steady tone burst around 1.4 s.
  envoi::Channel channel;
  channel.name = "made";
  channel.rate_hz = 256;
  for (int n = 0; n < 512; ++n) {
    const double u = n / channel.rate_hz - 0.7, v = n / channel.rate_hz - 1.4;
    channel.samples.push_back(2.0 * std::exp(-u * u / (2 * 0.15 * 0.15)) *
                                  std::cos(2 * std::numbers::pi * (30 * u - 20 * u * u / 2)) +
                              std::exp(-v * v / (2 * 0.10 * 0.10)) * std::cos(2 * std::numbers::pi * 12 * v + 1));
  }

  envoi::PursuitOptions options;
  options.whole = true;
  options.stop.atoms = 2;
  envoi::Decomposition found;
  try {
    found = envoi::decompose(channel, options);
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }

  for (const envoi::Chirplet& atom : found.atoms) {
    std::printf("%.3f s  %.2f Hz  %.3f s  %+.1f Hz/s  amplitude %.3f  phase %+.3f\n", atom.time_s, atom.frequency_hz,
                atom.duration_s, atom.chirp_rate_hz_per_s, atom.amplitude, atom.phase_rad);
  }
  const std::vector<envoi::Channel> rebuilt = envoi::reconstruct(found);
  double left = 0;
  for (std::size_t n = 0; n < channel.samples.size(); ++n) {
    left = std::max(left, std::abs(channel.samples[n] - rebuilt.at(0).samples.at(n)));
  }
  std::printf("largest difference from the signal: %.2g\n", left);
  return left < 0.01 ? 0 : 1;
}
