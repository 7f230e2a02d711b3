// The filter's taps, phase by phase, and their use.
#include "resample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace envoi::signal {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kHalfWidth = 32;   // samples of the lower rate
constexpr double kCutoff = 0.9;     // of the lower Nyquist frequency: the middle of the transition
constexpr double kBeta = 10.06126;  // Kaiser's 0.1102 (A - 8.7) for A = 100 dB
constexpr std::uint64_t kMost = std::uint64_t{1} << 18;

// Modified Bessel function of order 0, by its power series.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

double kaiser(double position) {  // -1 to 1
  const double inside = 1 - position * position;
  return inside < 0 ? 0 : bessel_i0(kBeta * std::sqrt(inside));
}

double sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }

// The run beyond its ends: turned about the end point, and constant from where the turned run ends.
double extended(std::span<const double> run, std::int64_t i) {
  const auto count = static_cast<std::int64_t>(run.size());
  if (i >= 0 && i < count) return run[static_cast<std::size_t>(i)];
  if (i < 0) return 2 * run.front() - run[static_cast<std::size_t>(std::min(-i, count - 1))];
  return 2 * run.back() - run[static_cast<std::size_t>(std::max<std::int64_t>(2 * (count - 1) - i, 0))];
}

}  // namespace

std::optional<RateRatio> rate_ratio(double from_hz, double to_hz) {
  const double wanted = to_hz / from_hz;
  if (!(wanted >= 1.0 / static_cast<double>(kMost) && wanted <= static_cast<double>(kMost))) return std::nullopt;
  // Convergents of the continued fraction.
  double rest = wanted;
  std::uint64_t up = 1, down = 0, up_before = 0, down_before = 1;
  for (;;) {
    const double whole = std::floor(rest);
    if (whole > static_cast<double>(kMost)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(whole);
    const std::uint64_t up_next = digit * up + up_before, down_next = digit * down + down_before;
    if (up_next > kMost || down_next > kMost) return std::nullopt;
    up_before = up, down_before = down;
    up = up_next, down = down_next;
    if (up > 0 && std::abs(static_cast<double>(up) / static_cast<double>(down) - wanted) <= 1e-9 * wanted)
      return RateRatio{up, down};
    if (!(rest > whole)) return std::nullopt;
    rest = 1 / (rest - whole);
  }
}

std::size_t resampled_count(std::size_t count, RateRatio ratio) {
  // In parts, since count * up may not fit.
  const std::size_t whole = count / ratio.down, rest = count % ratio.down;
  return whole * ratio.up + (rest * ratio.up + ratio.down - 1) / ratio.down;
}

Resampler::Resampler(RateRatio ratio) : ratio_(ratio) {
  const double up = static_cast<double>(ratio.up), down = static_cast<double>(ratio.down);
  const double stretch = std::max(1.0, down / up);  // old samples a sample of the lower rate
  reach_ = static_cast<std::int64_t>(std::ceil(kHalfWidth * stretch));
  const auto width = static_cast<std::size_t>(2 * reach_ + 1);
  taps_.resize(width * ratio.up);
  for (std::uint64_t phase = 0; phase < ratio.up; ++phase) {
    double* const row = taps_.data() + phase * width;
    const double offset = static_cast<double>(phase) / up;
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double distance = (static_cast<double>(i) - static_cast<double>(reach_) - offset) / stretch;
      row[i] = sinc(kCutoff * distance) * kaiser(distance / kHalfWidth);
      sum += row[i];
    }
    for (std::size_t i = 0; i < width; ++i) row[i] /= sum;
  }
}

void Resampler::apply(std::span<const double> run, std::size_t first_old, std::span<double> out,
                      std::size_t first_new) const {
  if (run.empty()) return;
  const std::size_t width = static_cast<std::size_t>(2 * reach_ + 1);
  const auto count = static_cast<std::int64_t>(run.size());
  // Old sample at or before the new one, and the phase between, moved along without a product that could overflow.
  std::uint64_t old = first_new / ratio_.up * ratio_.down + first_new % ratio_.up * ratio_.down / ratio_.up;
  std::uint64_t phase = first_new % ratio_.up * ratio_.down % ratio_.up;
  for (double& y : out) {
    const std::int64_t begin = static_cast<std::int64_t>(old) - static_cast<std::int64_t>(first_old) - reach_;
    const double* const row = taps_.data() + phase * width;
    double sum = 0;
    if (begin >= 0 && begin + static_cast<std::int64_t>(width) <= count) {
      const double* const x = run.data() + begin;
      // Four sums, so that additions need not wait for each other.
      double part[4] = {};
      std::size_t i = 0;
      for (; i + 4 <= width; i += 4)
        for (std::size_t k = 0; k < 4; ++k) part[k] += row[i + k] * x[i + k];
      for (; i < width; ++i) part[0] += row[i] * x[i];
      sum = (part[0] + part[1]) + (part[2] + part[3]);
    } else {
      for (std::size_t i = 0; i < width; ++i) sum += row[i] * extended(run, begin + static_cast<std::int64_t>(i));
    }
    y = sum;
    phase += ratio_.down % ratio_.up;
    old += ratio_.down / ratio_.up;
    if (phase >= ratio_.up) phase -= ratio_.up, ++old;
  }
}

}  // namespace envoi::signal
