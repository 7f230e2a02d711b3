// The certified search against brute force in fp64, and the promises made about its bits.
#include "pursuit/search.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numbers>
#include <random>
#include <vector>

#include "effort.hpp"
#include "envoi/error.hpp"
#include "pursuit/cpu/screen.hpp"
#include "pursuit/random.hpp"
#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {
namespace {

using atoms::Atom;
using atoms::Grid;

std::uint64_t brute_force(const Grid& grid, const atoms::Samples& samples, bool phase_fixed) {
  std::vector<double> energy(grid.size);
  double best = 0;
  for (std::uint64_t i = 0; i < grid.size; ++i) {
    energy[i] = atoms::energy(samples, grid.at(i), phase_fixed);
    best = std::max(best, energy[i]);
  }
  for (std::uint64_t i = 0; i < grid.size; ++i) {
    if (energy[i] >= best * (1 - 1e-12)) return i;
  }
  return grid.size;
}

using tests::Random;

// Steps that divide nothing, centres on whole samples, halves or anywhere, atoms cut by the edges and outside them.
ExplicitGrid random_axes(Random& random, int samples) {
  ExplicitGrid axes;
  axes.time_in_samples = true;
  const int kind = random.integer(0, 3);
  const double first = kind == 0   ? random.integer(-3, 8)
                       : kind == 1 ? random.integer(0, 8) + 0.5
                                   : random.uniform(-2, 5);
  const double step = kind == 0 ? random.integer(1, 9) : kind == 1 ? random.integer(1, 8) : random.uniform(0.6, 9);
  axes.time = {first, samples + random.uniform(-4, 2), step};
  axes.frequency_hz = {random.uniform(0, 0.05), random.uniform(0.2, 0.5), random.uniform(0.011, 0.05)};
  axes.ln_duration = {random.uniform(0, 1.5), random.uniform(2, 4.5), random.uniform(0.4, 1.1)};
  if (random.integer(0, 3) == 0) {
    axes.chirp_rate_hz_per_s = {0, 0, 1};
  } else if (random.integer(0, 1) == 0) {
    axes.chirp_rate_hz_per_s = {-0.01, 0.01, 0.0025};  // pairs of +-c
  } else {
    axes.chirp_rate_hz_per_s = {random.uniform(-0.02, -0.001), random.uniform(0, 0.02), random.uniform(0.003, 0.01)};
  }
  return axes;
}

std::vector<double> random_signal(Random& random, int samples, int kind) {
  std::vector<double> x(static_cast<std::size_t>(samples), 0.0);
  if (kind == 0) {  // an impulse ties mirror atoms
    x[static_cast<std::size_t>(random.integer(0, samples - 1))] = random.normal();
  } else if (kind == 1) {
    for (double& v : x) v = 1;
  } else {
    for (double& v : x) v = random.normal() * (kind == 2 ? 1e-9 : 1);
    Atom atom;
    atom.set_centre(random.uniform(0, samples));
    atom.frequency = random.uniform(0, 0.5), atom.ln_duration = random.uniform(0, 4),
    atom.chirp_rate = random.uniform(-0.02, 0.02);
    atoms::add_atom(atom, {random.normal() * 3, random.normal() * 3}, 1, x.data(), samples);
  }
  return x;
}

template <class Check>
void on_random_grids(int count, std::uint64_t seed, Check&& check) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const int samples = random.integer(16, 150);
    const Grid grid = atoms::make_grid(random_axes(random, samples), 1.0, samples, {});
    if (grid.size == 0) continue;
    check(random, grid, samples, i);
  }
}

class SearchOfRandomGrids : public testing::TestWithParam<std::tuple<Precision, bool>> {};

TEST_P(SearchOfRandomGrids, finds_the_index_of_brute_force) {
  const auto [precision, phase_fixed] = GetParam();
  core::ThreadPool pool(2);
  on_random_grids(
      tests::effort(200, 1), 10 + static_cast<std::uint64_t>(phase_fixed),
      [&, precision = precision, phase_fixed = phase_fixed](Random& random, const Grid& grid, int samples, int i) {
        const Searcher searcher(grid, precision, phase_fixed, pool);
        std::vector<double> x = random_signal(random, samples, i % 6), weight;
        if (i % 4 == 3) weight = random.leave_out(x);
        const Winner winner = searcher.best(x, weight, 0, &pool);
        const atoms::Samples all{x.data(), weight.empty() ? nullptr : weight.data(), samples};
        const std::uint64_t want = brute_force(grid, all, phase_fixed);
        if (winner.energy > 0) {
          EXPECT_GE(winner.survivors, 1u);  // else it lay above its own bound
          EXPECT_EQ(winner.index, want) << "grid " << i << ", " << samples << " samples, " << grid.size << " atoms";
        }
      });
}
INSTANTIATE_TEST_SUITE_P(Kinds, SearchOfRandomGrids,
                         testing::Combine(testing::Values(Precision::exact, Precision::double_), testing::Bool()));

