// Operand sources and their checks.
#include "gemm/vectors.hpp"

#include <cstring>

namespace envoi::gemm {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

std::string shape(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

}  // namespace

void check_matrix(const Matrix& matrix, const std::string& name) {
  if (matrix.rows < 0 || matrix.columns < 0) {
    refuse(name + " is " + shape(matrix.rows, matrix.columns) + "; sizes must not be negative");
  }
  if (matrix.rows == 0 || matrix.columns == 0) return;
  if (!matrix.data) refuse(name + " is " + shape(matrix.rows, matrix.columns) + " and has no data (null)");
  std::int64_t down = 0, along = 0, last = 0, bytes = 0;
  if (__builtin_mul_overflow(matrix.rows - 1, matrix.row_stride, &down) ||
      __builtin_mul_overflow(matrix.columns - 1, matrix.column_stride, &along) ||
      __builtin_add_overflow(down, along, &last) || __builtin_mul_overflow(last, std::int64_t{8}, &bytes)) {
    refuse(name + " is " + shape(matrix.rows, matrix.columns) + ", which with these strides no address space holds");
  }
}

Operand Operand::gathered(const Matrix& matrix, std::span<const std::int64_t> indices) {
  check_matrix(matrix, "the gathered matrix");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= matrix.rows) {
      refuse("gathered row " + std::to_string(i) + " is row " + std::to_string(indices[i]) + " of a matrix of " +
             std::to_string(matrix.rows) + " rows");
    }
  }
  Operand operand(matrix);
  operand.gathered_ = true;
  operand.indices_ = indices;
  return operand;
}

namespace {
template <class T>
Matrix unstored(std::int64_t rows, std::int64_t depth, bool callable) {
  if (rows < 0 || depth < 0) refuse("synthesised rows: " + shape(rows, depth) + "; sizes must not be negative");
  if (!callable) refuse("synthesised rows need a function that makes them");
  return Matrix(static_cast<const T*>(nullptr), rows, depth);
}
}  // namespace

Operand Operand::synthesised(std::int64_t rows, std::int64_t depth, FillRows<float> fill) {
  Operand operand(unstored<float>(rows, depth, static_cast<bool>(fill)));
  operand.fill_f32_ = std::move(fill);
  return operand;
}

Operand Operand::synthesised(std::int64_t rows, std::int64_t depth, FillRows<double> fill) {
  Operand operand(unstored<double>(rows, depth, static_cast<bool>(fill)));
  operand.fill_f64_ = std::move(fill);
  return operand;
}

Operand Operand::transposed() const {
  Operand other = *this;
  other.by_columns_ = !by_columns_;
  return other;
}

Vectors::Vectors(const Operand& operand, bool as_columns) : operand_(&operand), matrix_(operand.matrix_) {
  const std::string name = as_columns ? "B" : "A";
  if (operand.by_columns_ != as_columns) {
    if (operand.gathered_ || made()) {
      refuse(name + " would be gathered or made across the depth of the product; give " +
             (as_columns ? "its transpose" : "the rows themselves"));
    }
    matrix_ = matrix_.transposed();
  }
  count_ = operand.gathered_ ? static_cast<std::int64_t>(operand.indices_.size()) : matrix_.rows;
  if (made()) return;
  check_matrix(matrix_, name);
}

template <class Stored, class T>
void Vectors::copy_stored(std::int64_t first, std::int64_t count, T* to, std::int64_t stride) const {
  const std::int64_t depth = matrix_.columns;
  // What lies one after another at once, else in blocks that use whole cache lines.
  const std::int64_t block = operand_->gathered_ || matrix_.column_stride == 1 ? depth : 32;
  for (std::int64_t k0 = 0; k0 < depth; k0 += block) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Stored* from = where<Stored>(first + i);
      const std::int64_t end = std::min(k0 + block, depth);
      for (std::int64_t k = k0; k < end; ++k) to[i * stride + k] = static_cast<T>(from[k * matrix_.column_stride]);
    }
  }
}

template <class T>
void Vectors::copy(std::int64_t first, std::int64_t count, T* to, std::int64_t stride) const {
  const std::int64_t depth = matrix_.columns;
  if (made()) {
    if constexpr (!std::is_same_v<T, bfloat16>) {
      const auto fill = [&](std::int64_t from, std::int64_t rows, T* out) {
        if constexpr (std::is_same_v<T, float>) {
          operand_->fill_f32_(from, rows, out);
        } else {
          operand_->fill_f64_(from, rows, out);
        }
      };
      if (stride == depth) return fill(first, count, to);
      for (std::int64_t i = 0; i < count; ++i) fill(first + i, 1, to + i * stride);
    }
    return;
  }
  if (depth == 0) return;
  if (in_place()) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * stride, where<T>(first + i), static_cast<std::size_t>(depth) * sizeof(T));
    }
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (dtype() == DType::f16) return copy_stored<float16>(first, count, to, stride);
  }
  copy_stored<T>(first, count, to, stride);
}
template void Vectors::copy(std::int64_t, std::int64_t, float*, std::int64_t) const;
template void Vectors::copy(std::int64_t, std::int64_t, double*, std::int64_t) const;
template void Vectors::copy(std::int64_t, std::int64_t, bfloat16*, std::int64_t) const;

Columns Columns::grouped(std::vector<Packed> parts, std::vector<std::int64_t> group_rows) {
  if (parts.empty()) refuse("a grouped product needs at least one group");
  if (parts.size() != group_rows.size()) {
    refuse("a grouped product has " + std::to_string(parts.size()) + " B and " + std::to_string(group_rows.size()) +
           " group sizes; there must be as many");
  }
  for (std::size_t g = 0; g < parts.size(); ++g) {
    if (group_rows[g] < 0) refuse("group " + std::to_string(g) + " has " + std::to_string(group_rows[g]) + " rows");
    if (parts[g].rows() != parts[0].rows() || parts[g].columns() != parts[0].columns() ||
        parts[g].dtype() != parts[0].dtype()) {
      refuse("the B of group " + std::to_string(g) + " is " + shape(parts[g].rows(), parts[g].columns()) +
             ", that of group 0 " + shape(parts[0].rows(), parts[0].columns()) + "; they must be alike, in type too");
    }
  }
  Columns columns(parts[0]);
  columns.parts_ = std::move(parts);
  columns.group_rows_ = std::move(group_rows);
  return columns;
}

}  // namespace envoi::gemm
