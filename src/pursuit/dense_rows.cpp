// Dictionaries in memory, and what is learnt of the blocks of any dictionary.
#include "pursuit/dense_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "envoi/ending/tile.hpp"
#include "envoi/error.hpp"

namespace envoi::pursuit {

namespace {

class MemoryRows : public RowSource {
 public:
  void read(std::uint64_t first, std::size_t count, void* to) const override {
    const std::size_t width = wide ? sizeof(double) : sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<char*>(to) + i * samples * width,
                  static_cast<const char*>(memory) + (first + i) * row_stride * width, samples * width);
    }
  }
};

std::unique_ptr<RowSource> memory_rows(const void* values, bool wide, std::size_t atoms, std::size_t samples,
                                       std::size_t row_stride) {
  auto rows = std::make_unique<MemoryRows>();
  rows->memory = values;
  rows->wide = wide;
  rows->atoms = atoms;
  rows->samples = samples;
  rows->row_stride = row_stride == 0 ? samples : row_stride;
  if (rows->row_stride < samples) {
    throw Error(ErrorKind::bad_argument, "a dictionary's row_stride of " + std::to_string(row_stride) +
                                             " is below its " + std::to_string(samples) + " samples");
  }
  const std::string size = std::to_string(atoms) + " atoms, " + std::to_string(rows->row_stride) + " numbers apart";
  if (rows->row_stride > 0 && atoms > PTRDIFF_MAX / sizeof(double) / rows->row_stride)
    throw Error(ErrorKind::bad_argument, "a dictionary of " + size + ", is larger than any memory");
  if (!values && atoms > 0 && samples > 0)
    throw Error(ErrorKind::bad_argument, "a dictionary of " + size + ", is at a null pointer");
  return rows;
}

std::unique_ptr<DictionaryState> state_of(std::unique_ptr<RowSource> source) {
  if (source->atoms == 0 || source->samples == 0) {
    throw Error(ErrorKind::bad_argument, (source->name.empty() ? "a dictionary" : source->name + ": the dictionary") +
                                             " of " + std::to_string(source->atoms) + " atoms and " +
                                             std::to_string(source->samples) + " samples holds nothing to search");
  }
  auto state = std::make_unique<DictionaryState>();
  state->block_rows = block_rows_for(source->samples);
  state->blocks = (source->atoms + state->block_rows - 1) / state->block_rows;
  state->source = std::move(source);
  return state;
}

constexpr std::size_t kParts = 16;

// Sum of squares in some fixed order; NaN or infinite where a number of fp32 is.
template <class T>
double energy(const T* row, std::size_t samples, double factor) {
  double s[kParts] = {};
  std::size_t i = 0;
  for (; i + kParts <= samples; i += kParts) {
    for (std::size_t j = 0; j < kParts; ++j) {
      const double value = static_cast<double>(row[i + j]) * factor;
      s[j] += value * value;
    }
  }
  for (std::size_t j = 0; i + j < samples; ++j) {
    const double value = static_cast<double>(row[i + j]) * factor;
    s[j] += value * value;
  }
  double sum = 0;
  for (const double part : s) sum += part;
  return sum;
}

struct Norms {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  void add(double squares) {
    if (squares > 0) {
      largest = std::max(largest, std::sqrt(squares));
      smallest = std::min(smallest, std::sqrt(squares));
    }
  }
  void put(BlockSummary& summary) const {
    summary.largest_norm = largest;
    summary.smallest_norm = largest > 0 ? smallest : 0;
  }
};

template <class T>
std::size_t not_finite(const T* row, std::size_t samples) {
  std::size_t i = 0;
  while (i < samples && std::isfinite(row[i])) ++i;
  return i;
}

}  // namespace

RowSource::~RowSource() = default;

double energy_of(const float* row, std::size_t samples, double factor) { return energy(row, samples, factor); }
double energy_of(const double* row, std::size_t samples, double factor) { return energy(row, samples, factor); }

