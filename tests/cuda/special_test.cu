// NaN, infinity, ties, nothing to sum and nothing to reduce.
#include <algorithm>
#include <cmath>
#include <limits>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class special_numbers : public OnGpu<testing::TestWithParam<EndingOfKind>> {
 protected:
  Ending ending = GetParam().first;
  Kind kind = GetParam().second;
  Prepared setup() const {
    Case about{kind, draw(20, 150), 2 * draw(10, 130), draw(10, 100)};
    about.b = draw(0, 1) == 0 ? Layout::packed : Layout::columns;
    return prepare(about);
  }
};

TEST_P(special_numbers, nan_goes_where_fp64_says) {
  for (int i = 0; i < 2; ++i) {
    Prepared s = setup();
    for (int p = 0; p < 3; ++p) poke(s.a, draw(0, s.about.m - 1), draw(0, s.about.k - 1), kNan);
    if (i == 1) poke(s.b, draw(0, s.about.k - 1), draw(0, s.about.n - 1), kNan);
    refer(s);
    expect_right(ending, s);
  }
}

// fp32 by three TF32 products splits its operands, of which infinity leaves infinity or NaN: see the test below.
class infinite_numbers : public special_numbers {};
TEST_P(infinite_numbers, go_where_fp64_says) {
  for (int i = 0; i < 3; ++i) {
    Prepared s = setup();
    for (int p = 0; p < 3; ++p) {
      poke(s.a, draw(0, s.about.m - 1), draw(0, s.about.k - 1), draw(0, 1) == 0 ? kInfinity : -kInfinity);
    }
    if (i > 0) poke(s.b, draw(0, s.about.k - 1), draw(0, s.about.n - 1), i == 1 ? kInfinity : -kInfinity);
    refer(s);
    expect_right(ending, s);
  }
}
INSTANTIATE_TEST_SUITE_P(Special, special_numbers,
                         testing::ValuesIn(all_offered({Kind::bf16, Kind::f16, Kind::f32, Kind::tf32})), name_of);
INSTANTIATE_TEST_SUITE_P(Special, infinite_numbers, testing::ValuesIn(all_offered({Kind::bf16, Kind::f16, Kind::tf32})),
                         name_of);

class special_of_kind : public OnGpu<testing::TestWithParam<Kind>> {
 protected:
  Kind kind = GetParam();
  Fp32 fp32 = fp32_of(GetParam());
  DType type = type_of(GetParam());
  bool has(Ending ending) const { return offered(ending, kind); }
  bool has_winners(Over over, By by) const {
    return has(over == Over::columns || by == By::magnitude ? Ending::argmax_columns : Ending::argmax_rows);
  }
};

TEST_P(special_of_kind, infinity_never_becomes_a_finite_number) {
  Prepared s = prepare({kind, 100, 120, 60});
  poke(s.a, 3, 5, kInfinity), poke(s.a, 77, 59, -kInfinity), poke(s.b, 8, 111, kInfinity);
  refer(s);
  expect_right(Ending::store, s);
}

TEST_P(special_of_kind, minus_infinity_everywhere) {
  // A is minus infinity, B 1: every sum is minus infinity. (fp32 by three products makes NaN, which is told.)
  const std::int64_t m = 70, n = 90, k = 20;
  const Held a = device_matrix(type, m, k, std::vector<float>(m * k, -kInfinity));
  const Held b = device_matrix(type, k, n, std::vector<float>(k * n, 1));
  if (has(Ending::cross_entropy)) {
    const Targets targets(std::vector<std::int64_t>(m, 0));
    const Held lse = hold(DType::f32, m, 1), target = hold(DType::f32, m, 1);
    run(cross_entropy(a.matrix, b.matrix, targets.data(), lse.writable(), target.writable(), fp32));
    for (const float x : take(lse, "lse")) EXPECT_EQ(x, -kInfinity);
    for (const float x : take(target, "target")) EXPECT_EQ(x, -kInfinity);
  }
  for (const Over over : {Over::columns, Over::rows}) {
    for (const By by : {By::value, By::magnitude}) {
      if (!has_winners(over, by)) continue;
      const std::int64_t slots = over == Over::columns ? m : n;
      const HeldWinners winners(slots, 3);
      run(top_k(a.matrix, b.matrix, over, by, 3, winners.data(), fp32));
      const std::vector<Winner> got = winners.take();
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (kind == Kind::f32 && got[i].index == kNanWinner) continue;
        EXPECT_EQ(got[i].index, static_cast<std::int64_t>(i % 3));
        EXPECT_EQ(got[i].value, -kInfinity);
      }
    }
  }
}

