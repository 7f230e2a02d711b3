// The two sides of a product A B: A has a row for every row of the result, B a column for every column.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "envoi/matrix.hpp"

namespace envoi::gemm {

// Rows [first, first + count) of a matrix that is never stored, each of `depth` numbers, row after row into `rows`.
// Called from several threads at once.
template <class T>
using FillRows = std::function<void(std::int64_t first, std::int64_t count, T* rows)>;

// A matrix as one side of a product. It refers to what it is made from and holds nothing.
class ENVOI_API Operand {
 public:
  // fp32, fp64, bf16 or fp16 with any strides.
  Operand(const Matrix& matrix) : matrix_(matrix) {}
  // Row i is signal[i * hop] and what follows, `length` samples, as many rows as fit; nothing is copied.
  template <class T>
  static Operand shifts(std::span<const T> signal, std::int64_t length, std::int64_t hop = 1) {
    const auto size = static_cast<std::int64_t>(signal.size());
    if (length < 1 || hop < 1)
      throw Error(ErrorKind::bad_argument, "shifts of a signal need length and hop of at least 1");
    return Matrix(signal.data(), size < length ? 0 : (size - length) / hop + 1, length, hop);
  }
  // Row i is row indices[i] of the matrix. The indices are referred to.
  static Operand gathered(const Matrix& matrix, std::span<const std::int64_t> indices);
  // Rows made when they are needed.
  static Operand synthesised(std::int64_t rows, std::int64_t depth, FillRows<float> fill);
  static Operand synthesised(std::int64_t rows, std::int64_t depth, FillRows<double> fill);

  // The same with rows and columns exchanged: what was made by rows can then be a B.
  Operand transposed() const;

  std::int64_t rows() const { return by_columns_ ? depth() : vectors(); }
  std::int64_t columns() const { return by_columns_ ? vectors() : depth(); }
  DType dtype() const { return matrix_.dtype; }

 private:
  friend class Vectors;
  std::int64_t vectors() const { return gathered_ ? static_cast<std::int64_t>(indices_.size()) : matrix_.rows; }
  std::int64_t depth() const { return matrix_.columns; }

  Matrix matrix_;  // of the vectors that are gathered or made, as rows
  bool gathered_ = false, by_columns_ = false;
  std::span<const std::int64_t> indices_;
  FillRows<float> fill_f32_;
  FillRows<double> fill_f64_;
};

// A B in the order in which the main loop reads it, kept for as many products as wanted. Copies share it.
class ENVOI_API Packed {
 public:
  // threads: 0 is the default (ENVOI_THREADS, else all processors).
  explicit Packed(const Operand& b, unsigned threads = 0);
  std::int64_t rows() const;
  std::int64_t columns() const;
  DType dtype() const;

  struct Data;
  explicit Packed(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

// The B of a product: one for all rows of A, or one for each group of consecutive rows.
class ENVOI_API Columns {
 public:
  Columns(const Packed& b) : parts_{b} {}
  Columns(const Operand& b) : whole_(b) {}  // packed in each product, by its threads
  Columns(const Matrix& b) : Columns(Operand(b)) {}
  // Group g is the next group_rows[g] rows of A, which may be 0, times parts[g]. All parts have the same shape and
  // type.
  static Columns grouped(std::vector<Packed> parts, std::vector<std::int64_t> group_rows);

  std::int64_t rows() const { return whole_ ? whole_->rows() : parts_.front().rows(); }
  std::int64_t columns() const { return whole_ ? whole_->columns() : parts_.front().columns(); }
  DType dtype() const { return whole_ ? whole_->dtype() : parts_.front().dtype(); }
  const std::optional<Operand>& whole() const { return whole_; }  // where there are no parts: not packed yet
  const std::vector<Packed>& parts() const { return parts_; }
  const std::vector<std::int64_t>& group_rows() const { return group_rows_; }  // empty: not grouped

 private:
  std::optional<Operand> whole_;
  std::vector<Packed> parts_;
  std::vector<std::int64_t> group_rows_;
};

}  // namespace envoi::gemm
