// Mean or line of a stretch, left out what is missing.
#include "pursuit/detrend.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "envoi/error.hpp"

namespace envoi::pursuit {

Detrended detrend(const Channel& channel, const Window& window, Detrend how) {
  Detrended out;
  const auto size = static_cast<std::size_t>(window.size);
  const double* x = channel.samples.data() + window.begin;
  out.value.assign(x, x + size);
  out.weight.assign(size, 1.0);
  double sum = 0, time_sum = 0, largest = 0;
  for (std::size_t n = 0; n < size; ++n) {
    if (std::isnan(x[n])) {
      out.value[n] = out.weight[n] = 0;
      ++out.missing;
    } else if (std::isinf(x[n])) {
      throw Error(ErrorKind::numerical, "channel " + channel.name + ": sample " +
                                            std::to_string(window.begin + static_cast<std::int64_t>(n) + 1) +
                                            " is infinite; mend it or mark it missing (NaN)");
    } else {
      sum += x[n];
      time_sum += static_cast<double>(n);
      largest = std::max(largest, std::abs(x[n]));
    }
  }
  const double present = out.present();
  if (present == 0) return out;
  if (!std::isfinite(largest * largest * present)) {
    std::ostringstream text;
    text << "channel " << channel.name << ": samples up to " << largest
         << " overflow when squared; rescale the recording";
    throw Error(ErrorKind::numerical, text.str());
  }
  double slope = 0;  // a sample
  const double mean_time = time_sum / present;
  if (how != Detrend::none) {
    out.mean = sum / present;
    double rest = 0;  // what rounding of the sum has left of the mean
    for (std::size_t n = 0; n < size; ++n) rest += (out.value[n] - out.mean) * out.weight[n];
    out.mean += rest / present;
  }
  if (how == Detrend::linear) {
    double st = 0, tt = 0;
    for (std::size_t n = 0; n < size; ++n) {
      const double t = (static_cast<double>(n) - mean_time) * out.weight[n];
      st += t * out.value[n], tt += t * t;
    }
    if (tt > 0) slope = st / tt;
    out.mean -= slope * mean_time;
    out.slope_per_s = slope * channel.rate_hz;
  }
  for (std::size_t n = 0; n < size; ++n) {
    if (out.weight[n] == 0) continue;
    out.value[n] -= out.mean + out.slope_per_s * (static_cast<double>(n) / channel.rate_hz);
  }
  double rest_largest = 0;
  for (const double v : out.value) rest_largest = std::max(rest_largest, std::abs(v));
  if (rest_largest > 0) std::frexp(rest_largest, &out.exponent);
  out.energy = 0;
  for (double& v : out.value) {
    v = std::ldexp(v, -out.exponent);
    out.energy += v * v;
  }
  const double rounding = std::ldexp(2e-15 * largest, -out.exponent);
  if (how != Detrend::none && out.energy <= present * rounding * rounding) {  // a constant, to rounding
    std::fill(out.value.begin(), out.value.end(), 0.0);
    out.energy = 0;
  }
  return out;
}

}  // namespace envoi::pursuit
