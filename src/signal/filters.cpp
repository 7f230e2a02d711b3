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

void filter_both_ways(std::span<const Section> sections, std::span<double> samples) {
  const std::size_t count = samples.size();
  if (count == 0) return;
  const std::size_t padding = std::min(settling_samples(sections), count - 1);
  std::vector<double> extended(count + 2 * padding);
  const double first = samples.front(), last = samples.back();
  for (std::size_t i = 0; i < padding; ++i) {
    extended[i] = 2 * first - samples[padding - i];
    extended[padding + count + i] = 2 * last - samples[count - 2 - i];
  }
  std::copy(samples.begin(), samples.end(), extended.begin() + static_cast<std::ptrdiff_t>(padding));
  pass(sections, extended.begin(), extended.end());
  pass(sections, extended.rbegin(), extended.rend());
  std::copy_n(extended.begin() + static_cast<std::ptrdiff_t>(padding), count, samples.begin());
}

}  // namespace envoi::signal
