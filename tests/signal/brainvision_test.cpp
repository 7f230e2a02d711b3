// What the BrainVision reader promises: any file of a set opens it, samples in their units, markers, and a reason for
// every set it refuses.
#include "signal/brainvision.hpp"

#include <cmath>
#include <cstring>

#include "cases.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

struct Set {
  std::string format = "INT_16", orientation = "MULTIPLEXED", interval = "4000";
  std::string extra;
  std::vector<std::string> channels = {"Fp1,,0.5,\xC2\xB5V", "Cz,Ref,2,mV"};
  std::string markers =
      "Brain Vision Data Exchange Marker File, Version 1.0\r\n[Common Infos]\r\nDataFile=a.eeg\r\n[Marker Infos]\r\n"
      "Mk1=New Segment,,1,1,0,20260131221005500000\r\nMk2=Stimulus,S  1,3,1,0\r\nMk10=Comment,a\\1b,4,2,0\r\n";
  std::string data = std::string("\x01\x00\xFF\xFF\x02\x00\xFE\xFF\x03\x00\xFD\xFF\x04\x00\xFC\xFF", 16);

  std::string header() const {
    std::string text =
        "Brain Vision Data Exchange Header File Version 1.0\r\n; made for a test\r\n[Common Infos]\r\n"
        "DataFile=a.eeg\r\nMarkerFile=a.vmrk\r\nDataFormat=BINARY\r\nDataOrientation=" +
        orientation + "\r\nNumberOfChannels=" + std::to_string(channels.size()) + "\r\nSamplingInterval=" + interval +
        "\r\n" + extra + "[Binary Infos]\r\nBinaryFormat=" + format + "\r\n[Channel Infos]\r\n";
    for (std::size_t i = 0; i < channels.size(); ++i) text += "Ch" + std::to_string(i + 1) + "=" + channels[i] + "\r\n";
    return text + "[Comment]\r\nCh1=not,a,channel\r\n";
  }
  void write(const Folder& folder) const {
    folder.write("a.vhdr", header());
    folder.write("a.vmrk", markers);
    folder.write("a.eeg", data);
  }
};

Recording read(const Set& set, const ReadOptions& options = {}) {
  const std::string header = set.header();
  return envoi::signal::read_brainvision_set({{header, "a.vhdr"}, set.markers, {set.data, "a.eeg"}}, options);
}

void expect_refused(const Set& set, const std::vector<std::string>& parts) {
  expect_error([&] { read(set); }, ErrorKind::bad_file, parts);
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string out(numbers.size() * sizeof(Number), '\0');
  std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}

TEST(BrainVision, any_file_of_a_set_opens_it) {
  const Folder folder;
  Set().write(folder);
  for (const char* name : {"a.vhdr", "a.vmrk", "a.eeg"}) {
    const Recording r = envoi::read(folder / name);
    EXPECT_EQ(r.format, "brainvision");
    EXPECT_EQ(r.name, name);
    ASSERT_EQ(r.channels.size(), 2u);
    EXPECT_EQ(r.channels[0].name, "Fp1");
    EXPECT_EQ(r.channels[0].unit, "uV");
    EXPECT_EQ(r.channels[0].type, "eeg");
    EXPECT_EQ(r.channels[0].rate_hz, 250);
    EXPECT_EQ(r.channels[0].samples, (std::vector<double>{0.5, 1, 1.5, 2}));
    EXPECT_EQ(r.channels[1].unit, "mV");
    EXPECT_EQ(r.channels[1].samples, (std::vector<double>{-2, -4, -6, -8}));
    EXPECT_EQ(r.start, "2026-01-31T22:10:05.5");
    ASSERT_EQ(r.annotations.size(), 2u);
    EXPECT_EQ(r.annotations[0].text, "Stimulus/S  1");
    EXPECT_EQ(r.annotations[0].onset_s, 0.008);
    EXPECT_FALSE(r.annotations[0].duration_s);
    EXPECT_EQ(r.annotations[1].text, "Comment/a,b");
    EXPECT_EQ(*r.annotations[1].duration_s, 0.008);
    EXPECT_TRUE(r.warnings.empty()) << r.warnings[0];
  }
}

