// What is written reads back to the same bits, and holds nothing a strict reader would refuse.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

void expect_same_bits(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b)) << a << " " << b;
}

void expect_same(const Decomposition& a, const Decomposition& b) {
  EXPECT_EQ(a.source.name, b.source.name);
  EXPECT_EQ(a.source.start, b.source.start);
  EXPECT_EQ(a.input.channels, b.input.channels);
  expect_same_bits(*a.input.from_s, *b.input.from_s);
  expect_same_bits(*a.input.to_s, *b.input.to_s);
  expect_same_bits(a.options.band_hz->high, b.options.band_hz->high);
  expect_same_bits(a.options.durations_s->low, b.options.durations_s->low);
  EXPECT_EQ(a.options.chirp_rates_hz_per_s.has_value(), b.options.chirp_rates_hz_per_s.has_value());
  EXPECT_EQ(a.options.gabor, b.options.gabor);
  EXPECT_EQ(a.options.grid->time_in_samples, b.options.grid->time_in_samples);
  expect_same_bits(a.options.grid->ln_duration.step, b.options.grid->ln_duration.step);
  EXPECT_EQ(a.options.phase, b.options.phase);
  EXPECT_EQ(a.options.stop.atoms, b.options.stop.atoms);
  EXPECT_EQ(a.options.stop.noise_p, b.options.stop.noise_p);
  EXPECT_EQ(a.options.method, b.options.method);
  EXPECT_EQ(a.options.refine, b.options.refine);
  EXPECT_EQ(a.options.detrend, b.options.detrend);
  EXPECT_EQ(a.options.missing, b.options.missing);
  EXPECT_EQ(a.options.precision, b.options.precision);
  EXPECT_EQ(a.options.hop_s, b.options.hop_s);
  EXPECT_EQ(a.grid.scales[1].atoms, b.grid.scales[1].atoms);
  EXPECT_EQ(a.channels[1].name, b.channels[1].name);
  EXPECT_EQ(a.warnings, b.warnings);
  ASSERT_EQ(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    const Segment &s = a.segments[i], &t = b.segments[i];
    EXPECT_EQ(s.channel, t.channel);
    EXPECT_EQ(s.samples, t.samples);
    EXPECT_EQ(s.missing_samples, t.missing_samples);
    EXPECT_EQ(s.stop_reason, t.stop_reason);
    EXPECT_EQ(s.first_atom, t.first_atom);
    EXPECT_EQ(s.atom_count, t.atom_count);
    EXPECT_EQ(s.certificate.survivors, t.certificate.survivors);
    for (const auto field : {&Segment::start_s, &Segment::mean, &Segment::slope_per_s, &Segment::energy,
                             &Segment::in_band_share, &Segment::snr_db, &Segment::energy_left_share})
      expect_same_bits(s.*field, t.*field);
  }
  ASSERT_EQ(a.atoms.size(), b.atoms.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    const Chirplet &s = a.atoms[i], &t = b.atoms[i];
    EXPECT_EQ(s.kept, t.kept);
    for (const auto field : {&Chirplet::time_s, &Chirplet::frequency_hz, &Chirplet::duration_s,
                             &Chirplet::chirp_rate_hz_per_s, &Chirplet::amplitude, &Chirplet::phase_rad,
                             &Chirplet::peak, &Chirplet::energy, &Chirplet::energy_share, &Chirplet::energy_left_share})
      expect_same_bits(s.*field, t.*field);
    for (const auto field :
         {&StandardErrors::time_s, &StandardErrors::frequency_hz, &StandardErrors::duration_s,
          &StandardErrors::chirp_rate_hz_per_s, &StandardErrors::amplitude, &StandardErrors::phase_rad})
      expect_same_bits(s.se.*field, t.se.*field);
  }
}

TEST(RoundTrip, json_reads_back_to_the_same_bits) {
  const Decomposition d = sample_decomposition();
  const std::string text = to_json(d);
  const Decomposition back = results::parse(text, "test");
  expect_same(d, back);
  EXPECT_EQ(to_json(back), text);
}

TEST(RoundTrip, ndjson_reads_back_to_the_same_bits) {
  const Decomposition d = sample_decomposition();
  const std::string text = to_ndjson(d);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // a header and three segments
  expect_same(d, results::parse(text, "test"));
  EXPECT_EQ(to_json(results::parse(text, "test")), to_json(d));
}

