// Whole decompositions: what they promise about bits, scale, delay, stops, windows and bad input.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "effort.hpp"
#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "pursuit/channels.hpp"

namespace envoi {
namespace {

constexpr double kRate = 256;

using tests::add_chirplet;
using tests::noise_channel;
using tests::same_bits;

PursuitOptions quick() {
  PursuitOptions options;
  options.band_hz = Range{4, 40};
  options.durations_s = Range{0.06, 0.3};
  options.max_loss = 0.25;
  options.window_s = 1;
  options.stop.atoms = 3;
  return options;
}

void expect_same(const Decomposition& a, const Decomposition& b) {
  ASSERT_EQ(a.atoms.size(), b.atoms.size());
  ASSERT_EQ(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) EXPECT_TRUE(same_bits(a.atoms[i], b.atoms[i])) << "atom " << i;
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    EXPECT_EQ(a.segments[i].snr_db, b.segments[i].snr_db);
    EXPECT_EQ(a.segments[i].certificate.survivors, b.segments[i].certificate.survivors);
  }
}

TEST(Decompose, gives_the_same_bits_for_any_number_of_threads) {
  for (const Method method : {Method::mp, Method::omp, Method::joint}) {
    for (const std::size_t seconds : {1, tests::kSanitized ? 4 : 12}) {  // threads inside a window, and over windows
      const Channel channel = noise_channel(seconds * 256, 1);
      PursuitOptions options = quick();
      options.method = method;
      options.threads = 1;
      const Decomposition want = decompose(channel, options);
      for (const unsigned threads : {2u, 3u, 7u}) {
        options.threads = threads;
        expect_same(decompose(channel, options), want);
      }
    }
  }
}

TEST(Decompose, a_window_alone_equals_itself_among_fifty) {
  const Channel all = noise_channel(50 * 256, 2);
  const Decomposition together = decompose(all, quick());
  ASSERT_EQ(together.segments.size(), 50u);
  for (const std::size_t which : {0u, 23u, 49u}) {
    Channel alone = all;
    alone.samples.assign(all.samples.begin() + static_cast<std::ptrdiff_t>(which * 256),
                         all.samples.begin() + static_cast<std::ptrdiff_t>((which + 1) * 256));
    const Decomposition single = decompose(alone, quick());
    const auto atoms = together.atoms_of(together.segments[which]);
    ASSERT_EQ(atoms.size(), single.atoms.size());
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      EXPECT_EQ(atoms[i].frequency_hz, single.atoms[i].frequency_hz);
      EXPECT_EQ(atoms[i].amplitude, single.atoms[i].amplitude);
      EXPECT_EQ(atoms[i].phase_rad, single.atoms[i].phase_rad);
      EXPECT_NEAR(atoms[i].time_s, single.atoms[i].time_s + static_cast<double>(which), 1e-12);
    }
  }
}

TEST(Decompose, a_scaled_signal_has_the_same_atoms) {
  const Channel channel = noise_channel(512, 3);
  const Decomposition want = decompose(channel, quick());
  for (const double scale : {0x1p20, 1e-6, 0x1p-40}) {
    Channel scaled = channel;
    for (double& x : scaled.samples) x *= scale;
    const Decomposition got = decompose(scaled, quick());
    ASSERT_EQ(got.atoms.size(), want.atoms.size());
    const double tolerance = scale == 1e-6 ? 1e-6 : 0;
    for (std::size_t i = 0; i < got.atoms.size(); ++i) {
      EXPECT_NEAR(got.atoms[i].time_s, want.atoms[i].time_s, tolerance);
      EXPECT_NEAR(got.atoms[i].frequency_hz, want.atoms[i].frequency_hz, 40 * tolerance);
      EXPECT_NEAR(got.atoms[i].amplitude / scale, want.atoms[i].amplitude, tolerance);
      EXPECT_NEAR(got.atoms[i].peak / scale, want.atoms[i].peak, tolerance);
      EXPECT_NEAR(got.atoms[i].energy / (scale * scale), want.atoms[i].energy, 1e3 * tolerance);
      EXPECT_NEAR(got.atoms[i].se.amplitude / scale, want.atoms[i].se.amplitude, tolerance);
    }
  }
}

