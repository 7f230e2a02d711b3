// The recordings of the test collection, against what other programs say of them.
#include "cases.hpp"

#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::Recording;

struct Expected {
  double rate_hz;
  std::size_t samples;
  std::string unit;
};

void expect_channels(const Recording& r, std::vector<Expected> expected) {
  ASSERT_EQ(r.channels.size(), expected.size());
  std::vector<const envoi::Channel*> channels;
  for (const auto& channel : r.channels) channels.push_back(&channel);
  std::sort(channels.begin(), channels.end(), [](auto* a, auto* b) { return a->rate_hz < b->rate_hz; });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(channels[i]->rate_hz, expected[i].rate_hz, 1e-9);
    EXPECT_EQ(channels[i]->samples.size(), expected[i].samples);
    EXPECT_EQ(channels[i]->unit, expected[i].unit);
  }
  EXPECT_TRUE(r.warnings.empty());
}

// Of the mean-free signal, the whole number of cycles in its length that holds most energy, in Hz.
double strongest_hz(const envoi::Channel& channel, double low_hz, double high_hz, double step_hz) {
  double best = 0, best_hz = 0;
  for (double f = low_hz; f <= high_hz; f += step_hz) {
    double re = 0, im = 0;
    for (std::size_t i = 0; i < channel.samples.size(); ++i) {
      const double phase = 2 * M_PI * f * static_cast<double>(i) / channel.rate_hz;
      re += channel.samples[i] * std::cos(phase);
      im += channel.samples[i] * std::sin(phase);
    }
    if (re * re + im * im > best) {
      best = re * re + im * im;
      best_hz = f;
    }
  }
  return best_hz;
}

TEST(Cases, generator_bdf) {
  ENVOI_CASE(path, "edf/generator.bdf");
  const Recording r = envoi::read(path);
  expect_channels(
      r, {{500, 15000, "uV"}, {800, 24000, "uV"}, {975, 29250, "uV"}, {999, 29970, "uV"}, {1000, 30000, "uV"}});
  EXPECT_TRUE(r.annotations.empty());
  EXPECT_NEAR(strongest_hz(r.channel("sine 5Hz"), 1, 30, 0.5), 5, 0.1);
  EXPECT_NEAR(strongest_hz(r.channel("square 13Hz"), 1, 30, 0.5), 13, 0.1);
  EXPECT_NEAR(strongest_hz(r.channel("ramp 7Hz"), 1, 30, 0.5), 7, 0.1);
}

TEST(Cases, half_second_records_bdf) {
  ENVOI_CASE(path, "edf/half_second_records.bdf");
  const Recording r = envoi::read(path);
  ASSERT_EQ(r.channels.size(), 5u);
  std::vector<double> rates;
  for (const auto& channel : r.channels) rates.push_back(channel.rate_hz);
  std::sort(rates.begin(), rates.end());
  EXPECT_EQ(rates, (std::vector<double>{1000, 1600, 1950, 1998, 2000}));
  EXPECT_NEAR(strongest_hz(r.channel("sine 10Hz"), 1, 30, 0.5), 10, 0.1);
  EXPECT_NEAR(strongest_hz(r.channel("square 26Hz"), 1, 30, 0.5), 26, 0.1);
}

TEST(Cases, utf8_edf) {
  ENVOI_CASE(path, "edf/utf8.edf");
  const Recording r = envoi::read(path);
  expect_channels(r, {{128, 89344, "uV"}});
  EXPECT_EQ(r.format, "edf+");
  ASSERT_EQ(r.annotations.size(), 5u);
  EXPECT_NEAR(r.annotations[2].onset_s, 119.605, 5e-4);
  EXPECT_EQ(r.annotations[2].text, "\u4E2D\u6587\u6D4B\u8BD5\u516B\u4E2A\u5B57");
}

TEST(Cases, uneven_rates_edf) {
  ENVOI_CASE(path, "edf/uneven_rates.edf");
  expect_channels(envoi::read(path), {{12.8, 1408, "uV"}, {100, 11000, "V"}});
}

TEST(Cases, duplicate_labels_edf) {
  ENVOI_CASE(path, "edf/duplicate_labels.edf");
  const Recording r = envoi::read(path);
  expect_channels(r, {{250, 2500, "uV"}, {250, 2500, "uV"}, {250, 2500, "uV"}});
  EXPECT_EQ(r.channels[2].name, r.channels[0].name + " (2)");
}

TEST(Cases, sound) {
  ENVOI_CASE(greasy, "audio/greasy.wav");
  ENVOI_CASE(gspi, "audio/gspi.wav");
  for (const auto& [path, header] : {std::pair{greasy, 44u}, std::pair{gspi, 44u}}) {
    const Recording r = envoi::read(path);
    ASSERT_EQ(r.channels.size(), 1u);
    EXPECT_EQ(r.channels[0].samples.size(), (std::filesystem::file_size(path) - header) / 2);
    EXPECT_EQ(r.channels[0].unit, "");
    const auto [low, high] = std::minmax_element(r.channels[0].samples.begin(), r.channels[0].samples.end());
    EXPECT_GE(*low, -1);
    EXPECT_LE(*high, 1);
    EXPECT_GT(*high - *low, 0.1);
  }
}

TEST(Cases, one_column_text) {
  ENVOI_CASE(n2, "eeg/n2_spindles_200Hz.txt");
  ENVOI_CASE(bat, "chirps/bat_143kHz.txt");
  const Recording r = envoi::read(n2, at_rate(200));
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].samples.size(), 3000u);
  EXPECT_EQ(r.channels[0].samples[0], -2.805092048645019531e+01);
  EXPECT_EQ(envoi::read(bat, at_rate(1 / 7e-6)).channels[0].samples.size(), 400u);
  expect_error([&] { envoi::read(n2); }, ErrorKind::bad_argument, {"--rate"});
}

TEST(Cases, time_and_strain) {
  ENVOI_CASE(path, "chirps/gw150914_h1_whitened_16384Hz.txt");
  const Recording r = envoi::read(path);
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].rate_hz, 16384);
  EXPECT_EQ(r.channels[0].start_s, 0.25);
  EXPECT_EQ(r.channels[0].samples.size(), 3441u);
  envoi::ReadOptions options;
  options.column = "2";
  EXPECT_EQ(envoi::read(path, options).channels[0].samples, r.channels[0].samples);
}

TEST(Cases, formats_that_are_not_read_are_refused_with_a_reason) {
  for (const char* name : {"books/gabors_smp.db", "books/act_multi_sample.json", "books/gabors_5ch_512Hz_f32.bin"}) {
    ENVOI_CASE(path, name);
    expect_error([&] { envoi::read(path, at_rate(100)); }, ErrorKind::bad_file,
                 {std::filesystem::path(name).filename().string()});
  }
}

TEST(Cases, bare_floats_by_format) {
  ENVOI_CASE(path, "books/gabors_5ch_512Hz_f32.bin");
  envoi::ReadOptions options = at_rate(5 * 512);
  options.format = "f32";
  EXPECT_EQ(envoi::read(path, options).channels[0].samples.size(), 25600u);
}

}  // namespace