// Powers of two of large numbers lose their last digits, of which no infinity may come.
TEST_P(special_of_kind, log_sum_exp_of_large_numbers) {
  if (!has(Ending::cross_entropy)) GTEST_SKIP() << "not in fp32 by three products";
  const std::int64_t m = 9, n = 90;
  // Rows of A, which are multiplied by 65504, the end of fp16.
  std::vector<float> numbers = {1, -1, 0.7f, 60000, -60000, 50001, -43210, 12345, -999};
  if (type != DType::f16) numbers[1] = -1e5f, numbers[2] = 3e15f, numbers[3] = 4e33f, numbers[4] = -4e33f;
  const Held a = device_matrix(type, m, 1, numbers), b = device_matrix(type, 1, n, std::vector<float>(n, 65504));
  const Targets targets(std::vector<std::int64_t>(m, n - 1));
  const Held lse = hold(DType::f32, m, 1), target = hold(DType::f32, m, 1);
  run(cross_entropy(a.matrix, b.matrix, targets.data(), lse.writable(), target.writable(), fp32));
  const std::vector<float> sums = take(lse, "lse"), logits = take(target, "target");
  for (std::int64_t i = 0; i < m; ++i) {
    const double want = logits[i] + std::log(static_cast<double>(n));
    EXPECT_NEAR(sums[i], want, 1e-6 * std::abs(want) + 1e-5) << i;
  }
}

// A block goes through many small tiles of one step, so that a store may still be under way when the next one is due.
TEST_P(special_of_kind, many_tiles_of_few_rows) {
  for (const Ending ending : {Ending::store, Ending::residual_squares, Ending::residual_in_place}) {
    if (!has(ending)) continue;
    Case about{kind, 64, 40000, 40};
    about.operand_type = about.result_type = DType::bf16;
    const Prepared setup = prepare(about);
    for (int i = 0; i < 3; ++i) expect_right(ending, setup);
  }
}

// Equal columns (rows) tie to the bit, whichever tile they lie in; the lowest index wins.
TEST_P(special_of_kind, ties_go_to_the_lowest_index) {
  const std::int64_t m = 333, n = 1030, k = 64;
  std::vector<float> row(k), a_values(m * k, 0), b_values(k * n, 0);
  for (float& x : row) x = static_cast<float>(draw(-4, 4));
  row[0] = 3;
  // Row i of A is i % 3 + 1 times the same, column j of B is the same, but for a few columns that are half of it.
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t d = 0; d < k; ++d) a_values[i * k + d] = static_cast<float>(i % 3 + 1) * row[d];
  }
  const auto half = [](std::int64_t j) { return j < 5 || j % 7 == 0; };
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t d = 0; d < k; ++d) b_values[d * n + j] = half(j) ? row[d] / 2 : row[d];
  }
  const Held a = device_matrix(type, m, k, a_values), b = device_matrix(type, k, n, b_values);
  std::vector<std::int64_t> columns, rows;
  for (std::int64_t j = 0; j < n; ++j) {
    if (!half(j)) columns.push_back(j);
  }
  for (std::int64_t i = 2; i < m; i += 3) rows.push_back(i);
  for (const By by : {By::value, By::magnitude}) {
    for (const std::int64_t count : {1, 3, 8, 64}) {
      const HeldWinners across(m, count), down(n, count);
      run(top_k(a.matrix, b.matrix, Over::columns, by, count, across.data(), fp32));
      if (has_winners(Over::rows, by)) run(top_k(a.matrix, b.matrix, Over::rows, by, count, down.data(), fp32));
      const std::vector<Winner> best_columns = across.take(), best_rows = down.take();
      for (std::int64_t i = 0; i < m * count; ++i) {
        ASSERT_EQ(best_columns[i].index, columns[i % count]) << "row " << i / count << ", place " << i % count;
      }
      for (std::int64_t j = 0; j < n * count && has_winners(Over::rows, by); ++j) {
        ASSERT_EQ(best_rows[j].index, rows[j % count]) << "column " << j / count << ", place " << j % count;
      }
    }
    const HeldWinners across(m, 1), down(n, 1);
    run(argmax(a.matrix, b.matrix, Over::columns, by, across.data(), fp32));
    for (const Winner& w : across.take()) ASSERT_EQ(w.index, columns[0]);
    if (!has_winners(Over::rows, by)) continue;
    run(argmax(a.matrix, b.matrix, Over::rows, by, down.data(), fp32));
    for (const Winner& w : down.take()) ASSERT_EQ(w.index, rows[0]);
  }
}

