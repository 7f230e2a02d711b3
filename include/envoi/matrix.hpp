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

// IEEE binary16. Rounded to the nearest, ties to even; what is too large becomes infinity, NaN stays NaN.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit float16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (wide >> 16) & 0x8000u, magnitude = wide & 0x7FFFFFFFu;
    std::uint32_t narrow = 0x7C00u;  // infinity
    if (magnitude > 0x7F800000u) {
      narrow = 0x7E00u | ((magnitude >> 13) & 0x1FFu);
    } else if (magnitude < 0x38800000u) {  // below 2^-14: multiples of 2^-24, which is the last place of 0.5
      narrow = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
    } else if (magnitude < 0x47800000u) {  // below 2^16; the carry of what rounds up to it makes infinity
      narrow = (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | narrow);
  }
  explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
    std::uint32_t wide = (magnitude << 13) + 0x38000000u;
    if (magnitude >= 0x7C00u) {
      wide = (magnitude << 13) | 0x7F800000u;
    } else if (magnitude < 0x0400u) {
      wide = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    }
    return std::bit_cast<float>(sign | wide);
  }
};

enum class DType { f32, f64, bf16, f16 };

template <class T>
inline constexpr DType dtype_of = T::unknown_type;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<float16> = DType::f16;

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
