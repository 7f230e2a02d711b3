// What the EDF reader promises: scaling, rates, times, annotations, and a reason for every file it refuses.
#include <cmath>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

const std::string kStamp = "\x14";

EdfFile simple() {
  EdfFile file;
  file.channels = {counts("Fp1", {{1, 2, 3, 4}, {5, 6, 7, 8}}), counts("ECG", {{-1, -2}, {-3, -4}})};
  return file;
}

Recording read(const EdfFile& file, const ReadOptions& options = {}) {
  return from_bytes(file.bytes(), "x.edf", options);
}

void expect_refused(const EdfFile& file, const std::vector<std::string>& parts) {
  expect_error([&] { read(file); }, ErrorKind::bad_file, parts);
}

TEST(Edf, samples_are_scaled_and_every_channel_keeps_its_rate) {
  EdfFile file = simple();
  file.channels[0].physical_low = "-2000";
  file.channels[0].physical_high = "2000";
  const Recording r = read(file);
  EXPECT_EQ(r.format, "edf");
  EXPECT_EQ(r.start, "2026-01-31T22:10:05");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].samples, (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
  EXPECT_EQ(r.channels[1].samples, (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(r.channels[0].rate_hz, 4);
  EXPECT_EQ(r.channels[1].rate_hz, 2);
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[0].kind, envoi::DataKind::biosignal);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(Edf, upside_down_physical_range_turns_the_signal_over) {
  EdfFile file = simple();
  file.channels[0].physical_low = "1000";
  file.channels[0].physical_high = "-1000";
  EXPECT_EQ(read(file).channels[0].samples[0], -1);
}

TEST(Edf, bdf_has_24_bits_with_sign) {
  EdfFile file;
  file.wide = true;
  file.channels = {counts("A1", {{-8388608, 8388607, -1, 70000}}, true), counts("Status", {{1, 1, 1, 1}}, true)};
  file.channels[0].physical_low = file.channels[0].digital_low = "-8388608";
  file.channels[0].physical_high = file.channels[0].digital_high = "8388607";
  const Recording r = read(file);
  EXPECT_EQ(r.format, "bdf");
  ASSERT_EQ(r.channels.size(), 1u) << "the trigger word is no data";
  EXPECT_EQ(r.channels[0].samples, (std::vector<double>{-8388608, 8388607, -1, 70000}));
  ReadOptions status;
  status.channels = {"Status"};
  EXPECT_EQ(read(file, status).channels[0].samples[0], 1);
}

TEST(Edf, odd_record_durations_give_the_right_rate) {
  for (const auto& [text, rate] : {std::pair{"0.5", 8.0}, std::pair{"10", 0.4}, std::pair{"0.015625", 256.0},
                                   std::pair{"0,25", 16.0}, std::pair{"1E-1", 40.0}}) {
    EdfFile file = simple();
    file.record_s = text;
    EXPECT_DOUBLE_EQ(read(file).channels[0].rate_hz, rate) << text;
  }
}

TEST(Edf, microvolts_have_one_spelling) {
  for (const char* unit : {"uV", "\xB5V", "\xC2\xB5V", "\xCE\xBCV", "uv"}) {
    EdfFile file = simple();
    file.channels[0].unit = unit;
    EXPECT_EQ(read(file).channels[0].unit, "uV");
  }
  EdfFile file = simple();
  file.channels[0].unit = "mV";
  EXPECT_EQ(read(file).channels[0].unit, "mV");
}

TEST(Edf, labels_are_utf8_and_unique) {
  EdfFile file = simple();
  file.channels[0].label = file.channels[1].label = "Kan\xE4le";
  const Recording r = read(file);
  EXPECT_EQ(r.channels[0].name, "Kan\xC3\xA4le");
  EXPECT_EQ(r.channels[1].name, "Kan\xC3\xA4le (2)");
}

TEST(Edf, all_annotations_of_all_lists_are_found_on_the_axis_of_the_samples) {
  EdfFile file = simple();
  file.reserved = "EDF+C";
  file.channels.push_back(
      annotations({"+0.25" + kStamp + kStamp + '\0' +
                       "+0.5\x15"
                       "1.5" +
                       kStamp + "a" + kStamp + "b" + kStamp,
                   "+1.25" + kStamp + kStamp + std::string(3, '\0') + "+1.75" + kStamp + "\xE4\xB8\xAD" + kStamp}));
  file.channels.push_back(annotations({"+0.3" + kStamp + "second signal" + kStamp, "nonsense"}));
  const Recording r = read(file);
  EXPECT_EQ(r.format, "edf+");
  EXPECT_EQ(r.start, "2026-01-31T22:10:05.25");
  ASSERT_EQ(r.channels.size(), 2u);
  ASSERT_EQ(r.annotations.size(), 4u);
  EXPECT_EQ(r.annotations[0].text, "second signal");
  EXPECT_NEAR(r.annotations[0].onset_s, 0.05, 1e-12);
  EXPECT_EQ(r.annotations[1].text, "a");
  EXPECT_EQ(r.annotations[1].duration_s, 1.5);
  EXPECT_EQ(r.annotations[1].onset_s, 0.25);
  EXPECT_EQ(r.annotations[2].text, "b");
  EXPECT_EQ(r.annotations[3].text, "\xE4\xB8\xAD");
  ASSERT_EQ(r.warnings.size(), 1u) << "the damaged list is said";
}

TEST(Edf, only_the_first_list_of_a_record_tells_its_time) {
  EdfFile file = simple();
  file.reserved = "EDF+D";
  file.channels.push_back(
      annotations({"+0" + kStamp + kStamp + '\0' + "+9" + kStamp + kStamp, "+1" + kStamp + kStamp}));
  EXPECT_EQ(read(file).channels[0].samples.size(), 8u);
}

TEST(Edf, gaps_of_a_discontinuous_file_are_missing_samples) {
  EdfFile file = simple();
  file.reserved = "EDF+D";
  file.channels.push_back(annotations({"+0" + kStamp + kStamp, "+2.5" + kStamp + kStamp}));
  const Recording r = read(file);
  ASSERT_EQ(r.channels[0].samples.size(), 14u);
  for (std::size_t i = 4; i < 10; ++i) EXPECT_TRUE(std::isnan(r.channels[0].samples[i]));
  EXPECT_EQ(r.channels[0].samples[10], 5);
  ASSERT_EQ(r.channels[1].samples.size(), 7u);
  EXPECT_EQ(r.channels[1].samples[5], -3);

  ReadOptions late;
  late.from_s = 2.25;
  const Recording cut = read(file, late);
  EXPECT_EQ(cut.channels[0].start_s, 2.25);
  EXPECT_TRUE(std::isnan(cut.channels[0].samples[0]));
  EXPECT_EQ(cut.channels[0].samples[1], 5);
}

TEST(Edf, absurd_or_backward_gaps_are_refused) {
  EdfFile file = simple();
  file.reserved = "EDF+D";
  file.channels.push_back(annotations({"+0" + kStamp + kStamp, "+9e15" + kStamp + kStamp}));
  expect_refused(file, {"gaps"});
  file.channels.back() = annotations({"+5" + kStamp + kStamp, "+5.5" + kStamp + kStamp});
  expect_refused(file, {"data record 2", "before the end"});
}

TEST(Edf, a_file_of_annotations_alone_may_have_records_of_no_duration) {
  EdfFile file;
  file.reserved = "EDF+C";
  file.record_s = "0";
  file.channels = {annotations({"+0" + kStamp + kStamp + '\0' + "+3" + kStamp + "x" + kStamp})};
  const Recording r = read(file);
  EXPECT_TRUE(r.channels.empty());
  ASSERT_EQ(r.annotations.size(), 1u);
  EXPECT_EQ(r.annotations[0].onset_s, 3);
  file.channels.push_back(counts("Cz", {{1, 2}}));
  expect_refused(file, {"no rate"});
}

TEST(Edf, an_open_number_of_records_is_counted) {
  EdfFile file = simple();
  file.record_count = "-1";
  const Recording r = read(file);
  EXPECT_EQ(r.channels[0].samples.size(), 8u);
  EXPECT_EQ(r.warnings.size(), 1u);
}

TEST(Edf, a_cut_file_gives_its_whole_records_and_says_so) {
  std::string bytes = simple().bytes();
  bytes.resize(bytes.size() - 3);
  const Recording r = from_bytes(bytes, "x.edf");
  EXPECT_EQ(r.channels[0].samples, (std::vector<double>{1, 2, 3, 4}));
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("1 of 2"), std::string::npos);
}

TEST(Edf, every_cut_is_read_or_refused_with_a_reason) {
  const std::string bytes = simple().bytes();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    try {
      EXPECT_FALSE(from_bytes(bytes.substr(0, size), "x.edf").warnings.empty()) << size;
    } catch (const envoi::Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << size;
      EXPECT_LT(size, 768u + 12u) << error.what();
    }
  }
}

