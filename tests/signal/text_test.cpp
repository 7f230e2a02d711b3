// What the text reader promises: it finds the layout by itself, and says the line of what it cannot read.
#include <chrono>
#include <cmath>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

using Samples = std::vector<double>;

Recording table(const std::string& text, const ReadOptions& options = {}) { return from_bytes(text, "x.csv", options); }

void expect_refused(const std::string& text, const ReadOptions& options, const std::vector<std::string>& parts) {
  expect_error([&] { table(text, options); }, ErrorKind::bad_file, parts);
}

bool has_warning(const Recording& r, const std::string& part) {
  for (const std::string& warning : r.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Text, one_value_a_line_is_one_channel) {
  for (const char* text : {"1\n-2.5\n3e2\n", "1\r\n-2.5\r\n3e2", "1\r-2.5\r3e2\r", "\uFEFF1\n-2.5\n300\n",
                           "# a\n1\n%b\n-2.5\n//c\n+3e2\n\n\n"}) {
    const Recording r = table(text, at_rate(10));
    ASSERT_EQ(r.channels.size(), 1u) << text;
    EXPECT_EQ(r.channels[0].samples, (Samples{1, -2.5, 300})) << text;
    EXPECT_EQ(r.channels[0].rate_hz, 10);
    EXPECT_EQ(r.channels[0].name, "1");
  }
}

TEST(Text, any_delimiter_is_found) {
  for (const char* text :
       {"1,2\n3,4.5\n", "1;2\n3;4.5\n", "1\t2\n3\t4.5\n", "1 2\n3 4.5\n", "  1   2\n  3 4.5  \n", "1, 2\n3, 4.5\n",
        "\"1\",\"2\"\n\"3\",\"4.5\"\n", "1;2\n3;4,5\n", "1\t2\n3\t4,5\n", "1,0 2,0\n3,0 4,5\n"}) {
    const Recording r = table(text, at_rate(1));
    ASSERT_EQ(r.channels.size(), 2u) << text;
    EXPECT_EQ(r.channels[0].samples, (Samples{1, 3})) << text;
    EXPECT_EQ(r.channels[1].samples, (Samples{2, 4.5})) << text;
  }
}

TEST(Text, a_header_row_gives_names_and_units) {
  const Recording r = table("\"Fp1 (\xC2\xB5V)\",\"C,z [mV]\",x\n1,2,3\n4,5,6\n", at_rate(1));
  ASSERT_EQ(r.channels.size(), 3u);
  EXPECT_EQ(r.channels[0].name, "Fp1");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[1].name, "C,z");
  EXPECT_EQ(r.channels[1].unit, "mV");
  EXPECT_EQ(r.channels[2].name, "x");
  EXPECT_EQ(r.channels[0].samples, (Samples{1, 4}));
  EXPECT_EQ(table("v\n1\n2\n", at_rate(1)).channels[0].name, "v");
  EXPECT_EQ(table("a,a,\n1,2,3\n", at_rate(1)).channels[1].name, "a (2)");
}

TEST(Text, a_column_is_chosen_by_name_or_number) {
  const std::string text = "time,a,b,note\n0,1,2,x\n0.5,3,4,y\n";
  ReadOptions options;
  options.column = "b";
  EXPECT_EQ(table(text, options).channels[0].samples, (Samples{2, 4}));
  options.column = "2";
  EXPECT_EQ(table(text, options).channels[0].name, "a");
  options.column = "c";
  expect_error([&] { table(text, options); }, ErrorKind::bad_argument, {"no column 'c'", "time, a, b, note"});
  options.column = "5";
  expect_error([&] { table(text, options); }, ErrorKind::bad_argument, {"no column '5'"});
  options.column = "note";
  expect_error([&] { table(text, options); }, ErrorKind::bad_file, {"line 2", "'note'", "'x'"});
  const Recording all = table(text);
  EXPECT_EQ(all.channels.size(), 2u);
  EXPECT_TRUE(has_warning(all, "'note'"));
}

