// Random operands and the plain product in double that results are held against.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "effort.hpp"
#include "envoi/gemm.hpp"

namespace envoi::gemm::tests {

using envoi::tests::effort;

// Fresh numbers each run; ENVOI_SEED repeats one.
inline std::mt19937_64& generator() {
  static std::mt19937_64 random = [] {
    const char* text = std::getenv("ENVOI_SEED");
    const std::uint64_t seed = text ? std::strtoull(text, nullptr, 10) : std::random_device{}();
    std::cout << "ENVOI_SEED=" << seed << "\n";
    return std::mt19937_64(seed);
  }();
  return random;
}
inline int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator()); }

template <class T>
std::vector<T> noise(std::int64_t count) {
  std::normal_distribution<double> normal;
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(normal(generator()))));
  return values;
}

template <class T>
double number(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}
template <class T>
double at(const Matrix& m, std::int64_t i, std::int64_t j) {
  return number(static_cast<const T*>(m.data)[i * m.row_stride + j * m.column_stride]);
}

// A B in double, and for each element what its error is proportional to: sum |a| |b|.
struct Reference {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::vector<double> value, magnitude;
  double operator()(std::int64_t m, std::int64_t n) const { return value[static_cast<std::size_t>(m * columns + n)]; }
  // The sum of K products in lanes and their tree is off by at most (K + 8) eps sum |a| |b|; typically far less.
  double bound(std::int64_t m, std::int64_t n, bool in_double) const {
    const double eps = in_double ? 0x1p-53 : 0x1p-24;
    return static_cast<double>(depth + 8) * eps * magnitude[static_cast<std::size_t>(m * columns + n)];
  }
};

template <class A, class B>
Reference reference(const Matrix& a, const Matrix& b) {
  Reference r{a.rows, b.columns, a.columns, {}, {}};
  r.value.resize(static_cast<std::size_t>(r.rows * r.columns));
  r.magnitude = r.value;
  std::vector<double> column(static_cast<std::size_t>(r.depth));
  for (std::int64_t n = 0; n < r.columns; ++n) {
    for (std::int64_t k = 0; k < r.depth; ++k) column[static_cast<std::size_t>(k)] = at<B>(b, k, n);
    for (std::int64_t m = 0; m < r.rows; ++m) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < r.depth; ++k) {
        const double product = at<A>(a, m, k) * column[static_cast<std::size_t>(k)];
        sum += product, size += std::abs(product);
      }
      r.value[static_cast<std::size_t>(m * r.columns + n)] = sum;
      r.magnitude[static_cast<std::size_t>(m * r.columns + n)] = size;
    }
  }
  return r;
}

// A matrix of random numbers with some order of elements and poison between them.
template <class T>
struct Held {
  std::vector<T> values;
  Matrix matrix;
  MutableMatrix writable() {
    MutableMatrix m;
    static_cast<Matrix&>(m) = matrix;
    return m;
  }
};
template <class T>
T poison() {
  return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
}
// layout 0: rows; 1: rows with a gap; 2: columns; 3: columns with a gap; 4: every third element; 5: backwards.
template <class T>
Held<T> hold(std::int64_t rows, std::int64_t columns, int layout, bool filled = true) {
  Held<T> held;
  const std::int64_t gap = layout == 1 || layout == 3 ? 3 : 0, step = layout == 4 ? 3 : 1;
  const bool by_columns = layout == 2 || layout == 3;
  const std::int64_t inner = by_columns ? rows : columns, outer = by_columns ? columns : rows;
  const std::int64_t stride = inner * step + gap, size = outer * stride + 5;
  held.values.assign(static_cast<std::size_t>(size), poison<T>());
  std::int64_t row_stride = by_columns ? step : stride, column_stride = by_columns ? stride : step;
  T* first = held.values.data();
  if (layout == 5) {
    first += rows > 0 && columns > 0 ? (rows - 1) * row_stride + (columns - 1) * column_stride : 0;
    row_stride = -row_stride, column_stride = -column_stride;
  }
  held.matrix = Matrix(first, rows, columns, row_stride, column_stride);
  if (filled) {
    const std::vector<T> drawn = noise<T>(rows * columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        first[i * row_stride + j * column_stride] = drawn[static_cast<std::size_t>(i * columns + j)];
      }
    }
  }
  return held;
}

}  // namespace envoi::gemm::tests
