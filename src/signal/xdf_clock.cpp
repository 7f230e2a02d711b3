// Clocks of XDF streams: from the stream's computer to the recorder's, and from jittered time stamps to even ones.
// The thresholds are those that readers of the format have in common, so that times agree.
#include <algorithm>
#include <cmath>
#include <limits>

#include "xdf.hpp"

namespace envoi::signal {
namespace {

constexpr double kOffsetError_s = 1e-4;  // of a measured offset; larger ones count less
constexpr double kBreak_s = 1;
constexpr double kBreakSamples = 500;

struct Line {
  double at = 0;  // x where it has `value`
  double value = 0;
  double slope = 0;
  double operator()(double x) const { return value + slope * (x - at); }
};

// Weighted least squares.
Line fit(const double* x, const double* y, const std::vector<double>& weights) {
  double sum = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    mean_x += weights[i] * x[i];
    mean_y += weights[i] * y[i];
  }
  mean_x /= sum;
  mean_y /= sum;
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    xx += weights[i] * (x[i] - mean_x) * (x[i] - mean_x);
    xy += weights[i] * (x[i] - mean_x) * (y[i] - mean_y);
  }
  return {mean_x, mean_y, xx > 0 ? xy / xx : 0};
}

// The line of least Huber loss, by reweighting.
Line robust_fit(const double* x, const double* y, std::size_t count) {
  std::vector<double> weights(count, 1.0);
  Line line = fit(x, y, weights);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const double off = std::abs(y[i] - line(x[i]));
      weights[i] = off <= kOffsetError_s ? 1 : kOffsetError_s / off;
    }
    const Line next = fit(x, y, weights);
    const double change =
        std::max(std::abs(next(x[0]) - line(x[0])), std::abs(next(x[count - 1]) - line(x[count - 1])));
    line = next;
    if (!(change > 1e-9)) break;
  }
  return line;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Which steps lie further from the median than `seconds` and `spreads` of the median deviation.
std::vector<bool> outliers(const std::vector<double>& steps, double spreads, double seconds) {
  const double middle = median(steps);
  std::vector<double> off;
  for (const double step : steps) off.push_back(std::abs(step - middle));
  const double spread = median(off) + std::numeric_limits<double>::epsilon();
  std::vector<bool> out;
  for (const double o : off) out.push_back(o / spread > spreads && o > seconds);
  return out;
}

// Where, among the measured offsets, a clock was set anew.
std::vector<std::size_t> clock_ranges(const XdfStream& stream) {
  std::vector<std::size_t> begins = {0};
  const std::size_t count = stream.clock_times_s.size();
  if (count < 2) return begins;
  std::vector<double> times, offsets;
  for (std::size_t i = 1; i < count; ++i) {
    times.push_back(stream.clock_times_s[i] - stream.clock_times_s[i - 1]);
    offsets.push_back(stream.clock_offsets_s[i] - stream.clock_offsets_s[i - 1]);
  }
  const std::vector<bool> late = outliers(times, 5, 5), moved = outliers(offsets, 10, 1);
  for (std::size_t i = 1; i < count; ++i) {
    if (times[i - 1] < 0 || (late[i - 1] && moved[i - 1])) begins.push_back(i);
  }
  return begins;
}

}  // namespace

std::vector<std::size_t> synchronize(XdfStream& stream) {
  std::vector<std::size_t> resets;
  if (stream.clock_times_s.empty() || stream.times_s.empty()) return resets;
  const std::vector<std::size_t> begins = clock_ranges(stream);
  std::size_t sample = 0;
  for (std::size_t range = 0; range < begins.size(); ++range) {
    const bool last = range + 1 == begins.size();
    const std::size_t begin = begins[range], end = last ? stream.clock_times_s.size() : begins[range + 1];
    const Line offset = robust_fit(&stream.clock_times_s[begin], &stream.clock_offsets_s[begin], end - begin);
    // A sample belongs to the range whose measurements are nearer.
    const std::size_t first = sample;
    while (sample < stream.times_s.size()) {
      const double time_s = stream.times_s[sample];
      if (!last && !(std::abs(time_s - stream.clock_times_s[end - 1]) < std::abs(time_s - stream.clock_times_s[end])))
        break;
      ++sample;
    }
    if (first > 0 && sample > first) resets.push_back(first);
    for (std::size_t i = first; i < sample; ++i) stream.times_s[i] += offset(stream.times_s[i]);
  }
  return resets;
}

std::vector<XdfRun> even_runs(const XdfStream& stream, const std::vector<std::size_t>& resets) {
  const std::vector<double>& times = stream.times_s;
  const double nominal_s = 1 / stream.nominal_hz;
  const double most_s = stream.drops_samples ? 1.5 * nominal_s : std::max(kBreak_s, kBreakSamples * nominal_s);
  std::vector<XdfRun> runs;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= times.size(); ++i) {
    const bool is_break = i == times.size() || !(std::abs(times[i] - times[i - 1]) <= most_s) ||
                          std::find(resets.begin(), resets.end(), i) != resets.end();
    if (!is_break) continue;
    const std::size_t count = i - first;
    std::vector<double> index(count), weights(count, 1.0);
    for (std::size_t k = 0; k < count; ++k) index[k] = static_cast<double>(k);
    const Line line = fit(index.data(), &times[first], weights);
    const bool even = count > 1 && line.slope > 0;
    const double interval_s = even ? line.slope : nominal_s;
    runs.push_back({first, count, even ? line(0) : times[first], interval_s});
    first = i;
  }
  return runs;
}

}  // namespace envoi::signal
