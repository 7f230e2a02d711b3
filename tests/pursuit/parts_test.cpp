// Runs that continue what an earlier one finished, and runs that share their work.
#include <gtest/gtest.h>

#include <map>

#include "envoi/pursuit.hpp"
#include "pursuit/channels.hpp"

namespace envoi {
namespace {

using tests::noise_channel;
using tests::same_bits;

struct Case {
  const char* name;
  Recording recording;
  PursuitOptions options;
};

std::vector<Case> cases() {
  Recording recording;
  for (std::uint64_t c = 0; c < 3; ++c) {
    recording.channels.push_back(noise_channel(256 * 6, 40 + c));
    recording.channels.back().name = "c" + std::to_string(c);
  }
  PursuitOptions options;
  options.band_hz = Range{4, 40};
  options.durations_s = Range{0.03, 0.1};
  options.max_loss = 0.25;
  options.window_s = 1;
  options.stop.atoms = 3;
  std::vector<Case> out = {
      {"windows", recording, options}, {"joint", recording, options}, {"whole", recording, options}};
  out[1].options.channels = Channels::joint;
  out[2].options.window_s.reset();
  out[2].options.stop = {};
  out[2].options.stop.density_per_s = 4;
  out[2].options.whole_signal = true;
  return out;
}

void expect_same(const Decomposition& a, const Decomposition& b) {
  ASSERT_EQ(a.atoms.size(), b.atoms.size());
  ASSERT_EQ(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) EXPECT_TRUE(same_bits(a.atoms[i], b.atoms[i]));
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    EXPECT_EQ(a.segments[i].certificate.survivors, b.segments[i].certificate.survivors);
    EXPECT_EQ(a.segments[i].stop_reason, b.segments[i].stop_reason);
    EXPECT_EQ(a.segments[i].in_band_share, b.segments[i].in_band_share);
  }
}

TEST(Parts, a_run_continues_from_what_was_kept_to_the_same_bits) {
  for (Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Decomposition want = decompose(each.recording, each.options);
    EXPECT_GT(want.atoms.size(), 20u);
    // Interrupted in the middle.
    std::map<std::string, std::string> kept;
    PursuitOptions first = each.options;
    first.parts.keep = [&](const std::string& name, const std::string& bytes) {
      if (kept.size() < 5) kept[name] = bytes;
    };
    decompose(each.recording, first);
    ASSERT_EQ(kept.size(), 5u);
    PursuitOptions second = each.options;
    second.parts.recall = [&](const std::string& name) {
      return kept.count(name) ? std::optional(kept.at(name)) : std::nullopt;
    };
    std::size_t computed = 0;
    second.parts.keep = [&](const std::string& name, const std::string&) {
      EXPECT_EQ(kept.count(name), 0u);
      ++computed;
    };
    expect_same(decompose(each.recording, second), want);
    EXPECT_GT(computed, 0u);
  }
}

TEST(Parts, what_several_runs_computed_makes_the_whole) {
  for (Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Decomposition want = decompose(each.recording, each.options);
    std::map<std::string, std::string> kept;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      PursuitOptions share = each.options;
      share.parts.wanted = [&](std::size_t part) { return part % 3 == rank; };
      share.parts.keep = [&](const std::string& name, const std::string& bytes) {
        EXPECT_TRUE(kept.emplace(name, bytes).second);
      };
      EXPECT_LT(decompose(each.recording, share).atoms.size(), want.atoms.size());
    }
    PursuitOptions all = each.options;
    all.parts.recall = [&](const std::string& name) { return std::optional(kept.at(name)); };
    all.parts.keep = [&](const std::string& name, const std::string&) { ADD_FAILURE() << name << " computed again"; };
    expect_same(decompose(each.recording, all), want);
  }
}

TEST(Parts, bytes_that_are_no_part_are_computed_again) {
  for (Case& each : cases()) {
    const Decomposition want = decompose(each.recording, each.options);
    for (const std::string& bytes :
         {std::string(), std::string("x"), std::string(200, '\xff'), std::string(200, '\0')}) {
      PursuitOptions options = each.options;
      options.parts.recall = [&](const std::string&) { return std::optional(bytes); };
      expect_same(decompose(each.recording, options), want);
    }
  }
}

}  // namespace
}  // namespace envoi
