// ACT-lib's JSON: its atoms come out with our meaning of every number, and what it cannot hold is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "cases.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/foreign.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

constexpr const char* kText = R"({
  "source_file": "data/x.csv", "column_name": "AF7", "column_index": 1, "start_sample": 100, "num_samples": 492,
  "sampling_frequency": 128.0,
  "param_ranges": {"tc_min": 0, "tc_max": 255, "tc_step": 5, "fc_min": 1, "fc_max": 20, "fc_step": 1,
    "logDt_min": -2, "logDt_max": -0.1, "logDt_step": 0.1, "c_min": -20, "c_max": 20, "c_step": 2},
  "analysis_type": "multi_sample_combined", "num_chirps_per_window": 2, "end_sample": 592, "overlap": 20,
  "window_size": 256, "window_starts": [100, 336],
  "result": {"error_per_window": [1.0, 2.0], "chirplets": [
    {"index": 1, "time_center_samples": 200.25, "time_center_seconds": 1.564453125, "frequency_hz": 8.5,
     "duration_ms": 250, "chirp_rate_hz_per_s": 1.5, "coefficient": -12.5},
    {"index": 2, "time_center_samples": 350, "time_center_seconds": 2.734375, "frequency_hz": 5,
     "duration_ms": 100, "chirp_rate_hz_per_s": 0, "coefficient": 2},
    {"index": 1, "time_center_samples": 400, "time_center_seconds": 3.125, "frequency_hz": 5,
     "duration_ms": 100, "chirp_rate_hz_per_s": 0, "coefficient": 3}]}})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kText;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  try {
    results::read_act_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_EQ(what.substr(0, 6), "x.json") << what;
    return what;
  }
  return "";
}

TEST(ActJson, numbers_come_out_with_our_meaning) {
  EXPECT_TRUE(results::is_act_json(kText));
  EXPECT_FALSE(results::is_act_json(to_json(sample_decomposition())));
  const Decomposition d = results::read_act_json(kText, "x.json");
  EXPECT_EQ(d.source.name, "x.csv");
  EXPECT_EQ(d.channels.at(0).name, "AF7");
  ASSERT_EQ(d.segments.size(), 2u);
  EXPECT_EQ(d.segments[1].start_s, 336 / 128.0);
  EXPECT_EQ(d.segments[0].atom_count, 2u);
  const Chirplet& atom = d.atoms[0];
  EXPECT_EQ(atom.time_s, 200.25 / 128);
  EXPECT_EQ(atom.duration_s, 0.25);
  EXPECT_EQ(atom.chirp_rate_hz_per_s, 3) << "df/dt is twice theirs";
  EXPECT_EQ(atom.phase_rad, std::numbers::pi) << "their coefficient is below 0";
  EXPECT_DOUBLE_EQ(atom.energy, 12.5 * 12.5);
  EXPECT_EQ(d.options.phase, Phase::fixed);
  EXPECT_EQ(d.options.grid->chirp_rate_hz_per_s.step, 4);
  EXPECT_TRUE(d.atoms[0].kept);
  EXPECT_FALSE(d.atoms[1].kept) << "beyond the middle of the overlap";
  // Their formula, sample by sample over the window.
  std::vector<double> g(256);
  double norm = 0;
  for (int n = 0; n < 256; ++n) {
    const double t = n / 128.0 - 100.25 / 128;
    g[static_cast<std::size_t>(n)] =
        std::exp(-0.5 * t * t / 0.0625) * std::cos(2 * std::numbers::pi * (1.5 * t * t + 8.5 * t));
    norm += g[static_cast<std::size_t>(n)] * g[static_cast<std::size_t>(n)];
  }
  const auto model = reconstruct(d).at(0).samples;
  for (std::size_t n = 0; n < 150; ++n) EXPECT_NEAR(model[n], -12.5 * g[n] / std::sqrt(norm), 1e-6) << n;
}

TEST(ActJson, one_window_counts_from_its_own_start) {
  std::string text = changed("\"multi_sample_combined\"", "\"single\"");
  text.replace(text.find("\"time_center_samples\": 200.25"), 29, "\"time_center_samples\": 100.25");
  text.replace(text.find("\"index\": 1, \"time_center_samples\": 400"), 38,
               "\"index\": 3, \"time_center_samples\": 300");
  const Decomposition d = results::read_act_json(text, "x.json");
  ASSERT_EQ(d.segments.size(), 1u);
  EXPECT_EQ(d.segments[0].samples, 492u);
  EXPECT_EQ(d.segments[0].atom_count, 3u);
  EXPECT_EQ(d.atoms[0].time_s, 200.25 / 128);
}

