// The rows of a dictionary, wherever they are, and what is known of their blocks. A block is a stretch of neighbouring
// rows whose largest score is found as one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "envoi/export.hpp"
#include "envoi/matrix.hpp"
#include "envoi/search.hpp"

namespace envoi::pursuit {

class ENVOI_API RowSource {
 public:
  virtual ~RowSource();

  std::string name;  // for messages: "" in memory
  std::uint64_t atoms = 0;
  std::size_t samples = 0;
  bool wide = false;             // fp64, else fp32
  const void* memory = nullptr;  // rows in place; null: read() fetches them
  std::size_t row_stride = 0;    // in numbers, where in memory

  // `count` rows from `first` to `to`, dense, fp32 or (wide) fp64. Called from several threads at once.
  virtual void read(std::uint64_t first, std::size_t count, void* to) const = 0;
};

// True values are these times 2^exponent. Norms are those of rows, to a relative error far below 1e-9.
struct BlockSummary {
  double largest_norm = 0;
  double smallest_norm = 0;  // of rows that are not zero; 0: not known
  int exponent = 0;          // 0 where the numbers are used as they stand
};

struct Bf16Copy {
  std::vector<gemm::bfloat16> values;  // row after row, times 2^-exponent of the block
  std::vector<double> largest_error;   // of a block: norm of what rounding took off a row, times 2^-exponent
};

struct DictionaryState {
  std::unique_ptr<RowSource> source;
  std::size_t block_rows = 64;
  std::uint64_t blocks = 0;
  mutable std::mutex mutex;                     // guards the summaries' coming into being
  mutable std::vector<BlockSummary> summaries;  // empty until a first search has seen every row
  std::unique_ptr<Bf16Copy> bf16;
};

// So many rows that a block of long rows still fits a buffer: 64, 32, ..., 1.
std::size_t block_rows_for(std::size_t samples);

// Numbers of fp32 for which a block is screened in place: no product leaves the range of fp32, and what underflow takes
// off is far below the bound.
inline constexpr double kLargestInPlace = 0x1p126;
inline constexpr double kSmallestInPlace = 0x1p-60;

// Sum of (factor times number)^2 in a fixed order; not finite where a number of fp32 is not.
double energy_of(const float* row, std::size_t samples, double factor);
double energy_of(const double* row, std::size_t samples, double factor);
// Infinite where a number is not finite.
double largest_magnitude(const double* row, std::size_t samples);

// Summary of `count` rows. Returns false if a number is not finite.
bool summarize(const float* rows, std::size_t stride, std::size_t count, std::size_t samples, BlockSummary& summary);
bool summarize(const double* rows, std::size_t stride, std::size_t count, std::size_t samples, BlockSummary& summary);

// Column of the first number of the row that is not finite, else `samples`.
std::size_t first_not_finite(const float* row, std::size_t samples);
std::size_t first_not_finite(const double* row, std::size_t samples);

// Throws Error (numerical) that names file, row and column.
[[noreturn]] void refuse_not_finite(const RowSource& source, std::uint64_t row, std::size_t column);

}  // namespace envoi::pursuit
