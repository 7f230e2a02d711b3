// fp16 as a type: its numbers, its rounding, and endings whose operands and results are of it.
#include <bit>
#include <cmath>
#include <limits>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

float16 of_bits(int bits) {
  float16 x;
  x.bits = static_cast<std::uint16_t>(bits);
  return x;
}

// What IEEE 754 says of a pattern without sign: 2^16 for the first that is no number.
double meaning(int bits) {
  const int exponent = bits >> 10, fraction = bits & 0x3FF;
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

TEST(gemm_float16, every_pattern_is_its_number_and_comes_back) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto wide = static_cast<float>(of_bits(bits));
    const int magnitude = bits & 0x7FFF;
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000);
    if (magnitude > 0x7C00) {
      ASSERT_TRUE(std::isnan(wide));
      ASSERT_EQ(float16(wide).bits, bits | 0x200);  // quiet
      continue;
    }
    ASSERT_EQ(std::abs(wide), magnitude == 0x7C00 ? std::numeric_limits<double>::infinity() : meaning(magnitude));
    ASSERT_EQ(float16(wide).bits, bits);
  }
}

// Between any two neighbours: below the middle down, above it up, the middle to the even one.
TEST(gemm_float16, rounds_to_the_nearest_and_ties_to_even) {
  for (int bits = 0; bits < 0x7C00; ++bits) {
    const auto middle = static_cast<float>((meaning(bits) + meaning(bits + 1)) / 2);
    ASSERT_EQ(middle, (meaning(bits) + meaning(bits + 1)) / 2);
    const float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, 1e30f);
    ASSERT_EQ(float16(below).bits, bits);
    ASSERT_EQ(float16(above).bits, bits + 1);
    ASSERT_EQ(float16(middle).bits, (bits + 1) / 2 * 2);
    ASSERT_EQ(float16(-below).bits, bits | 0x8000);
    ASSERT_EQ(float16(-above).bits, (bits + 1) | 0x8000);
    ASSERT_EQ(float16(-middle).bits, (bits + 1) / 2 * 2 | 0x8000);
  }
}

TEST(gemm_float16, what_lies_outside) {
  for (const float x : {65520.0f, 65536.0f, 1e30f, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(float16(x).bits, 0x7C00);
    EXPECT_EQ(float16(-x).bits, 0xFC00);
  }
  EXPECT_EQ(float16(65519.99f).bits, 0x7BFF);
  EXPECT_EQ(float16(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(float16(-0.0f).bits, 0x8000);
  for (const std::uint32_t bits : {0x7F800001u, 0x7FC00000u, 0xFF800001u, 0xFFFFFFFFu}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(float16(std::bit_cast<float>(bits)))));
  }
}

TEST(gemm_float16, a_larger_number_is_never_rounded_to_a_smaller_one) {
  for (int i = 0; i < effort(20000); ++i) {
    const auto bits = static_cast<std::uint32_t>(generator()() % 0x7F800000u);
    const auto x = std::bit_cast<float>(bits), y = std::bit_cast<float>(bits + 1 + static_cast<std::uint32_t>(i));
    ASSERT_LE(float16(x).bits, float16(y).bits) << x << " " << y;
  }
}

struct Scaled {
  template <class V>
  struct In {
    Scalar<V> factor;
    Row<V> bias;
    Column<V> scale;
    Tile<V> residual;
    HalfTile<V> cosine;
  };
  template <class V>
  struct Out {
    Store<V> product;
    StoreHalf<V> half;
    SumN<V> sums;
    SumM<V> column_sums;
    LseN<V> lse;
    SelectN<V> chosen;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = (acc * in.factor + in.bias) * in.scale + in.residual * in.cosine;
    return {x, x.odd, x, x, x, x};
  }
};

// Operands and results of type T for the same numbers; results rounded to fp16.
template <class T>
std::vector<std::uint16_t> scaled(const std::vector<float16>& numbers, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<T> values;
  for (const float16 x : numbers) values.push_back(static_cast<T>(static_cast<float>(x)));
  const T* next = values.data();
  const auto take = [&](std::int64_t rows, std::int64_t columns) {
    const Matrix matrix(next, rows, columns);
    next += rows * columns;
    return matrix;
  };
  const Matrix a = take(m, k), b = take(k, n), factor = take(1, 1), bias = take(1, n), scale = take(m, 1),
               residual = take(m, n), cosine = take(m, n / 2);
  std::vector<T> results(static_cast<std::size_t>(m * n + m * n / 2 + 3 * m + n), poison<T>());
  T* to = results.data();
  const auto give = [&](std::int64_t rows, std::int64_t columns) {
    const MutableMatrix matrix(to, rows, columns);
    to += rows * columns;
    return matrix;
  };
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < m; ++i) targets.push_back(i * 7 % n);
  const MutableMatrix product = give(m, n), half = give(m, n / 2), sums = give(m, 1), lse = give(m, 1),
                      chosen = give(m, 1), column_sums = give(1, n);
  run_ending(a, b, Scaled{}, {.factor = factor, .bias = bias, .scale = scale, .residual = residual, .cosine = cosine},
             {.product = product,
              .half = half,
              .sums = sums,
              .column_sums = column_sums,
              .lse = lse,
              .chosen = {chosen, targets}},
             2);
  std::vector<std::uint16_t> bits;
  for (const T x : results) bits.push_back(float16(static_cast<float>(x)).bits);
  return bits;
}

TEST(gemm_float16, operands_and_results_of_endings_are_those_of_fp32_rounded_once) {
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t m = draw(1, 150), n = 2 * draw(1, 75), k = draw(0, 60);
    const std::vector<float16> numbers = noise<float16>(m * k + k * n + 1 + n + m + m * n + m * n / 2);
    ASSERT_EQ(scaled<float16>(numbers, m, n, k), scaled<float>(numbers, m, n, k));
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