TEST(Text, missing_cells_are_missing_samples) {
  const Recording r = table("a,b\n1,\n,NA\nnan,n/a\n2,NaN\n3,4\n", at_rate(1));
  EXPECT_EQ(r.channels[0].samples.size(), 5u);
  EXPECT_TRUE(std::isnan(r.channels[0].samples[1]));
  EXPECT_TRUE(std::isnan(r.channels[0].samples[2]));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(r.channels[1].samples[static_cast<std::size_t>(i)]));
  EXPECT_EQ(r.channels[1].samples[4], 4);
  const Recording one = table("1\n\n3\n", at_rate(1));
  ASSERT_EQ(one.channels[0].samples.size(), 3u);
  EXPECT_TRUE(std::isnan(one.channels[0].samples[1]));
  EXPECT_FALSE(one.warnings.empty());
}

TEST(Text, a_time_column_gives_rate_and_start) {
  for (const char* text : {"time,a\n2,1\n2.25,2\n2.5,3\n2.75,4\n", "t [ms];a\n2000;1\n2250;2\n2500;3\n2750;4\n",
                           "a\tTime_us\n1\t2000000\n2\t2250000\n3\t2500000\n4\t2750000\n",
                           "# time (seconds)   a\n2 1\n2.25 2\n2.5 3\n2.75 4\n", "2 1\n2.25 2\n2.5 3\n2.75 4\n"}) {
    const Recording r = table(text);
    ASSERT_EQ(r.channels.size(), 1u) << text;
    EXPECT_EQ(r.channels[0].rate_hz, 4) << text;
    EXPECT_EQ(r.channels[0].start_s, 2) << text;
    EXPECT_EQ(r.channels[0].samples, (Samples{1, 2, 3, 4})) << text;
  }
  EXPECT_TRUE(has_warning(table("2 1\n2.25 2\n2.5 3\n2.75 4\n"), "taken as time"));
}

TEST(Text, rounded_times_give_the_plain_rate_and_say_their_jitter) {
  std::string text = "time,a\n";
  for (int i = 0; i < 1000; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%.3f,%d\n", i / 128.0, i % 7);
    text += line;
  }
  const Recording r = table(text);
  EXPECT_EQ(r.channels[0].rate_hz, 128);
  EXPECT_TRUE(has_warning(r, "even spacing"));
}

TEST(Text, exact_times_are_not_rounded_to_a_plain_rate) {
  std::string text = "time,a\n";
  for (int i = 0; i < 400; ++i) text += std::to_string(7 * i) + "e-6," + std::to_string(i % 5) + "\n";
  EXPECT_NEAR(table(text).channels[0].rate_hz, 1 / 7e-6, 1e-7);
}

TEST(Text, absent_rows_are_missing_samples) {
  const Recording r = table("time,a\n0,1\n1,2\n2,3\n5,4\n6,5\n");
  ASSERT_EQ(r.channels[0].samples.size(), 7u);
  EXPECT_TRUE(std::isnan(r.channels[0].samples[3]));
  EXPECT_TRUE(std::isnan(r.channels[0].samples[4]));
  EXPECT_EQ(r.channels[0].samples[5], 4);
  EXPECT_TRUE(has_warning(r, "2 rows are absent"));
  expect_refused("time,a\n0,1\n1,2\n2,3\n5e9,4\n", {}, {"gaps"});
  expect_refused("time,a\n0,1\n1e-300,2\n2e-300,3\n1e300,4\n", {}, {"x.csv"});
}

TEST(Text, time_that_does_not_rise_is_refused_with_its_line) {
  expect_refused("# c\ntime,a\n0,1\n1,2\n1,3\n", {}, {"line 5", "rise"});
  expect_refused("time,a\n0,1\n2,2\n1,3\n", {}, {"line 4"});
  expect_refused("time,a\n0,1\nnan,2\n1,3\n", {}, {"line 3", "no number"});
  expect_refused("time,a\n0,1\n1,2\n1.7,3\n3.1,4\n9.6,1\n", {}, {"not evenly spaced"});
}