TEST(Decompose, a_signal_delayed_by_whole_samples_has_the_same_atoms) {
  Channel channel = noise_channel(512, 4);
  for (double& x : channel.samples) x = 0;
  add_chirplet(channel, 0.9, 12, 0.06, 20, 3, 0.5);
  Channel delayed = channel;
  std::rotate(delayed.samples.begin(), delayed.samples.end() - 17, delayed.samples.end());
  PursuitOptions options = quick();
  options.window_s.reset();
  options.whole = true;
  options.detrend = Detrend::none;
  options.stop.atoms = 1;
  const Decomposition a = decompose(channel, options), b = decompose(delayed, options);
  ASSERT_EQ(a.atoms.size(), 1u);
  EXPECT_NEAR(b.atoms[0].time_s - a.atoms[0].time_s, 17 / kRate, 1e-9);
  EXPECT_NEAR(b.atoms[0].frequency_hz, a.atoms[0].frequency_hz, 1e-7);
  EXPECT_NEAR(b.atoms[0].chirp_rate_hz_per_s, a.atoms[0].chirp_rate_hz_per_s, 1e-6);
  EXPECT_NEAR(b.atoms[0].phase_rad, a.atoms[0].phase_rad, 1e-7);
}

TEST(Decompose, finds_a_chirplet_it_was_given) {
  Channel channel = noise_channel(512, 5);
  for (double& x : channel.samples) x *= 0.05;
  channel.start_s = 100;
  add_chirplet(channel, 101.03, 11.3, 0.22, 9, 2, -1);
  PursuitOptions options;
  options.stop.atoms = 1;
  const Decomposition d = decompose(channel, options);
  ASSERT_EQ(d.atoms.size(), 1u);
  const Chirplet& atom = d.atoms[0];
  EXPECT_NEAR(atom.time_s, 101.03, 5 * atom.se.time_s);
  EXPECT_NEAR(atom.frequency_hz, 11.3, 5 * atom.se.frequency_hz);
  EXPECT_NEAR(atom.duration_s, 0.22, 5 * atom.se.duration_s);
  EXPECT_NEAR(atom.chirp_rate_hz_per_s, 9, 5 * atom.se.chirp_rate_hz_per_s);
  EXPECT_NEAR(atom.amplitude, 2, 5 * atom.se.amplitude);
  EXPECT_NEAR(atom.phase_rad, -1, 5 * atom.se.phase_rad);
  EXPECT_LT(atom.se.frequency_hz, 0.1);
}

TEST(Decompose, what_is_left_falls_and_omp_and_joint_leave_no_more) {
  const Channel channel = noise_channel(256, 6);
  PursuitOptions options = quick();
  options.stop.atoms = 8;
  double before = 1;
  for (const Method method : {Method::mp, Method::omp, Method::joint}) {
    options.method = method;
    const Decomposition d = decompose(channel, options);
    double left = 1;
    for (const Chirplet& atom : d.atoms) {
      EXPECT_LT(atom.energy_left_share, left);
      left = atom.energy_left_share;
      EXPECT_EQ(std::isnan(atom.energy_share), method != Method::mp);
    }
    EXPECT_EQ(left, d.segments[0].energy_left_share);
    if (method == Method::joint) {
      EXPECT_LE(left, before + 1e-12);
    }
    before = std::min(before, left);
  }
}

TEST(Decompose, each_stop_rule_stops) {
  Channel channel = noise_channel(256, 7);
  add_chirplet(channel, 0.5, 10, 0.2, 0, 10, 0);
  PursuitOptions options = quick();
  options.stop = {};
  options.stop.snr_db = 3;
  EXPECT_EQ(decompose(channel, options).segments[0].stop_reason, StopReason::snr);
  options.stop = {};
  options.stop.energy_left_share = 0.9;
  EXPECT_EQ(decompose(channel, options).segments[0].stop_reason, StopReason::energy);
  options.stop = {};
  options.stop.noise_p = 0.01;
  const Decomposition d = decompose(channel, options);
  EXPECT_EQ(d.segments[0].stop_reason, StopReason::noise);
  EXPECT_GE(d.atoms.size(), 1u);
  options.stop = {};
  options.stop.atoms = 2;
  EXPECT_EQ(decompose(channel, options).segments[0].stop_reason, StopReason::atoms);
}

