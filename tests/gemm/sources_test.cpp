// Operand sources: whatever A and B are made from, the same numbers give the same bits.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

template <class T>
std::vector<float> product(const Operand& a, const Columns& b, unsigned threads = 1) {
  std::vector<T> c(static_cast<std::size_t>(a.rows() * b.columns()), poison<T>());
  store(a, b, MutableMatrix(c.data(), a.rows(), b.columns()), threads);
  return {c.begin(), c.end()};
}

TEST(gemm_sources, strides_change_no_bit) {
  for (int i = 0; i < effort(60); ++i) {
    const std::int64_t m = draw(1, 150), n = draw(1, 150), k = draw(0, 90);
    const Held<float> a = hold<float>(m, k, 0), b = hold<float>(k, n, 0);
    const std::vector<float> wanted = product<float>(a.matrix, b.matrix);
    Held<float> other_a = hold<float>(m, k, draw(1, 5), false), other_b = hold<float>(k, n, draw(1, 5), false);
    const auto copy = [](const Matrix& from, const Matrix& to) {
      for (std::int64_t r = 0; r < from.rows; ++r) {
        for (std::int64_t c = 0; c < from.columns; ++c) {
          const_cast<float*>(static_cast<const float*>(to.data))[r * to.row_stride + c * to.column_stride] =
              static_cast<const float*>(from.data)[r * from.row_stride + c * from.column_stride];
        }
      }
    };
    copy(a.matrix, other_a.matrix), copy(b.matrix, other_b.matrix);
    ASSERT_EQ(product<float>(other_a.matrix, b.matrix), wanted);
    ASSERT_EQ(product<float>(a.matrix, other_b.matrix), wanted);
    ASSERT_EQ(product<float>(other_a.matrix, Packed(other_b.matrix), 3), wanted);
  }
}

TEST(gemm_sources, one_row_may_be_all_rows) {
  const std::vector<float> a = noise<float>(20), b = noise<float>(20 * 9);
  const std::vector<float> c = product<float>(Matrix(a.data(), 70, 20, 0), Matrix(b.data(), 20, 9));
  const std::vector<float> one = product<float>(Matrix(a.data(), 1, 20), Matrix(b.data(), 20, 9));
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], one[i % 9]);
}

TEST(gemm_sources, shifts_of_a_signal_are_its_windows) {
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t size = draw(1, 900), length = draw(1, 100), hop = draw(1, 70), n = draw(1, 20);
    const std::vector<float> signal = noise<float>(size), filters = noise<float>(length * n);
    const Operand windows = Operand::shifts(std::span<const float>(signal), length, hop);
    const std::int64_t count = size < length ? 0 : (size - length) / hop + 1;
    ASSERT_EQ(windows.rows(), count);
    std::vector<float> copied;
    for (std::int64_t w = 0; w < count; ++w) {
      copied.insert(copied.end(), signal.begin() + w * hop, signal.begin() + w * hop + length);
    }
    const Matrix as_rows(copied.data(), count, length), right(filters.data(), length, n);
    ASSERT_EQ(product<float>(windows, right, 2), product<float>(as_rows, right));
    const Matrix left = right.transposed();  // and as the columns of B
    ASSERT_EQ(product<float>(left, windows.transposed()), product<float>(left, as_rows.transposed()));
  }
}

