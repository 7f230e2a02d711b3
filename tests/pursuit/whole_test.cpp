// The whole-signal pursuit: what it finds where windows would cut, and that nothing but the signal decides.
#include "pursuit/whole.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "atoms/waveform.hpp"
#include "effort.hpp"
#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "pursuit/channels.hpp"
#include "pursuit/random.hpp"
#include "pursuit/resolve.hpp"

namespace envoi {
namespace {

using pursuit::StretchRecord;
using tests::add_chirplet;
using tests::noise_channel;
using tests::same_bits;

PursuitOptions quick() {
  PursuitOptions options;
  options.whole_signal = true;
  options.band_hz = Range{4, 40};
  options.durations_s = Range{0.03, 0.1};
  options.max_loss = 0.25;
  options.stop.density_per_s = 5;
  return options;
}

pursuit::WholeHooks no_hooks() {
  return {[] {}, [](std::int64_t) {}, nullptr, nullptr};
}

pursuit::SegmentResult run(const Channel& channel, const PursuitOptions& options, unsigned threads,
                           std::int64_t at_once, const pursuit::WholeHooks& hooks = no_hooks()) {
  core::ThreadPool pool(threads);
  return pursuit::take_apart_whole(channel, pursuit::resolve(channel, options).options, pool, hooks, at_once);
}

void expect_same(const pursuit::SegmentResult& a, const pursuit::SegmentResult& b) {
  ASSERT_EQ(a.atoms.size(), b.atoms.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) ASSERT_TRUE(same_bits(a.atoms[i], b.atoms[i])) << "atom " << i;
  EXPECT_EQ(a.segment.certificate.survivors, b.segment.certificate.survivors);
  EXPECT_EQ(a.segment.snr_db, b.segment.snr_db);
  EXPECT_EQ(a.segment.stop_reason, b.segment.stop_reason);
}

Channel busy_channel(std::size_t samples, std::uint64_t seed) {
  tests::Random random(seed);
  Channel channel = noise_channel(samples, seed);
  for (std::size_t i = 0; i < samples / 128; ++i) {
    add_chirplet(channel, random.uniform(0, static_cast<double>(samples) / 256), random.uniform(6, 35),
                 random.uniform(0.03, 0.1), random.uniform(-30, 30), random.uniform(1, 6), random.uniform(-3, 3));
  }
  return channel;
}

TEST(Whole, gives_the_same_bits_for_any_number_of_threads_and_stretches_at_once) {
  const Channel channel = busy_channel(256 * 30 + 77, 1);
  for (const Method method : {Method::mp, Method::omp}) {
    PursuitOptions options = quick();
    options.method = method;
    const pursuit::SegmentResult want = run(channel, options, 1, 1000000);
    EXPECT_GT(want.atoms.size(), 100u);
    for (const unsigned threads : {1u, 2u, 5u}) {
      for (const std::int64_t at_once : {1, 3, 8}) expect_same(run(channel, options, threads, at_once), want);
    }
  }
}

// The rule by itself: all stretches in step, every search anew.
std::vector<pursuit::Take> in_step(const Channel& channel, const PursuitOptions& given) {
  const PursuitOptions options = pursuit::resolve(channel, given).options;
  const auto samples = static_cast<std::int64_t>(channel.samples.size());
  const double longest = options.durations_s->high * channel.rate_hz;
  const pursuit::Layout layout = pursuit::lay_out(samples, longest);
  core::ThreadPool pool(1);
  std::vector<double> residual = pursuit::detrend(channel, {0, samples, 0, 0}, options.detrend).value;
  struct Part {
    std::int64_t from, to;
    pursuit::Prepared prepared;
    std::size_t quota, taken = 0;
    bool closed = false;
    pursuit::Winner winner;
  };
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < layout.count; ++i) {
    const std::int64_t begin = i * layout.stretch, end = i + 1 == layout.count ? samples : begin + layout.stretch;
    Part part{
        std::max<std::int64_t>(0, begin - layout.reach), std::min(samples, end + layout.reach), {}, 0, 0, false, {}};
    atoms::Grid& grid = part.prepared.grid = pursuit::grid_for(channel, options, end - begin);
    for (atoms::Block& block : grid.blocks) block.centre_first += static_cast<double>(begin - part.from);
    grid.samples = part.to - part.from;
    grid.limits.low[0] = std::max(0.0, static_cast<double>(begin - part.from) - longest);
    grid.limits.high[0] =
        std::min(static_cast<double>(grid.samples - 1), static_cast<double>(end - part.from - 1) + longest);
    const double density = *options.stop.density_per_s / channel.rate_hz;
    part.quota = static_cast<std::size_t>(std::floor(density * static_cast<double>(end) + 1e-9) -
                                          std::floor(density * static_cast<double>(begin) + 1e-9));
    parts.push_back(std::move(part));
  }
  for (Part& part : parts) {
    part.prepared.searcher = std::make_unique<pursuit::Searcher>(part.prepared.grid, options.precision, false, pool);
  }
  std::vector<pursuit::Take> out;
  for (int round = 0; std::any_of(parts.begin(), parts.end(), [](const Part& p) { return !p.closed; }); ++round) {
    const auto seen = [&](const Part& part) {
      return std::span<const double>(residual.data() + part.from, static_cast<std::size_t>(part.to - part.from));
    };
    for (Part& part : parts) {
      if (!part.closed)
        part.winner = part.prepared.searcher->best(seen(part), {}, pursuit::rivals_of(part.prepared, options), nullptr);
    }
    std::vector<std::pair<std::size_t, pursuit::Term>> acting;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto energy = [&](std::size_t j) { return parts[j].closed ? 0 : parts[j].winner.energy; };
      if (parts[i].closed || (i > 0 && energy(i - 1) >= energy(i)) ||
          (i + 1 < parts.size() && energy(i + 1) > energy(i)))
        continue;
      pursuit::Term term;
      const std::span<const double> x = seen(parts[i]);
      pursuit::refine_winner(parts[i].prepared, parts[i].winner,
                             {x.data(), nullptr, static_cast<std::int64_t>(x.size())}, options, term);
      acting.emplace_back(i, term);
    }
    for (auto& [i, term] : acting) {
      Part& part = parts[i];
      atoms::add_atom(term.atom, term.alpha, -1, residual.data() + part.from, part.to - part.from);
      term.atom.sample += part.from;
      pursuit::Take take;
      take.round = round;
      take.term = term;
      out.push_back(take);
      part.closed = ++part.taken == part.quota;
    }
  }
  return out;
}

