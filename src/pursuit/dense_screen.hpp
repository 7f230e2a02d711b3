// The low-precision side of a dense search: bounds on the largest |score| of each block of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/thread_pool.hpp"
#include "envoi/operand.hpp"
#include "pursuit/dense_rows.hpp"
#include "pursuit/dense_score.hpp"

namespace envoi::pursuit {

// Longer signals get no screen: the bound on its rounding would say nothing.
inline constexpr std::size_t kMostScreenedSamples = std::size_t{1} << 20;

// Signals in fp32 as the product wants them, and what that costs in precision.
class ScreenSignals {
 public:
  explicit ScreenSignals(const std::vector<const ScaledSignal*>& signals);
  std::size_t size() const { return error_.size(); }

  // maxima[block][signal] = largest |row . signal| of each block of `block_rows` rows, the last of them perhaps
  // shorter. No product may leave the range of fp32. Not from inside a task of the pool.
  void block_maxima(const float* rows, std::size_t stride, std::size_t count, std::size_t block_rows, float* maxima,
                    core::ThreadPool& pool) const;
  void block_maxima(const gemm::bfloat16* rows, std::size_t stride, std::size_t count, std::size_t block_rows,
                    float* maxima, core::ThreadPool& pool) const;

  // Proven bound on |screened - fp64 score| for rows with norm at most 1, before what bf16 rows lack.
  double error(std::size_t signal) const { return error_[signal]; }

 private:
  template <class T>
  void maxima_of(const T* rows, std::size_t stride, std::size_t count, std::size_t block_rows, float* maxima,
                 core::ThreadPool& pool) const;

  std::size_t samples_ = 0;
  std::vector<double> error_;
  std::optional<gemm::Packed> packed_;
  std::vector<float> column_;  // of a single signal, filled up with zeros
};

// How a block was screened: its rows times 2^-exponent, or divided by their norms.
struct ScreenedBlock {
  double row_norm = 0;     // largest norm of a row as screened
  double row_error = 0;    // largest norm of what a bf16 row lacks
  double upper_scale = 1;  // turns a screened score's upper bound into the true one's, but for the exponent
  double lower_scale = 1;
  int exponent = 0;
};

// Of the largest |fp64 score| of a block.
struct BlockBounds {
  double upper = 0, lower = 0;
};
BlockBounds bounds_of(const ScreenedBlock& block, float maximum, double error);

// Whether the norms of a block's rows are so alike that it can be screened without dividing by them.
bool alike(const BlockSummary& summary);

// Blocks of rows times 2^-exponent (the exponent is 0 for fp32 rows that can be screened where they are); `normalize`
// is for rows that are alike.
ScreenedBlock screened_plain(const BlockSummary& summary, bool normalize);
// Blocks whose rows are divided by their norms.
ScreenedBlock screened_normalized();

// Rows of one block to fp32 rows, dense.
void convert(const float* rows, std::size_t stride, std::size_t count, std::size_t samples, int exponent,
             bool normalize, float* to);
void convert(const double* rows, std::size_t stride, std::size_t count, std::size_t samples, int exponent,
             bool normalize, float* to);

}  // namespace envoi::pursuit
