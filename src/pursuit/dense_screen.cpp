// Products of a block of rows with signals in fp32, and the bound on their error.
#include "pursuit/dense_screen.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gemm/cpu/kernels.hpp"
#include "gemm/gemm.hpp"
#include "pursuit/cpu/dense_column.hpp"

namespace envoi::pursuit {
namespace {

constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in fp32

// Norms in a block that differ by no more are taken as one.
constexpr double kAlike = 1.001;

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
    double factor = block_factor, over_norm = 1;
    if (normalize) {
      factor = row_factor(row, samples);
      const double squares = energy_of(row, samples, factor);
      over_norm = squares > 0 ? 1 / std::sqrt(squares) : 0;
    }
    // A product of the factors could leave the range of fp64 on its own, where factor is not 1.
    if (factor == 1) {
      for (std::size_t i = 0; i < samples; ++i) to[i] = static_cast<float>(static_cast<double>(row[i]) * over_norm);
    } else {
      for (std::size_t i = 0; i < samples; ++i) {
        to[i] = static_cast<float>(static_cast<double>(row[i]) * factor * over_norm);
      }
    }
  }
}

}  // namespace

// With u = 2^-24 and rows a of norm at most 1: rounding a to fp32 moves the score by at most u |x|, rounding x by |x -
// fl(x)|. In the product's order of summation (gemm/cpu/kernels.hpp) a term goes through n roundings at most, so the
// sum is off by at most n u / (1 - n u) sum |a_i x_i| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
// section 3.1), which Cauchy and Schwarz bound by |a| |x|. 2^-50 a sample covers the fp64 score's own rounding, and
// underflow: flushed to zero or not, it takes less than 2^-125 off a term, where rows have norms of at least 2^-60.
ScreenSignals::ScreenSignals(const std::vector<const ScaledSignal*>& signals) {
  if (signals.empty()) return;
  samples_ = signals[0]->values.size();
  const auto lanes = static_cast<std::size_t>(gemm::kernel<float, float, float>().lanes);
  const double roundings =
      static_cast<double>((samples_ + lanes - 1) / lanes) + static_cast<double>(std::bit_width(lanes));
  const double gamma = roundings * kUnit / (1 - roundings * kUnit);
  std::vector<float> values;
  for (const ScaledSignal* signal : signals) {
    double lost = 0;
    for (const double x : signal->values) {
      const auto narrow = static_cast<float>(x);
      values.push_back(narrow);
      lost += (x - static_cast<double>(narrow)) * (x - static_cast<double>(narrow));
    }
    error_.push_back(1.000001 *
                     ((gamma + kUnit) * signal->norm + std::sqrt(lost) + static_cast<double>(samples_) * 0x1p-50));
  }
  if (signals.size() == 1) {
    column_ = values;
    column_.resize((samples_ + lanes - 1) / lanes * lanes);
    return;
  }
  const auto samples = static_cast<std::int64_t>(samples_), columns = static_cast<std::int64_t>(signals.size());
  packed_.emplace(gemm::Matrix(values.data(), samples, columns, 1, samples), 1);
}

template <class T>
void ScreenSignals::maxima_of(const T* rows, std::size_t stride, std::size_t count, std::size_t block_rows,
                              float* maxima, core::ThreadPool& pool) const {
  if (!column_.empty()) {
    column_kernel<T>().maxima(rows, stride, count, samples_, column_.data(), block_rows, maxima);
    return;
  }
  if (!packed_) return;
  const auto samples = static_cast<std::int64_t>(samples_), columns = static_cast<std::int64_t>(size());
  // The engine's blocks are ours, but for long rows.
  const std::size_t at_once = block_rows == gemm::kTileRows ? count : block_rows;
  for (std::size_t first = 0; first < count; first += at_once) {
    const auto here = static_cast<std::int64_t>(std::min(at_once, count - first));
    const std::int64_t blocks = (here + gemm::kTileRows - 1) / gemm::kTileRows;
    gemm::block_maxima(gemm::Matrix(rows + first * stride, here, samples, static_cast<std::int64_t>(stride)), *packed_,
                       gemm::MutableMatrix(maxima + first / block_rows * size(), blocks, columns), pool);
  }
}

void ScreenSignals::block_maxima(const float* rows, std::size_t stride, std::size_t count, std::size_t block_rows,
                                 float* maxima, core::ThreadPool& pool) const {
  maxima_of(rows, stride, count, block_rows, maxima, pool);
}
void ScreenSignals::block_maxima(const gemm::bfloat16* rows, std::size_t stride, std::size_t count,
                                 std::size_t block_rows, float* maxima, core::ThreadPool& pool) const {
  maxima_of(rows, stride, count, block_rows, maxima, pool);
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