TEST(Whole, takes_what_rounds_in_step_take) {
  const Channel channel = busy_channel(256 * 20 + 5, 2);
  PursuitOptions options = quick();
  options.stop.density_per_s = 3;
  std::vector<double> want, got;
  for (const pursuit::Take& take : in_step(channel, options)) want.push_back(take.term.atom.centre() / channel.rate_hz);
  for (const Chirplet& atom : run(channel, options, 2, 4).atoms) got.push_back(atom.time_s);
  std::sort(want.begin(), want.end()), std::sort(got.begin(), got.end());
  EXPECT_EQ(got, want);
}

TEST(Whole, an_atom_across_the_border_of_two_stretches_is_one_atom) {
  const std::int64_t samples = 256 * 20;
  const pursuit::Layout layout = pursuit::lay_out(samples, 0.1 * 256);
  ASSERT_GT(layout.count, 4);
  for (const double off : {-0.5, 0.0, 0.25, 3.0}) {
    Channel channel = noise_channel(samples, 3);
    for (double& v : channel.samples) v *= 1e-3;
    const double border = (static_cast<double>(2 * layout.stretch) + off) / 256;
    add_chirplet(channel, border, 17, 0.07, 20, 5, 0.3);
    PursuitOptions options = quick();
    options.stop = {};
    options.stop.threshold = 1;
    const pursuit::SegmentResult found = run(channel, options, 2, 64);
    ASSERT_EQ(found.atoms.size(), 1u) << off;
    EXPECT_NEAR(found.atoms[0].time_s, border, 1e-4);
    EXPECT_NEAR(found.atoms[0].frequency_hz, 17, 1e-2);
    EXPECT_LT(found.segment.energy_left_share, 1e-4);
    EXPECT_EQ(found.segment.stop_reason, StopReason::threshold);
  }
}

