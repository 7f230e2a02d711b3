// How a recording was read goes into a result and comes out again; what was not asked for leaves no trace.
#include <gtest/gtest.h>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

TEST(InputOptions, come_back_from_both_formats) {
  Decomposition d = sample_decomposition();
  d.input.exclude = {"T7", "EXG*"};
  d.input.types = {"eeg", "eog"};
  d.input.dataset = "/strain/Strain";
  d.input.stream = "BioSemi";
  d.input.bad_spans_missing = false;
  for (const std::string& text : {to_json(d), to_ndjson(d)}) {
    const ReadOptions back = results::parse(text, "x.json").input;
    EXPECT_EQ(back.exclude, d.input.exclude);
    EXPECT_EQ(back.types, d.input.types);
    EXPECT_EQ(back.dataset, d.input.dataset);
    EXPECT_EQ(back.stream, d.input.stream);
    EXPECT_FALSE(back.bad_spans_missing);
  }
}

TEST(InputOptions, that_were_not_given_are_not_written) {
  const std::string text = to_json(sample_decomposition());
  for (const char* word : {"\"exclude\"", "\"types\"", "\"dataset\"", "\"stream\"", "bad_spans"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  const ReadOptions back = results::parse(text, "x.json").input;
  EXPECT_TRUE(back.bad_spans_missing);
  EXPECT_TRUE(back.exclude.empty());
}

TEST(InputOptions, of_another_kind_are_refused_with_their_place) {
  Decomposition d = sample_decomposition();
  d.input.types = {"eeg"};
  std::string text = to_json(d);
  const std::size_t at = text.find("[\"eeg\"]");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, "[17]   ");
  try {
    results::parse(text, "x.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/parameters/input/types/0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace envoi