TEST(Decompose, silence_and_constants_give_no_atoms) {
  Channel channel = noise_channel(256, 8);
  for (const double level : {0.0, 1e-300, 3.3, 1e15}) {
    for (double& x : channel.samples) x = level;
    const Decomposition d = decompose(channel, quick());
    EXPECT_EQ(d.segments[0].stop_reason, StopReason::silence) << level;
    EXPECT_TRUE(d.atoms.empty());
    EXPECT_EQ(d.segments[0].energy, 0);
  }
}

TEST(Decompose, missing_samples_leave_the_window_out_or_count_for_nothing) {
  Channel channel = noise_channel(512, 9);
  for (double& x : channel.samples) x *= 0.01;
  add_chirplet(channel, 0.5, 12, 0.2, 5, 1, 0.3);
  for (int n = 100; n < 125; ++n) channel.samples[static_cast<std::size_t>(n)] = std::nan("");
  Decomposition d = decompose(channel, quick());
  EXPECT_EQ(d.segments[0].stop_reason, StopReason::missing);
  EXPECT_EQ(d.segments[0].missing_samples, 25u);
  EXPECT_EQ(d.segments[0].atom_count, 0u);
  EXPECT_FALSE(d.warnings.empty());
  PursuitOptions options = quick();
  options.missing = Missing::weight;
  options.stop.atoms = 1;
  d = decompose(channel, options);
  ASSERT_GE(d.segments[0].atom_count, 1u);
  EXPECT_NEAR(d.atoms[0].amplitude, 1, 0.02);
  EXPECT_NEAR(d.atoms[0].frequency_hz, 12, 0.1);
  EXPECT_NEAR(d.atoms[0].time_s, 0.5, 0.01);
}

