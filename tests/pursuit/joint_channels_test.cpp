// Atoms of several channels at once.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "pursuit/channels.hpp"
#include "pursuit/random.hpp"
#include "pursuit/search.hpp"
#include "pursuit/together.hpp"

namespace envoi {
namespace {

using tests::add_chirplet;
using tests::noise_channel;
using tests::same_bits;

PursuitOptions quick(Channels channels) {
  PursuitOptions options;
  options.band_hz = Range{4, 40};
  options.durations_s = Range{0.06, 0.3};
  options.max_loss = 0.25;
  options.window_s = 1;
  options.stop.atoms = 3;
  options.channels = channels;
  return options;
}

Recording several(std::size_t channels, std::size_t samples, std::uint64_t seed) {
  Recording recording;
  for (std::size_t c = 0; c < channels; ++c) {
    recording.channels.push_back(noise_channel(samples, seed + c));
    recording.channels.back().name = "c" + std::to_string(c + 1);
  }
  return recording;
}

// Brute force: every atom of the grid on every channel.
double best_energy(const atoms::Grid& grid, std::span<const atoms::Samples> channels, bool one_phase) {
  double best = 0;
  for (std::uint64_t i = 0; i < grid.size; ++i) {
    double energy = 0;
    if (one_phase) {
      for (int k = 0; k < 180; ++k) {
        const std::complex<double> turn = std::polar(1.0, k * std::numbers::pi / 180);
        double sum = 0;
        for (const atoms::Samples& samples : channels) {
          const auto m = atoms::moments<double, 1>(samples, grid.at(i));
          const double norm2 = (m.p[0] + (turn * turn * m.s[0]).real()) / 2, along = (turn * m.x[0]).real();
          sum += along * along / norm2;
        }
        energy = std::max(energy, sum);
      }
    } else {
      for (const atoms::Samples& samples : channels) energy += atoms::energy(samples, grid.at(i), false);
    }
    best = std::max(best, energy);
  }
  return best;
}

TEST(JointChannels, the_search_equals_brute_force) {
  tests::Random random(1);
  for (int trial = 0; trial < 6; ++trial) {
    ExplicitGrid axes;
    axes.time = {0, 96, 24};
    axes.time_in_samples = true;
    axes.frequency_hz = {10, 100, 6};
    axes.ln_duration = {std::log(0.02), std::log(0.09), 0.5};
    axes.chirp_rate_hz_per_s = {-300, 300, 150};
    const atoms::Grid grid = atoms::make_grid(axes, 256, 97, {});
    core::ThreadPool pool(2);
    const pursuit::Searcher searcher(grid, trial % 2 ? Precision::double_ : Precision::exact, false, pool);
    std::vector<std::vector<double>> values(3, std::vector<double>(97));
    for (auto& channel : values) {
      for (double& v : channel) v = random.normal() * (trial == 3 ? 1e-3 : 1);
    }
    if (trial == 4) std::fill(values[1].begin(), values[1].end(), 0.0);
    std::vector<atoms::Samples> samples;
    pursuit::ChannelResiduals residuals;
    for (const auto& channel : values) {
      samples.push_back({channel.data(), nullptr, 97});
      residuals.residual.emplace_back(channel);
    }
    for (const bool one_phase : {false, true}) {
      residuals.one_phase = one_phase;
      pursuit::SearchState state;
      const pursuit::Winner winner = searcher.best(residuals, 4, &pool, &state);
      const double want = best_energy(grid, samples, one_phase);
      EXPECT_NEAR(winner.energy, want, one_phase ? 1e-3 * want : 1e-9 * want);
      EXPECT_GE(winner.energy, want * (1 - 1e-9));
      // Again after a change, from the bounds that were kept.
      std::vector<std::vector<double>> changed = values;
      pursuit::ChannelResiduals next;
      next.one_phase = one_phase;
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t n = 20; n < 50; ++n) changed[c][n] *= 0.3;
        next.residual.emplace_back(changed[c]);
      }
      const pursuit::Winner kept = searcher.best(next, 4, &pool, &state),
                            fresh = searcher.best(next, 4, nullptr, nullptr);
      EXPECT_EQ(kept.index, fresh.index);
      EXPECT_EQ(kept.energy, fresh.energy);
      EXPECT_EQ(kept.rivals, fresh.rivals);
    }
  }
}

TEST(JointChannels, one_channel_alone_has_the_bits_of_an_independent_pursuit) {
  Recording recording = several(1, 1024, 2);
  const Decomposition want = decompose(recording, quick(Channels::independent));
  const Decomposition got = decompose(recording, quick(Channels::joint));
  ASSERT_EQ(got.atoms.size(), want.atoms.size());
  for (std::size_t i = 0; i < got.atoms.size(); ++i) EXPECT_TRUE(same_bits(got.atoms[i], want.atoms[i]));
}

