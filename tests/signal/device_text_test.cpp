// What the reader promises of the files of headsets' programs: columns by name, events, dropped samples by the counter.
#include <cmath>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

std::string stamp(double second) {
  char text[64];
  std::snprintf(text, sizeof text, "2026-01-31 22:%02d:%06.3f", 10 + static_cast<int>(second / 60),
                std::fmod(second, 60));
  return text;
}

// Blocks of 12 rows carry one time stamp each, as the radio delivers them.
std::string mind_monitor(int rows, int pause_after = -1, double pause_s = 0) {
  std::string text = "TimeStamp,Delta_TP9,RAW_TP9,RAW_AF7,AUX_RIGHT,Battery,Elements\n";
  for (int i = 0; i < rows; ++i) {
    if (i == 100) text += stamp(0.4) + ",,,,,,/muse/elements/blink\n";
    const double second = (i / 12 * 12) / 256.0 + (pause_after >= 0 && i >= pause_after ? pause_s : 0);
    text += stamp(second) + ",0.5," + std::to_string(800 + i) + ",1," + std::to_string(i) + ",87,\n";
  }
  return text;
}

std::string openbci(const std::vector<int>& counts, const std::string& rate = "250") {
  std::string text =
      "%OpenBCI Raw EXG Data\n%Number of channels = 2\n%Sample Rate = " + rate +
      " Hz\n%Board = OpenBCI_GUI$BoardCytonSerial\nSample Index, EXG Channel 0, EXG Channel 1, Accel Channel "
      "0, Timestamp, Marker Channel, Timestamp (Formatted)\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += std::to_string(counts[i]) + ", " + std::to_string(i) + ".5, -1, 0.1, " +
            std::to_string(1700000000 + static_cast<long>(i) / 250) + ", " + (i == 7 ? "3" : "0") +
            ", 2026-01-31 22:10:05.132\n";
  }
  return text;
}

TEST(OpenBci, rows_without_a_counter_follow_on) {
  for (const std::string& counter : {std::string(), std::string("nan"), std::string("inf")}) {
    std::vector<int> counts(600);
    for (int i = 0; i < 600; ++i) counts[static_cast<std::size_t>(i)] = i % 256;
    std::string text = openbci(counts);
    const std::size_t first = text.find("\n0, 0.5") + 1;
    text.replace(first, 1, counter);
    const Recording r = from_bytes(text, "x.txt");
    ASSERT_EQ(r.channels[0].samples.size(), 600u) << counter;
    EXPECT_EQ(r.channels[0].samples[300], 300.5);
  }
}

TEST(MindMonitor, raw_columns_events_and_the_device_s_rate) {
  const Recording r = from_bytes(mind_monitor(3000), "muse.csv");
  ASSERT_EQ(r.channels.size(), 3u);
  EXPECT_EQ(r.channels[0].name, "RAW_TP9");
  EXPECT_EQ(r.channels[0].type, "eeg");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[0].rate_hz, 256);
  ASSERT_EQ(r.channels[0].samples.size(), 3000u) << "an event row is no sample";
  EXPECT_EQ(r.channels[0].samples[100], 900);
  EXPECT_EQ(r.channels[2].name, "AUX_RIGHT");
  ASSERT_EQ(r.annotations.size(), 1u);
  EXPECT_EQ(r.annotations[0].text, "/muse/elements/blink");
  EXPECT_EQ(r.annotations[0].onset_s, 100 / 256.0) << "by the samples, not by the stamps";
  EXPECT_EQ(r.start, "2026-01-31T22:10:00.000");
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("256 Hz"), std::string::npos);
}

TEST(MindMonitor, a_long_pause_is_missing_samples) {
  const Recording r = from_bytes(mind_monitor(3000, 1200, 10), "muse.csv");
  EXPECT_NEAR(static_cast<double>(r.channels[0].samples.size()), 3000 + 2560, 13);
  EXPECT_TRUE(std::isnan(r.channels[0].samples[1300]));
  EXPECT_EQ(r.channels[0].samples.back(), 3799);
}

TEST(MindMonitor, a_file_at_another_rate_needs_it) {
  std::string text = "TimeStamp,RAW_TP9,Elements\n";
  for (int i = 0; i < 40; ++i) text += stamp(0.5 * i) + ",800,\n";
  expect_error([&] { from_bytes(text, "x.csv"); }, ErrorKind::bad_argument, {"Mind Monitor", "2 Hz", "--rate"});
  EXPECT_EQ(from_bytes(text, "x.csv", at_rate(2)).channels[0].samples.size(), 40u);
}

TEST(Muselsl, columns_by_name) {
  std::string text = "timestamps,TP9,AF7,AF8,TP10,Right AUX\n";
  for (int i = 0; i < 600; ++i) {
    char row[100];
    std::snprintf(row, sizeof row, "%.3f,%d,2,3,4,5\n", 1600000000 + i / 256.0, i);
    text += row;
  }
  const Recording r = from_bytes(text, "eeg.csv");
  ASSERT_EQ(r.channels.size(), 5u);
  EXPECT_EQ(r.channels[0].name, "TP9");
  EXPECT_EQ(r.channels[4].name, "Right AUX");
  EXPECT_EQ(r.channels[4].type, "misc");
  EXPECT_EQ(r.channels[0].rate_hz, 256);
  EXPECT_EQ(r.channels[0].samples[599], 599);
}

