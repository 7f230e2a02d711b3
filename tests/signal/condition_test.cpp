// Conditioning: what passes and what does not, that nothing is delayed, and that what is missing stays what it was.
#include <cmath>
#include <limits>
#include <numbers>

#include "signal/filters.hpp"
#include "signal/resample.hpp"
#include "support.hpp"

namespace envoi {
namespace {

using envoi_test::expect_error;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

template <class F>
Channel channel(const std::string& name, double rate_hz, std::size_t samples, F&& value) {
  Channel c;
  c.name = name;
  c.unit = "uV";
  c.rate_hz = rate_hz;
  c.start_s = 3;
  for (std::size_t i = 0; i < samples; ++i) c.samples.push_back(value(static_cast<double>(i) / rate_hz));
  return c;
}

auto sine(double frequency_hz, double amplitude = 1) {
  return [=](double t) { return amplitude * std::cos(2 * std::numbers::pi * frequency_hz * t + 0.3); };
}

Recording recording(std::vector<Channel> channels) {
  Recording r;
  r.name = "r.edf";
  r.channels = std::move(channels);
  return r;
}

Recording conditioned(Recording r, const Conditioning& conditioning) {
  condition(r, conditioning);
  return r;
}

// Largest difference to `expected` away from the ends.
template <class F>
double largest_error(const Channel& c, double edge_s, F&& expected) {
  double worst = 0;
  const auto edge = static_cast<std::size_t>(edge_s * c.rate_hz);
  for (std::size_t i = edge; i + edge < c.samples.size(); ++i)
    worst = std::max(worst, std::abs(c.samples[i] - expected(static_cast<double>(i) / c.rate_hz)));
  return worst;
}

// Gain at a frequency of a filter run both ways, by its formula.
double butterworth_gain(double frequency_hz, double cutoff_hz, double rate_hz, bool high) {
  const double ratio =
      std::tan(std::numbers::pi * frequency_hz / rate_hz) / std::tan(std::numbers::pi * cutoff_hz / rate_hz);
  return 1 / (1 + std::pow(high ? 1 / ratio : ratio, 8));
}

TEST(Condition, filters_scale_a_sine_by_the_square_of_the_gain_and_do_not_shift_it) {
  for (const double frequency_hz : {3.0, 10.0, 17.0, 40.0}) {
    for (const bool high : {false, true}) {
      Conditioning c;
      (high ? c.high_pass_hz : c.low_pass_hz) = 15.0;
      const Recording r = conditioned(recording({channel("Cz", 200, 4000, sine(frequency_hz))}), c);
      const double gain = butterworth_gain(frequency_hz, 15, 200, high);
      EXPECT_LT(largest_error(r.channels[0], 4, sine(frequency_hz, gain)), 1e-6) << frequency_hz << " " << high;
      EXPECT_EQ(r.channels[0].start_s, 3);
    }
  }
  Conditioning notch;
  notch.notch_hz = {50, 60};
  const auto both = [](double t) { return sine(50)(t) + sine(40)(t); };
  const Recording r = conditioned(recording({channel("Cz", 200, 8000, both)}), notch);
  EXPECT_LT(largest_error(r.channels[0], 5, sine(40)), 0.02);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(Condition, a_hum_goes_up_to_the_ends) {
  for (const double phase : {0.0, 1.0, 2.0}) {
    const auto hum = [phase](double t) { return 100 * std::cos(2 * std::numbers::pi * 50 * t + phase); };
    Conditioning c;
    c.high_pass_hz = 2;
    c.notch_hz = {50};
    const Recording r = conditioned(recording({channel("Cz", 256, 2048, hum)}), c);
    EXPECT_LT(largest_error(r.channels[0], 0, [](double) { return 0.0; }), 0.2) << phase;
  }
}

TEST(Condition, a_constant_keeps_or_loses_all_of_itself_up_to_the_ends) {
  for (const std::size_t samples : {1, 2, 5, 1000}) {
    const auto constant = [](double) { return 250.0; };
    Conditioning low, high;
    low.low_pass_hz = 20;
    low.resample_hz = 37;
    high.high_pass_hz = 1;
    const Recording lows = conditioned(recording({channel("Cz", 100, samples, constant)}), low);
    const Recording highs = conditioned(recording({channel("Cz", 100, samples, constant)}), high);
    for (const double x : lows.channels[0].samples) EXPECT_NEAR(x, 250, 1e-9);
    for (const double x : highs.channels[0].samples) EXPECT_NEAR(x, 0, 1e-9);
  }
}

TEST(Condition, a_second_that_is_missing_stays_that_second) {
  Channel cz = channel("Cz", 200, 4000, sine(10));
  for (std::size_t i = 1000; i < 1200; ++i) cz.samples[i] = kMissing;
  cz.samples[0] = cz.samples[3] = cz.samples[3999] = kMissing;  // runs of two samples
  Conditioning c;
  c.high_pass_hz = 0.5;
  c.low_pass_hz = 40;
  c.notch_hz = {50};
  const Recording r = conditioned(recording({cz}), c);
  ASSERT_EQ(r.channels[0].samples.size(), 4000u);
  for (std::size_t i = 0; i < 4000; ++i)
    EXPECT_EQ(std::isnan(r.channels[0].samples[i]), std::isnan(cz.samples[i])) << i;
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("1 stretch"), std::string::npos) << r.warnings[0];

  for (const double rate_hz : {100.0, 400.0, 160.0, 256.0}) {
    Channel gap = channel("Cz", 200, 4000, sine(10));
    for (std::size_t i = 1000; i < 1200; ++i) gap.samples[i] = kMissing;
    Conditioning other;
    other.resample_hz = rate_hz;
    const Recording s = conditioned(recording({gap}), other);
    EXPECT_EQ(s.channels[0].rate_hz, rate_hz);
    EXPECT_EQ(s.channels[0].samples.size(), static_cast<std::size_t>(20 * rate_hz));
    std::size_t missing = 0;
    for (std::size_t k = 0; k < s.channels[0].samples.size(); ++k) {
      const double old = static_cast<double>(k) * 200 / rate_hz;
      EXPECT_EQ(std::isnan(s.channels[0].samples[k]), old >= 999.5 && old < 1199.5) << rate_hz << " " << k;
      missing += std::isnan(s.channels[0].samples[k]) ? 1 : 0;
    }
    EXPECT_EQ(missing, static_cast<std::size_t>(rate_hz)) << rate_hz;
  }
}

TEST(Condition, all_missing_and_nothing_at_all) {
  Conditioning c;
  c.high_pass_hz = 1;
  c.resample_hz = 50;
  const Recording r = conditioned(
      recording({channel("a", 100, 100, [](double) { return kMissing; }), channel("b", 100, 0, sine(1))}), c);
  EXPECT_EQ(r.channels[0].samples.size(), 50u);
  for (const double x : r.channels[0].samples) EXPECT_TRUE(std::isnan(x));
  EXPECT_TRUE(r.channels[1].samples.empty());
  Recording nothing;
  condition(nothing, c);
}

TEST(Condition, resampling_keeps_what_both_rates_hold_and_removes_the_rest) {
  for (const auto& [old_hz, new_hz] : {std::pair{200.0, 100.0}, {200.0, 400.0}, {44100.0, 48000.0}, {12.8, 100.0}}) {
    const double nyquist_hz = std::min(old_hz, new_hz) / 2;
    const auto count = static_cast<std::size_t>(1000 * std::max(1.0, old_hz / new_hz));
    for (const double share : {0.05, 0.5, 0.79}) {
      Conditioning c;
      c.resample_hz = new_hz;
      const Recording r = conditioned(recording({channel("a", old_hz, count, sine(share * nyquist_hz))}), c);
      EXPECT_LT(largest_error(r.channels[0], 20 / nyquist_hz, sine(share * nyquist_hz)), 1e-4)
          << new_hz << " " << share;
      EXPECT_EQ(r.channels[0].start_s, 3);
      EXPECT_EQ(r.channels[0].samples.size(),
                static_cast<std::size_t>(std::ceil(static_cast<double>(count) * new_hz / old_hz * (1 - 1e-14))));
    }
  }
  Conditioning half;
  half.resample_hz = 100;
  const Recording r = conditioned(recording({channel("a", 200, 4000, sine(50.5))}), half);
  EXPECT_LT(largest_error(r.channels[0], 1, [](double) { return 0.0; }), 2e-5);
}

TEST(Condition, every_count_of_samples_and_ratios_up_to_the_limit) {
  EXPECT_EQ(signal::resampled_count(309505, {1, 2}), 154753u);
  EXPECT_EQ(signal::resampled_count(std::size_t{1} << 60, {3, 4}), (std::size_t{3} << 58));
  EXPECT_EQ(signal::rate_ratio(44100, 48000)->up, 160u);
  EXPECT_EQ(signal::rate_ratio(1 / 7e-6, 250000)->down, 4u);
  EXPECT_EQ(signal::rate_ratio(256, 256)->down, 1u);
  const auto pi = signal::rate_ratio(100, 100 * std::numbers::pi);  // no fraction, so the closest
  EXPECT_NEAR(static_cast<double>(pi->up) / static_cast<double>(pi->down), std::numbers::pi, 3e-9);
  EXPECT_FALSE(signal::rate_ratio(1, 1e9));
  EXPECT_FALSE(signal::rate_ratio(1e9, 1));
}

TEST(Condition, references) {
  Recording r =
      recording({channel("F3", 100, 10, [](double) { return 7.0; }), channel("F4", 100, 10, [](double) { return 3.0; }),
                 channel("A1", 100, 10, [](double) { return 2.0; })});
  Conditioning average, named;
  average.reference = "average";
  named.reference = "F4, A1";
  const Recording a = conditioned(r, average);
  EXPECT_DOUBLE_EQ(a.channels[0].samples[4], 3);
  EXPECT_DOUBLE_EQ(a.channels[2].samples[4], -2);
  const Recording n = conditioned(r, named);
  EXPECT_DOUBLE_EQ(n.channels[0].samples[4], 4.5);
  EXPECT_DOUBLE_EQ(n.channels[1].samples[4], 0.5);
  EXPECT_TRUE(n.warnings.empty());

  r.channels[2].samples[4] = kMissing;
  const Recording gap = conditioned(r, named);
  EXPECT_DOUBLE_EQ(gap.channels[0].samples[4], 4);
  EXPECT_TRUE(std::isnan(gap.channels[2].samples[4]));
  ASSERT_EQ(gap.warnings.size(), 1u);

  r.channels[0].type = r.channels[1].type = "eeg";
  r.channels[2].type = "ecg";
  r.channels[2].rate_hz = 50;
  const Recording typed = conditioned(r, average);
  EXPECT_DOUBLE_EQ(typed.channels[0].samples[4], 2);
  EXPECT_DOUBLE_EQ(typed.channels[2].samples[3], 2);
  ASSERT_EQ(typed.warnings.size(), 1u);
  EXPECT_NE(typed.warnings[0].find("A1"), std::string::npos);
}

TEST(Condition, bipolar_differences) {
  Recording r = recording({channel("F3", 100, 10, [](double) { return 7.0; }),
                           channel("C3-A2", 100, 10, [](double) { return 3.0; }),
                           channel("slow", 10, 10, [](double) { return 3.0; })});
  r.channels[1].samples[5] = kMissing;
  Conditioning c;
  c.bipolar = {"F3-C3-A2", "C3-A2-F3"};
  c.low_pass_hz = 20;  // more than the channel that is left out allows
  const Recording d = conditioned(r, c);
  ASSERT_EQ(d.channels.size(), 2u);
  EXPECT_EQ(d.channels[0].name, "F3-C3-A2");
  EXPECT_EQ(d.channels[0].unit, "uV");
  EXPECT_NEAR(d.channels[0].samples[4], 4, 1e-12);
  EXPECT_NEAR(d.channels[1].samples[4], -4, 1e-12);
  EXPECT_TRUE(std::isnan(d.channels[0].samples[5]));
}

TEST(Condition, refusals) {
  const Recording two = recording({channel("F3", 100, 50, sine(1)), channel("slow", 10, 5, sine(1))});
  const auto refused = [](Recording r, const std::function<void(Conditioning&)>& set,
                          const std::vector<std::string>& words) {
    Conditioning c;
    set(c);
    expect_error([&] { condition(r, c); }, ErrorKind::bad_argument, words);
    EXPECT_EQ(r.channels[0].samples.size(), 50u);  // nothing was done
  };
  refused(two, [](Conditioning& c) { c.high_pass_hz = 5; }, {"r.edf", "slow", "5 Hz", "high-pass"});
  refused(two, [](Conditioning& c) { c.low_pass_hz = 50; }, {"F3", "50 Hz", "low-pass"});
  refused(two, [](Conditioning& c) { c.notch_hz = {1, 60}; }, {"F3", "60 Hz", "notch"});
  refused(two, [](Conditioning& c) { c.high_pass_hz = 3, c.low_pass_hz = 3; }, {"leave nothing"});
  // Below, rounding would be all that a filter gives.
  refused(two, [](Conditioning& c) { c.low_pass_hz = 1e-7; }, {"low-pass", "F3", "0.001 Hz or more"});
  refused(two, [](Conditioning& c) { c.high_pass_hz = 1e-30; }, {"high-pass", "0.001 Hz or more"});
  refused(two, [](Conditioning& c) { c.notch_hz = {1e-9}; }, {"notch", "0.001 Hz or more"});
  refused(two, [](Conditioning& c) { c.notch_hz = {2, 3, 2}; }, {"notch", "2 Hz", "twice"});
  refused(two, [](Conditioning& c) { c.high_pass_hz = 0; }, {"above 0"});
  refused(two, [](Conditioning& c) { c.high_pass_hz = kMissing; }, {"above 0"});
  refused(two, [](Conditioning& c) { c.resample_hz = std::numeric_limits<double>::infinity(); }, {"above 0"});
  refused(two, [](Conditioning& c) { c.resample_hz = 1e8; }, {"F3", "fraction"});
  refused(two, [](Conditioning& c) { c.reference = "average"; }, {"one rate", "F3", "slow", "100", "10 Hz"});
  refused(two, [](Conditioning& c) { c.reference = "A1"; }, {"'A1'", "F3, slow"});
  refused(two, [](Conditioning& c) { c.bipolar = {"F3-C3"}; }, {"F3-C3", "F3, slow"});
  refused(two, [](Conditioning& c) { c.bipolar = {"F3"}; }, {"'F3'", "dash"});
  refused(two, [](Conditioning& c) { c.bipolar = {"F3-F3"}; }, {"itself"});
  refused(two, [](Conditioning& c) { c.bipolar = {"F3-slow"}; }, {"one rate"});
  Recording units = recording({channel("F3", 100, 50, sine(1)), channel("F4", 100, 50, sine(1))});
  units.channels[1].unit = "mV";
  refused(units, [](Conditioning& c) { c.reference = "average"; }, {"one unit", "uV", "mV"});
  refused(recording({channel("F3", 100, 50, sine(1))}), [](Conditioning& c) { c.reference = "average"; }, {"two"});
  Recording infinite = recording({channel("F3", 100, 50, sine(1))});
  infinite.channels[0].samples[7] = std::numeric_limits<double>::infinity();
  Conditioning c;
  c.low_pass_hz = 10;
  expect_error([&] { condition(infinite, c); }, ErrorKind::numerical, {"F3", "infinite"});
}

TEST(Condition, long_silence_after_a_sound_is_as_quick_as_the_sound) {
  Channel quiet = channel("a", 1000, 400000, [](double t) { return t < 1 ? 1e3 : 0.0; });
  std::vector<double> samples = quiet.samples;
  signal::filter_both_ways(signal::butterworth_low_pass(1, 1000), samples);
  for (const double x : samples) EXPECT_NE(std::fpclassify(x), FP_SUBNORMAL);
}

}  // namespace
}  // namespace envoi