// Zeros of both signs are equal, and a value keeps its sign where magnitudes are compared.
TEST_P(special_of_kind, magnitudes_keep_their_sign) {
  const std::int64_t n = 300;
  std::vector<float> values(n);
  for (std::int64_t j = 0; j < n; ++j) values[j] = j == 17 ? -9 : j == 250 ? 9 : j == 30 ? 8 : -0.0f;
  const Held a = device_matrix(type, 1, 1, {1}), b = device_matrix(type, 1, n, values);
  const HeldWinners winners(1, 8);
  run(top_k(a.matrix, b.matrix, Over::columns, By::magnitude, 8, winners.data(), fp32));
  const std::vector<Winner> got = winners.take();
  const std::int64_t wanted[] = {17, 250, 30, 0, 1, 2, 3, 4};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[i].index, wanted[i]) << i;
  EXPECT_EQ(got[0].value, -9);
  EXPECT_EQ(got[1].value, 9);
  run(top_k(a.matrix, b.matrix, Over::columns, By::value, 8, winners.data(), fp32));
  const std::int64_t by_value[] = {250, 30, 0, 1, 2, 3, 4, 5};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(winners.take()[i].index, by_value[i]) << i;
}

TEST_P(special_of_kind, more_winners_than_candidates) {
  for (const int ending : {int(Ending::top_columns), int(Ending::top_columns_magnitude), int(Ending::top_rows),
                           int(Ending::top_rows_magnitude), int(Ending::pair_energy)}) {
    for (int i = 0; i < 6 && has(static_cast<Ending>(ending)); ++i)
      expect_right(static_cast<Ending>(ending), prepare({kind, draw(1, 5), 2 * draw(1, 3), 9}));
  }
}

// Nothing to sum is 0, through every ending.
TEST_P(special_of_kind, a_depth_of_nothing) {
  for (int e = 0; e < kEndings; ++e) {
    if (!has(static_cast<Ending>(e))) continue;
    expect_right(static_cast<Ending>(e), prepare({kind, 37, 70, 0}));
    expect_right(static_cast<Ending>(e), prepare({kind, 200, 300, 0}));
  }
}

// A reduction over no columns (or rows) is written too.
TEST_P(special_of_kind, no_columns_and_no_rows) {
  const Prepared none = prepare({kind, 40, 0, 30}), no_rows = prepare({kind, 0, 40, 30});
  if (has(Ending::residual_squares)) {
    const Held sum = hold(DType::f32, 40, 0), residual = hold(DType::f32, 40, 0), squares = hold(DType::f32, 40, 1);
    run(residual_squares(none.a.matrix, none.b.matrix, residual.matrix, sum.writable(), squares.writable(), fp32));
    for (const float x : take(squares, "squares")) EXPECT_EQ(x, 0);
  }
  if (has(Ending::cross_entropy)) {
    const Targets targets(std::vector<std::int64_t>(40, 0));
    const Held lse = hold(DType::f32, 40, 1), target = hold(DType::f32, 40, 1);
    fill(target);
    run(cross_entropy(none.a.matrix, none.b.matrix, targets.data(), lse.writable(), target.writable(), fp32));
    for (const float x : take(lse, "lse")) EXPECT_EQ(x, -kInfinity);
    for (const float x : take(target, "target")) EXPECT_TRUE(std::isnan(x)) << x;
  }
  const HeldWinners across(40, 3), down(40, 3);
  run(top_k(none.a.matrix, none.b.matrix, Over::columns, By::magnitude, 3, across.data(), fp32));
  run(top_k(no_rows.a.matrix, no_rows.b.matrix, Over::rows, By::magnitude, 3, down.data(), fp32));
  for (const Winner& w : across.take()) EXPECT_TRUE(w.index == -1 && w.value == 0) << w.index;
  for (const Winner& w : down.take()) EXPECT_TRUE(w.index == -1 && w.value == 0) << w.index;
  run(store(none.a.matrix, none.b.matrix, hold(DType::f32, 40, 0).writable(), fp32));
  run(store(no_rows.a.matrix, no_rows.b.matrix, hold(DType::f32, 0, 40).writable(), fp32));
}

TEST_P(special_of_kind, a_target_that_is_no_column_gives_nan) {
  if (!has(Ending::cross_entropy)) GTEST_SKIP() << "not in fp32 by three products";
  const Prepared s = prepare({kind, 6, 50, 40});
  const Targets targets({0, 49, 50, -1, std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 32});
  const Held lse = hold(DType::f32, 6, 1), target = hold(DType::f32, 6, 1);
  fill(target);
  run(cross_entropy(s.a.matrix, s.b.matrix, targets.data(), lse.writable(), target.writable(), fp32));
  const std::vector<float> got = take(target, "target");
  EXPECT_NEAR(got[0], s.product(0, 0), s.product.bound(0, 0) + 1e-6);
  EXPECT_NEAR(got[1], s.product(1, 49), s.product.bound(1, 49) + 1e-6);
  for (int i = 2; i < 6; ++i) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
  for (const float x : take(lse, "lse")) EXPECT_TRUE(std::isfinite(x));
}
INSTANTIATE_TEST_SUITE_P(Special, special_of_kind, testing::ValuesIn(kKinds), kind_name);

}  // namespace
}  // namespace envoi::cuda::tests