TEST(Edf, the_year_comes_from_the_recording_field_or_the_clipping_rule) {
  EdfFile file = simple();
  file.date = "02.03.84";
  EXPECT_EQ(read(file).start, "2084-03-02T22:10:05");
  file.date = "02.03.85";
  EXPECT_EQ(read(file).start, "1985-03-02T22:10:05");
  file.reserved = "EDF+C";
  file.recording = "Startdate 02-MAR-2101 X X X";
  file.date = "02.03.yy";
  EXPECT_EQ(read(file).start, "2101-03-02T22:10:05");
  file.reserved = "";
  EXPECT_EQ(read(file).start, "");
  file.date = "99.99.99";
  EXPECT_EQ(read(file).start, "");
  EXPECT_FALSE(read(file).warnings.empty());
}

TEST(Edf, lies_in_the_header_are_refused_with_the_field) {
  const auto with = [](auto change) {
    EdfFile file = simple();
    change(file);
    return file;
  };
  expect_refused(with([](EdfFile& f) { f.signals = "-1"; }), {"x.edf: ", "number of signals", "-1"});
  expect_refused(with([](EdfFile& f) { f.signals = "0"; }), {"number of signals"});
  expect_refused(with([](EdfFile& f) { f.signals = "9999"; }), {"cut off", "9999"});
  expect_refused(with([](EdfFile& f) { f.signals = "two"; }), {"two", "byte 252"});
  expect_refused(with([](EdfFile& f) { f.header_bytes = "512"; }), {"512", "768"});
  expect_refused(with([](EdfFile& f) { f.header_bytes = "-768"; }), {"-768"});
  expect_refused(with([](EdfFile& f) { f.record_count = "-2"; }), {"-2 data records"});
  expect_refused(with([](EdfFile& f) { f.record_count = "0"; }), {"0 data records"});
  expect_refused(with([](EdfFile& f) { f.record_count = "many"; }), {"many"});
  expect_refused(with([](EdfFile& f) { f.record_s = "-1"; }), {"duration"});
  expect_refused(with([](EdfFile& f) { f.record_s = "nan"; }), {"nan"});
  expect_refused(with([](EdfFile& f) { f.record_s = "0"; }), {"no rate"});
  expect_refused(with([](EdfFile& f) { f.record_s = "1e-300"; }), {"rate"});
  expect_refused(with([](EdfFile& f) { f.channels[0].samples = "-4"; }), {"samples of signal 1", "-4"});
  expect_refused(with([](EdfFile& f) { f.channels[0].samples = "99999999"; }), {"cut off"});
  expect_refused(with([](EdfFile& f) { f.channels[0].samples = "x"; }), {"samples of signal 1"});
}

