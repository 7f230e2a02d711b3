// The product itself, against double: shapes, types, layouts, edges.
#include <limits>

#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

template <class A, class B, class C>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k, int layout_a, int layout_b, int layout_c,
                   unsigned threads = 1) {
  SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " layouts " +
               std::to_string(layout_a) + std::to_string(layout_b) + std::to_string(layout_c));
  const Held<A> a = hold<A>(m, k, layout_a);
  const Held<B> b = hold<B>(k, n, layout_b);
  Held<C> c = hold<C>(m, n, layout_c, false);
  store(a.matrix, Matrix(b.matrix), c.writable(), threads);
  const Reference expected = reference<A, B>(a.matrix, b.matrix);
  constexpr bool wide = std::is_same_v<A, double>;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double rounding = std::is_same_v<C, bfloat16>        ? 0x1p-8 * std::abs(expected(i, j))
                              : std::is_same_v<C, float16>       ? 0x1p-11 * std::abs(expected(i, j)) + 0x1p-25
                              : wide && std::is_same_v<C, float> ? 0x1p-24 * std::abs(expected(i, j))
                                                                 : 0;
      ASSERT_NEAR(at<C>(c.matrix, i, j), expected(i, j), 1.01 * (expected.bound(i, j, wide) + rounding) + 1e-300)
          << i << ", " << j;
    }
  }
  // Nothing else is written.
  std::size_t left = 0;
  for (const C& value : c.values) left += std::isnan(number(value));
  ASSERT_EQ(left, c.values.size() - static_cast<std::size_t>(m * n));
}

template <class A, class B, class C>
void check_shapes() {
  for (const int n : {1, 2, 3, 4, 5, 7, 8, 63, 64, 65}) check_product<A, B, C>(draw(1, 70), n, draw(1, 40), 0, 0, 0);
  for (const int m : {1, 2, 3, 5, 6, 7, 11, 12, 13, 64, 65})
    check_product<A, B, C>(m, draw(1, 70), draw(1, 40), 0, 0, 0);
  for (int k = 0; k < 35; ++k) check_product<A, B, C>(draw(1, 9), draw(1, 9), k, 0, 0, 0);
  for (int i = 0; i < effort(30); ++i) {
    check_product<A, B, C>(draw(1, 300), draw(1, 300), draw(1, 300), draw(0, 5), draw(0, 5), draw(0, 5),
                           static_cast<unsigned>(draw(1, 3)));
  }
}

TEST(gemm_product, fp32_within_the_bound_of_double) { check_shapes<float, float, float>(); }
TEST(gemm_product, fp64_within_the_bound_of_double) { check_shapes<double, double, double>(); }
TEST(gemm_product, bf16_and_fp16_operands_are_exact_in_fp32) {
  check_shapes<bfloat16, bfloat16, float>();
  check_shapes<bfloat16, float, float>();
  check_shapes<float, bfloat16, float>();
  check_shapes<float16, float16, float>();
  check_shapes<float16, float, float>();
  check_shapes<bfloat16, float16, float>();
}
TEST(gemm_product, results_are_rounded_to_the_type_that_takes_them) {
  check_shapes<float, float, bfloat16>();
  check_shapes<float16, float16, float16>();
  check_shapes<double, double, float16>();
  check_shapes<float, float, double>();
  check_shapes<double, double, float>();
}

TEST(gemm_product, a_few_thousand_in_each_direction) {
  const std::int64_t few = effort(3000) + 1;
  check_product<float, float, float>(few, 5, 9, 0, 0, 0, 2);
  check_product<float, float, float>(5, few, 9, 0, 2, 0, 2);
  check_product<float, float, float>(6, 5, few, 0, 0, 0, 2);
  check_product<double, double, double>(few, 3, 33, 2, 1, 2, 2);
  check_product<bfloat16, bfloat16, float>(2, few, 65, 1, 0, 1, 2);
  check_product<float, float, float>(effort(500), effort(400), effort(700), 0, 0, 0, 2);
}

TEST(gemm_product, nothing_to_sum_is_zero_and_nothing_to_write_is_fine) {
  for (const int layout : {0, 2}) {
    check_product<float, float, float>(7, 5, 0, layout, 0, 0);
    check_product<float, float, float>(0, 5, 3, layout, 0, 0);
    check_product<float, float, float>(7, 0, 3, layout, 0, 0);
    check_product<double, double, double>(0, 0, 0, layout, 0, 0);
  }
}

TEST(gemm_product, nan_and_infinity_stay_in_their_rows_and_columns) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t m = draw(2, 90), n = draw(2, 90), k = draw(1, 70);
    std::vector<float> a(static_cast<std::size_t>(m * k), 1.0f), b(static_cast<std::size_t>(k * n), 1.0f);
    const std::int64_t row = draw(0, static_cast<int>(m) - 1), column = draw(0, static_cast<int>(n) - 1);
    a[static_cast<std::size_t>(row * k + draw(0, static_cast<int>(k) - 1))] = kInf;
    b[static_cast<std::size_t>(draw(0, static_cast<int>(k) - 1) * n + column)] = kNan;
    std::vector<float> c(static_cast<std::size_t>(m * n));
    store(Matrix(a.data(), m, k), Matrix(b.data(), k, n), MutableMatrix(c.data(), m, n));
    for (std::int64_t p = 0; p < m; ++p) {
      for (std::int64_t q = 0; q < n; ++q) {
        const float value = c[static_cast<std::size_t>(p * n + q)];
        if (q == column) {
          ASSERT_TRUE(std::isnan(value));
        } else {
          ASSERT_EQ(value, p == row ? kInf : static_cast<float>(k));
        }
      }
    }
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
