// Results from elsewhere: damaged, lying or malicious ones are refused with the place of the fault.
#include <gtest/gtest.h>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

std::string refusal(const std::string& text) {
  try {
    results::parse(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_EQ(what.substr(0, 6), "x.json") << what;
    EXPECT_LT(what.size(), 400u);
    return what;
  }
  return "";
}

// The sample with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = to_json(sample_decomposition());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Hostile, every_fault_is_refused_and_placed) {
  const struct {
    const char *from, *to, *place;
  } cases[] = {
      {"\"envoi.decomposition\"", "\"other\"", "x.json: /: is not a decomposition"},
      {"\"version\": 1", "\"version\": 2", "/version: is 2"},
      {"\"version\": 1", "\"version\": -1", "/version"},
      {"\"channel\": 0", "\"channel\": 2", "/segments/0/channel: is 2, but there are 2 channels"},
      {"\"channel\": 0", "\"channel\": \"0\"", "/segments/0/channel"},
      {"\"samples\": 512", "\"samples\": 1e3", "/segments/0/samples"},
      {"\"samples\": 512", "\"samples\": 18446744073709551615", "/segments/0/samples"},
      {"\"samples\": 512", "\"samples\": 99999999999999999999999", "/segments/0/samples"},
      {"\"missing_samples\": 3", "\"missing_samples\": 513", "/segments/0/missing_samples"},
      {"\"rate_hz\": 99.9", "\"rate_hz\": 0", "/channels/1/rate_hz"},
      {"\"rate_hz\": 99.9", "\"rate_hz\": -5", "/channels/1/rate_hz"},
      {"\"rate_hz\": 99.9", "\"rate_hz\": 1e999", "x.json: "},
      {"\"rate_hz\": 99.9", "\"rate_hz\": NaN", "byte"},
      {"\"time_s\": 0.71", "\"time_s\": null", "/segments/0/atoms/0/time_s"},
      {"\"time_s\": 0.71", "\"other\": 1", "/segments/0/atoms/0: has no member 'time_s'"},
      {"\"duration_s\": 0.31", "\"duration_s\": 0", "/segments/0/atoms/0/duration_s"},
      {"\"duration_s\": 0.31", "\"duration_s\": -1", "/segments/0/atoms/0/duration_s"},
      {"\"kept\": false", "\"kept\": 0", "/segments/0/atoms/1/kept"},
      {"\"se\": {", "\"se\": [{", "byte"},
      {"\"stop_reason\": \"noise\"", "\"stop_reason\": \"bored\"", "/segments/0/stop_reason"},
      {"\"method\": \"joint\"", "\"method\": 3", "/parameters/method"},
      {"\"band_hz\": [0.1, ", "\"band_hz\": [9.0, ", "/parameters/band_hz: is upside down"},
      {"\"band_hz\": [0.1, ", "\"band_hz\": [0.1, 0.2, ", "/parameters/band_hz"},
      {"\"atoms\": 7", "\"atoms\": -7", "/parameters/stop/atoms"},
      {"\"survivors\": [3", "\"survivors\": [-3", "/segments/0/certificate/survivors/0"},
      {"\"warnings\": [", "\"warnings\": [1, ", "/warnings/0"},
  };
  for (const auto& c : cases) {
    const std::string what = refusal(changed(c.from, c.to));
    EXPECT_NE(what.find(c.place), std::string::npos) << c.from << " -> " << c.to << ": '" << what << "'";
  }
}

TEST(Hostile, texts_that_are_no_results) {
  const std::string whole = to_json(sample_decomposition());
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal("3"), "");
  EXPECT_NE(refusal("{}"), "");
  EXPECT_NE(refusal("{}\n{}"), "");
  EXPECT_NE(refusal("not json at all"), "");
  EXPECT_NE(refusal(std::string(1000, '\0')), "");
  EXPECT_NE(refusal(std::string(100000, '[')), "");
  EXPECT_NE(refusal("{\"format\": \"" + std::string(100000, 'x')), "");
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) EXPECT_NE(refusal(whole.substr(0, length)), "");
}

TEST(Hostile, ndjson_faults_name_their_line) {
  std::string text = to_ndjson(sample_decomposition());
  const auto at = text.rfind("\"samples\": 100");
  text.replace(at, 14, "\"samples\": -10");
  EXPECT_NE(refusal(text).find("x.json: line 4: /samples"), std::string::npos) << refusal(text);
  EXPECT_NE(refusal(to_ndjson(sample_decomposition()) + "{").find("line 5"), std::string::npos);
}

TEST(Hostile, ndjson_that_was_cut_off_is_refused_wherever_the_cut_is) {
  const std::string whole = to_ndjson(sample_decomposition());
  for (std::size_t length = 1; length + 1 < whole.size(); length += 5) EXPECT_NE(refusal(whole.substr(0, length)), "");
  const std::string lines = whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1);
  EXPECT_NE(refusal(lines).find("cut off: line 1 announces 3 segments, and 2 follow"), std::string::npos)
      << refusal(lines);
}

TEST(Hostile, unknown_members_are_ignored) {
  const std::string text = changed("\"time_s\": 0.71", "\"colour\": [{}], \"time_s\": 0.71");
  EXPECT_EQ(results::parse(text, "x.json").atoms.size(), 3u);
}

TEST(Hostile, a_minimal_result_of_another_program_is_enough_to_rebuild) {
  const Decomposition d = results::parse(
      R"({"format": "envoi.decomposition", "version": 1, "channels": [{"rate_hz": 10}], "segments": [
          {"channel": 0, "start_s": 0, "samples": 3, "mean": 2, "atoms": []}]})",
      "x.json");
  EXPECT_EQ(reconstruct(d).front().samples, (std::vector<double>{2, 2, 2}));
}

TEST(Hostile, lengths_that_lie_do_not_take_the_memory) {
  Decomposition d = sample_decomposition();
  d.segments[2].samples = std::size_t{1} << 39;
  EXPECT_THROW(reconstruct(d), Error);
  d = sample_decomposition();
  d.segments[1].start_s = 1e300;
  EXPECT_THROW(reconstruct(d), Error);
}

}  // namespace
}  // namespace envoi
