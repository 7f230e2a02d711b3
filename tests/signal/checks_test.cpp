// What every reader does: channels by name and type, bad spans as missing samples, and a word on odd units.
#include "signal/checks.hpp"

#include <algorithm>
#include <cmath>

#include "signal/channel_type.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

EdfFile three() {
  EdfFile file;
  file.channels = {counts("EEG Fp1", {{1, 2, 3, 4}, {5, 6, 7, 8}}), counts("EOG left", {{1, 1, 1, 1}, {2, 2, 2, 2}}),
                   counts("ECG", {{9, 9}, {9, 9}})};
  return file;
}

std::vector<std::string> names_of(const Recording& r) {
  std::vector<std::string> names;
  for (const auto& channel : r.channels) names.push_back(channel.name);
  return names;
}

TEST(Types, come_from_labels) {
  using envoi::signal::type_of_label;
  for (const char* label :
       {"EEG Fp1-Ref", "Fp1", "Cz", "FPZ-Cz", "C3-A2", "T7", "AFF5h", "M1", "POz.", "eeg 3", "EEG1"}) {
    EXPECT_EQ(type_of_label(label), "eeg") << label;
  }
  EXPECT_EQ(type_of_label("EOG left"), "eog");
  EXPECT_EQ(type_of_label("VEOG"), "eog");
  EXPECT_EQ(type_of_label("EMG1-EMG2"), "emg");
  EXPECT_EQ(type_of_label("ECG V2"), "ecg");
  EXPECT_EQ(type_of_label("EKG"), "ecg");
  EXPECT_EQ(type_of_label("Resp nasal"), "resp");
  EXPECT_EQ(type_of_label("RESP oro-nasal"), "resp");
  for (const char* label : {"", "sine 5Hz", "Q3", "Z", "C11", "F", "strain", "left", "1"}) {
    EXPECT_EQ(type_of_label(label), "") << label;
  }
}

TEST(Types, choose_channels_and_exclude_leaves_some_out) {
  const std::string bytes = three().bytes();
  ReadOptions options;
  options.types = {"EEG", "ecg"};
  EXPECT_EQ(names_of(from_bytes(bytes, "x.edf", options)), (std::vector<std::string>{"EEG Fp1", "ECG"}));
  options.types = {};
  options.exclude = {"EO*", "3"};
  EXPECT_EQ(names_of(from_bytes(bytes, "x.edf", options)), (std::vector<std::string>{"EEG Fp1"}));
  options.channels = {"ECG", "EOG left"};
  options.exclude = {"EOG left"};
  EXPECT_EQ(names_of(from_bytes(bytes, "x.edf", options)), (std::vector<std::string>{"ECG"}));
  options.exclude = {"E*"};
  expect_error([&] { from_bytes(bytes, "x.edf", options); }, ErrorKind::bad_argument, {"leave no channel"});
  options.exclude = {"Pz"};
  expect_error([&] { from_bytes(bytes, "x.edf", options); }, ErrorKind::bad_argument, {"'Pz'", "EEG Fp1"});
  options.exclude = {};
  options.types = {"meg"};
  expect_error([&] { from_bytes(bytes, "x.edf", options); }, ErrorKind::bad_argument, {"'meg'", "eeg, eog, ecg"});
}

TEST(Types, exclude_works_for_every_kind_of_file) {
  ReadOptions options = at_rate(10);
  options.exclude = {"2"};
  EXPECT_EQ(names_of(from_bytes("5 2 3\n4 5 6\n7 8 8\n", "x.txt", options)), (std::vector<std::string>{"1", "3"}));
  std::string floats(80, '\0');
  options.exclude = {"1"};
  expect_error([&] { from_bytes(floats, "x.f32", options); }, ErrorKind::bad_argument, {"leave no channel"});
}

TEST(BadSpans, are_missing_samples_and_counted) {
  EdfFile file = three();
  file.reserved = "EDF+C";
  const std::string nul(1, '\0');
  file.channels.push_back(
      annotations({"+0\x14\x14" + nul + "+0.25\x15" + "0.5\x14" + "bad_movement\x14", "+1\x14\x14"}));
  ReadOptions options;
  options.channels = {"1", "3"};
  const Recording r = from_bytes(file.bytes(), "x.edf", options);
  ASSERT_EQ(r.channels[0].samples.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(r.channels[0].samples[i]), i == 1 || i == 2) << i;
  EXPECT_TRUE(std::isnan(r.channels[1].samples[1]));
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("3 samples of 2 channels"), std::string::npos) << r.warnings[0];
  options.bad_spans_missing = false;
  EXPECT_EQ(from_bytes(file.bytes(), "x.edf", options).channels[0].samples[1], 2);
}

TEST(BadSpans, need_a_beginning_of_bad_and_a_duration) {
  Recording r;
  r.channels.push_back({"a", "", "uV", 10, 5, envoi::DataKind::biosignal, std::vector<double>(20, 1)});
  r.annotations = {{5.5, std::nullopt, "BAD_x"}, {5.2, 1.0, "badly"}, {5.2, 1.0, "not BAD_"}, {0, 1.0, "BAD_before"}};
  const std::vector<double> before = r.channels[0].samples;
  envoi::signal::mark_bad_spans(r);
  EXPECT_EQ(r.channels[0].samples, before);
  EXPECT_TRUE(r.warnings.empty());
  // Overlapping spans count once; a span may reach over the end.
  r.annotations = {{6.0, 0.3, "BAD_a"}, {6.2, 100.0, "Bad b"}};
  envoi::signal::mark_bad_spans(r);
  EXPECT_EQ(
      std::count_if(r.channels[0].samples.begin(), r.channels[0].samples.end(), [](double x) { return std::isnan(x); }),
      10);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("10 samples"), std::string::npos);
}

TEST(Units, that_are_missing_garbled_or_absurd_are_said_and_kept) {
  const auto read_with = [](const std::string& unit, double scale = 1) {
    EdfFile file;
    file.channels = {counts("EEG Cz", {{100, -100, 100, -100}})};
    file.channels[0].unit = unit;
    file.channels[0].physical_low = std::to_string(-1000 * scale).substr(0, 8);
    file.channels[0].physical_high = std::to_string(1000 * scale).substr(0, 8);
    return from_bytes(file.bytes(), "x.edf");
  };
  EXPECT_TRUE(read_with("uV").warnings.empty());
  EXPECT_TRUE(read_with("\xB5V").warnings.empty());
  EXPECT_TRUE(read_with("mmHg").warnings.empty());
  EXPECT_TRUE(read_with("%").warnings.empty());
  for (const char* unit : {"", "?V", "\xEF\xBF\xBDV", "\x85V", "??"}) {
    const Recording r = read_with(unit);
    ASSERT_EQ(r.warnings.size(), 1u) << unit;
    EXPECT_NE(r.warnings[0].find("unit"), std::string::npos);
    EXPECT_NE(r.warnings[0].find("EEG Cz"), std::string::npos);
    EXPECT_NE(r.channels[0].unit, "uV");
  }
  const Recording volts = read_with("V");
  EXPECT_EQ(volts.channels[0].unit, "V");
  ASSERT_EQ(volts.warnings.size(), 1u);
  EXPECT_NE(volts.warnings[0].find("absurd"), std::string::npos);
  EXPECT_TRUE(read_with("V", 1e-6).warnings.empty());
}

}  // namespace