TEST(Search, finds_the_index_of_brute_force_where_transforms_serve) {
  core::ThreadPool pool(2);
  Random random(50);
  int transforms = 0;
  for (int i = 0; i < tests::effort(24); ++i) {
    const int samples = random.integer(60, 200);
    const double shortest = random.uniform(5, 12), longest = shortest * random.uniform(1.2, 3);
    const double low = random.uniform(0, 0.1), high = random.uniform(0.35, 0.5);
    const Grid grid =
        atoms::make_grid({{low, high}, {shortest, longest}, {}, false}, random.uniform(0.1, 0.3), samples);
    const Searcher searcher(grid, Precision::exact, false, pool);
    for (const Family& family : plan_families(grid, screen_kernels<float>().lanes, true))
      transforms += family.transform > 0;
    std::vector<double> x = random_signal(random, samples, i % 6), weight;
    if (i % 4 == 3) weight = random.leave_out(x);
    const Winner winner = searcher.best(x, weight, 0, &pool);
    const atoms::Samples all{x.data(), weight.empty() ? nullptr : weight.data(), samples};
    if (winner.energy > 0) {
      EXPECT_EQ(winner.index, brute_force(grid, all, false)) << "grid " << i;
    }
  }
  EXPECT_GT(transforms, tests::effort(20));
}

// Many durations on the same steps, so that few basis windows serve them all, and frequencies that repeat after a whole
// number of samples, with or without the half, so that samples are folded.
ExplicitGrid fine_axes(Random& random, int samples, bool chirps) {
  ExplicitGrid axes;
  axes.time_in_samples = true;
  const double period = random.integer(24, 90);
  axes.time = {static_cast<double>(random.integer(-2, 6)), samples + random.uniform(-4, 2),
               static_cast<double>(random.integer(2, 9))};
  const double first = random.integer(0, 2) / (2 * period);
  axes.frequency_hz = {first, first + random.integer(3, static_cast<int>(period / 2) - 1) / period, 1 / period};
  const double shortest = random.uniform(1, 2);
  axes.ln_duration = {shortest, shortest + random.uniform(0.8, 2), random.uniform(0.06, 0.12)};
  axes.chirp_rate_hz_per_s = chirps ? Axis{-0.006, 0.006, 0.003} : Axis{0, 0, 1};
  return axes;
}

TEST(Search, finds_the_index_of_brute_force_where_basis_windows_and_foldings_serve) {
  core::ThreadPool pool(2);
  Random random(60);
  int joined = 0, folded = 0, wrong_with_a_hundredth = 0;
  const int draws = tests::effort(60);
  for (int i = 0; i < draws; ++i) {
    const int samples = random.integer(60, 200);
    const bool phase_fixed = i % 5 == 4;
    const Grid grid = atoms::make_grid(fine_axes(random, samples, i % 3 != 0), 1.0, samples, {});
    Searcher searcher(grid, Precision::exact, phase_fixed, pool);
    for (const Family& family : plan_families(grid, screen_kernels<float>().lanes, true)) {
      joined += family.blocks.size() > 1 && family.rank < static_cast<int>(family.blocks.size());
      folded += family.rows() < family.depth;
    }
    std::vector<double> x = random_signal(random, samples, i % 6), weight;
    if (i % 4 == 3) weight = random.leave_out(x);
    const Winner winner = searcher.best(x, weight, 0, &pool);
    const atoms::Samples all{x.data(), weight.empty() ? nullptr : weight.data(), samples};
    if (winner.energy > 0) {
      const std::uint64_t want = brute_force(grid, all, phase_fixed);
      EXPECT_EQ(winner.index, want) << "grid " << i;
      EXPECT_GE(winner.survivors, 1u);
      searcher.scale_bound_for_test(0.01);
      wrong_with_a_hundredth += searcher.best(x, weight, 0, &pool).index != want;
    }
  }
  // The bound on what the basis leaves of a window is needed, though not in every few draws.
  if (draws == 60) {
    EXPECT_GT(wrong_with_a_hundredth, 0);
  }
  EXPECT_GT(joined, draws / 2);
  EXPECT_GT(folded, draws / 2);
}