TEST(Whole, what_is_left_falls_with_every_atom_and_can_be_rebuilt) {
  for (const Method method : {Method::mp, Method::omp, Method::joint}) {
    const Channel channel = busy_channel(256 * 8, 4);
    PursuitOptions options = quick();
    options.method = method;
    const Decomposition result = decompose(channel, options);
    ASSERT_EQ(result.segments.size(), 1u);
    double left = 1;
    std::vector<double> residual;
    for (const double v : channel.samples) residual.push_back(v - result.segments[0].mean);
    std::vector<double> model(residual.size(), 0.0);
    for (const Chirplet& atom : result.atoms) {
      if (method == Method::mp) {
        EXPECT_LT(atom.energy_left_share, left);
        left = atom.energy_left_share;
      }
      atoms::add_chirplet(atom, 0, channel.rate_hz, model);
    }
    double all = 0, rest = 0;
    for (std::size_t n = 0; n < model.size(); ++n) {
      all += residual[n] * residual[n];
      rest += (residual[n] - model[n]) * (residual[n] - model[n]);
    }
    EXPECT_NEAR(10 * std::log10(all / rest), result.segments[0].snr_db, 1e-6);
  }
}

TEST(Whole, refitting_all_amplitudes_never_leaves_more_and_settles_at_the_least_squares_fit) {
  const Channel channel = busy_channel(256 * 12, 5);
  PursuitOptions options = quick();
  const double mp = run(channel, options, 2, 64).segment.energy_left_share;
  options.method = Method::omp;
  const pursuit::SegmentResult omp = run(channel, options, 2, 64);
  EXPECT_LT(omp.segment.energy_left_share, mp);
  // At the least squares fit the residual is orthogonal to every atom's two quadratures.
  std::vector<double> residual;
  for (const double v : channel.samples) residual.push_back(v - omp.segment.mean);
  std::vector<double> model(residual.size(), 0.0);
  for (const Chirplet& atom : omp.atoms) atoms::add_chirplet(atom, 0, 256, model);
  double energy = 0;
  for (std::size_t n = 0; n < model.size(); ++n) residual[n] -= model[n], energy += residual[n] * residual[n];
  for (Chirplet atom : omp.atoms) {
    for (const double turn : {0.0, 1.57079632679489662}) {
      atom.phase_rad += turn;
      std::vector<double> one(residual.size(), 0.0);
      atoms::add_chirplet(atom, 0, 256, one);
      double product = 0, norm = 0;
      for (std::size_t n = 0; n < one.size(); ++n) product += one[n] * residual[n], norm += one[n] * one[n];
      EXPECT_LT(std::abs(product), 1e-6 * std::sqrt(norm * energy));
    }
  }
}

TEST(Whole, stretches_that_an_earlier_run_finished_are_not_computed_again) {
  const Channel channel = busy_channel(256 * 25, 6);
  std::map<std::int64_t, StretchRecord> kept;
  pursuit::WholeHooks hooks = no_hooks();
  hooks.finished = [&](std::int64_t i, const StretchRecord& record) { kept[i] = record; };
  const pursuit::SegmentResult want = run(channel, quick(), 2, 8, hooks);
  ASSERT_GT(kept.size(), 6u);
  for (const std::int64_t every : {1, 2, 3}) {
    std::vector<std::int64_t> again;
    pursuit::WholeHooks resumed = no_hooks();
    resumed.recall = [&](std::int64_t i) -> std::optional<StretchRecord> {
      return i % every == 0 ? std::optional(kept.at(i)) : std::nullopt;
    };
    resumed.finished = [&](std::int64_t i, const StretchRecord&) { again.push_back(i); };
    int searches = 0;
    resumed.poll = [&] { ++searches; };
    expect_same(run(channel, quick(), 1, 8, resumed), want);
    for (const std::int64_t i : again) EXPECT_NE(i % every, 0);
    if (every == 1) {
      EXPECT_EQ(searches, 0);
    }
  }
}