TEST(Decompose, says_when_the_durations_are_too_short_for_what_is_there) {
  Channel channel = noise_channel(256 * 12, 77);
  for (double& v : channel.samples) v *= 1e-3;
  for (int i = 0; i < 6; ++i) add_chirplet(channel, 1 + 2 * i, 12 + i, 0.25, 0, 5, 0.3);
  PursuitOptions options = quick();
  options.window_s = 2;
  options.stop.atoms = 1;
  const auto said = [&](double longest) {
    options.durations_s = Range{0.06, longest};
    for (const std::string& warning : limit_warnings(decompose(channel, options))) {
      if (warning.find("longest duration") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(said(0.15));
  EXPECT_FALSE(said(0.5));
}

TEST(Decompose, overlapping_windows_keep_each_chirplet_once) {
  Channel channel = noise_channel(10 * 256, 10);
  for (double& x : channel.samples) x *= 0.01;
  const double times[] = {0.9, 3.2, 5.5, 7.7, 9.3};
  for (const double time : times) add_chirplet(channel, time, 15, 0.08, 0, 1, 0);
  PursuitOptions options = quick();
  options.window_s = 2;
  options.hop_s = 0.5;
  options.stop = {};
  options.stop.snr_db = 20;
  options.stop.noise_p = 1e-6;
  const Decomposition d = decompose(channel, options);
  for (const double time : times) {
    int kept = 0;
    for (const Chirplet& atom : d.atoms)
      kept += atom.kept && std::abs(atom.time_s - time) < 0.02 && atom.amplitude > 0.8;
    EXPECT_EQ(kept, 1) << time;
  }
}

TEST(Decompose, a_last_window_longer_than_half_is_analysed_and_a_shorter_one_reported) {
  const Decomposition longer = decompose(noise_channel(256 + 200, 11), quick());
  ASSERT_EQ(longer.segments.size(), 2u);
  EXPECT_EQ(longer.segments[1].samples, 200u);
  const Decomposition shorter = decompose(noise_channel(256 + 100, 12), quick());
  EXPECT_EQ(shorter.segments.size(), 1u);
  ASSERT_EQ(shorter.warnings.size(), 1u);
  EXPECT_NE(shorter.warnings[0].find("100 samples"), std::string::npos);
}

TEST(Decompose, linear_trends_are_taken_out_and_stored) {
  Channel channel = noise_channel(256, 13);
  for (std::size_t n = 0; n < 256; ++n)
    channel.samples[n] = 5 + 2 * static_cast<double>(n) / kRate + 0.01 * channel.samples[n];
  PursuitOptions options = quick();
  options.detrend = Detrend::linear;
  const Decomposition d = decompose(channel, options);
  EXPECT_NEAR(d.segments[0].mean, 5, 0.01);
  EXPECT_NEAR(d.segments[0].slope_per_s, 2, 0.02);
  EXPECT_LT(d.segments[0].energy, 0.1);
}

TEST(Decompose, every_ridge_stays_in_the_band) {
  PursuitOptions options = quick();
  options.stop.atoms = 10;
  const Decomposition d = decompose(noise_channel(5 * 256, 14), options);
  for (const Chirplet& atom : d.atoms) {
    const double reach = std::abs(atom.chirp_rate_hz_per_s) * atom.duration_s;
    EXPECT_GE(atom.frequency_hz - reach, 4 - 1e-6);
    EXPECT_LE(atom.frequency_hz + reach, 40 + 1e-6);
  }
}

TEST(Decompose, phase_fixed_atoms_have_phase_zero_and_never_fit_better) {
  const Channel channel = noise_channel(256, 15);
  PursuitOptions options = quick();
  options.stop.atoms = 1;
  const double solved = decompose(channel, options).segments[0].energy_left_share;
  options.phase = Phase::fixed;
  const Decomposition d = decompose(channel, options);
  const double phase = std::abs(d.atoms[0].phase_rad);
  EXPECT_TRUE(phase == 0 || phase == std::numbers::pi) << phase;  // a negative amplitude is phase pi
  EXPECT_GE(d.segments[0].energy_left_share, solved - 1e-12);
}

TEST(Decompose, joint_atoms_near_the_edges_of_the_spectrum_rebuild_what_is_reported) {
  std::mt19937_64 random(19);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < tests::effort(8); ++i) {
    Channel channel = noise_channel(256, 20 + static_cast<std::uint64_t>(i));
    channel.rate_hz = 100;
    const double edge = i % 2 ? 50 - uniform(random) : uniform(random), chirp = uniform(random) - 0.5;
    double largest = 0;
    for (std::size_t n = 0; n < 256; ++n) {
      const double t = static_cast<double>(n) / 100;
      channel.samples[n] =
          0.001 * (i % 3) * channel.samples[n] + std::cos(2 * std::numbers::pi * (edge * t + chirp * t * t));
      largest = std::max(largest, std::abs(channel.samples[n]));
    }
    PursuitOptions options;
    options.band_hz = Range{0, 50};
    options.whole = true;
    options.method = Method::joint;
    options.stop.atoms = 5;
    const Decomposition d = decompose(channel, options);
    double energy = 0;
    std::vector<double> left(256);
    for (std::size_t n = 0; n < 256; ++n) left[n] = channel.samples[n] - d.segments[0].mean;
    for (const Chirplet& atom : d.atoms) {
      EXPECT_LT(atom.amplitude, 1000 * largest);
      for (std::size_t n = 0; n < 256; ++n) {
        const double t = static_cast<double>(n) / 100 - atom.time_s;
        if (std::abs(t) > 6 * atom.duration_s) continue;
        left[n] -= atom.amplitude * std::exp(-t * t / (2 * atom.duration_s * atom.duration_s)) *
                   std::cos(2 * std::numbers::pi * (atom.frequency_hz * t + atom.chirp_rate_hz_per_s * t * t / 2) +
                            atom.phase_rad);
      }
    }
    for (const double x : left) energy += x * x;
    const double snr = 10 * std::log10(d.segments[0].energy / energy);
    if (snr < 150) {
      EXPECT_NEAR(d.segments[0].snr_db, snr, 1e-6) << i;
    } else {
      EXPECT_NEAR(d.segments[0].snr_db, snr, 1) << i;
    }
  }
}

TEST(Decompose, huge_and_tiny_samples_are_analysed_as_any_other) {
  const Channel channel = noise_channel(256, 21);
  for (const double scale : {0x1p500, 0x1p-700}) {
    Channel scaled = channel;
    for (double& x : scaled.samples) x *= scale;
    PursuitOptions options = quick();
    options.method = Method::joint;
    const Decomposition want = decompose(channel, options), got = decompose(scaled, options);
    ASSERT_EQ(got.atoms.size(), want.atoms.size());
    for (std::size_t i = 0; i < got.atoms.size(); ++i) {
      EXPECT_EQ(got.atoms[i].frequency_hz, want.atoms[i].frequency_hz);
      EXPECT_EQ(got.atoms[i].amplitude / scale, want.atoms[i].amplitude);
    }
  }
}

TEST(Decompose, bad_options_are_refused_with_a_reason) {
  const Channel good = noise_channel(512, 16);
  struct Case {
    const char* what;
    std::function<void(PursuitOptions&, Channel&)> spoil;
  };
  const Case cases[] = {
      {"band",
       [](auto& o, auto&) {
         o.band_hz = Range{40, 4};
       }},
      {"half the rate",
       [](auto& o, auto&) {
         o.band_hz = Range{4, 400};
       }},
      {"negative",
       [](auto& o, auto&) {
         o.band_hz = Range{-4, 40};
       }},
      {"finite",
       [](auto& o, auto&) {
         o.band_hz = Range{std::nan(""), 40};
       }},
      {"--durations",
       [](auto& o, auto&) {
         o.durations_s = Range{0.2, 0.1};
       }},
      {"half a sample",
       [](auto& o, auto&) {
         o.durations_s = Range{1e-5, 0.1};
       }},
      {"longer than the recording", [](auto& o, auto&) { o.window_s = 3; }},
      {"above 0", [](auto& o, auto&) { o.window_s = -1; }},
      {"longer than the window", [](auto& o, auto&) { o.hop_s = 2; }},
      {"max-loss", [](auto& o, auto&) { o.max_loss = 1; }},
      {"--atoms", [](auto& o, auto&) { o.stop.atoms = 0; }},
      {"--noise", [](auto& o, auto&) { o.stop.noise_p = 2; }},
      {"rate", [](auto&, auto& c) { c.rate_hz = 0; }},
      {"rate", [](auto&, auto& c) { c.rate_hz = std::nan(""); }},
      {"rate", [](auto&, auto& c) { c.rate_hz = -256; }},
      {"step",
       [](auto& o, auto&) {
         o.grid = ExplicitGrid{{0, 1, 0}, false, {1, 2, 1}, {-2, -1, 1}, {0, 0, 1}};
       }},
      {"1e10",
       [](auto& o, auto&) {
         o.grid = ExplicitGrid{{0, 1, 1e-4}, false, {1, 20, 1e-3}, {-2, -1, 1e-3}, {0, 10, 1}};
       }},
      {"lnDt",
       [](auto& o, auto&) {
         o.grid = ExplicitGrid{{0, 1, 0.1}, false, {1, 2, 1}, {709, 710, 1}, {0, 0, 1}};
       }},
      {"axis c",
       [](auto& o, auto&) {
         o.grid = ExplicitGrid{{0, 1, 0.1}, false, {1, 2, 1}, {-3, -1, 1}, {1e15, 1e15, 1}};
       }},
      {"--chirp-rates",
       [](auto& o, auto&) {
         o.chirp_rates_hz_per_s = Range{0, 1e9};
       }},
      {"CUDA", [](auto& o, auto&) { o.device = "cuda:0"; }},
      {"too few", [](auto&, auto& c) { c.samples.resize(1); }},
      {"infinite", [](auto&, auto& c) { c.samples[7] = HUGE_VAL; }},
  };
  for (const Case& c : cases) {
    PursuitOptions options = quick();
    Channel channel = good;
    c.spoil(options, channel);
    try {
      decompose(channel, options);
      ADD_FAILURE() << "accepted: " << c.what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.what), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(Decompose, a_progress_callback_can_cancel) {
  PursuitOptions options = quick();
  int calls = 0;
  options.progress = [&](const Progress&) { return ++calls < 5; };
  EXPECT_THROW(decompose(noise_channel(20 * 256, 17), options), Error);
  EXPECT_EQ(calls, 5);
}

TEST(Decompose, the_grid_of_19_million_atoms_runs_in_under_200_MB) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers have memory of their own";
  const pid_t child = fork();
  if (child == 0) {
    Channel channel = noise_channel(512, 18);
    PursuitOptions options;
    options.whole = true;
    options.grid = ExplicitGrid{{0, 512, 4}, true, {0.5, 8, 0.1}, {-2, 1, 0.1}, {-8, 8, 0.25}};
    options.stop.atoms = 1;
    const Decomposition d = decompose(channel, options);
    _exit(d.grid.atoms_per_segment > 19000000 && d.atoms.size() == 1 ? 0 : 1);
  }
  int status = 0;
  struct rusage usage = {};
  ASSERT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0);
  EXPECT_LT(usage.ru_maxrss, 200 * 1024);
  RecordProperty("peak_mb", static_cast<int>(usage.ru_maxrss / 1024));
}

}  // namespace
}  // namespace envoi