TEST(JointChannels, finds_what_no_channel_shows_alone) {
  for (const Channels how : {Channels::joint, Channels::joint_phase}) {
    Recording recording = several(8, 512, 30);
    for (std::size_t c = 0; c < 8; ++c)
      add_chirplet(recording.channels[c], 0.83, 21, 0.12, 9, c % 2 ? 1.3 : -1.1,
                   how == Channels::joint ? 0.7 * static_cast<double>(c) : 0.4);
    PursuitOptions options = quick(how);
    options.window_s = 2;
    options.stop.atoms = 1;
    const Decomposition found = decompose(recording, options);
    ASSERT_EQ(found.atoms.size(), 8u);
    EXPECT_NEAR(found.atoms[0].time_s, 0.83, 0.03);
    EXPECT_NEAR(found.atoms[0].frequency_hz, 21, 0.6);
    double squared = 0, phase = 0;
    for (std::size_t c = 0; c < 8; ++c) {
      const Chirplet& atom = found.atoms[c];
      EXPECT_EQ(atom.time_s, found.atoms[0].time_s);
      EXPECT_EQ(atom.chirp_rate_hz_per_s, found.atoms[0].chirp_rate_hz_per_s);
      const double away = (atom.time_s - 0.83) / atom.se.time_s;
      squared += away * away / 8;
      EXPECT_GT(atom.se.amplitude, 0);
      phase = std::remainder(atom.phase_rad - found.atoms[0].phase_rad, std::numbers::pi);
      if (how == Channels::joint_phase) {
        EXPECT_NEAR(phase, 0, 1e-9);
      }
    }
    EXPECT_LT(squared, 9);
  }
}

// The slope that refinement climbs: at its end no small move gains, and it agrees with a search by brute force nearby.
TEST(JointChannels, refinement_ends_at_a_maximum_of_the_summed_energy) {
  tests::Random random(5);
  for (const bool one_phase : {false, true}) {
    Recording recording = several(3, 300, 60);
    for (std::size_t c = 0; c < 3; ++c)
      add_chirplet(recording.channels[c], 0.6, 18, 0.1, 12, 3 + static_cast<double>(c),
                   one_phase ? 0.9 : static_cast<double>(c));
    std::vector<atoms::Samples> samples;
    for (const Channel& channel : recording.channels) samples.push_back({channel.samples.data(), nullptr, 300});
    atoms::Limits limits;
    limits.low = {0, 0.01, std::log(8), -0.01}, limits.high = {299, 0.4, std::log(80), 0.01};
    atoms::Atom start;
    start.set_centre(150), start.frequency = 17.5 / 256, start.ln_duration = std::log(30), start.chirp_rate = 0;
    const pursuit::Together top = pursuit::refine_together(samples, start, limits, false, one_phase);
    EXPECT_NEAR(top.atom.centre(), 0.6 * 256, 3);
    for (int trial = 0; trial < 200; ++trial) {
      atoms::Atom near = top.atom;
      near.move_to(near.sample, near.offset + random.uniform(-1, 1) * 0.3);
      near.frequency += random.uniform(-1, 1) * 5e-5;
      near.ln_duration += random.uniform(-1, 1) * 0.02;
      near.chirp_rate += random.uniform(-1, 1) * 2e-6;
      EXPECT_LE(pursuit::together_energy(samples, near, false, one_phase), top.energy * (1 + 1e-12));
    }
  }
}

TEST(JointChannels, same_bits_for_any_number_of_threads_and_a_silent_channel_does_no_harm) {
  Recording recording = several(3, 256 * 5, 7);
  std::fill(recording.channels[1].samples.begin(), recording.channels[1].samples.end(), 2.5);
  for (const Method method : {Method::mp, Method::omp}) {
    PursuitOptions options = quick(Channels::joint);
    options.method = method;
    options.threads = 1;
    const Decomposition want = decompose(recording, options);
    options.threads = 3;
    const Decomposition got = decompose(recording, options);
    ASSERT_EQ(got.atoms.size(), want.atoms.size());
    for (std::size_t i = 0; i < got.atoms.size(); ++i) EXPECT_TRUE(same_bits(got.atoms[i], want.atoms[i]));
    for (const Segment& segment : got.segments) {
      if (segment.channel == 1) {
        EXPECT_EQ(segment.stop_reason, StopReason::silence);
        EXPECT_EQ(segment.atom_count, 0u);
      }
    }
  }
}

TEST(JointChannels, noise_alone_seldom_gives_an_atom) {
  Recording recording = several(4, 256 * 100, 70);
  PursuitOptions options = quick(Channels::joint);
  options.stop = {};
  options.stop.noise_p = 0.05;
  std::size_t alarms = 0;
  const Decomposition found = decompose(recording, options);
  for (const Segment& segment : found.segments) alarms += segment.channel == 0 && segment.atom_count > 0;
  EXPECT_LE(alarms, 12u);
}

TEST(JointChannels, channels_that_do_not_agree_are_refused) {
  const auto refused = [](auto change) {
    Recording recording = several(2, 512, 8);
    PursuitOptions options = quick(Channels::joint);
    change(recording, options);
    EXPECT_THROW(decompose(recording, options), Error);
  };
  refused([](Recording& r, PursuitOptions&) { r.channels[1].rate_hz = 128; });
  refused([](Recording& r, PursuitOptions&) { r.channels[1].unit = "V"; });
  refused([](Recording& r, PursuitOptions&) { r.channels[1].start_s = 1; });
  refused([](Recording& r, PursuitOptions&) { r.channels[1].samples.pop_back(); });
  refused([](Recording&, PursuitOptions& o) { o.method = Method::joint; });
  refused([](Recording&, PursuitOptions& o) { o.channels = Channels::joint_phase, o.method = Method::omp; });
}

}  // namespace
}  // namespace envoi
