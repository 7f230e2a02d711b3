// EDF+ and BDF+ that are written read back within a step, with their times, rates, units and annotations.
#include <cmath>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::Channel;
using envoi::ErrorKind;
using envoi::Recording;

Channel channel(const std::string& name, double rate_hz, std::size_t samples, double scale = 50, double offset = 0) {
  Channel c;
  c.name = name;
  c.unit = "uV";
  c.rate_hz = rate_hz;
  for (std::size_t i = 0; i < samples; ++i)
    c.samples.push_back(offset +
                        scale * std::sin(0.37 * static_cast<double>(i)) * std::cos(0.001 * static_cast<double>(i)));
  return c;
}

void expect_close(const Channel& written, const Channel& read, double steps) {
  ASSERT_GE(read.samples.size(), written.samples.size());
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double x : written.samples)
    if (!std::isnan(x)) low = std::min(low, x), high = std::max(high, x);
  const double step = 1.002 * (high - low) / steps;
  for (std::size_t i = 0; i < written.samples.size(); ++i) {
    if (std::isnan(written.samples[i]))
      EXPECT_TRUE(std::isnan(read.samples[i])) << i;
    else
      ASSERT_NEAR(read.samples[i], written.samples[i], 0.5 * step + 1e-12) << i;
  }
  for (std::size_t i = written.samples.size(); i < read.samples.size(); ++i)
    EXPECT_TRUE(std::isnan(read.samples[i])) << "what the last record lacks is missing";
}

TEST(WriteEdf, reads_back_within_half_a_step_with_its_rate) {
  const Folder folder;
  for (const double rate : {256.0, 12.8, 999.25, 1000.0 / 3, 1 / 7e-6, 0.1, 44100.0})
    for (const std::size_t samples : {3000u, 2560u, 311u, 3u})
      for (const char* name : {"x.edf", "x.bdf"}) {
        const Channel written = channel("Cz", rate, samples);
        envoi::write_signal(folder / name, {{written}});
        const Recording r = envoi::read(folder / name);
        ASSERT_EQ(r.channels.size(), 1u);
        EXPECT_EQ(r.format, name[2] == 'e' ? "edf+" : "bdf+");
        EXPECT_EQ(r.channels[0].name, "Cz");
        EXPECT_EQ(r.channels[0].unit, "uV");
        EXPECT_NEAR(r.channels[0].rate_hz, rate, 1e-7 * rate);
        expect_close(written, r.channels[0], name[2] == 'e' ? 65535 : 16777215);
      }
}

