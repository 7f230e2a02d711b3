// Files that other programs stumble over: beyond 2^31 bytes, millions of frames, lengths that nothing divides.
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "signal/bytes.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ReadOptions;
using envoi::Recording;

// Lengthens the file with a hole, so that it takes no room; false where the file system cannot.
bool lengthen(const std::string& path, std::uintmax_t size) {
  std::error_code error;
  std::filesystem::resize_file(path, size, error);
  return !error;
}

void overwrite(const std::string& path, std::uintmax_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(Long, edf_offsets_go_beyond_2_to_the_31) {
  const Folder folder;
  EdfFile file;
  file.channels = {counts("Fp1", {}), counts("Fp2", {})};
  for (auto& channel : file.channels) channel.samples = "500000";
  file.record_count = "1200";
  const std::string header = file.bytes();
  const std::string path = folder.write("x.edf", header);
  constexpr std::uintmax_t kRecord = 2000000;
  if (!lengthen(path, header.size() + 1200 * kRecord)) GTEST_SKIP() << "no sparse files here";
  overwrite(path, header.size() + 1199 * kRecord + 1000000, digital({7, -8}));
  ReadOptions options;
  options.channels = {"Fp2"};
  options.from_s = 1199;
  options.to_s = 1199 + 4e-6;
  const envoi::signal::FileBytes bytes(path);  // without the hash of 2.4 GB
  const Recording r = envoi::signal::read_edf({bytes.view(), "x.edf"}, options);
  EXPECT_EQ(r.channels[0].samples, (std::vector<double>{7, -8}));
}

TEST(Long, brainvision_offsets_go_beyond_2_to_the_31) {
  for (const bool vectorized : {false, true}) {
    const Folder folder;
    folder.write("x.vhdr",
                 std::string("Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFile=x.eeg\n") +
                     "DataOrientation=" + (vectorized ? "VECTORIZED" : "MULTIPLEXED") +
                     "\nNumberOfChannels=2\nSamplingInterval=1000\n[Binary Infos]\nBinaryFormat=INT_16\n"
                     "[Channel Infos]\nCh1=a,,1,uV\nCh2=b,,1,uV\n");
    const std::string path = folder.write("x.eeg", "");
    if (!lengthen(path, 2400000000)) GTEST_SKIP() << "no sparse files here";
    overwrite(path, 2400000000 - 2, digital({-9}));
    ReadOptions options;
    options.channels = {"b"};
    options.from_s = 599999.998;
    const Recording r = envoi::read(folder / "x.vhdr", options);
    EXPECT_EQ(r.channels[0].samples, (std::vector<double>{0, -9}));
  }
}

TEST(Long, five_and_a_half_million_stereo_frames_take_seconds) {
  constexpr std::uint32_t kFrames = 5500001, kBytes = kFrames * 4;
  const auto little = [](std::uint32_t value, int width) {
    std::string out;
    for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
    return out;
  };
  std::string wav = "RIFF" + little(36 + kBytes, 4) + "WAVEfmt " + little(16, 4) + little(1, 2) + little(2, 2) +
                    little(44100, 4) + little(176400, 4) + little(4, 2) + little(16, 2) + "data" + little(kBytes, 4);
  wav.resize(wav.size() + kBytes - 4, '\x10');
  wav += digital({16384, -16384});
  const auto start = std::chrono::steady_clock::now();
  const Recording r = from_bytes(wav, "x.wav");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(r.channels.size(), 2u);
  for (const auto& channel : r.channels) ASSERT_EQ(channel.samples.size(), kFrames);
  EXPECT_EQ(r.channels[0].samples.back(), 0.5);
  EXPECT_EQ(r.channels[1].samples.back(), -0.5);
  EXPECT_LT(seconds, 20);
}

TEST(Long, odd_lengths_keep_every_sample) {
  for (const std::size_t length : {1, 3, 7, 255, 257, 4097, 309505}) {
    std::string floats(4 * length, '\0'), text;
    const float last = 1.5;
    std::memcpy(floats.data() + 4 * (length - 1), &last, 4);
    for (std::size_t i = 0; i + 1 < length; ++i) text += "0\n";
    text += "1.5";
    for (const Recording& r : {from_bytes(floats, "x.f32", at_rate(100)), from_bytes(text, "x.txt", at_rate(100))}) {
      ASSERT_EQ(r.channels[0].samples.size(), length);
      EXPECT_EQ(r.channels[0].samples.back(), 1.5);
    }
  }
}

TEST(Long, a_second_of_missing_samples_stays_a_second) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i >= 1000 && i < 1100 ? "nan\n" : std::to_string(i) + "\n";
  const Recording r = from_bytes(text, "x.txt", at_rate(100));
  for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(std::isnan(r.channels[0].samples[i]), i >= 1000 && i < 1100) << i;
}

TEST(Edf, a_file_cut_out_of_a_longer_one_keeps_its_clock) {
  EdfFile file;
  file.reserved = "EDF+D";
  file.channels = {counts("Cz", {{1, 2, 3, 4}, {5, 6, 7, 8}}),
                   annotations({"+100.5\x14\x14", std::string("+103.5\x14\x14") + '\0' + "+103.75\x14" + "x\x14"})};
  const Recording r = from_bytes(file.bytes(), "x.edf");
  EXPECT_EQ(r.channels[0].start_s, 100);
  EXPECT_EQ(r.start, "2026-01-31T22:10:05.5");
  ASSERT_EQ(r.channels[0].samples.size(), 16u);
  EXPECT_EQ(r.channels[0].samples[12], 5);
  EXPECT_TRUE(std::isnan(r.channels[0].samples[11]));
  EXPECT_EQ(r.annotations[0].onset_s, 103.25) << "on the axis of the samples: sample 13";
}

}  // namespace
