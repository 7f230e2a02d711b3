// The rows of A or the columns of B as the vectors of `depth` numbers whose products are summed.
#pragma once

#include <string>

#include "envoi/operand.hpp"

namespace envoi::gemm {

class Vectors {
 public:
  // The rows of A, or the columns of B. Throws Error (bad_argument) for what cannot be one.
  static Vectors rows_of(const Operand& a) { return Vectors(a, false); }
  static Vectors columns_of(const Operand& b) { return Vectors(b, true); }

  std::int64_t count() const { return count_; }
  std::int64_t depth() const { return matrix_.columns; }
  DType dtype() const { return matrix_.dtype; }
  bool made() const { return operand_->fill_f32_ || operand_->fill_f64_; }
  // Numbers of a vector lie one after another, and can be read where they are. fp16 never is: copies of it are fp32.
  bool in_place() const {
    return !made() && dtype() != DType::f16 && (matrix_.column_stride == 1 || matrix_.columns <= 1);
  }
  const Matrix& matrix() const { return matrix_; }  // of what is stored

  template <class T>
  const T* where(std::int64_t i) const {  // of one in place
    return static_cast<const T*>(matrix_.data) + source(i) * matrix_.row_stride;
  }
  // Copies or makes vectors [first, first + count), `stride` numbers apart. T is the type of the matrix, float for
  // fp16.
  template <class T>
  void copy(std::int64_t first, std::int64_t count, T* to, std::int64_t stride) const;

 private:
  Vectors(const Operand& operand, bool as_columns);
  template <class Stored, class T>
  void copy_stored(std::int64_t first, std::int64_t count, T* to, std::int64_t stride) const;
  std::int64_t source(std::int64_t i) const {
    return operand_->gathered_ ? operand_->indices_[static_cast<std::size_t>(i)] : i;
  }

  const Operand* operand_;
  Matrix matrix_;
  std::int64_t count_ = 0;
};

// Throws Error (bad_argument) if the matrix cannot be addressed; `name` says which it is.
void check_matrix(const Matrix& matrix, const std::string& name);

}  // namespace envoi::gemm