// What a search with a state must find: the same as one without, whatever happened to the residual between.
struct Chain {
  Grid grid;
  std::vector<std::vector<double>> residuals;
};
Chain chain_of_residuals(Random& random, int kind) {
  Chain out;
  const int samples = kind == 2 ? 200 : 1500;
  if (kind == 0) {  // short atoms in a long window
    out.grid = atoms::make_grid({{0.05, 0.45}, {6, 12}, {}, false}, 0.2, samples);
  } else if (kind == 1) {
    out.grid = atoms::make_grid(
        ExplicitGrid{{0, samples - 1.0, 8}, true, {0.02, 0.45, 0.013}, {1.5, 2.7, 0.1}, {-0.004, 0.004, 0.001}}, 1.0,
        samples, {});
  } else {
    out.grid = atoms::make_grid(fine_axes(random, samples, true), 1.0, samples, {});
  }
  std::vector<double> x(static_cast<std::size_t>(samples), 0.0);
  for (double& v : x) v = 0.1 * random.normal();
  std::vector<Atom> taken;
  for (int i = 0; i < 8; ++i) {
    Atom atom;
    atom.set_centre(random.uniform(0, samples));
    atom.frequency = random.uniform(0.06, 0.4), atom.ln_duration = random.uniform(1.9, 2.4);
    atoms::add_atom(atom, std::polar(random.uniform(0.5, 3), random.uniform(-3, 3)), 1, x.data(), samples);
    taken.push_back(atom);
  }
  out.residuals.push_back(x);
  for (const Atom& atom : taken) {  // one after the other is fitted and leaves, as in a pursuit
    const auto fit = atoms::fit(atoms::moments<double, 1>({x.data(), nullptr, samples}, atom), false);
    atoms::add_atom(atom, fit.alpha, -1, x.data(), samples);
    out.residuals.push_back(x);
  }
  for (double& v : x) v *= 3;  // and what a pursuit does not do
  out.residuals.push_back(x);
  x.assign(x.size(), 0.0);
  x[x.size() / 2] = 1;
  out.residuals.push_back(x);
  return out;
}

// Searches that differ from those without a state, and the share of units that were searched.
std::pair<int, double> wrong_with_a_state(const Chain& chain, double factor) {
  core::ThreadPool pool(2);
  const Searcher searcher(chain.grid, Precision::exact, false, pool);
  SearchState state;
  state.scale_bound_for_test(factor);
  int wrong = 0;
  double refreshed = 0, units = 0;
  for (std::size_t i = 0; i < chain.residuals.size(); ++i) {
    const std::vector<double>& x = chain.residuals[i];
    const Winner want = searcher.best(x, {}, 4, nullptr),
                 got = searcher.best(x, {}, 4, i % 2 ? &pool : nullptr, &state);
    wrong += want.index != got.index || want.energy != got.energy || want.survivors != got.survivors ||
             want.rivals != got.rivals || want.bound != got.bound;
    if (i > 0) refreshed += static_cast<double>(state.refreshed()), units += static_cast<double>(state.units());
  }
  return {wrong, refreshed / units};
}

TEST(Search, bounds_kept_from_search_to_search_change_nothing_but_the_work) {
  Random random(70);
  for (int kind = 0; kind < 3; ++kind) {
    double share = 0;
    const int draws = tests::effort(6);
    for (int i = 0; i < draws; ++i) {
      const auto [wrong, refreshed] = wrong_with_a_state(chain_of_residuals(random, kind), 1);
      EXPECT_EQ(wrong, 0) << "kind " << kind;
      share += refreshed / draws;
    }
    if (kind == 0) {
      EXPECT_LT(share, 0.6);  // atoms that are short beside the window leave most of it alone
    }
    RecordProperty("share_searched_" + std::to_string(kind), std::to_string(share));
  }
}

// The difference itself is the next winner: an atom that grows where there was nothing. Half of what it can change is
// then too little.
TEST(Search, half_of_the_bound_on_a_change_is_too_little) {
  Random random(80);
  Chain chain;
  const int samples = 1500;
  chain.grid = atoms::make_grid({{0.05, 0.45}, {6, 12}, {}, false}, 0.2, samples);
  std::vector<double> x(static_cast<std::size_t>(samples), 0.0);
  Atom strong;
  strong.set_centre(300), strong.frequency = 0.2, strong.ln_duration = 2.1;
  atoms::add_atom(strong, {1.0, 0.0}, 1, x.data(), samples);
  chain.residuals.push_back(x);
  for (int i = 0; i < 4; ++i) {  // each a little stronger than the last, elsewhere
    Atom atom = strong;
    atom.set_centre(500 + 250 * i);
    atoms::add_atom(atom, {1.1 + 0.1 * i, 0.0}, 1, x.data(), samples);
    chain.residuals.push_back(x);
  }
  EXPECT_EQ(wrong_with_a_state(chain, 1).first, 0);
  EXPECT_GT(wrong_with_a_state(chain, 0.5).first, 0);
}

