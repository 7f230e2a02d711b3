// What the XDF reader promises: streams on one clock, gaps as missing samples, strings as annotations, and what is left
// of damaged files.
#include <bit>
#include <cmath>
#include <random>

#include "cases.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

std::string little(std::uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}
std::string real(double value) { return little(std::bit_cast<std::uint64_t>(value), 8); }

std::string chunk(int tag, const std::string& content) {
  const std::size_t length = content.size() + 2;
  return (length < 256 ? '\1' + little(length, 1) : '\4' + little(length, 4)) +
         little(static_cast<std::uint64_t>(tag), 2) + content;
}

const std::string kBoundary =
    chunk(5, std::string("\x43\xA5\x46\xDC\xCB\xF5\x41\x0F\xB3\x0E\xD5\x46\x73\x83\xCB\xE4", 16));

struct StreamHeader {
  std::uint32_t id = 1;
  std::string name = "Amp", type = "EEG", count = "1", rate = "100", format = "int16", desc;
  std::string chunk_text() const {
    return chunk(2, little(id, 4) + "<?xml version=\"1.0\"?><info><name>" + name + "</name><type>" + type +
                        "</type><channel_count>" + count + "</channel_count><nominal_srate>" + rate +
                        "</nominal_srate><channel_format>" + format + "</channel_format><desc>" + desc +
                        "</desc></info>");
  }
};

std::string start_of_file() {
  return "XDF:" + chunk(1,
                        "<?xml version=\"1.0\"?><info><version>1.0</version><datetime>2026-01-31T22:10:05+0100"
                        "</datetime></info>");
}

// One-channel int16 samples; a time stamp each where `times` has it (NaN: none).
std::string samples(std::uint32_t id, const std::vector<double>& times, int first_value = 0) {
  std::string content = little(id, 4) + '\4' + little(times.size(), 4);
  int value = first_value;
  for (const double time : times) {
    content += std::isnan(time) ? std::string(1, '\0') : '\x08' + real(time);
    content += little(static_cast<std::uint64_t>(value++), 2);
  }
  return chunk(3, content);
}

std::string marker(std::uint32_t id, double time, const std::string& text) {
  return chunk(3, little(id, 4) + "\1\1\x08" + real(time) + '\1' + little(text.size(), 1) + text);
}

std::string offset(std::uint32_t id, double time, double value) {
  return chunk(4, little(id, 4) + real(time) + real(value));
}

std::vector<double> times(double from, std::size_t count, double step) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(from + static_cast<double>(i) * step);
  return out;
}

StreamHeader markers_header() {
  StreamHeader header;
  header.id = 2;
  header.name = "Keys";
  header.type = "Markers";
  header.rate = "0";
  header.format = "string";
  return header;
}

TEST(Xdf, streams_become_channels_and_annotations_on_one_axis) {
  StreamHeader header;
  header.desc = "<channels><channel><label>Cz</label><unit>microvolts</unit><type>EEG</type></channel></channels>";
  const std::string file = start_of_file() + header.chunk_text() + markers_header().chunk_text() +
                           offset(1, 1000, -900) + offset(1, 1005, -900) + offset(2, 50, 50) + offset(2, 55, 50) +
                           samples(1, times(1000, 50, 0.01)) + marker(2, 50.25, "go") + marker(2, 50.1, "ready") +
                           chunk(6, little(1, 4) + "<info><sample_count>50</sample_count></info>");
  const Recording r = from_bytes(file, "x.xdf");
  EXPECT_EQ(r.format, "xdf");
  EXPECT_EQ(r.start, "2026-01-31T22:10:05");
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].name, "Cz");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[0].type, "eeg");
  EXPECT_EQ(r.channels[0].kind, envoi::DataKind::biosignal);
  EXPECT_EQ(r.channels[0].rate_hz, 100);
  EXPECT_EQ(r.channels[0].start_s, 0);
  ASSERT_EQ(r.channels[0].samples.size(), 50u);
  EXPECT_EQ(r.channels[0].samples[49], 49);
  ASSERT_EQ(r.annotations.size(), 2u);
  EXPECT_EQ(r.annotations[0].text, "ready");
  EXPECT_NEAR(r.annotations[0].onset_s, 0.1, 1e-9);
  EXPECT_NEAR(r.annotations[1].onset_s, 0.25, 1e-9);
  EXPECT_TRUE(r.warnings.empty()) << r.warnings[0];
}

