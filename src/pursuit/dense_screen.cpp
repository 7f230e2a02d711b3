// Products of a block of rows with signals in fp32, and the bound on their error.
#include "pursuit/dense_screen.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace envoi::pursuit {
namespace {

constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in fp32

// Norms in a block that differ by no more are taken as one.
constexpr double kAlike = 1.001;

double largest_magnitude(const double* row, std::size_t samples) {
  double largest = 0;
  for (std::size_t i = 0; i < samples; ++i) largest = std::max(largest, std::abs(row[i]));
  return largest;
}

// The power of two, as a normal number, that brings the largest magnitude of a row near 1.
double row_factor(const float*, std::size_t) { return 1; }  // fp64 holds the squares of every fp32
double row_factor(const double* row, std::size_t samples) {
  int exponent = 0;
  std::frexp(largest_magnitude(row, samples), &exponent);
  return std::ldexp(1.0, -std::clamp(exponent, -1020, 1020));
}

template <class T>
void convert_rows(const T* rows, std::size_t stride, std::size_t count, std::size_t samples, int exponent,
                  bool normalize, float* to) {
  const double block_factor = std::ldexp(1.0, -exponent);
  for (std::size_t r = 0; r < count; ++r, to += samples) {
    const T* row = rows + r * stride;
    double factor = block_factor, second = 1;
    if (normalize) {
      factor = row_factor(row, samples);
      double energy = 0;
      for (std::size_t i = 0; i < samples; ++i) {
        const double value = static_cast<double>(row[i]) * factor;
        energy += value * value;
      }
      second = energy > 0 ? 1 / std::sqrt(energy) : 0;
    }
    for (std::size_t i = 0; i < samples; ++i) {
      to[i] = static_cast<float>(static_cast<double>(row[i]) * factor * second);
    }
  }
}

}  // namespace

// With u = 2^-24, K samples and rows a of norm at most 1: rounding a to fp32 moves the score by at most u |x|, rounding
// x by |x - fl(x)|; the sum of K products, in whatever order, fused or not, is off by at most K u / (1 - K u) sum |a_i
// x_i| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1), which Cauchy and Schwarz bound
// by |a| |x|. K 2^-50 covers the fp64 score's own rounding, and underflow: flushed to zero or not, it takes less than
// 2^-125 off a term, where rows have norms of at least 2^-60.
ScreenSignals::ScreenSignals(const std::vector<const ScaledSignal*>& signals)
    : samples_(signals.empty() ? 0 : signals[0]->values.size()) {
  const double depth = static_cast<double>(samples_);
  const double gamma = depth * kUnit / (1 - depth * kUnit);
  for (const ScaledSignal* signal : signals) {
    double lost = 0;
    for (const double x : signal->values) {
      const auto narrow = static_cast<float>(x);
      values_.push_back(narrow);
      lost += (x - static_cast<double>(narrow)) * (x - static_cast<double>(narrow));
    }
    error_.push_back(1.000001 * ((gamma + kUnit) * signal->norm + std::sqrt(lost) + depth * 0x1p-50));
  }
}

void ScreenSignals::block_maxima(const float* rows, std::size_t stride, std::size_t count, std::size_t block_rows,
                                 float* maxima) const {
  for (std::size_t first = 0; first < count; first += block_rows, maxima += size()) {
    const std::size_t end = std::min(count, first + block_rows);
    for (std::size_t s = 0; s < size(); ++s) {
      maxima[s] = 0;
      for (std::size_t r = first; r < end; ++r) {
        float sum = 0;
        for (std::size_t i = 0; i < samples_; ++i) sum += rows[r * stride + i] * values_[s * samples_ + i];
        maxima[s] = std::max(maxima[s], std::abs(sum));
      }
    }
  }
}

void ScreenSignals::block_maxima(const std::uint16_t* rows, std::size_t stride, std::size_t count,
                                 std::size_t block_rows, float* maxima) const {
  std::vector<float> wide(block_rows * samples_);
  for (std::size_t first = 0; first < count; first += block_rows, maxima += size()) {
    const std::size_t here = std::min(count - first, block_rows);
    for (std::size_t r = 0; r < here; ++r) {
      for (std::size_t i = 0; i < samples_; ++i) {
        wide[r * samples_ + i] = std::bit_cast<float>(static_cast<std::uint32_t>(rows[(first + r) * stride + i]) << 16);
      }
    }
    block_maxima(wide.data(), samples_, here, block_rows, maxima);
  }
}

BlockBounds bounds_of(const ScreenedBlock& block, float maximum, double error) {
  const double off = block.row_norm * error + block.row_error;
  BlockBounds bounds{(static_cast<double>(maximum) + off) * block.upper_scale,
                     std::max(0.0, static_cast<double>(maximum) - off) * block.lower_scale};
  if (block.exponent != 0) {
    bounds.upper = std::nextafter(std::ldexp(bounds.upper, block.exponent), HUGE_VAL);
    bounds.lower = std::nextafter(std::ldexp(bounds.lower, block.exponent), 0.0);
  }
  return bounds;
}

bool alike(const BlockSummary& summary) { return summary.largest_norm <= kAlike * summary.smallest_norm; }

ScreenedBlock screened_plain(const BlockSummary& summary, bool normalize) {
  ScreenedBlock block;
  block.row_norm = summary.largest_norm * (1 + 1e-6);
  block.exponent = normalize ? 0 : summary.exponent;
  if (normalize && summary.largest_norm > 0) {
    block.upper_scale = (1 + 1e-9) / summary.smallest_norm;
    block.lower_scale = (1 - 1e-9) / summary.largest_norm;
  }
  return block;
}

ScreenedBlock screened_normalized() {
  ScreenedBlock block;
  block.row_norm = 1 + 1e-6;
  return block;
}

void convert(const float* rows, std::size_t stride, std::size_t count, std::size_t samples, int exponent,
             bool normalize, float* to) {
  convert_rows(rows, stride, count, samples, exponent, normalize, to);
}
void convert(const double* rows, std::size_t stride, std::size_t count, std::size_t samples, int exponent,
             bool normalize, float* to) {
  convert_rows(rows, stride, count, samples, exponent, normalize, to);
}

}  // namespace envoi::pursuit