TEST(WriteEdf, rates_may_differ) {
  const Folder folder;
  const std::vector<Channel> written = {channel("a", 100, 11000), channel("b", 12.8, 1408), channel("c", 1, 110)};
  envoi::write_signal(folder / "x.edf", written);
  const Recording r = envoi::read(folder / "x.edf");
  ASSERT_EQ(r.channels.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(r.channels[c].rate_hz, written[c].rate_hz, 1e-9);
    EXPECT_EQ(r.channels[c].samples.size(), written[c].samples.size());
    expect_close(written[c], r.channels[c], 65535);
  }
  expect_error(
      [&] {
        envoi::write_signal(folder / "y.edf",
                            {{channel("a", 100, 1000), channel("b", 99.123457, 1000), channel("c", 31.7182818, 1000)}});
      },
      ErrorKind::bad_argument, {"99.123457", "y.edf", ".npy"});
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(WriteEdf, keeps_start_annotations_and_what_is_missing) {
  const Folder folder;
  Channel written = channel("Cz", 100, 1000);
  written.start_s = 2.25;
  for (std::size_t i = 300; i < 350; ++i) written.samples[i] = NAN;
  envoi::SignalNotes notes{"2026-01-31T23:59:58",
                           {{5.5, 1.25, "spindle \u00b5"},
                            {4.0, std::nullopt,
                             "a\x14"
                             "b"}}};
  envoi::write_signal(folder / "x.edf", {{written}}, notes);
  const Recording r = envoi::read(folder / "x.edf");
  EXPECT_EQ(r.start, "2026-02-01T00:00:00.25");
  expect_close(written, r.channels[0], 65535);
  ASSERT_EQ(r.annotations.size(), 3u);
  EXPECT_NEAR(r.annotations[0].onset_s, 4.0 - 2.25, 1e-6);
  EXPECT_EQ(r.annotations[0].text, "a b");
  EXPECT_NEAR(r.annotations[1].onset_s, 2.995, 1e-6);
  EXPECT_EQ(r.annotations[1].text, "BAD_missing");
  EXPECT_NEAR(*r.annotations[1].duration_s, 0.5, 1e-6);
  EXPECT_EQ(r.annotations[2].text, "spindle \u00b5");
  envoi::write_signal(folder / "y.edf", {{written}}, notes);
  EXPECT_EQ(envoi::read(folder / "y.edf").sha256, r.sha256) << "the same signal gives the same bytes";
}

TEST(WriteEdf, an_unknown_start_stays_unknown) {
  const Folder folder;
  envoi::write_signal(folder / "x.edf", {{channel("Cz", 100, 1000)}});
  EXPECT_EQ(envoi::read(folder / "x.edf").start, "");
}

TEST(WriteEdf, ranges_of_all_sizes) {
  const Folder folder;
  for (const double scale : {1e-4, 0.01, 1.0, 32767.0, 4e7}) {
    Channel written = channel("Cz", 100, 1000, scale);
    envoi::write_signal(folder / "x.edf", {{written}});
    const Channel read = envoi::read(folder / "x.edf").channels[0];
    EXPECT_EQ(read.unit, scale < 1e-3 ? "nV" : scale > 1e6 ? "V" : "uV") << scale;
    for (double& sample : written.samples) sample *= read.unit == "nV" ? 1e3 : read.unit == "V" ? 1e-6 : 1;
    expect_close(written, read, 65535);
  }
  Channel volts = channel("Cz", 100, 1000, 5e-8);
  volts.unit = "V";
  envoi::write_signal(folder / "x.edf", {{volts}});
  const Recording r = envoi::read(folder / "x.edf");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_NEAR(r.channels[0].samples[4], 1e6 * volts.samples[4], 1e-6);
  for (const double constant : {0.0, 7.25, -3.0}) {
    Channel flat = channel("Cz", 100, 1000);
    flat.samples.assign(1000, constant);
    envoi::write_signal(folder / "x.edf", {{flat}});
    EXPECT_EQ(envoi::read(folder / "x.edf").channels[0].samples[5], constant);
  }
  expect_error([&] { envoi::write_signal(folder / "y.edf", {{channel("Cz", 100, 1000, 1e-21)}}); },
               ErrorKind::bad_argument, {"Cz", "8 characters", ".npy"});
  Channel large = channel("Cz", 100, 1000, 1e12);
  large.unit = "m";
  expect_error([&] { envoi::write_signal(folder / "y.edf", {{large}}); }, ErrorKind::bad_argument, {"Cz", "e+11"});
  Channel infinite = channel("Cz", 100, 10);
  infinite.samples[3] = INFINITY;
  expect_error([&] { envoi::write_signal(folder / "y.edf", {{infinite}}); }, ErrorKind::bad_argument, {"infinite"});
  expect_error([&] { envoi::write_signal(folder / "y.edf", {{channel("Cz", 0, 10)}}); }, ErrorKind::bad_argument,
               {"no rate"});
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(WriteEdf, names_and_units_become_ascii_of_the_fields_width) {
  const Folder folder;
  Channel written = channel("Zaž\u017elut\u00fd k\u016f\u0148 and much more", 100, 1000);
  written.unit = "\u00b5V";
  envoi::write_signal(folder / "x.edf", {{written}});
  const Recording r = envoi::read(folder / "x.edf");
  EXPECT_EQ(r.channels[0].name, "Za??lut? k?? and");
  EXPECT_EQ(r.channels[0].unit, "uV");
}

}  // namespace