TEST(Xdf, every_number_format_is_read) {
  const auto one = [](const std::string& format, const std::string& bytes) {
    StreamHeader header;
    header.format = format;
    return from_bytes(start_of_file() + header.chunk_text() + chunk(3, little(1, 4) + "\1\1\x08" + real(7) + bytes),
                      "x.xdf")
        .channels[0]
        .samples[0];
  };
  EXPECT_EQ(one("int8", "\xFF"), -1);
  EXPECT_EQ(one("int16", little(0x8000, 2)), -32768);
  EXPECT_EQ(one("int32", little(0xFFFFFFFE, 4)), -2);
  EXPECT_EQ(one("int64", little(~std::uint64_t{4}, 8)), -5);
  EXPECT_EQ(one("float32", little(std::bit_cast<std::uint32_t>(1.5f), 4)), 1.5);
  EXPECT_EQ(one("double64", real(-0.1)), -0.1);
}

TEST(Xdf, samples_without_a_stamp_follow_the_one_before) {
  std::vector<double> stamps(40, NAN);
  stamps[0] = 20;
  const Recording r = from_bytes(start_of_file() + StreamHeader().chunk_text() + samples(1, stamps), "x.xdf");
  EXPECT_EQ(r.channels[0].samples.size(), 40u);
  EXPECT_EQ(r.channels[0].rate_hz, 100);
}

TEST(Xdf, jitter_does_not_move_samples_or_the_rate) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(-0.004, 0.004);
  std::vector<double> stamps = times(500, 3000, 0.01);
  for (double& stamp : stamps) stamp += jitter(random);
  const Recording r = from_bytes(start_of_file() + StreamHeader().chunk_text() + samples(1, stamps), "x.xdf");
  EXPECT_EQ(r.channels[0].rate_hz, 100);
  EXPECT_EQ(r.channels[0].samples.size(), 3000u);
}

TEST(Xdf, a_gap_is_missing_samples_and_the_later_ones_keep_their_time) {
  const Recording r = from_bytes(start_of_file() + StreamHeader().chunk_text() + samples(1, times(100, 1000, 0.01)) +
                                     samples(1, times(120, 1000, 0.01), 1000),
                                 "x.xdf");
  const auto& x = r.channels[0].samples;
  ASSERT_EQ(x.size(), 3000u);
  EXPECT_EQ(x[999], 999);
  EXPECT_TRUE(std::isnan(x[1000]));
  EXPECT_TRUE(std::isnan(x[1999]));
  EXPECT_EQ(x[2000], 1000);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_NE(r.warnings[0].find("1000 missing samples"), std::string::npos) << r.warnings[0];
}

TEST(Xdf, time_stamps_that_jump_backward_lose_no_sample) {
  const Recording r = from_bytes(start_of_file() + StreamHeader().chunk_text() + samples(1, times(100, 1000, 0.01)) +
                                     samples(1, times(50, 1000, 0.01), 1000),
                                 "x.xdf");
  const auto& x = r.channels[0].samples;
  ASSERT_EQ(x.size(), 2000u);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<double>(i));
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_NE(r.warnings[0].find("backward 1"), std::string::npos) << r.warnings[0];
}

TEST(Xdf, a_clock_that_is_reset_is_repaired) {
  // The computer restarts after 100 s: its clock goes from 5000 to 10, and the offsets follow it.
  std::string file = start_of_file() + StreamHeader().chunk_text();
  for (int i = 0; i < 20; ++i) file += offset(1, 4900 + 5 * i, -4900 + 1e-5 * (i % 3));
  file += samples(1, times(4900, 10000, 0.01));
  for (int i = 0; i < 20; ++i) file += offset(1, 10 + 5 * i, 110 + 1e-5 * (i % 2));
  file += samples(1, times(10, 10000, 0.01), 10000);
  const Recording r = from_bytes(file, "x.xdf");
  ASSERT_EQ(r.channels[0].samples.size(), 22000u);
  EXPECT_EQ(r.channels[0].samples[9999], 9999);
  EXPECT_TRUE(std::isnan(r.channels[0].samples[10000]));
  EXPECT_EQ(r.channels[0].samples[12000], 10000);
  EXPECT_NE(r.warnings[0].find("set anew 1 time"), std::string::npos) << r.warnings[0];
}

