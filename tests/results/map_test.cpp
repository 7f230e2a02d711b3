// The map of atoms: it holds their energy, whatever the cells, and follows the formula where cells are small.
#include "results/map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

Chirplet atom_at(double time_s, double frequency_hz, double duration_s, double chirp, double energy) {
  Chirplet atom;
  atom.time_s = time_s, atom.frequency_hz = frequency_hz, atom.duration_s = duration_s;
  atom.chirp_rate_hz_per_s = chirp, atom.energy = energy;
  return atom;
}

TEST(Map, fine_cells_hold_the_wigner_map) {
  const Chirplet a = atom_at(2, 20, 0.3, 7, 500), b = atom_at(2.4, 25, 0.1, -30, 80);
  const double rate = 100;
  const results::MapView view{0, 4, 0, 50, 800, 1000};
  const results::DensityMap map = results::density_map({&a, &b}, rate, view);
  double worst = 0, most = 0;
  for (std::size_t y = 0; y < view.rows; ++y)
    for (std::size_t x = 0; x < view.columns; ++x) {
      const double t = (static_cast<double>(x) + 0.5) * 4 / 800, f = (static_cast<double>(y) + 0.5) * 50 / 1000;
      double expected = 0;
      for (const Chirplet* g : {&a, &b}) {
        const double u = (t - g->time_s) / g->duration_s;
        const double v =
            2 * std::numbers::pi * g->duration_s * (f - g->frequency_hz - g->chirp_rate_hz_per_s * (t - g->time_s));
        expected += 2 * g->energy / rate * std::exp(-u * u - v * v);
      }
      most = std::max(most, expected);
      worst = std::max(worst, std::abs(expected - map.unit * static_cast<double>(map.values[y * view.columns + x])));
    }
  EXPECT_LT(worst, 0.01 * most);
}

TEST(Map, coarse_cells_keep_the_energy) {
  const Chirplet atom = atom_at(1800.3, 11.7, 0.05, 20, 300);  // far narrower than a cell
  const results::MapView view{0, 3600, 0, 40, 300, 100};
  const results::DensityMap map = results::density_map({&atom}, 256, view);
  const double sum =
      map.unit * std::accumulate(map.values.begin(), map.values.end(), 0.0) * (3600.0 / 300) * (40.0 / 100);
  EXPECT_NEAR(sum, 300.0 / 256, 0.05 * 300 / 256);
}

TEST(Map, the_unit_of_the_signal_changes_no_share) {
  const results::MapView view{0, 4, 0, 50, 80, 100};
  const Chirplet atom = atom_at(2, 20, 0.3, 7, 1), small = atom_at(2, 20, 0.3, 7, 1e-42);
  const results::DensityMap map = results::density_map({&atom}, 100, view);
  const results::DensityMap scaled = results::density_map({&small}, 100, view);
  EXPECT_NEAR(scaled.unit, 1e-42 * map.unit, 1e-52 * map.unit);
  for (std::size_t i = 0; i < map.values.size(); ++i) EXPECT_NEAR(map.values[i], scaled.values[i], 1e-6F);
}

TEST(Map, ticks_are_round_and_inside) {
  EXPECT_EQ(results::ticks(0, 40, 9).size(), 9U);
  EXPECT_EQ(results::tick_texts(results::ticks(-0.2, 0.2, 4)),
            (std::vector<std::string>{"−0.2", "−0.1", "0.0", "0.1", "0.2"}));
  EXPECT_TRUE(results::ticks(1, 1, 5).empty());
  EXPECT_TRUE(results::ticks(0, INFINITY, 5).empty());
}

TEST(Map, tables_of_colours) {
  for (const char* name : {"cividis", "viridis", "magma", "gray"}) {
    const auto table = results::color_table(name);
    ASSERT_TRUE(table) << name;
    // Lightness goes one way all along.
    const auto light = [&](std::size_t i) {
      const auto& c = (*table)[i];
      return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
    };
    const double sign = light(255) > light(0) ? 1 : -1;
    for (std::size_t i = 8; i < 256; ++i) EXPECT_GT(sign * (light(i) - light(i - 8)), 0) << name << " " << i;
  }
  EXPECT_FALSE(results::color_table("jet"));
}

TEST(Map, awkward_results_are_drawn_or_refused) {
  const Decomposition result = sample_decomposition();
  const std::string path = ::testing::TempDir() + "envoi_map.svg";
  for (const AnalysedChannel& channel : result.channels) {
    MapOptions options;
    options.channel = channel.name;
    options.width = 400, options.height = 300, options.ellipses = true;
    EXPECT_NO_THROW(write_map(path, result, options)) << channel.name;
  }
  std::remove(path.c_str());
  MapOptions options;
  options.to_s = kUndetermined;
  EXPECT_THROW(write_map(path, result, options), Error);
  EXPECT_THROW(write_map(path, Decomposition{}, {}), Error);
  EXPECT_THROW(write_map(::testing::TempDir() + "envoi_map.jpg", result, {}), Error);
}

}  // namespace
}  // namespace envoi