template <class T>
void check_gathered() {
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t rows = draw(1, 100), m = draw(0, 150), k = draw(0, 60), n = draw(1, 70);
    const Held<T> table = hold<T>(rows, k, draw(0, 5)), b = hold<T>(k, n, draw(0, 5));
    std::vector<std::int64_t> indices;
    for (std::int64_t r = 0; r < m; ++r) indices.push_back(draw(0, static_cast<int>(rows) - 1));
    const std::vector<float> all = product<float>(table.matrix, b.matrix);
    const std::vector<float> some = product<float>(Operand::gathered(table.matrix, indices), b.matrix, 2);
    const Matrix left = b.matrix.transposed();
    const std::vector<float> across = product<float>(left, Operand::gathered(table.matrix, indices).transposed());
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t j = 0; j < n; ++j) {
        const float wanted = all[static_cast<std::size_t>(indices[static_cast<std::size_t>(r)] * n + j)];
        ASSERT_EQ(some[static_cast<std::size_t>(r * n + j)], wanted);
        ASSERT_EQ(across[static_cast<std::size_t>(j * m + r)], wanted);
      }
    }
  }
}
TEST(gemm_sources, gathered_rows_are_the_rows_they_name) {
  check_gathered<float>();
  check_gathered<bfloat16>();
  check_gathered<float16>();
}

template <class T>
void check_synthesised() {
  for (int i = 0; i < effort(30); ++i) {
    const std::int64_t m = draw(0, 200), k = draw(0, 60), n = draw(1, 70);
    const auto value = [](std::int64_t row, std::int64_t sample) {
      return static_cast<T>(static_cast<float>(std::sin(0.37 * static_cast<double>(row * 61 + sample))));
    };
    std::vector<T> stored;
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t s = 0; s < k; ++s) stored.push_back(value(row, s));
    }
    std::atomic<std::int64_t> made{0};
    const FillRows<T> fill = [&](std::int64_t first, std::int64_t count, T* rows) {
      made += count;
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t s = 0; s < k; ++s) rows[r * k + s] = value(first + r, s);
      }
    };
    const Held<T> b = hold<T>(k, n, 0);
    const Operand atoms = Operand::synthesised(m, k, fill);
    const Matrix kept(stored.data(), m, k);
    ASSERT_EQ(product<T>(atoms, b.matrix), product<T>(kept, b.matrix));
    ASSERT_EQ(made, m);  // each once
    const Matrix left = b.matrix.transposed();
    ASSERT_EQ(product<T>(left, atoms.transposed(), 2), product<T>(left, kept.transposed()));
  }
}
TEST(gemm_sources, synthesised_rows_are_as_if_stored) {
  check_synthesised<float>();
  check_synthesised<double>();
}

TEST(gemm_sources, what_a_synthesiser_throws_comes_out) {
  const FillRows<float> fill = [](std::int64_t, std::int64_t, float*) { throw Error(ErrorKind::cancelled, "enough"); };
  const std::vector<float> b(100);
  std::vector<float> c(5000);
  EXPECT_THROW(
      store(Operand::synthesised(500, 10, fill), Matrix(b.data(), 10, 10), MutableMatrix(c.data(), 500, 10), 2), Error);
}

// The same numbers in fp32, row after row.
template <class T>
std::vector<float> widened(const Matrix& m) {
  std::vector<float> wide;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) wide.push_back(static_cast<float>(at<T>(m, i, j)));
  }
  return wide;
}
template <class A, class B>
void check_narrow() {
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t m = draw(1, 200), n = draw(1, 200), k = draw(0, 90);
    const Held<A> a = hold<A>(m, k, draw(0, 5));
    const Held<B> b = hold<B>(k, n, draw(0, 5));
    const std::vector<float> wide_a = widened<A>(a.matrix), wide_b = widened<B>(b.matrix);
    const Matrix wa(wide_a.data(), m, k), wb(wide_b.data(), k, n);
    const std::vector<float> wanted = product<float>(wa, wb);
    const auto threads = static_cast<unsigned>(draw(1, 3));
    ASSERT_EQ(product<float>(a.matrix, b.matrix, threads), wanted);
    ASSERT_EQ(product<float>(a.matrix, wb, threads), wanted);
    ASSERT_EQ(product<float>(wa, b.matrix, threads), wanted);
    ASSERT_EQ(product<float>(a.matrix, Packed(b.matrix)), wanted);
    ASSERT_EQ(Packed(b.matrix).dtype(), dtype_of<B>);
  }
}
TEST(gemm_sources, bf16_and_fp16_give_the_bits_of_the_same_numbers_in_fp32) {
  check_narrow<bfloat16, bfloat16>();
  check_narrow<float16, float16>();
  check_narrow<bfloat16, float16>();
  check_narrow<float16, bfloat16>();
}