TEST(Xdf, an_outlier_among_the_offsets_moves_nothing) {
  std::string file = start_of_file() + StreamHeader().chunk_text();
  for (int i = 0; i < 40; ++i) file += offset(1, 100 + 5 * i, i == 17 ? -99.5 : -100);
  file += markers_header().chunk_text() + marker(2, 10, "a") + samples(1, times(100, 1000, 0.01));
  EXPECT_NEAR(from_bytes(file, "x.xdf").annotations[0].onset_s, 10, 1e-3);
}

TEST(Xdf, a_rate_that_is_not_the_header_s_is_taken_from_the_stamps_and_said) {
  const std::string file = start_of_file() + StreamHeader().chunk_text() + samples(1, times(0, 4000, 1 / 93.0));
  const Recording r = from_bytes(file, "x.xdf");
  EXPECT_NEAR(r.channels[0].rate_hz, 93, 1e-6);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_NE(r.warnings[0].find("93"), std::string::npos);
  EXPECT_EQ(from_bytes(file, "x.xdf", at_rate(100)).channels[0].rate_hz, 100);
  EXPECT_NEAR(from_bytes(file, "x.xdf", at_rate(93)).channels[0].rate_hz, 93, 1e-6);
  expect_error([&] { from_bytes(file, "x.xdf", at_rate(50)); }, ErrorKind::bad_argument, {"50 Hz", "Amp", "--rate"});
}

TEST(Xdf, streams_are_chosen_by_name_type_or_number) {
  StreamHeader other;
  other.id = 9;
  other.name = "Glasses";
  other.type = "Gaze";
  StreamHeader irregular;
  irregular.id = 3;
  irregular.name = "Mouse";
  irregular.type = "Position";
  irregular.rate = "0";
  const std::string file = start_of_file() + StreamHeader().chunk_text() + markers_header().chunk_text() +
                           other.chunk_text() + irregular.chunk_text() + samples(1, times(0, 20, 0.01)) +
                           samples(9, times(5, 20, 0.01)) + samples(3, {1, 2}) + marker(2, 3, "x");
  const Recording all = from_bytes(file, "x.xdf");
  ASSERT_EQ(all.channels.size(), 2u);
  EXPECT_EQ(all.channels[0].name, "Amp 1");
  EXPECT_EQ(all.channels[1].name, "Glasses 1");
  EXPECT_NEAR(all.channels[1].start_s, 5, 1e-9);
  EXPECT_NE(all.warnings[0].find("Mouse"), std::string::npos);
  for (const char* wanted : {"Glasses", "gaze", "3"}) {
    ReadOptions options;
    options.stream = wanted;
    const Recording one = from_bytes(file, "x.xdf", options);
    ASSERT_EQ(one.channels.size(), 1u);
    EXPECT_EQ(one.channels[0].name, "Glasses 1");
    EXPECT_NEAR(one.channels[0].start_s, 5, 1e-9) << "the axis is the file's";
    EXPECT_EQ(one.annotations.size(), 1u);
  }
  ReadOptions options;
  options.stream = "nothing";
  expect_error([&] { from_bytes(file, "x.xdf", options); }, ErrorKind::bad_argument, {"nothing", "Glasses", "Keys"});
  options.stream = "Keys";
  expect_error([&] { from_bytes(file, "x.xdf", options); }, ErrorKind::bad_argument, {"Keys", "no numbers"});
}

TEST(Xdf, every_cut_is_read_or_refused_with_a_reason) {
  const std::string file = start_of_file() + StreamHeader().chunk_text() + markers_header().chunk_text() +
                           offset(1, 0, 0.5) + samples(1, times(0, 8, 0.01)) + kBoundary + marker(2, 0.02, "x") +
                           samples(1, times(0.08, 8, 0.01), 8);
  std::size_t read = 0;
  for (std::size_t length = 1; length < file.size(); ++length) {
    try {
      const Recording r = from_bytes(file.substr(0, length), "x.xdf");
      ++read;
      EXPECT_LE(r.channels[0].samples.size(), 16u);
    } catch (const envoi::Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    }
  }
  EXPECT_GT(read, 100u) << "whole samples before the cut are kept";
  const Recording cut = from_bytes(file.substr(0, file.size() - 1), "x.xdf");
  EXPECT_EQ(cut.channels[0].samples.size(), 15u);
  EXPECT_NE(cut.warnings[0].find("cut off"), std::string::npos);
}

