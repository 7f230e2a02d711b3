// Rules: what they say, which atoms they take, and the files of annotations.
#include "envoi/rules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"
#include "results/units.hpp"
#include "signal/support.hpp"

namespace envoi {
namespace {

using envoi_test::expect_error;
using envoi_test::Folder;

constexpr double kWidth = 2.3548200450309493;  // of duration 1

Decomposition with_atoms() {
  Decomposition d;
  d.source.start = "2026-01-31T22:10:05.25";
  d.channels = {{"C3", "uV", 100, 0}, {"C4", "mV", 100, 0}, {"A1", "", 100, 0}};
  for (std::size_t i = 0; i < 3; ++i) {
    Segment s;
    s.channel = i;
    s.samples = 1000;
    s.energy = 1000;
    s.first_atom = 2 * i;
    s.atom_count = 2;
    d.segments.push_back(s);
    Chirplet a;
    a.time_s = 5 - static_cast<double>(i);
    a.frequency_hz = 12;
    a.duration_s = 1 / kWidth;
    a.chirp_rate_hz_per_s = -3;
    a.peak = a.amplitude = 20;
    a.energy = 100;
    d.atoms.push_back(a);
    a.kept = false;
    d.atoms.push_back(a);
  }
  return d;
}

std::vector<std::string> channels_found(const Decomposition& d, const std::string& rule) {
  std::vector<std::string> out;
  const Rule rules[] = {parse_rule(rule)};
  for (const AtomAnnotation& found : annotate(d, rules)) out.push_back(found.channel);
  return out;
}

TEST(Rules, every_condition_takes_and_leaves) {
  const Decomposition d = with_atoms();
  const std::vector<std::string> all = {"A1", "C4", "C3"}, none;
  for (const char* good : {"11-16 Hz", "11..16Hz", "11:12 Hz", "0.011-0.012 kHz", "frequency 12\u201313 Hz", "0.5-2 s",
                           "width 900-1100 ms", "> 0.5 s, < 2 s", "-4..-2 Hz/s", "-4--2 Hz/s", "chirp rate < 0 Hz/s",
                           ">= 9 %", "energy 5-15%", "channel *"})
    EXPECT_EQ(channels_found(d, std::string("x: ") + good), all) << good;
  for (const char* bad :
       {"13-16 Hz", "> 12.1 Hz", "< 11 Hz", "1.1-2 s", "duration < 900 ms", "> -2 Hz/s", "> 11 %", "11-16 Hz, > 2 s"})
    EXPECT_EQ(channels_found(d, std::string("x: ") + bad), none) << bad;
  EXPECT_EQ(channels_found(d, "x: channel C?, 11-16 Hz"), (std::vector<std::string>{"C4", "C3"}));
  EXPECT_EQ(channels_found(d, "x: channel = A1, peak > 19"), std::vector<std::string>{"A1"});
  EXPECT_EQ(channels_found(d, "x: channel A1, peak > 21"), none);
  // 20 uV and 20 mV.
  EXPECT_EQ(channels_found(d, "x: channel C*, peak > 30 uV"), std::vector<std::string>{"C4"});
  EXPECT_EQ(channels_found(d, "x: channel C*, peak < 30\u00B5V"), std::vector<std::string>{"C3"});
  EXPECT_EQ(channels_found(d, "x: channel C*, amplitude 0.01-0.03 V"), std::vector<std::string>{"C4"});
  EXPECT_EQ(channels_found(d, "x: channel C*, peak > 10 uV, peak < 1 mV"), std::vector<std::string>{"C3"});
}

TEST(Rules, refusals) {
  for (const auto& [rule, word] :
       std::initializer_list<std::pair<const char*, const char*>>{{"11-16 Hz", "name"},
                                                                  {": 11-16 Hz", "name"},
                                                                  {"x:", "empty"},
                                                                  {"x: 11-16 Hz,", "empty"},
                                                                  {"x: 11 Hz", "single"},
                                                                  {"x: 16-11 Hz", "upside down"},
                                                                  {"x: 11-16 parsec", "parsec"},
                                                                  {"x: 11-16", "not a condition"},
                                                                  {"x: > Hz", "number"},
                                                                  {"x: loud", "number"},
                                                                  {"x: frequency 1-2 s", "Hz"},
                                                                  {"x: > 10 uV", "peak"},
                                                                  {"x: noise > 3 uV", "noise"},
                                                                  {"x: peak > 10 uV, peak < 3 s", "kind"},
                                                                  {"x: 1e999-2 Hz", "range"},
                                                                  {"x: channel", "name"},
                                                                  {"x: channel 1, channel 2", "twice"},
                                                                  {"x: 11-16 Hz, 12-20 Hz", "two lower"},
                                                                  {"x: < 3 s, < 2 s", "two upper"},
                                                                  {"a\tb: 1-2 Hz", "control"}})
    expect_error([rule = rule] { parse_rule(rule); }, ErrorKind::bad_argument, {"rule '", word});
  const Decomposition d = with_atoms();
  for (const auto& [rule, word] : std::initializer_list<std::pair<const char*, const char*>>{
           {"x: peak > 10, channel C3", "is in uV"},
           {"x: peak > 10 uV, channel A1", "no unit"},
           {"x: amplitude > 10 uT, channel C3", "cannot be compared"},
           {"x: channel Z*, 1-2 Hz", "C3, C4, A1"}})
    expect_error([&, rule = rule] { channels_found(d, rule); }, ErrorKind::bad_argument, {"rule 'x'", word});
}

TEST(Rules, units) {
  EXPECT_EQ(results::unit_factor("mV", "uV"), 1000);
  EXPECT_EQ(results::unit_factor("uV", "V"), 1e-6);
  EXPECT_EQ(results::unit_factor("\u03BCV", "uV"), 1);
  EXPECT_EQ(results::unit_factor("kHz/s", "Hz/s"), 1000);
  EXPECT_EQ(results::unit_factor("furlong", "furlong"), 1);
  EXPECT_FALSE(results::unit_factor("V", "T"));
  EXPECT_FALSE(results::unit_factor("Hz", "Hz/s"));
  EXPECT_FALSE(results::unit_factor("", "V"));
}

TEST(Annotations, edf_comes_back_through_our_reader) {
  const Folder folder;
  Decomposition d = with_atoms();
  const Rule rules[] = {parse_rule("sp\u00fcle: 11-16 Hz, channel C*")};
  const std::vector<AtomAnnotation> found = annotate(d, rules);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].annotation.onset_s, 3.5, 1e-12);
  EXPECT_NEAR(*found[0].annotation.duration_s, 1, 1e-12);
  EXPECT_EQ(found[0].atom, 2u);
  write_annotations(folder / "a.edf", d, found);
  const Recording back = read(folder / "a.edf");
  EXPECT_EQ(back.start, d.source.start);
  EXPECT_TRUE(back.warnings.empty());
  ASSERT_EQ(back.annotations.size(), 2u);
  EXPECT_NEAR(back.annotations[0].onset_s, 3.5, 1e-7);
  EXPECT_NEAR(*back.annotations[0].duration_s, 1, 1e-7);
  EXPECT_EQ(back.annotations[0].text, "sp\u00fcle@@C4");
  EXPECT_EQ(back.annotations[1].text, "sp\u00fcle@@C3");

