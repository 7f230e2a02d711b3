// What was done to a recording, and about which events, goes into a result and comes back.
#include <gtest/gtest.h>

#include "envoi/results.hpp"
#include "results/parse.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

TEST(Conditioning, comes_back_from_both_forms) {
  Decomposition d = sample_decomposition();
  d.conditioning.reference = "A1,A2";
  d.conditioning.bipolar = {"F3-C3", "C3-P3"};
  d.conditioning.high_pass_hz = 0.1;
  d.conditioning.low_pass_hz = 1.0 / 3;
  d.conditioning.notch_hz = {50, 100.1};
  d.conditioning.resample_hz = 99.9;
  d.events = {"stim*", -0.1, 1.0 / 3};
  for (const std::string& text : {to_json(d), to_ndjson(d)}) {
    const Decomposition back = results::parse(text, "test");
    EXPECT_EQ(back.conditioning.reference, d.conditioning.reference);
    EXPECT_EQ(back.conditioning.bipolar, d.conditioning.bipolar);
    EXPECT_EQ(back.conditioning.high_pass_hz, d.conditioning.high_pass_hz);
    EXPECT_EQ(back.conditioning.low_pass_hz, d.conditioning.low_pass_hz);
    EXPECT_EQ(back.conditioning.notch_hz, d.conditioning.notch_hz);
    EXPECT_EQ(back.conditioning.resample_hz, d.conditioning.resample_hz);
    EXPECT_EQ(back.events.text, d.events.text);
    EXPECT_EQ(back.events.before_s, d.events.before_s);
    EXPECT_EQ(back.events.after_s, d.events.after_s);
  }
}

TEST(Conditioning, leaves_no_trace_where_there_is_none) {
  const std::string text = to_json(sample_decomposition());
  EXPECT_EQ(text.find("conditioning"), std::string::npos);
  EXPECT_EQ(text.find("events"), std::string::npos);
  EXPECT_TRUE(results::parse(text, "test").conditioning.empty());
}

}  // namespace
}  // namespace envoi