TEST(Text, a_rate_beside_a_time_column_must_agree) {
  const std::string text = "time,a\n0,1\n0.25,2\n0.5,3\n0.75,4\n";
  EXPECT_EQ(table(text, at_rate(4)).channels[0].rate_hz, 4);
  expect_error([&] { table(text, at_rate(8)); }, ErrorKind::bad_argument, {"4 Hz", "8 Hz"});
  ReadOptions options = at_rate(8);
  options.time_column = "none";
  EXPECT_EQ(table(text, options).channels.size(), 2u);
}

TEST(Text, a_row_counter_is_neither_time_nor_data) {
  const Recording r = table(",a\n0,5\n1,6\n2,7\n", at_rate(100));
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].rate_hz, 100);
  EXPECT_TRUE(has_warning(r, "counts the rows"));
  expect_error([] { table("0,5\n1,6\n2,7\n"); }, ErrorKind::bad_argument, {"--rate"});
}

TEST(Text, a_rate_is_needed_and_must_be_a_rate) {
  expect_error([] { table("1\n2\n"); }, ErrorKind::bad_argument, {"x.csv", "--rate"});
  for (const double rate : {0.0, -1.0, double(NAN), double(INFINITY), 1e-320, 1e300}) {
    expect_error([&] { table("1\n2\n", at_rate(rate)); }, ErrorKind::bad_argument, {"rate"});
    expect_error([&] { table("time,a\n0,1\n1,2\n", at_rate(rate)); }, ErrorKind::bad_argument, {"rate"});
  }
}

TEST(Text, ragged_rows_and_words_are_refused_with_their_line) {
  expect_refused("1,2\n3,4\n5\n6,7\n", at_rate(1), {"line 3", "1 column"});
  expect_refused("1,2\n3,4\n5,6,7\n6,7\n", at_rate(1), {"line 3", "3 columns"});
  expect_refused("a,b\n1,2\n3,oops\n5,6\n7,8\n", at_rate(1), {"line 3", "'b'", "oops"});
  expect_refused("1\n2\n3\nx\n5\n", at_rate(1), {"line 4", "'x'"});
  expect_refused("1\n2\n+-2.5\n", at_rate(1), {"line 3", "no number"});
  expect_refused("1\n2\ninf\n", at_rate(1), {"line 3", "not finite"});
  expect_refused("1\n2\n1e999\n", at_rate(1), {"line 3", "not finite"});
  EXPECT_EQ(table("1\n1e-999\n", at_rate(1)).channels[0].samples[1], 0);
}

TEST(Text, what_is_no_table_of_numbers_is_refused) {
  expect_refused("hello\nworld\n", at_rate(1), {"no column of numbers", "hello"});
  expect_refused("# nothing\n\n", at_rate(1), {"no numbers"});
  expect_refused("a,b\n", at_rate(1), {"no column of numbers"});
  expect_refused(std::string("1\n2\n\0\n", 6), at_rate(1), {"not text", "byte 4"});
  expect_refused(std::string("\xFF\xFE"
                             "1\0",
                             4),
                 at_rate(1), {"UTF-16"});
  expect_error([] { from_bytes("\x89HDF\r\n", "x.h5"); }, ErrorKind::bad_file, {"HDF5"});
}

TEST(Text, messages_stay_one_line_whatever_the_cell_holds) {
  expect_refused("1\n2\n3\n\"a\x1B[31m\xFFzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\"\n5\n", at_rate(1),
                 {"x.csv"});
}

TEST(Text, a_long_file_takes_seconds) {
  std::string text;
  constexpr std::size_t lines = 400'000;
  for (std::size_t i = 0; i < lines; ++i) text += "-2.805092048645019531e+01 3.006139564514160156e+01\n";
  const auto start = std::chrono::steady_clock::now();
  const Recording r = table(text, at_rate(1000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(r.channels[0].samples.size(), lines);
  std::printf("text: %.0f MB/s\n", static_cast<double>(text.size()) / 1e6 / took.count());
}

TEST(Text, trailing_delimiters_make_no_channel) {
  const Recording r = table("a,b,\n1,2,\n3,4,\n", at_rate(1));
  EXPECT_EQ(r.channels.size(), 2u);
}

}  // namespace
