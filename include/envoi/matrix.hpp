// Matrices that someone else holds: where the numbers of a product come from and go to.
#pragma once

#include <bit>
#include <cstdint>

#include "envoi/error.hpp"
#include "envoi/export.hpp"

namespace envoi::gemm {

// The upper half of a float. Rounded to the nearest, ties to even; NaN stays NaN.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const bool nan = (wide & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<std::uint16_t>(nan ? (wide >> 16) | 0x40u : (wide + 0x7FFFu + ((wide >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

enum class DType { f32, f64, bf16 };

template <class T>
inline constexpr DType dtype_of = T::unknown_type;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::bf16;

// Element (i, j) is at data[i * row_stride + j * column_stride]; strides count elements, may be 0 or negative, and rows
// may overlap (in what is read only). Rows x columns stored by columns: Matrix(data, rows, columns, 1, rows).
struct Matrix {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;

  Matrix() = default;
  template <class T>
  Matrix(const T* values, std::int64_t row_count, std::int64_t column_count)
      : Matrix(values, row_count, column_count, column_count, 1) {}
  template <class T>
  Matrix(const T* values, std::int64_t row_count, std::int64_t column_count, std::int64_t stride_of_rows,
         std::int64_t stride_of_columns = 1)
      : data(values),
        dtype(dtype_of<T>),
        rows(row_count),
        columns(column_count),
        row_stride(stride_of_rows),
        column_stride(stride_of_columns) {}

  Matrix transposed() const {
    Matrix t = *this;
    t.rows = columns, t.columns = rows, t.row_stride = column_stride, t.column_stride = row_stride;
    return t;
  }
};

// The same, to be written.
struct MutableMatrix : Matrix {
  MutableMatrix() = default;
  template <class T>
  MutableMatrix(T* values, std::int64_t row_count, std::int64_t column_count)
      : Matrix(values, row_count, column_count) {}
  template <class T>
  MutableMatrix(T* values, std::int64_t row_count, std::int64_t column_count, std::int64_t stride_of_rows,
                std::int64_t stride_of_columns = 1)
      : Matrix(values, row_count, column_count, stride_of_rows, stride_of_columns) {}
};

}  // namespace envoi::gemm