TEST(Whole, records_that_cannot_be_of_their_stretch_are_computed_again) {
  const Channel channel = busy_channel(256 * 10, 12);
  std::map<std::int64_t, StretchRecord> kept;
  pursuit::WholeHooks hooks = no_hooks();
  hooks.finished = [&](std::int64_t i, const StretchRecord& record) { kept[i] = record; };
  const pursuit::SegmentResult want = run(channel, quick(), 2, 8, hooks);
  const auto changed = [&](auto change) {
    pursuit::WholeHooks resumed = no_hooks();
    resumed.recall = [&](std::int64_t i) -> std::optional<StretchRecord> {
      StretchRecord record = kept.at(i);
      for (pursuit::Take& take : record.takes) change(take);
      return record;
    };
    expect_same(run(channel, quick(), 1, 8, resumed), want);
  };
  changed([](pursuit::Take& take) { take.term.atom.sample = 1'000'000'000; });
  changed([](pursuit::Take& take) { take.term.atom.sample = -5'000'000'000; });
  changed([](pursuit::Take& take) { take.term.atom.ln_duration = 30; });
  changed([](pursuit::Take& take) { take.term.alpha = {kUndetermined, 0}; });
  changed([](pursuit::Take& take) { take.term.atom.offset = 1e9; });
}

TEST(Whole, a_second_of_missing_samples_costs_that_second_alone) {
  const Channel clean = busy_channel(256 * 20, 7);
  Channel gap = clean;
  for (std::size_t n = 256 * 10; n < 256 * 11; ++n) gap.samples[n] = kUndetermined;
  const pursuit::SegmentResult a = run(clean, quick(), 2, 64), b = run(gap, quick(), 2, 64);
  EXPECT_EQ(b.segment.missing_samples, 256u);
  EXPECT_EQ(b.segment.samples, clean.samples.size());
  std::size_t near = 0;
  for (const Chirplet& atom : b.atoms) {
    EXPECT_TRUE(std::isfinite(atom.amplitude) && std::isfinite(atom.energy));
    near += std::abs(atom.time_s - 10.5) < 2;
  }
  EXPECT_GT(near, 3u);
  EXPECT_GT(b.atoms.size() + 12, a.atoms.size());
}

TEST(Whole, odd_lengths_silence_and_nothing_but_gaps) {
  for (const std::size_t samples : {8u, 9u, 255u, 256u, 257u, 383u, 384u, 385u, 1001u}) {
    const pursuit::SegmentResult found = run(busy_channel(samples, samples), quick(), 2, 64);
    EXPECT_EQ(found.segment.samples, samples);
    for (const Chirplet& atom : found.atoms) {
      EXPECT_GE(atom.time_s, 0);
      EXPECT_LT(atom.time_s, static_cast<double>(samples) / 256);
    }
  }
  Channel channel = noise_channel(2000, 8);
  for (double& v : channel.samples) v = 3.25;
  EXPECT_EQ(run(channel, quick(), 2, 64).segment.stop_reason, StopReason::silence);
  for (double& v : channel.samples) v = kUndetermined;
  EXPECT_EQ(run(channel, quick(), 2, 64).segment.stop_reason, StopReason::missing);
}

TEST(Whole, noise_alone_seldom_gives_an_atom) {
  PursuitOptions options = quick();
  options.stop = {};
  options.stop.noise_p = 0.05;
  const Channel channel = noise_channel(256 * 200, 9);
  const std::size_t stretches = static_cast<std::size_t>(pursuit::lay_out(256 * 200, 25.6).count);
  const pursuit::SegmentResult found = run(channel, options, 2, 64);
  EXPECT_LT(static_cast<double>(found.atoms.size()), 0.1 * static_cast<double>(stretches));
  EXPECT_EQ(found.segment.stop_reason, StopReason::noise);
}

TEST(Whole, options_of_windows_are_refused) {
  const Channel channel = noise_channel(2000, 10);
  const auto refused = [&](auto change) {
    PursuitOptions options = quick();
    change(options);
    EXPECT_THROW(decompose(channel, options), Error);
  };
  refused([](PursuitOptions& o) { o.window_s = 1; });
  refused([](PursuitOptions& o) { o.hop_s = 1; });
  refused([](PursuitOptions& o) { o.stop.atoms = 5; });
  refused([](PursuitOptions& o) { o.stop.snr_db = 5; });
  refused([](PursuitOptions& o) { o.stop.density_per_s = 0; });
  refused([](PursuitOptions& o) { o.stop.threshold = -1; });
  refused([](PursuitOptions& o) { o.whole_signal = false; });
  refused([](PursuitOptions& o) { o.stop.density_per_s = 1000; });
  refused([](PursuitOptions& o) { o.durations_s = Range{100, 200}; });
}

}  // namespace
}  // namespace envoi