TEST(Edf, an_absurd_number_of_records_is_what_the_file_holds) {
  EdfFile file = simple();
  file.record_count = "99999999";
  const Recording r = read(file);
  EXPECT_EQ(r.channels[0].samples.size(), 8u);
  EXPECT_FALSE(r.warnings.empty());
}

TEST(Edf, a_channel_without_a_scale_is_left_out_and_the_others_stay) {
  for (int fault = 0; fault < 3; ++fault) {
    EdfFile file = simple();
    EdfChannel& bad = file.channels[1];
    if (fault == 0) bad.digital_high = bad.digital_low;
    if (fault == 1) bad.physical_high = bad.physical_low;
    if (fault == 2) bad.physical_high = "";
    const Recording r = read(file);
    EXPECT_EQ(r.channels.size(), 1u);
    ASSERT_EQ(r.warnings.size(), 1u);
    EXPECT_NE(r.warnings[0].find("ECG"), std::string::npos);
    ReadOptions options;
    options.channels = {"ECG"};
    expect_error([&] { read(file, options); }, ErrorKind::bad_file, {"ECG"});
    file.channels[0] = bad;
    expect_refused(file, {"no channel"});
  }
}

TEST(Edf, a_rate_that_contradicts_the_file_is_refused) {
  EdfFile file = simple();
  ReadOptions options = at_rate(4);
  options.channels = {"Fp1"};
  EXPECT_EQ(read(file, options).channels[0].rate_hz, 4);
  options.rate_hz = 5;
  expect_error([&] { read(file, options); }, ErrorKind::bad_argument, {"4 Hz", "5 Hz"});
  options.rate_hz = NAN;
  expect_error([&] { read(file, options); }, ErrorKind::bad_argument, {"rate"});
}

TEST(Edf, a_stretch_is_cut_at_each_channel_s_own_rate) {
  ReadOptions options;
  options.from_s = 0.5;
  options.to_s = 1.5;
  const Recording r = read(simple(), options);
  EXPECT_EQ(r.channels[0].samples, (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(r.channels[1].samples, (std::vector<double>{-2, -3}));
  EXPECT_EQ(r.channels[0].start_s, 0.5);
}

}  // namespace
