// Another sampling rate by a polyphase filter: a windowed sinc, shifted to each new sample, with no delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace envoi::signal {

// New samples for old ones: `up` for `down`, without a common divisor.
struct RateRatio {
  std::uint64_t up = 1;
  std::uint64_t down = 1;
};

// The first continued fraction within 1e-9 of to_hz / from_hz, which is to_hz / from_hz itself where that is one of
// small numbers; none if it takes numbers above 2^18.
std::optional<RateRatio> rate_ratio(double from_hz, double to_hz);

// How many samples `count` become: those at 0, 1/to, 2/to ... before count / from.
std::size_t resampled_count(std::size_t count, RateRatio ratio);

// The filter passes up to 0.8 of the lower of the two Nyquist frequencies (to 1e-4) and takes out by 100 dB what lies
// above that frequency; it reaches 32 samples of the lower rate to either side.
class Resampler {
 public:
  explicit Resampler(RateRatio ratio);

  // New samples first_new .. first_new + out.size() - 1 of a recording of which only `run` is there, beginning at the
  // old sample `first_old`. Beyond its ends the run goes on turned about its end points, as far as it goes.
  void apply(std::span<const double> run, std::size_t first_old, std::span<double> out, std::size_t first_new) const;

 private:
  RateRatio ratio_;
  std::int64_t reach_ = 0;    // old samples to either side
  std::vector<double> taps_;  // a row of 2 reach_ + 1 for each of the `up` phases, each with the sum 1
};

}  // namespace envoi::signal