TEST(Search, gives_the_same_bits_for_any_number_of_threads) {
  on_random_grids(tests::effort(20, 1), 20, [&](Random& random, const Grid& grid, int samples, int i) {
    const std::vector<double> x = random_signal(random, samples, 3 + i % 3);
    core::ThreadPool one(1);
    const Winner want = Searcher(grid, Precision::exact, false, one).best(x, {}, 8, nullptr);
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
      core::ThreadPool pool(threads);
      const Winner got = Searcher(grid, Precision::exact, false, pool).best(x, {}, 8, &pool);
      EXPECT_EQ(got.index, want.index);
      EXPECT_EQ(got.energy, want.energy);
      EXPECT_EQ(got.survivors, want.survivors);
      EXPECT_EQ(got.bound, want.bound);
      EXPECT_EQ(got.rivals, want.rivals);
    }
  });
}

TEST(Search, the_lowest_index_wins_among_equals) {
  // An impulse: every frequency and chirp rate at its sample has the same energy but for kappa; with the shortest
  // duration repeated, whole blocks tie to the bit.
  Grid grid = atoms::make_grid(ExplicitGrid{{0, 63, 1}, true, {0.25, 0.25, 1}, {1.0, 1.0, 1}, {-0.01, 0.01, 0.01}}, 1.0,
                               64, {});
  grid.blocks.push_back(grid.blocks[0]);
  grid.blocks[1].first = grid.size;
  grid.size *= 2;
  std::vector<double> x(64, 0.0);
  x[31] = 1;
  core::ThreadPool pool(1);
  const Winner winner = Searcher(grid, Precision::exact, false, pool).best(x, {}, 0, nullptr);
  EXPECT_EQ(winner.index, brute_force(grid, {x.data(), nullptr, 64}, false));
  EXPECT_LT(winner.index, grid.size / 2);
}

// Near-duplicates: short atoms at frequencies so close that the best two differ by about 1e-6 and less, below what fp32
// sums resolve.
struct NearDuplicates {
  Grid grid;
  std::vector<std::vector<double>> signals;
};
NearDuplicates near_duplicates() {
  Random random(30);
  NearDuplicates out;
  const int samples = 64;
  const double step = 2e-5;
  const ExplicitGrid axes{{32, 32, 1}, true, {0.1, 0.1 + 400 * step, step}, {1.1, 1.1, 1}, {0, 0, 1}};
  out.grid = atoms::make_grid(axes, 1.0, samples, {});
  for (int i = 0; i < 500; ++i) {
    Atom atom;
    atom.set_centre(32);
    atom.frequency = 0.1 + random.uniform(50, 350) * step, atom.ln_duration = 1.1;
    std::vector<double> x(samples, 0.0);
    atoms::add_atom(atom, std::polar(1.0, random.uniform(-3, 3)), 1, x.data(), samples);
    for (double& v : x) v += 0.01 * random.normal();
    out.signals.push_back(x);
  }
  return out;
}