TEST(RoundTrip, random_doubles_survive) {
  Decomposition d = sample_decomposition();
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    for (const auto field : {&Chirplet::time_s, &Chirplet::frequency_hz, &Chirplet::amplitude, &Chirplet::phase_rad}) {
      do {
        state = state * 6364136223846793005U + 1442695040888963407U;
        d.atoms[0].*field = std::bit_cast<double>(state ^ (state >> 29));
      } while (!std::isfinite(d.atoms[0].*field));
    }
    expect_same(d, results::parse(to_ndjson(d), "test"));
  }
}

TEST(RoundTrip, files_hold_no_nan_and_no_infinity) {
  const Decomposition d = sample_decomposition();
  for (const std::string& text : {to_json(d), to_ndjson(d), to_tsv(d)}) {
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
    EXPECT_EQ(text.find("Infinity"), std::string::npos);
  }
}

TEST(RoundTrip, undetermined_errors_and_kept_are_left_out) {
  const std::string text = to_json(sample_decomposition());
  EXPECT_NE(text.find("\"se\": {\"frequency_hz\": 5e-324, \"chirp_rate_hz_per_s\": 1e+308, \"amplitude\": 0.1}"),
            std::string::npos);
  EXPECT_NE(text.find("\"se\": {}"), std::string::npos);
  EXPECT_NE(text.find("\"kept\": false"), std::string::npos);
  EXPECT_EQ(text.find("\"kept\": true"), std::string::npos);
}

TEST(RoundTrip, an_unknown_start_is_null_and_run_facts_are_absent) {
  Decomposition d = sample_decomposition();
  d.source.start.clear();
  d.options.threads = 77;
  const std::string text = to_json(d);
  EXPECT_NE(text.find("\"start\": null"), std::string::npos);
  EXPECT_EQ(results::parse(text, "test").source.start, "");
  EXPECT_EQ(text.find("threads"), std::string::npos);
  EXPECT_EQ(text.find("77"), std::string::npos);
}

TEST(RoundTrip, a_name_that_is_not_utf8_still_gives_valid_json) {
  Decomposition d = sample_decomposition();
  d.source.name = "caf\xe9.edf";
  EXPECT_EQ(results::parse(to_json(d), "test").source.name, "caf\xEF\xBF\xBD.edf");
}

TEST(Tsv, one_atom_a_line_with_names_and_empty_fields) {
  std::istringstream lines(to_tsv(sample_decomposition()));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 55), "file\tchannel\tsegment\torder\ttime_s\tfrequency_hz\tduration");
  const auto tabs = [](const std::string& text) { return std::count(text.begin(), text.end(), '\t'); };
  const auto columns = tabs(line);
  std::vector<std::string> rows;
  while (std::getline(lines, line)) rows.push_back(line);
  ASSERT_EQ(rows.size(), 3u);
  for (const std::string& row : rows) EXPECT_EQ(tabs(row), columns) << row;
  EXPECT_EQ(rows[0].substr(rows[0].find("\tCz")),
            "\tCz\t0\t1\t0.71\t12.4\t0.31\t-1.2\t21.0\t0.42\t20.9\t310.2\t0.38\t0.62\t"
            "0.002\t0.05\t0.01\t0.2\t0.4\t0.03\ttrue");
  EXPECT_NE(rows[1].find("\t\t"), std::string::npos);
  EXPECT_NE(rows[2].find("\tFp1  \t2\t1\t0.5\t"), std::string::npos);
}

TEST(Files, the_ending_chooses_and_unknown_endings_are_refused) {
  const std::string base = testing::TempDir() + "/envoi_results_" + std::to_string(::getpid());
  const Decomposition d = sample_decomposition();
  const auto content = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  write_result(base + ".json", d);
  write_result(base + ".ndjson", d);
  write_result(base + ".tsv", d);
  EXPECT_EQ(content(base + ".json"), to_json(d));
  EXPECT_EQ(content(base + ".ndjson"), to_ndjson(d));
  EXPECT_EQ(content(base + ".tsv"), to_tsv(d));
  expect_same(d, read_result(base + ".json"));
  expect_same(d, read_result(base + ".ndjson"));
  try {
    write_result(base + ".xml", d);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_argument);
  }
  for (const char* ending : {".json", ".ndjson", ".tsv"}) ::unlink((base + ending).c_str());
}

}  // namespace
}  // namespace envoi