TEST(gemm_sources, shifts_and_groups_of_fp16_are_those_of_fp32) {
  const std::int64_t length = 37, hop = 5, n = 70, k = length;
  const std::vector<float16> signal = noise<float16>(900), filters = noise<float16>(2 * k * n);
  const std::vector<float> wide = widened<float16>(Matrix(signal.data(), 1, 900));
  const std::vector<float> wide_filters = widened<float16>(Matrix(filters.data(), 2 * k, n));
  const auto both = [&](const auto& of_a, const auto& of_b) {
    const Operand a = Operand::shifts(std::span(of_a), length, hop);
    const std::vector<Packed> parts{Packed(Matrix(of_b.data(), k, n)), Packed(Matrix(of_b.data() + k * n, k, n))};
    return product<float>(a, Columns::grouped(parts, {100, a.rows() - 100}), 2);
  };
  EXPECT_EQ(both(signal, filters), both(wide, wide_filters));
}

TEST(gemm_sources, groups_have_a_b_each_and_may_be_empty) {
  for (int i = 0; i < effort(60); ++i) {
    const std::int64_t k = draw(0, 50), n = draw(1, 100);
    const int groups = draw(1, 6);
    std::vector<std::int64_t> sizes;
    std::vector<std::vector<float>> weights;
    std::vector<Packed> parts;
    for (int g = 0; g < groups; ++g) {
      sizes.push_back(draw(0, 2) == 0 ? 0 : draw(1, 150));
      weights.push_back(noise<float>(k * n));
      parts.emplace_back(Matrix(weights.back().data(), k, n));
    }
    const std::int64_t m = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const std::vector<float> a = noise<float>(m * k), scale = noise<float>(m);
    std::vector<float> wanted(static_cast<std::size_t>(m * n)), c = wanted;
    for (std::int64_t g = 0, row = 0; g < groups; row += sizes[static_cast<std::size_t>(g++)]) {
      const auto group = static_cast<std::size_t>(g);
      row_scale(Matrix(a.data() + row * k, sizes[group], k), Matrix(weights[group].data(), k, n),
                Matrix(scale.data() + row, sizes[group], 1, 1),
                MutableMatrix(wanted.data() + row * n, sizes[group], n));
    }
    // The ending sees rows of the whole product.
    row_scale(Matrix(a.data(), m, k), Columns::grouped(parts, sizes), Matrix(scale.data(), m, 1, 1),
              MutableMatrix(c.data(), m, n), static_cast<unsigned>(draw(1, 3)));
    ASSERT_EQ(c, wanted);
  }
}

// A B that is packed for one product is packed by the threads of that product.
TEST(gemm_sources, one_thread_packs_where_one_is_asked_for) {
  const std::int64_t depth = 500, columns = 4096;
  std::atomic<int> elsewhere = 0;
  const std::thread::id here = std::this_thread::get_id();
  const Operand b =
      Operand::synthesised(columns, depth, FillRows<float>([&](std::int64_t, std::int64_t count, float* to) {
                             if (std::this_thread::get_id() != here) ++elsewhere;
                             std::fill(to, to + count * depth, 1.0f);
                           }))
          .transposed();
  const std::vector<float> a(static_cast<std::size_t>(depth), 1.0f);
  std::vector<float> c(static_cast<std::size_t>(columns));
  store(Matrix(a.data(), 1, depth), b, MutableMatrix(c.data(), 1, columns), 1);
  EXPECT_EQ(c, std::vector<float>(c.size(), 500.0f));
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace
}  // namespace envoi::gemm::tests
