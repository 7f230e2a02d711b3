// The samples of a stretch without their trend.
#pragma once

#include <span>
#include <vector>

#include "atoms/chirplet.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"
#include "pursuit/resolve.hpp"

namespace envoi::pursuit {

// Samples without their trend, scaled by a power of two; NaN becomes value 0 and weight 0.
struct Detrended {
  std::vector<double> value, weight;
  double mean = 0, slope_per_s = 0, energy = 0;
  std::size_t missing = 0;
  int exponent = 0;  // the values are in units of 2^exponent, so that squares neither overflow nor vanish
  std::span<const double> weights() const {
    return missing ? std::span<const double>(weight) : std::span<const double>();
  }
  atoms::Samples samples() const {
    return {value.data(), missing ? weight.data() : nullptr, static_cast<std::int64_t>(value.size())};
  }
  double present() const { return static_cast<double>(value.size() - missing); }
};

// Throws Error (numerical) for infinite samples and for those whose squares overflow.
Detrended detrend(const Channel& channel, const Window& window, Detrend how);

}  // namespace envoi::pursuit