TEST(OpenBci, the_counter_tells_dropped_samples_and_wraps_at_256) {
  std::vector<int> counts;
  for (int i = 0; i < 1000; ++i) {
    if ((i < 300 || i >= 310) && i != 511 && i != 512) counts.push_back(i % 256);
  }
  const Recording r = from_bytes(openbci(counts), "OpenBCI-RAW.txt");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "EXG Channel 0");
  EXPECT_EQ(r.channels[0].rate_hz, 250);
  const auto& x = r.channels[0].samples;
  ASSERT_EQ(x.size(), 1000u);
  EXPECT_EQ(x[299], 299.5);
  for (int i = 300; i < 310; ++i) EXPECT_TRUE(std::isnan(x[static_cast<std::size_t>(i)]));
  EXPECT_EQ(x[310], 300.5);
  EXPECT_TRUE(std::isnan(x[511]));
  EXPECT_TRUE(std::isnan(x[512]));
  EXPECT_EQ(x[999], 987.5);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("12 samples were dropped"), std::string::npos) << r.warnings[0];
  ASSERT_EQ(r.annotations.size(), 1u);
  EXPECT_EQ(r.annotations[0].text, "3");
  EXPECT_EQ(r.annotations[0].onset_s, 7 / 250.0);
}

TEST(OpenBci, counters_by_two_and_pairs_of_rows_drop_nothing) {
  std::vector<int> by_two, pairs;
  for (int i = 0; i < 1000; ++i) {
    by_two.push_back(2 * i % 256);
    pairs.push_back(i / 2 % 201);
  }
  EXPECT_EQ(from_bytes(openbci(by_two), "x.txt").channels[0].samples.size(), 1000u);
  EXPECT_EQ(from_bytes(openbci(pairs), "x.txt").channels[0].samples.size(), 1000u);
  pairs.erase(pairs.begin() + 101);                       // half a pair
  pairs.erase(pairs.begin() + 201, pairs.begin() + 205);  // and four rows
  EXPECT_EQ(from_bytes(openbci(pairs), "x.txt").channels[0].samples.size(), 1000u);
}

TEST(OpenBci, a_cut_last_line_is_left_out_and_every_cut_ends_well) {
  const std::string text = openbci({0, 1, 2, 3, 4, 5, 6, 7, 8});
  for (std::size_t length = 1; length < text.size(); ++length) {
    try {
      from_bytes(text.substr(0, length), "x.txt");
    } catch (const envoi::Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  const Recording r = from_bytes(text.substr(0, text.size() - 40), "x.txt");
  EXPECT_EQ(r.channels[0].samples.size(), 8u);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_NE(r.warnings[0].find("cut off"), std::string::npos);
}

TEST(OpenBci, a_row_in_the_middle_that_is_broken_is_refused_with_its_line) {
  std::string text = openbci({0, 1, 2, 3});
  text.insert(text.find("\n2, ") + 1, "9, 1, 2\n");
  expect_error([&] { from_bytes(text, "x.txt"); }, ErrorKind::bad_file, {"line 8", "3 columns"});
}

TEST(BrainFlow, tabs_without_a_header_are_known_by_counter_and_unix_time) {
  std::string text;
  for (int i = 0; i < 600; ++i) {
    if (i == 400) continue;
    for (int c = 0; c < 24; ++c) {
      const double value = c == 0    ? i % 256
                           : c == 22 ? 1700000000 + i / 250.0
                           : c == 23 ? (i == 5 ? 2 : 0)
                                     : 100 * c + i;
      text += (c ? "\t" : "") + std::to_string(value);
    }
    text += "\n";
  }
  expect_error([&] { from_bytes(text, "x.csv"); }, ErrorKind::bad_argument, {"BrainFlow", "--rate", "Cyton 250"});
  const Recording r = from_bytes(text, "x.csv", at_rate(250));
  ASSERT_EQ(r.channels.size(), 8u);
  EXPECT_EQ(r.channels[7].name, "EXG Channel 7");
  ASSERT_EQ(r.channels[7].samples.size(), 600u);
  EXPECT_TRUE(std::isnan(r.channels[7].samples[400]));
  EXPECT_EQ(r.channels[7].samples[401], 1201);
  EXPECT_EQ(r.annotations.size(), 1u);
}

TEST(Text, other_tables_are_read_as_tables) {
  std::string text = "time,TP9,AF7\n";
  for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",1,2\n";
  EXPECT_EQ(from_bytes(text, "x.csv").channels.size(), 2u);
  std::string tabs;
  for (int i = 0; i < 10; ++i) {
    for (int c = 0; c < 24; ++c) tabs += (c ? "\t" : "") + std::to_string(i * i + c);
    tabs += "\n";
  }
  EXPECT_EQ(from_bytes(tabs, "x.tsv", at_rate(10)).channels.size(), 24u);
}

}  // namespace