double largest_magnitude(const double* row, std::size_t samples) {
  double most[kParts] = {}, odd[kParts] = {};
  std::size_t i = 0;
  for (; i + kParts <= samples; i += kParts) {
    for (std::size_t j = 0; j < kParts; ++j) {
      const double size = std::abs(row[i + j]);
      most[j] = size > most[j] ? size : most[j];
      odd[j] += row[i + j] * 0.0;  // NaN where the number is not finite
    }
  }
  for (; i < samples; ++i) {
    most[0] = std::max(most[0], std::abs(row[i]));
    odd[0] += row[i] * 0.0;
  }
  for (std::size_t j = 1; j < kParts; ++j) {
    most[0] = std::max(most[0], most[j]);
    odd[0] += odd[j];
  }
  return odd[0] == 0 ? most[0] : std::numeric_limits<double>::infinity();
}

std::size_t block_rows_for(std::size_t samples) {
  std::size_t rows = gemm::kTileRows;
  while (rows > 1 && rows * samples > (std::size_t{1} << 20)) rows /= 2;
  return rows;
}

bool summarize(const float* rows, std::size_t stride, std::size_t count, std::size_t samples, BlockSummary& summary) {
  Norms norms;
  for (std::size_t r = 0; r < count; ++r) {
    const double squares = energy_of(rows + r * stride, samples, 1.0);
    if (!std::isfinite(squares)) return false;
    norms.add(squares);
  }
  norms.put(summary);
  summary.exponent = 0;
  if (norms.largest == 0 || (norms.largest >= kSmallestInPlace && norms.largest <= kLargestInPlace)) return true;
  std::frexp(norms.largest, &summary.exponent);
  summary.largest_norm = std::ldexp(summary.largest_norm, -summary.exponent);
  summary.smallest_norm = std::ldexp(summary.smallest_norm, -summary.exponent);
  return true;
}

bool summarize(const double* rows, std::size_t stride, std::size_t count, std::size_t samples, BlockSummary& summary) {
  double largest = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const double* row = rows + r * stride;
    const double here = largest_magnitude(row, samples);
    if (!std::isfinite(here)) return false;
    largest = std::max(largest, here);
  }
  summary = {};
  if (largest == 0) return true;
  std::frexp(largest, &summary.exponent);
  summary.exponent = std::clamp(summary.exponent, -1020, 1020);  // so that its powers are normal numbers
  const double factor = std::ldexp(1.0, -summary.exponent);
  Norms norms;
  bool lost = false;
  for (std::size_t r = 0; r < count; ++r) {
    const double* row = rows + r * stride;
    const double squares = energy_of(row, samples, factor);
    if (squares >= 0x1p-900) {
      norms.add(squares);
    } else {  // of zeros, or so far below the largest that its squares are lost
      lost = lost || std::any_of(row, row + samples, [](double value) { return value != 0; });
    }
  }
  norms.put(summary);
  if (lost) summary.smallest_norm = 0;
  return true;
}

std::size_t first_not_finite(const float* row, std::size_t samples) { return not_finite(row, samples); }
std::size_t first_not_finite(const double* row, std::size_t samples) { return not_finite(row, samples); }

void refuse_not_finite(const RowSource& source, std::uint64_t row, std::size_t column) {
  throw Error(ErrorKind::numerical, (source.name.empty() ? "the dictionary" : source.name) + ": row " +
                                        std::to_string(row) + ", column " + std::to_string(column) +
                                        " (counted from 0) is not a finite number; mend or leave out that atom");
}

}  // namespace envoi::pursuit

namespace envoi {

Dictionary::Dictionary(const float* values, std::size_t atoms, std::size_t samples, std::size_t row_stride)
    : state_(pursuit::state_of(pursuit::memory_rows(values, false, atoms, samples, row_stride))) {}
Dictionary::Dictionary(const double* values, std::size_t atoms, std::size_t samples, std::size_t row_stride)
    : state_(pursuit::state_of(pursuit::memory_rows(values, true, atoms, samples, row_stride))) {}
Dictionary::Dictionary(std::unique_ptr<pursuit::RowSource> source) : state_(pursuit::state_of(std::move(source))) {}
Dictionary::~Dictionary() = default;
Dictionary::Dictionary(Dictionary&&) noexcept = default;
Dictionary& Dictionary::operator=(Dictionary&&) noexcept = default;

std::uint64_t Dictionary::atoms() const { return state_->source->atoms; }
std::size_t Dictionary::samples() const { return state_->source->samples; }

}  // namespace envoi