TEST(BrainVision, a_header_is_found_by_what_it_names) {
  const Folder folder;
  Set().write(folder);
  std::filesystem::rename(folder / "a.vhdr", folder / "other.VHDR");
  folder.write("broken.vhdr", "Brain Vision Data Exchange Header File Version 1.0\n");
  EXPECT_EQ(envoi::read(folder / "a.eeg").channels.size(), 2u);
  std::filesystem::remove(folder / "other.VHDR");
  expect_error([&] { envoi::read(folder / "a.eeg"); }, ErrorKind::bad_file, {"a.eeg", ".vhdr"});
}

TEST(BrainVision, every_number_format_and_orientation_is_read) {
  const std::vector<double> first = {0.5, 1, 1.5, 2}, second = {-2, -4, -6, -8};
  Set set;
  set.orientation = "VECTORIZED";
  set.data = bytes_of<std::int16_t>({1, 2, 3, 4, -1, -2, -3, -4});
  EXPECT_EQ(read(set).channels[1].samples, second);
  set.format = "INT_32";
  set.data = bytes_of<std::int32_t>({1, 2, 3, 4, -1, -2, -3, -4});
  EXPECT_EQ(read(set).channels[1].samples, second);
  set.format = "IEEE_FLOAT_32";
  set.data = bytes_of<float>({1, 2, 3, 4, -1, -2, -3, -4});
  EXPECT_EQ(read(set).channels[0].samples, first);
  EXPECT_EQ(read(set).channels[1].samples, second);
  set.orientation = "MULTIPLEXED";
  set.data = bytes_of<float>({1, -1, 2, -2, 3, -3, 4, -4});
  EXPECT_EQ(read(set).channels[0].samples, first);
  EXPECT_EQ(read(set).channels[1].samples, second);
  ReadOptions options;
  options.from_s = 0.004;
  options.to_s = 0.012;
  EXPECT_EQ(read(set, options).channels[1].samples, (std::vector<double>{-4, -6}));
}

TEST(BrainVision, microvolts_of_any_codepage_are_microvolts) {
  Set set;
  set.channels = {"a,,1,\xC2\xB5V", "b,,1,\xB5V", "c,,1,\xCE\xBCV", "d,,1,\xC3\x82\xC2\xB5V", "e,,1,uV"};
  set.data.resize(20);
  for (const auto& channel : read(set).channels) EXPECT_EQ(channel.unit, "uV") << channel.name;
}

TEST(BrainVision, a_unit_left_out_is_the_format_s_and_said) {
  Set set;
  set.channels = {"Fp1,,0.5", "Cz,,,\xC2\xB5V"};
  const Recording r = read(set);
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[1].samples[0], -1) << "a resolution left out is 1";
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("Fp1"), std::string::npos);
}

TEST(BrainVision, missing_markers_are_said) {
  const Folder folder;
  Set().write(folder);
  std::filesystem::remove(folder / "a.vmrk");
  const Recording r = envoi::read(folder / "a.vhdr");
  EXPECT_TRUE(r.annotations.empty());
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("a.vmrk"), std::string::npos);
}

TEST(BrainVision, missing_samples_are_an_error_that_names_them) {
  const Folder folder;
  Set().write(folder);
  std::filesystem::rename(folder / "a.eeg", folder / "b.eeg");
  expect_error([&] { envoi::read(folder / "a.vhdr"); }, ErrorKind::bad_file, {"a.vhdr", "line 4", "a.eeg"});
  std::filesystem::rename(folder / "a.vhdr", folder / "b.vhdr");
  expect_error([&] { envoi::read(folder / "b.vhdr"); }, ErrorKind::bad_file,
               {"b.vhdr", "a.eeg", "'b.eeg'", "DataFile"});
}

TEST(BrainVision, pauses_are_annotations_and_said) {
  Set set;
  set.markers += "Mk11=New Segment,,3,1,0,20260131221105500000\r\nMk12=bad line\r\n";
  const Recording r = read(set);
  EXPECT_EQ(r.annotations.size(), 3u);
  ASSERT_EQ(r.warnings.size(), 2u);
  EXPECT_NE(r.warnings[0].find("markers"), std::string::npos);
  EXPECT_NE(r.warnings[1].find("paused 1"), std::string::npos);
}

