// Random products, their references and tolerances, for tests of the endings of the menu: as the library compiled them
// and as a user compiles the same files.
#pragma once

#include <algorithm>
#include <limits>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm {
#include "gemm/endings/all.inl"
}

namespace envoi::gemm::tests {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
inline constexpr double kEps = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

// One random product: types T, a reference, and somewhere poisoned for the results.
template <class T>
struct Case {
  explicit Case(bool even) {
    rows = draw(1, 150), columns = even ? 2 * draw(1, 75) : draw(1, 150), depth = draw(0, 70);
    a = hold<T>(rows, depth, draw(0, 5)), b = hold<T>(depth, columns, draw(0, 5));
    expected = reference<T, T>(a.matrix, b.matrix);
    layout = draw(0, 5);
    threads = static_cast<unsigned>(draw(1, 3));
  }
  Held<T> empty(std::int64_t r, std::int64_t c) const { return hold<T>(r, c, layout, false); }
  double error(std::int64_t m, std::int64_t n) const {
    return expected.bound(m, n, std::is_same_v<T, double>) + kEps<T> * std::abs(expected(m, n));
  }

  std::int64_t rows, columns, depth;
  Held<T> a, b;
  Reference expected;
  int layout;
  unsigned threads;
};

// wanted(i, j) and its tolerance for every element, and nothing written elsewhere.
template <class T, class Wanted, class Tolerance>
void expect_near(const Held<T>& held, Wanted wanted, Tolerance tolerance) {
  const Matrix& c = held.matrix;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      ASSERT_NEAR(at<T>(c, i, j), wanted(i, j), 1.01 * tolerance(i, j) + 1e-300) << i << ", " << j;
    }
  }
  std::size_t left = 0;
  for (const T& value : held.values) left += std::isnan(number(value));
  ASSERT_EQ(left, held.values.size() - static_cast<std::size_t>(c.rows * c.columns));
}

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu_of(double x) { return x * sigmoid_of(x); }
inline double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

// Both functions have slopes below 1.2; computed in some twenty roundings of numbers no larger than x and 1, the inner
// one of gelu magnified by the exponential's argument.
template <class T>
double curve_error(double x, double error) {
  return 1.2 * error + 40 * kEps<T> * (std::abs(x) + 1) + 4 * kEps<T> * std::abs(x) * std::min(x * x + 4, 100.0);
}

template <class T>
class Endings : public testing::Test {
 protected:
  // The library's ending and the user's, in turn.
  template <class Library, class Own>
  void twice(Library library, Own own) {
    for (int i = 0; i < effort(24); ++i) {
      SCOPED_TRACE(i % 2 ? "own" : "library");
      if (i % 2) {
        own();
      } else {
        library();
      }
      if (this->HasFatalFailure()) return;
    }
  }
};
using EndingTypes = testing::Types<float, double>;

}  // namespace envoi::gemm::tests