TEST(ActJson, what_is_written_reads_back) {
  Decomposition d = results::read_act_json(kText, "x.json");
  const std::string text = results::act_json_text(d, "y.act.json");
  const Decomposition back = results::read_act_json(text, "y.act.json");
  ASSERT_EQ(back.atoms.size(), d.atoms.size());
  for (std::size_t i = 0; i < d.atoms.size(); ++i) {
    EXPECT_NEAR(back.atoms[i].time_s, d.atoms[i].time_s, 1e-12);
    EXPECT_EQ(back.atoms[i].chirp_rate_hz_per_s, d.atoms[i].chirp_rate_hz_per_s);
    EXPECT_EQ(back.atoms[i].phase_rad, d.atoms[i].phase_rad);
    EXPECT_NEAR(back.atoms[i].amplitude, d.atoms[i].amplitude, 1e-12 * d.atoms[i].amplitude);
    EXPECT_EQ(back.atoms[i].kept, d.atoms[i].kept);
  }
  EXPECT_EQ(back.options.grid->time.step, 5);
  // Windows without a chirplet stay apart.
  d.segments[0].atom_count = 0;
  d.atoms.erase(d.atoms.begin(), d.atoms.begin() + 2);
  d.segments[1].first_atom = 0;
  EXPECT_EQ(results::read_act_json(results::act_json_text(d, "y"), "y").segments[1].atom_count, 1u);
}

TEST(ActJson, what_would_be_lost_is_refused) {
  const Decomposition whole = results::read_act_json(kText, "x.json");
  const auto refused = [](const Decomposition& d, const std::string& words) {
    try {
      results::act_json_text(d, "y.act.json");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_argument);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  Decomposition d = whole;
  d.atoms[1].phase_rad = 0.42;
  refused(d, "0.42 rad");
  d = whole;
  d.segments[1].samples = 100;
  refused(d, "256 and 100 samples");
  d = whole;
  d.channels.push_back(d.channels[0]);
  refused(d, "2 channels");
  d = whole;
  d.segments[1].start_s += 0.4 / 128;
  refused(d, "does not begin");
}

TEST(ActJson, faults_are_refused) {
  const struct {
    const char *from, *to, *place;
  } cases[] = {
      {"\"sampling_frequency\": 128.0", "\"sampling_frequency\": 0", "sampling_frequency"},
      {"\"sampling_frequency\": 128.0", "\"sampling_frequency\": \"128\"", "sampling_frequency"},
      {"\"multi_sample_combined\"", "\"other\"", "'other'"},
      {"\"window_size\": 256", "\"window_size\": 0", "windows"},
      {"\"window_size\": 256", "\"window_size\": 1e14", "windows"},
      {"\"window_size\": 256", "\"window_size\": -2", "window_size"},
      {"[100, 336]", "[336, 100]", "should rise"},
      {"[100, 336]", "[100]", "of 2 windows, but there are 1"},
      {"[100, 336]", "[100, \"x\"]", "window_starts"},
      {"\"tc_min\": 0,", "", "/param_ranges: has no member 'tc_min'"},
      {"\"index\": 2", "\"index\": 1", "holds chirplets of 3 windows"},
      {"\"duration_ms\": 250", "\"duration_ms\": 0", "/result/chirplets/0: 'duration_ms'"},
      {"\"frequency_hz\": 8.5", "\"frequency_hz\": null", "/result/chirplets/0: 'frequency_hz'"},
      {"\"coefficient\": 2}", "\"coefficient\": 1e300}", "/result/chirplets/1"},
      {"\"coefficient\": 2}", "\"other\": 2}", "/result/chirplets/1: has no member 'coefficient'"},
      {"\"time_center_samples\": 350", "\"time_center_samples\": 1e9", "lies outside its window"},
      {"\"chirplets\": [", "\"chirplets\": [7, ", "should be an object"},
      {"\"chirplets\": [", "\"chirplets\": {}, \"x\": [", "'chirplets' should be an array"},
  };
  for (const auto& c : cases)
    EXPECT_NE(refusal(changed(c.from, c.to)).find(c.place), std::string::npos)
        << c.to << ": " << refusal(changed(c.from, c.to));
  const std::string text = kText;
  for (std::size_t length = 0; length < text.size(); length += 3) EXPECT_NE(refusal(text.substr(0, length)), "");
}

TEST(ActJson, of_the_collection) {
  ENVOI_CASE(path, "books/act_multi_sample.json");
  const Decomposition d = read_result(path);
  ASSERT_EQ(d.segments.size(), 16u);
  ASSERT_EQ(d.atoms.size(), 48u);
  EXPECT_NEAR(d.atoms[0].time_s, 110.923767797198, 1e-11);
  EXPECT_DOUBLE_EQ(d.atoms[0].chirp_rate_hz_per_s, 2 * 1.345093034819);
  EXPECT_NEAR(d.atoms[0].energy, 146.285368445998 * 146.285368445998, 1e-6);
}

}  // namespace
}  // namespace envoi
