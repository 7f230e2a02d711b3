// Every ending of the menu against double; the gates in gates_test.cpp.
#include "ending_cases.hpp"

namespace envoi::gemm::tests {
namespace {

TYPED_TEST_SUITE(Endings, EndingTypes);

TYPED_TEST(Endings, bias_and_activation) {
  using T = TypeParam;
  for (const auto& [activation, curve] : std::vector<std::pair<Activation, double (*)(double)>>{
           {Activation::none, [](double x) { return x; }},
           {Activation::relu, [](double x) { return std::max(x, 0.0); }},
           {Activation::silu, silu_of},
           {Activation::gelu, gelu_of}}) {
    const auto check = [&, activation = activation, curve = curve](bool own) {
      const Case<T> c(false);
      const Held<T> bias = hold<T>(1, c.columns, draw(0, 5));
      Held<T> layer = c.empty(c.rows, c.columns);
      if (own) {
        run_ending(c.a.matrix, c.b.matrix, BiasActivation{activation}, {.bias = bias.matrix},
                   {.layer = layer.writable()}, c.threads);
      } else {
        bias_activation(c.a.matrix, c.b.matrix, bias.matrix, activation, layer.writable(), c.threads);
      }
      const auto x = [&](std::int64_t i, std::int64_t j) { return c.expected(i, j) + at<T>(bias.matrix, 0, j); };
      expect_near(
          layer, [&](std::int64_t i, std::int64_t j) { return curve(x(i, j)); },
          [&](std::int64_t i, std::int64_t j) { return curve_error<T>(x(i, j), c.error(i, j)); });
    };
    this->twice([&] { check(false); }, [&] { check(true); });
  }
}

TYPED_TEST(Endings, row_scale) {
  using T = TypeParam;
  const auto check = [&](bool own) {
    const Case<T> c(false);
    const Held<T> scale = hold<T>(c.rows, 1, draw(0, 5));
    Held<T> scaled = c.empty(c.rows, c.columns);
    if (own) {
      run_ending(c.a.matrix, c.b.matrix, RowScale{}, {.scale = scale.matrix}, {.scaled = scaled.writable()}, c.threads);
    } else {
      row_scale(c.a.matrix, c.b.matrix, scale.matrix, scaled.writable(), c.threads);
    }
    const auto s = [&](std::int64_t i) { return at<T>(scale.matrix, i, 0); };
    expect_near(
        scaled, [&](std::int64_t i, std::int64_t j) { return s(i) * c.expected(i, j); },
        [&](std::int64_t i, std::int64_t j) { return std::abs(s(i)) * c.error(i, j); });
  };
  this->twice([&] { check(false); }, [&] { check(true); });
}

TYPED_TEST(Endings, residual_and_sums_of_squares) {
  using T = TypeParam;
  const auto check = [&](bool own) {
    const Case<T> c(false);
    const Held<T> residual = hold<T>(c.rows, c.columns, draw(0, 5));
    Held<T> sum = c.empty(c.rows, c.columns), squares = c.empty(c.rows, 1);
    if (own) {
      run_ending(c.a.matrix, c.b.matrix, ResidualSquares{}, {.residual = residual.matrix},
                 {.sum = sum.writable(), .squares = squares.writable()}, c.threads);
    } else {
      residual_squares(c.a.matrix, c.b.matrix, residual.matrix, sum.writable(), squares.writable(), c.threads);
    }
    const auto x = [&](std::int64_t i, std::int64_t j) { return c.expected(i, j) + at<T>(residual.matrix, i, j); };
    const auto x_error = [&](std::int64_t i, std::int64_t j) { return c.error(i, j) + kEps<T> * std::abs(x(i, j)); };
    expect_near(sum, x, x_error);
    expect_near(
        squares,
        [&](std::int64_t i, std::int64_t) {
          double total = 0;
          for (std::int64_t j = 0; j < c.columns; ++j) total += x(i, j) * x(i, j);
          return total;
        },
        [&](std::int64_t i, std::int64_t) {
          double error = 0;
          for (std::int64_t j = 0; j < c.columns; ++j) {
            const double e = x_error(i, j);
            error += 2 * std::abs(x(i, j)) * e + e * e + kEps<T> * static_cast<double>(c.columns) * x(i, j) * x(i, j);
          }
          return error;
        });
  };
  this->twice([&] { check(false); }, [&] { check(true); });
}

TYPED_TEST(Endings, rope_turns_pairs) {
  using T = TypeParam;
  const auto check = [&](bool own) {
    const Case<T> c(true);
    Held<T> cosine = hold<T>(c.rows, c.columns / 2, draw(0, 5)), sine = hold<T>(c.rows, c.columns / 2, draw(0, 5));
    Held<T> turned = c.empty(c.rows, c.columns);
    if (own) {
      run_ending(c.a.matrix, c.b.matrix, Rope{}, {.cosine = cosine.matrix, .sine = sine.matrix},
                 {.turned = turned.writable()}, c.threads);
    } else {
      rope(c.a.matrix, c.b.matrix, cosine.matrix, sine.matrix, turned.writable(), c.threads);
    }
    expect_near(
        turned,
        [&](std::int64_t i, std::int64_t j) {
          const double x = c.expected(i, j / 2 * 2), y = c.expected(i, j / 2 * 2 + 1);
          const double cos = at<T>(cosine.matrix, i, j / 2), sin = at<T>(sine.matrix, i, j / 2);
          return j % 2 ? x * sin + y * cos : x * cos - y * sin;
        },
        [&](std::int64_t i, std::int64_t j) {
          const double size = std::abs(at<T>(cosine.matrix, i, j / 2)) + std::abs(at<T>(sine.matrix, i, j / 2));
          const std::int64_t x = j / 2 * 2;
          return size * (c.error(i, x) + c.error(i, x + 1) +
                         3 * kEps<T> * (std::abs(c.expected(i, x)) + std::abs(c.expected(i, x + 1))));
        });
  };
  this->twice([&] { check(false); }, [&] { check(true); });
}

TYPED_TEST(Endings, log_sum_exp_and_the_selected_column) {
  using T = TypeParam;
  const auto check = [&](bool own) {
    const Case<T> c(false);
    std::vector<std::int64_t> targets;
    for (std::int64_t i = 0; i < c.rows; ++i) targets.push_back(draw(0, static_cast<int>(c.columns) - 1));
    Held<T> lse = c.empty(c.rows, 1), target = c.empty(c.rows, 1);
    if (own) {
      run_ending(c.a.matrix, c.b.matrix, CrossEntropy{}, {},
                 {.lse = lse.writable(), .target = {target.writable(), targets}}, c.threads);
    } else {
      cross_entropy(c.a.matrix, c.b.matrix, targets, lse.writable(), target.writable(), c.threads);
    }
    const auto chosen = [&](std::int64_t i) { return targets[static_cast<std::size_t>(i)]; };
    expect_near(
        target, [&](std::int64_t i, std::int64_t) { return c.expected(i, chosen(i)); },
        [&](std::int64_t i, std::int64_t) { return c.error(i, chosen(i)); });
    expect_near(
        lse,
        [&](std::int64_t i, std::int64_t) {
          double top = -kInf, sum = 0;
          for (std::int64_t j = 0; j < c.columns; ++j) top = std::max(top, c.expected(i, j));
          for (std::int64_t j = 0; j < c.columns; ++j) sum += std::exp(c.expected(i, j) - top);
          return top + std::log(sum);
        },
        [&](std::int64_t i, std::int64_t) {
          double worst = 0, top = 0;
          for (std::int64_t j = 0; j < c.columns; ++j) {
            worst = std::max(worst, c.error(i, j)), top = std::max(top, std::abs(c.expected(i, j)));
          }
          return worst + kEps<T> * (static_cast<double>(c.columns) + 20 + 4 * top);
        });
  };
  this->twice([&] { check(false); }, [&] { check(true); });
}

// Ports that no ending of the menu has.
struct EveryReduction {
  template <class V>
  struct In {
    Scalar<V> shift;
  };
  template <class V>
  struct Out {
    SumN<V> row_sums;
    SumM<V> column_sums;
    MaxN<V> row_maxima;
    MaxAbsN<V> row_magnitudes;
    MaxAbsM<V> column_magnitudes;
    ArgmaxAbsN<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc + in.shift;
    return {x, x, x, x, x, x};
  }
};

TYPED_TEST(Endings, reductions_of_rows_and_columns) {
  using T = TypeParam;
  for (int i = 0; i < effort(24); ++i) {
    const Case<T> c(false);
    const T shift = static_cast<T>(0.25);
    Held<T> row_sums = c.empty(c.rows, 1), column_sums = c.empty(1, c.columns), row_maxima = c.empty(c.rows, 1);
    Held<T> row_magnitudes = c.empty(c.rows, 1), column_magnitudes = c.empty(1, c.columns);
    std::vector<Winner> best(static_cast<std::size_t>(c.rows));
    run_ending(c.a.matrix, c.b.matrix, EveryReduction{}, {.shift = Matrix(&shift, 1, 1)},
               {.row_sums = row_sums.writable(),
                .column_sums = column_sums.writable(),
                .row_maxima = row_maxima.writable(),
                .row_magnitudes = row_magnitudes.writable(),
                .column_magnitudes = column_magnitudes.writable(),
                .best = best},
               c.threads);
    const auto x = [&](std::int64_t m, std::int64_t n) { return c.expected(m, n) + 0.25; };
    const auto fold = [&](bool over_columns, std::int64_t slot, double start, auto join) {
      double value = start;
      for (std::int64_t j = 0; j < (over_columns ? c.columns : c.rows); ++j) {
        value = join(value, over_columns ? x(slot, j) : x(j, slot));
      }
      return value;
    };
    double worst = 0, total = 0;
    for (std::int64_t m = 0; m < c.rows; ++m) {
      for (std::int64_t n = 0; n < c.columns; ++n) {
        worst = std::max(worst, c.error(m, n) + kEps<T> * std::abs(x(m, n))), total += std::abs(x(m, n));
      }
    }
    const auto sum_error = [&](auto, auto) { return 150 * worst + 160 * kEps<T> * total; };
    const auto one_error = [&](auto, auto) { return worst; };
    const auto add = [](double p, double q) { return p + q; };
    const auto most = [](double p, double q) { return std::max(p, q); };
    const auto largest = [](double p, double q) { return std::max(p, std::abs(q)); };
    expect_near(
        row_sums, [&](auto m, auto) { return fold(true, m, 0, add); }, sum_error);
    expect_near(
        column_sums, [&](auto, auto n) { return fold(false, n, 0, add); }, sum_error);
    expect_near(
        row_maxima, [&](auto m, auto) { return fold(true, m, -kInf, most); }, one_error);
    expect_near(
        row_magnitudes, [&](auto m, auto) { return fold(true, m, 0, largest); }, one_error);
    expect_near(
        column_magnitudes, [&](auto, auto n) { return fold(false, n, 0, largest); }, one_error);
    for (std::int64_t m = 0; m < c.rows; ++m) {
      const Winner& winner = best[static_cast<std::size_t>(m)];
      ASSERT_GE(std::abs(x(m, winner.index)), fold(true, m, 0, largest) - 2 * worst);
    }
  }
}

TEST(gemm_endings, nan_and_infinity_do_what_each_ending_says) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool own : {false, true}) {
    for (const float x : {1.0f, nan, inf, -inf}) {
      const std::vector<float> one{1, 1}, left{x};
      std::vector<float> lse(1), target(1), gated(1);
      const std::vector<std::int64_t> targets{1};
      const Matrix l(left.data(), 1, 1), r(one.data(), 1, 2);
      if (own) {
        run_ending(l, r, CrossEntropy{}, {},
                   {.lse = MutableMatrix(lse.data(), 1, 1), .target = {MutableMatrix(target.data(), 1, 1), targets}});
        run_ending(l, r, SwiGlu{}, {.scale = Matrix(one.data(), 1, 1)}, {.gated = MutableMatrix(gated.data(), 1, 1)});
      } else {
        cross_entropy(l, r, targets, MutableMatrix(lse.data(), 1, 1), MutableMatrix(target.data(), 1, 1));
        swiglu(l, r, MutableMatrix(gated.data(), 1, 1));
      }
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(lse[0]) && std::isnan(target[0]) && std::isnan(gated[0]))
            << own << " " << lse[0] << " " << target[0] << " " << gated[0];
      } else if (std::isinf(x)) {
        EXPECT_EQ(lse[0], x);
        EXPECT_EQ(target[0], x);
        EXPECT_EQ(gated[0] > 0, x > 0);
      } else {
        EXPECT_NEAR(lse[0], 1 + std::log(2.0), 1e-6);
        EXPECT_NEAR(gated[0], silu_of(1), 1e-6);
      }
    }
  }
}

