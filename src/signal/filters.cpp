// Butterworth and notch designs, and the zero-phase pass.
#include "filters.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace envoi::signal {
namespace {

constexpr double kPi = std::numbers::pi;

// Real part of the poles of the analogue prototype of order 4, cos(pi / 8) and cos(3 pi / 8): one a pair.
const double kPolePairs[] = {std::cos(kPi / 8), std::cos(3 * kPi / 8)};

std::vector<Section> butterworth(double cutoff_hz, double rate_hz, bool high) {
  const double w = 2 * kPi * cutoff_hz / rate_hz;
  const double sine = std::sin(w), cosine = std::cos(w);
  // 1 - cos w and 1 + cos w without cancellation.
  const double numerator = high ? 2 * std::pow(std::cos(w / 2), 2) : 2 * std::pow(std::sin(w / 2), 2);
  std::vector<Section> sections;
  for (const double pole : kPolePairs) {
    const double alpha = sine * pole;
    const double a0 = 1 + alpha;
    Section section;
    section.b0 = section.b2 = numerator / 2 / a0;
    section.b1 = (high ? -2 : 2) * section.b0;
    section.a1 = -2 * cosine / a0;
    section.a2 = (1 - alpha) / a0;
    sections.push_back(section);
  }
  return sections;
}

struct State {
  double z1 = 0, z2 = 0;
};

// The state in which a section answers a constant with a constant, for an input of 1; `gain` is that answer.
State settled(const Section& s, double& gain) {
  gain = (s.b0 + s.b1 + s.b2) / (1 + s.a1 + s.a2);
  return {gain - s.b0, s.b2 - s.a2 * gain};
}

// One pass in the order of the iterator.
template <class Iterator>
void pass(std::span<const Section> sections, Iterator begin, Iterator end) {
  if (begin == end) return;
  double level = *begin;
  for (const Section& s : sections) {
    double gain = 0;
    State state = settled(s, gain);
    double z1 = state.z1 * level, z2 = state.z2 * level;
    level *= gain;
    std::size_t count = 0;
    for (Iterator at = begin; at != end; ++at) {
      const double x = *at;
      const double y = s.b0 * x + z1;
      z1 = s.b1 * x - s.a1 * y + z2;
      z2 = s.b2 * x - s.a2 * y;
      *at = y;
      // What dies away in long silence would end in subnormal numbers, which are slow.
      if (++count % 256 == 0 && std::abs(z1) + std::abs(z2) < 1e-250) z1 = z2 = 0;
    }
  }
}

}  // namespace

std::vector<Section> butterworth_low_pass(double cutoff_hz, double rate_hz) {
  return butterworth(cutoff_hz, rate_hz, false);
}

std::vector<Section> butterworth_high_pass(double cutoff_hz, double rate_hz) {
  return butterworth(cutoff_hz, rate_hz, true);
}

std::vector<Section> notch(double frequency_hz, double rate_hz, double quality) {
  const double w = 2 * kPi * frequency_hz / rate_hz;
  const double beta = std::tan(w / quality / 2);
  const double gain = 1 / (1 + beta);
  Section section;
  section.b0 = section.b2 = gain;
  section.b1 = section.a1 = -2 * std::cos(w) * gain;
  section.a2 = (1 - beta) * gain;
  return {section};
}

std::size_t settling_samples(std::span<const Section> sections) {
  double largest = 0;
  for (const Section& s : sections) {
    const double discriminant = s.a1 * s.a1 / 4 - s.a2;
    const double radius = discriminant < 0 ? std::sqrt(std::abs(s.a2)) : std::abs(s.a1) / 2 + std::sqrt(discriminant);
    largest = std::max(largest, radius);
  }
  if (!(largest > 1e-3)) return 1;
  constexpr double kMost = 1e9;  // more than any recording has to offer
  return static_cast<std::size_t>(std::min(std::ceil(std::log(1e3) / std::max(1e-12, -std::log(largest))), kMost));
}

namespace {

// a cos(w k) + b sin(w k), k counted from the first sample of a run.
struct Sine {
  double w = 0, a = 0, b = 0;
  double at(double k) const { return a * std::cos(w * k) + b * std::sin(w * k); }
};

// Least squares of constant, cosine and sine over samples [first, first + count); nothing for less than a period.
Sine fit_sine(std::span<const double> samples, std::size_t first, std::size_t count, double w) {
  Sine sine{w, 0, 0};
  if (static_cast<double>(count) * w < 2 * kPi || count < 4) return sine;
  double m[3][4] = {};  // normal equations, the right side last
  for (std::size_t i = first; i < first + count; ++i) {
    const double angle = w * static_cast<double>(i);
    const double row[4] = {1, std::cos(angle), std::sin(angle), samples[i]};
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 4; ++c) m[r][c] += row[r] * row[c];
  }
  for (std::size_t k = 0; k < 3; ++k) {  // positive definite, so in order
    if (!(m[k][k] > 1e-9 * static_cast<double>(count))) return sine;
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == k) continue;
      const double factor = m[r][k] / m[k][k];
      for (std::size_t c = k; c < 4; ++c) m[r][c] -= factor * m[k][c];
    }
  }
  sine.a = m[1][3] / m[1][1];
  sine.b = m[2][3] / m[2][2];
  return sine;
}

// What the ends are extended by: `head` and `tail` go on, the rest is turned about the end points.
void filter_extended(std::span<const Section> sections, std::span<double> samples, std::size_t padding,
                     const Sine& head, const Sine& tail) {
  const std::size_t count = samples.size();
  std::vector<double> extended(count + 2 * padding);
  const auto k = [](std::size_t i) { return static_cast<double>(i); };
  const double first = samples.front() - head.at(0), last = samples.back() - tail.at(k(count - 1));
  for (std::size_t i = 1; i <= padding; ++i) {
    extended[padding - i] = 2 * first - (samples[i] - head.at(k(i))) + head.at(-k(i));
    const std::size_t turned = count - 1 - i;
    extended[padding + count - 1 + i] = 2 * last - (samples[turned] - tail.at(k(turned))) + tail.at(k(count - 1 + i));
  }
  std::copy(samples.begin(), samples.end(), extended.begin() + static_cast<std::ptrdiff_t>(padding));
  pass(sections, extended.begin(), extended.end());
  pass(sections, extended.rbegin(), extended.rend());
  std::copy_n(extended.begin() + static_cast<std::ptrdiff_t>(padding), count, samples.begin());
}

}  // namespace

void filter_both_ways(std::span<const Section> sections, std::span<double> samples) {
  if (samples.empty()) return;
  filter_extended(sections, samples, std::min(settling_samples(sections), samples.size() - 1), {}, {});
}

void notch_both_ways(std::span<const Section> sections, std::span<double> samples, double frequency_hz,
                     double rate_hz) {
  if (samples.empty()) return;
  const std::size_t count = samples.size();
  const std::size_t padding = std::min(settling_samples(sections), count - 1);
  const double w = 2 * kPi * frequency_hz / rate_hz;
  filter_extended(sections, samples, padding, fit_sine(samples, 0, padding + 1, w),
                  fit_sine(samples, count - 1 - padding, padding + 1, w));
}

}  // namespace envoi::signal