  // Many, of which some begin before the recording; a start without a date; no channel in the text of a single one.
  d = with_atoms();
  d.source.start.clear();
  d.channels.resize(1), d.segments.resize(1), d.atoms.resize(1);
  std::vector<AtomAnnotation> many;
  for (int i = -3; i < 2000; ++i) many.push_back({{1e5 * i + 0.125, 1.0 / 3, "x"}, "C3", 0});
  write_annotations(folder / "many.edf", d, many);
  const Recording all = read(folder / "many.edf");
  ASSERT_EQ(all.annotations.size(), many.size());
  for (std::size_t i = 0; i < many.size(); ++i)
    EXPECT_NEAR(all.annotations[i].onset_s, many[i].annotation.onset_s, 1e-7);
  EXPECT_EQ(all.annotations[0].text, "x");
  write_annotations(folder / "none.edf", d, {});
  EXPECT_TRUE(read(folder / "none.edf").annotations.empty());
}

TEST(Annotations, text_forms) {
  const Folder folder;
  Decomposition d = with_atoms();
  const Rule rules[] = {parse_rule("a b: channel C3, 1-20 Hz")};
  const std::vector<AtomAnnotation> found = annotate(d, rules);
  const auto text = [&](const std::string& name) {
    write_annotations(folder / name, d, found);
    std::ostringstream all;
    all << std::ifstream(folder / name).rdbuf();
    return all.str();
  };
  EXPECT_EQ(text("a.txt"), "4.5000000\t5.5000000\ta b C3\n");
  d.channels.resize(1);
  EXPECT_EQ(text("b.txt"), "4.5000000\t5.5000000\ta b\n");
  EXPECT_EQ(text("a.tsv").substr(0, 38), "onset\tduration\tdescription\tchannel\n4.5");
  EXPECT_EQ(text("a.tsv").substr(text("a.tsv").size() - 8), "\ta b\tC3\n");
  expect_error([&] { text("a.csv"); }, ErrorKind::bad_argument, {"a.csv", ".edf, .tsv or .txt"});
  expect_error([&] { text("no/a.txt"); }, ErrorKind::bad_file, {"no/a.txt"});
}

}  // namespace
}  // namespace envoi
