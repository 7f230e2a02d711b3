// The signal of a result: trend and kept atoms, on the samples that were analysed and nowhere else.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "envoi/results.hpp"

namespace envoi {
namespace {

double atom_at(const Chirplet& a, double t) {
  const double u = t - a.time_s;
  if (std::abs(u) > 6 * a.duration_s) return 0;
  return a.amplitude * std::exp(-u * u / (2 * a.duration_s * a.duration_s)) *
         std::cos(2 * std::numbers::pi * (a.frequency_hz * u + a.chirp_rate_hz_per_s * u * u / 2) + a.phase_rad);
}

Chirplet chirplet(double time_s, double frequency_hz, double duration_s, double chirp_rate, double amplitude,
                  double phase_rad) {
  Chirplet a;
  a.time_s = time_s, a.frequency_hz = frequency_hz, a.duration_s = duration_s, a.chirp_rate_hz_per_s = chirp_rate;
  a.amplitude = amplitude, a.phase_rad = phase_rad;
  return a;
}

Decomposition two_windows(std::size_t first, std::size_t second_start, std::size_t second) {
  Decomposition d;
  d.channels = {{"a", "V", 100, 1}};
  d.segments.resize(2);
  d.segments[0].start_s = 10, d.segments[0].samples = first, d.segments[0].mean = 1, d.segments[0].slope_per_s = 0.5;
  d.segments[1].start_s = 10 + static_cast<double>(second_start) / 100, d.segments[1].samples = second;
  d.segments[1].mean = -2;
  return d;
}

TEST(Reconstruct, trend_and_atoms_on_their_own_segment) {
  Decomposition d = two_windows(200, 200, 200);
  d.atoms = {chirplet(10.9, 7, 0.2, 3, 2, 0.3), chirplet(12.5, 11, 0.051, -4, 1, -1)};
  d.segments[0].atom_count = 1, d.segments[1].first_atom = 1, d.segments[1].atom_count = 1;
  const auto channels = reconstruct(d);
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].start_s, 10);
  EXPECT_EQ(channels[0].name, "a");
  ASSERT_EQ(channels[0].samples.size(), 400u);
  for (std::size_t n = 0; n < 400; ++n) {
    const double t = 10 + static_cast<double>(n) / 100;
    const double expected = n < 200 ? 1 + 0.5 * (t - 10) + atom_at(d.atoms[0], t) : -2 + atom_at(d.atoms[1], t);
    EXPECT_NEAR(channels[0].samples[n], expected, 1e-12) << n;
  }
}

TEST(Reconstruct, atoms_end_at_six_durations) {
  Decomposition d = two_windows(400, 400, 400);
  d.atoms = {chirplet(12, 0, 0.1, 0, 1e9, 0)};
  d.segments[0].atom_count = 1;
  d.segments[0].mean = d.segments[0].slope_per_s = 0;
  const auto samples = reconstruct(d)[0].samples;
  EXPECT_GT(samples[141], 0);
  EXPECT_EQ(samples[139], 0);
  EXPECT_GT(samples[259], 0);
  EXPECT_EQ(samples[261], 0);
}

TEST(Reconstruct, gaps_are_nan_and_windows_left_out_too) {
  Decomposition d = two_windows(100, 150, 100);
  d.segments.push_back(d.segments[1]);
  d.segments[2].start_s = 12.5;
  d.segments[2].stop_reason = StopReason::missing;
  const auto samples = reconstruct(d)[0].samples;
  ASSERT_EQ(samples.size(), 350u);
  EXPECT_FALSE(std::isnan(samples[99]));
  EXPECT_TRUE(std::isnan(samples[100]));
  EXPECT_TRUE(std::isnan(samples[149]));
  EXPECT_EQ(samples[150], -2);
  EXPECT_EQ(samples[249], -2);
  EXPECT_TRUE(std::isnan(samples[250]));
}

TEST(Reconstruct, overlapping_windows_share_at_the_middle_and_leave_out_what_is_not_kept) {
  Decomposition d = two_windows(200, 100, 200);
  d.segments[0].slope_per_s = 0;
  d.atoms = {chirplet(10.5, 7, 0.2, 3, 2, 0.3), chirplet(11.9, 5, 0.1, 0, 100, 0)};
  d.atoms[1].kept = false;
  d.segments[0].atom_count = 2, d.segments[1].first_atom = 2;
  const auto samples = reconstruct(d)[0].samples;
  ASSERT_EQ(samples.size(), 300u);
  for (std::size_t n = 0; n < 300; ++n) {
    const double atom = n < 200 ? atom_at(d.atoms[0], 10 + static_cast<double>(n) / 100) : 0;
    EXPECT_NEAR(samples[n], (n < 150 ? 1 : -2) + atom, 1e-12) << n;
  }
}

TEST(Reconstruct, channels_keep_their_rates) {
  Decomposition d = two_windows(100, 100, 100);
  d.channels.push_back({"b", "uV", 12.8, 1});
  d.segments[1].channel = 1;
  d.segments[1].samples = 7;
  const auto channels = reconstruct(d);
  EXPECT_EQ(channels[0].samples.size(), 100u);
  EXPECT_EQ(channels[1].samples.size(), 7u);
  EXPECT_EQ(channels[1].rate_hz, 12.8);
  EXPECT_EQ(channels[1].unit, "uV");
}

TEST(Reconstruct, nothing_gives_nothing) {
  EXPECT_TRUE(reconstruct({}).empty());
  Decomposition d;
  d.channels = {{"a", "", 1, 1}};
  EXPECT_TRUE(reconstruct(d)[0].samples.empty());
}

}  // namespace
}  // namespace envoi