TEST(BrainVision, a_cut_file_gives_whole_samples_and_says_so_or_is_refused) {
  Set set;
  set.data.resize(15);
  const Recording r = read(set);
  EXPECT_EQ(r.channels[1].samples.size(), 3u);
  EXPECT_EQ(r.warnings.size(), 1u);
  set.orientation = "VECTORIZED";
  expect_refused(set, {"a.eeg", "15 bytes", "cut off"});
  set.data.resize(3);
  expect_refused(set, {"a.eeg", "3 bytes"});
}

TEST(BrainVision, lies_in_the_header_are_refused_with_their_line) {
  const auto with = [](auto change) {
    Set set;
    change(set);
    return set;
  };
  expect_refused(with([](Set& s) { s.format = "INT_64"; }), {"line 11", "INT_64"});
  expect_refused(with([](Set& s) { s.interval = "0"; }), {"line 9", "'0'"});
  expect_refused(with([](Set& s) { s.interval = "nan"; }), {"line 9", "nan"});
  expect_refused(with([](Set& s) { s.orientation = "SIDEWAYS"; }), {"line 7", "SIDEWAYS"});
  expect_refused(with([](Set& s) { s.extra = "DataType=FREQUENCYDOMAIN\n"; }), {"spectra"});
  Set set;
  std::string header = set.header();
  const auto refused = [&](const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
    std::string text = header;
    text.replace(text.find(from), from.size(), to);
    expect_error(
        [&] {
          envoi::signal::read_brainvision_set({{text, "a.vhdr"}, "", {set.data, "a.eeg"}}, {});
        },
        ErrorKind::bad_file, parts);
  };
  refused("NumberOfChannels=2", "NumberOfChannels=-1", {"line 8", "-1"});
  refused("NumberOfChannels=2", "NumberOfChannels=99999999999", {"line 8"});
  refused("NumberOfChannels=2", "NumberOfChannels=3", {"Ch3="});
  refused("DataFormat=BINARY", "DataFormat=ASCII", {"ASCII"});
  refused("DataFile=a.eeg", "", {"DataFile="});
  refused("Header File", "Shopping List", {"Shopping"});
}

TEST(BrainVision, every_cut_of_the_header_is_read_or_refused_with_a_reason) {
  const Set set;
  const std::string header = set.header();
  for (std::size_t length = 0; length < header.size(); ++length) {
    try {
      envoi::signal::read_brainvision_set({{header.substr(0, length), "a.vhdr"}, set.markers, {set.data, "a.eeg"}}, {});
    } catch (const envoi::Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    }
  }
  for (std::size_t length = 0; length < set.markers.size(); ++length) {
    Set cut = set;
    cut.markers.resize(length);
    EXPECT_EQ(read(cut).channels.size(), 2u);
  }
}

TEST(BrainVision, a_channel_without_a_scale_is_left_out_and_the_others_stay) {
  Set set;
  set.channels[0] = "Fp1,,0,uV";
  const Recording r = read(set);
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].name, "Cz");
  EXPECT_EQ(r.warnings.size(), 1u);
}

TEST(Cases, brainvision) {
  ENVOI_CASE(path, "brainvision/test.vhdr");
  const Recording r = envoi::read(path);
  ASSERT_EQ(r.channels.size(), 32u);
  for (const auto& channel : r.channels) {
    EXPECT_EQ(channel.rate_hz, 1000);
    EXPECT_EQ(channel.samples.size(), 7900u);
  }
  EXPECT_EQ(r.annotations.size(), 13u);
  EXPECT_EQ(r.annotations[0].text, "Stimulus/S253");
  EXPECT_NEAR(r.annotations[0].onset_s, 0.486, 1e-12);
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channel("Vb").unit, "S");
  EXPECT_EQ(r.start, "2013-11-13T16:14:03.794232");
}

}  // namespace