TEST(Search, near_duplicates_come_out_right_because_of_the_bound) {
  const NearDuplicates d = near_duplicates();
  core::ThreadPool pool(1);
  Searcher searcher(d.grid, Precision::exact, false, pool);
  int wrong = 0, wrong_with_a_hundredth = 0;
  std::uint64_t survivors = 0;
  for (const auto& x : d.signals) {
    const std::uint64_t want = brute_force(d.grid, {x.data(), nullptr, 64}, false);
    searcher.scale_bound_for_test(1);
    const Winner winner = searcher.best(x, {}, 0, nullptr);
    wrong += winner.index != want;
    survivors += winner.survivors;
    searcher.scale_bound_for_test(0.01);
    wrong_with_a_hundredth += searcher.best(x, {}, 0, nullptr).index != want;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(survivors, d.signals.size());  // the screen alone could not tell
  EXPECT_GT(wrong_with_a_hundredth, 0);    // and the bound is not a hundred times too wide
}

// Thousands of samples wrapped or folded onto one point by a coarse step in frequency, and phases of 1e9 radians: an
// atom above its own bound would have no survivor.
TEST(Search, bounds_hold_where_a_period_is_short_beside_the_atom_and_phases_are_huge) {
  core::ThreadPool pool(2);
  const int samples = 100000;
  std::vector<double> x(static_cast<std::size_t>(samples));
  const auto survivors = [&](const ExplicitGrid& axes, Precision precision) {
    const Grid grid = atoms::make_grid(axes, 1.0, samples, {});
    const Winner winner = Searcher(grid, precision, false, pool).best(x, {}, 0, &pool);
    EXPECT_GT(winner.energy, 0);
    EXPECT_EQ(winner.index, brute_force(grid, {x.data(), nullptr, samples}, false));
    return winner.survivors;
  };
  for (const double first : {0.03, 0.041, 0.0625, 0.125}) {  // transforms, and foldings where halves of 1/8 are met
    for (int n = 0; n < samples; ++n)
      x[static_cast<std::size_t>(n)] = std::cos(2 * std::numbers::pi * first * (n - samples / 2));
    EXPECT_GE(
        survivors({{50000, 50000, 1}, true, {first, first + 0.25, 0.125}, {9, 9, 1}, {0, 0, 1}}, Precision::exact), 1u);
  }
  Random random(90);
  for (double& v : x) v = random.normal();
  for (const Precision precision : {Precision::exact, Precision::double_}) {
    EXPECT_GE(survivors({{50000, 50000, 1}, true, {0.1, 0.4, 0.05}, {8.987, 8.987, 1}, {0.01, 0.4, 0.05}}, precision),
              1u);
  }
}

TEST(Search, a_residual_of_zeros_has_no_winner_and_nan_is_an_error) {
  const Grid grid =
      atoms::make_grid(ExplicitGrid{{0, 31, 4}, true, {0.1, 0.4, 0.1}, {1, 2, 0.5}, {0, 0, 1}}, 1.0, 32, {});
  core::ThreadPool pool(1);
  const Searcher searcher(grid, Precision::exact, false, pool);
  std::vector<double> x(32, 0.0);
  EXPECT_EQ(searcher.best(x, {}, 0, nullptr).energy, 0);
  x[3] = std::nan("");
  EXPECT_THROW(searcher.best(x, {}, 0, nullptr), Error);
}

TEST(Search, the_grid_keeps_its_promise_for_any_atom_in_range) {
  struct Case {
    int samples;
    double low, high, shortest, longest, loss;
  };
  const Case cases[] = {{512, 0.5 / 256, 45.0 / 256, 12.8, 60, 0.1},
                        {96, 1.0 / 96, 0.45, 3, 24, 0.1},
                        {100, 0.0, 0.3, 3, 20, 0.1},
                        {100, 0.1, 0.5, 3, 20, 0.1},
                        {64, 1.0 / 64, 0.45, 3, 12, 0.05}};
  const char* full = std::getenv("ENVOI_FULL");
  const int draws = tests::effort(full && *full ? 4000 : 2000);
  core::ThreadPool pool(2);
  Random random(40);
  for (const Case& c : cases) {
    const Grid grid = atoms::make_grid({{c.low, c.high}, {c.shortest, c.longest}, {}, false}, c.loss, c.samples);
    const Searcher searcher(grid, Precision::exact, false, pool);
    double worst = 1;
    for (int i = 0; i < draws; ++i) {
      Atom atom;
      const int kind = i % 5;  // edges in time, band and chirp rate included
      atom.set_centre(kind == 1   ? random.uniform(0, 1)
                      : kind == 2 ? random.uniform(c.samples - 2, c.samples - 1)
                                  : random.uniform(0, c.samples - 1));
      atom.ln_duration = random.uniform(std::log(c.shortest), std::log(c.longest));
      const double d = atom.duration();
      atom.frequency = kind == 4 ? (i % 2 ? c.low + random.uniform(0, 0.1) / d : c.high - random.uniform(0, 0.1) / d)
                                 : random.uniform(c.low, c.high);
      const double most = std::min(std::min(atom.frequency - c.low, c.high - atom.frequency) / d, 2 / (d * d));
      atom.chirp_rate = kind == 3 ? (i % 2 ? most : -most) : random.uniform(-most, most);
      std::vector<double> x(static_cast<std::size_t>(c.samples), 0.0);
      atoms::add_atom(atom, std::polar(1.0, random.uniform(-3.2, 3.2)), 1, x.data(), c.samples);
      double energy = 0;
      for (const double v : x) energy += v * v;
      if (energy < 1e-9) continue;
      const double kept = searcher.best(x, {}, 0, &pool).energy / energy;
      EXPECT_GE(kept, 1 - c.loss) << "centre " << atom.centre() << " frequency " << atom.frequency << " duration " << d
                                  << " chirp rate " << atom.chirp_rate;
      worst = std::min(worst, kept);
    }
    RecordProperty("worst_of_" + std::to_string(c.samples), std::to_string(worst));
  }
}

}  // namespace
}  // namespace envoi::pursuit