TEST(Xdf, reading_goes_on_at_the_next_mark_after_damage) {
  const std::string head = start_of_file() + StreamHeader().chunk_text() + samples(1, times(0, 100, 0.01));
  const std::string file = head + std::string(37, '\x7F') + kBoundary + samples(1, times(1, 100, 0.01), 100);
  const Recording r = from_bytes(file, "x.xdf");
  EXPECT_EQ(r.channels[0].samples.size(), 200u);
  EXPECT_NE(r.warnings[0].find("byte " + std::to_string(head.size())), std::string::npos) << r.warnings[0];
}

TEST(Xdf, lies_are_refused_or_said) {
  const auto with = [](auto change) {
    StreamHeader header;
    change(header);
    return start_of_file() + header.chunk_text() + samples(1, times(0, 20, 0.01));
  };
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& parts) {
    expect_error([&] { from_bytes(bytes, "x.xdf"); }, ErrorKind::bad_file, parts);
  };
  refused(with([](StreamHeader& h) { h.count = "-1"; }), {"channel_count", "-1"});
  refused(with([](StreamHeader& h) { h.count = "1000000000"; }), {"channel_count"});
  refused(with([](StreamHeader& h) { h.rate = "nan"; }), {"nominal_srate"});
  refused(with([](StreamHeader& h) { h.format = "float16"; }), {"float16"});
  refused(with([](StreamHeader& h) { h.name = "</oops>"; }), {"XML"});
  refused("XDF:", {"no stream"});
  refused(start_of_file() + StreamHeader().chunk_text(), {"no stream of numbers"});
  refused(with([](StreamHeader&) {}) + StreamHeader().chunk_text(), {"number 1"});
  // A count of 2^32 samples and a string of 2^63 bytes cost nothing.
  const std::string huge = chunk(3, little(1, 4) + '\4' + little(0xFFFFFFFF, 4) + '\0' + little(3, 2));
  EXPECT_EQ(from_bytes(start_of_file() + StreamHeader().chunk_text() + huge, "x.xdf").channels[0].samples.size(), 1u);
  const std::string text = chunk(3, little(2, 4) + "\1\1\x08" + real(1) + '\x08' + little(std::uint64_t{1} << 63, 8));
  EXPECT_FALSE(from_bytes(with([](StreamHeader&) {}) + markers_header().chunk_text() + text, "x.xdf").warnings.empty());
  // A gap of ten thousand years is no recording.
  refused(start_of_file() + StreamHeader().chunk_text() + samples(1, times(0, 20, 0.01)) +
              samples(1, times(3e11, 20, 0.01)),
          {"gaps"});
}

TEST(Cases, xdf_minimal) {
  ENVOI_CASE(path, "xdf/minimal.xdf");
  const Recording r = envoi::read(path);
  ASSERT_EQ(r.channels.size(), 3u);
  for (const auto& channel : r.channels) {
    EXPECT_EQ(channel.rate_hz, 10);
    EXPECT_EQ(channel.samples.size(), 9u);
  }
  EXPECT_EQ(r.annotations.size(), 9u);
  EXPECT_NEAR(r.annotations[0].onset_s, 0.1, 1e-6);
}

TEST(Cases, xdf_clock_resets) {
  ENVOI_CASE(path, "xdf/clock_resets.xdf");
  ReadOptions options;
  const Recording r = envoi::read(path);
  EXPECT_EQ(r.annotations.size(), 175u);
  ASSERT_EQ(r.channels.size(), 8u);
  std::size_t held = 0;
  for (const double x : r.channels[0].samples) held += std::isnan(x) ? 0 : 1;
  EXPECT_EQ(held, 27815u);
  // pyxdf: 92.93436959 Hz by the time stamps, a gap of 273.88 s after sample 12876, the first marker 2.89811 s in.
  EXPECT_NEAR(r.channels[0].rate_hz, 92.93436959, 1e-4);
  EXPECT_FALSE(std::isnan(r.channels[0].samples[12875]));
  EXPECT_TRUE(std::isnan(r.channels[0].samples[12876]));
  EXPECT_NEAR(static_cast<double>(r.channels[0].samples.size() - held) / r.channels[0].rate_hz, 273.87, 0.5);
  EXPECT_NEAR(r.annotations[0].onset_s, 812.92790421 - 810.02979176, 1e-3);
  options.rate_hz = 100;
  EXPECT_EQ(envoi::read(path, options).channels[0].rate_hz, 100);
}

}  // namespace