struct Maxima {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    MaxN<V> rows;
    MaxAbsM<V> columns;
    LseN<V> lse;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc, acc};
  }
};

TEST(gemm_endings, nan_in_any_tile_stays_to_the_end) {
  for (const std::int64_t place : {0, 63, 64, 100, 127, 128, 199}) {
    std::vector<float> ones(200, 1.0f), spoilt = ones, rows(200), columns(200), lse(200);
    spoilt[static_cast<std::size_t>(place)] = std::numeric_limits<float>::quiet_NaN();
    const auto run = [&](const std::vector<float>& a, const std::vector<float>& b) {
      run_ending(Matrix(a.data(), 200, 1), Matrix(b.data(), 1, 200), Maxima{}, {},
                 {.rows = MutableMatrix(rows.data(), 200, 1),
                  .columns = MutableMatrix(columns.data(), 1, 200),
                  .lse = MutableMatrix(lse.data(), 200, 1)});
    };
    run(ones, spoilt);
    for (std::size_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(std::isnan(rows[i]) && std::isnan(lse[i])) << place;
      ASSERT_EQ(std::isnan(columns[i]), static_cast<std::int64_t>(i) == place);
    }
    run(spoilt, ones);
    for (std::size_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(std::isnan(columns[i])) << place;
      ASSERT_EQ(std::isnan(rows[i]), static_cast<std::int64_t>(i) == place);
      ASSERT_EQ(std::isnan(lse[i]), static_cast<std::int64_t>(i) == place);
    }
  }
}

TEST(gemm_endings, exponentials_hold_over_the_whole_range) {
  // silu(x) * 1 for x from where exp(-x) overflows to where it vanishes.
  std::vector<float> x;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) * 0.1f);
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<float> b{1, 0}, bias{0, 1}, layer(static_cast<std::size_t>(2 * count));
  bias_activation(Matrix(x.data(), count, 1), Matrix(b.data(), 1, 2), Matrix(bias.data(), 1, 2), Activation::silu,
                  MutableMatrix(layer.data(), count, 2));
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = x[static_cast<std::size_t>(i)];
    ASSERT_NEAR(layer[static_cast<std::size_t>(2 * i)], silu_of(value), 4e-7 * (std::abs(silu_of(value)) + 1e-30))
        << value;
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
