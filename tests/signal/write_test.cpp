// What write_signal promises: what it writes reads back the same, and nothing half-written stays.
#include <cmath>
#include <limits>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::Channel;
using envoi::ErrorKind;
using envoi::Recording;

std::vector<Channel> two(double rate_hz, double start_s = 0) {
  std::vector<Channel> channels(2);
  for (std::size_t c = 0; c < 2; ++c) {
    channels[c].name = c == 0 ? "a,b" : "Cz";
    channels[c].unit = "uV";
    channels[c].rate_hz = rate_hz;
    channels[c].start_s = start_s;
    for (int i = 0; i < 3000; ++i) {
      channels[c].samples.push_back(std::sin(0.1 * i + static_cast<double>(c)) * std::pow(10, i % 40 - 20));
    }
  }
  channels[0].samples[7] = NAN;
  channels[1].samples[8] = -0.0;
  return channels;
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i])) {
      EXPECT_TRUE(std::isnan(b[i])) << i;
    } else {
      EXPECT_EQ(a[i], b[i]) << i;
      EXPECT_EQ(std::signbit(a[i]), std::signbit(b[i])) << i;
    }
  }
}

TEST(Write, tables_read_back_to_the_same_bits_with_their_rate_and_start) {
  const Folder folder;
  for (const char* ending : {".csv", ".tsv", ".txt"}) {
    for (const double rate : {256.0, 12.8, 1 / 7e-6, 44100.0, 999.25, 1000.0 / 3}) {
      for (const double start : {0.0, 2.5, 1126259446.0}) {
        if (start > 1e6 && rate > 1e4) continue;  // such times are not told apart by a double
        const auto channels = two(rate, start);
        envoi::write_signal(folder / (std::string("x") + ending), channels);
        const Recording r = envoi::read(folder / (std::string("x") + ending));
        ASSERT_EQ(r.channels.size(), 2u);
        EXPECT_NEAR(r.channels[0].rate_hz, rate, rate * (start > 1e6 ? 1e-7 : 1e-13)) << ending;
        EXPECT_EQ(r.channels[0].start_s, start);
        EXPECT_EQ(r.channels[0].name, "a,b");
        EXPECT_EQ(r.channels[0].unit, "uV");
        expect_same(channels[0].samples, r.channels[0].samples);
        expect_same(channels[1].samples, r.channels[1].samples);
      }
    }
  }
}

TEST(Write, one_channel_of_text_is_one_value_a_line) {
  const Folder folder;
  auto channels = two(5);
  channels.pop_back();
  channels[0].samples = {1, NAN, 0.1};
  envoi::write_signal(folder / "x.txt", channels);
  std::ifstream in(folder / "x.txt");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, "1\nnan\n0.1\n");
  expect_same(channels[0].samples, envoi::read(folder / "x.txt", at_rate(5)).channels[0].samples);
}

TEST(Write, npy_reads_back_to_the_same_bits) {
  const Folder folder;
  auto channels = two(5);
  envoi::write_signal(folder / "x.npy", channels);
  const Recording r = envoi::read(folder / "x.npy", at_rate(5));
  ASSERT_EQ(r.channels.size(), 2u);
  expect_same(channels[0].samples, r.channels[0].samples);
  expect_same(channels[1].samples, r.channels[1].samples);
  channels.pop_back();
  envoi::write_signal(folder / "x.npy", channels);
  EXPECT_EQ(std::filesystem::file_size(folder / "x.npy") % 64, 3000 * 8 % 64);
  EXPECT_EQ(envoi::read(folder / "x.npy", at_rate(5)).channels.size(), 1u);
}

TEST(Write, wav_holds_float_samples_and_is_the_same_bytes_each_time) {
  const Folder folder;
  auto channels = two(8000);
  for (auto& channel : channels) {
    for (double& sample : channel.samples) sample = std::isnan(sample) ? sample : static_cast<float>(std::tanh(sample));
  }
  envoi::write_signal(folder / "x.wav", channels);
  const Recording r = envoi::read(folder / "x.wav");
  EXPECT_EQ(r.format, "wav");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "left");
  EXPECT_EQ(r.channels[0].kind, envoi::DataKind::audio);
  EXPECT_EQ(r.channels[0].rate_hz, 8000);
  EXPECT_EQ(r.channels[0].samples[7], 0) << "a missing sample is silence";
  expect_same(channels[1].samples, r.channels[1].samples);
  EXPECT_TRUE(r.warnings.empty());

  envoi::ReadOptions options;
  options.channels = {"right"};
  options.from_s = 0.125;
  options.to_s = 0.25;
  const Recording cut = envoi::read(folder / "x.wav", options);
  ASSERT_EQ(cut.channels.size(), 1u);
  ASSERT_EQ(cut.channels[0].samples.size(), 1000u);
  EXPECT_EQ(cut.channels[0].samples[0], channels[1].samples[1000]);
  EXPECT_EQ(cut.channels[0].start_s, 0.125);
  options.rate_hz = 44100;
  expect_error([&] { envoi::read(folder / "x.wav", options); }, ErrorKind::bad_argument, {"8000", "44100"});

  std::ifstream in(folder / "x.wav", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(bytes.substr(0, 128).find("PEAK"), std::string::npos) << "a PEAK chunk holds the time of day";
  const std::string hash = r.sha256;
  envoi::write_signal(folder / "x.wav", channels);
  EXPECT_EQ(envoi::read(folder / "x.wav").sha256, hash);
}

TEST(Write, a_cut_wav_gives_what_is_there_and_says_so) {
  const Folder folder;
  const auto channels = two(8000);
  envoi::write_signal(folder / "x.wav", channels);
  std::filesystem::resize_file(folder / "x.wav", 8000);
  const Recording r = envoi::read(folder / "x.wav");
  EXPECT_LT(r.channels[0].samples.size(), 3000u);
  EXPECT_GT(r.channels[0].samples.size(), 900u);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("cut off"), std::string::npos);
  std::filesystem::resize_file(folder / "x.wav", 40);
  expect_error([&] { envoi::read(folder / "x.wav"); }, ErrorKind::bad_file, {"x.wav"});
}

TEST(Write, what_cannot_be_written_is_refused_and_leaves_nothing) {
  const Folder folder;
  auto channels = two(12.8);
  const auto refused = [&](const std::string& name, ErrorKind kind, const std::vector<std::string>& parts) {
    expect_error([&] { envoi::write_signal(folder / name, channels); }, kind, parts);
  };
  refused("x.wav", ErrorKind::bad_argument, {"12.8", ".npy"});
  auto infinite = two(12);
  infinite[0].samples[5] = std::numeric_limits<double>::infinity();
  expect_error([&] { envoi::write_signal(folder / "x.wav", infinite); }, ErrorKind::bad_argument, {"infinite", ".npy"});
  refused("x.mp3", ErrorKind::bad_argument, {"ending"});
  refused("none/x.npy", ErrorKind::bad_file, {"x.npy"});
  channels[1].samples.pop_back();
  refused("x.npy", ErrorKind::bad_argument, {"2999"});
  channels.clear();
  refused("x.npy", ErrorKind::bad_argument, {"no channel"});
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
