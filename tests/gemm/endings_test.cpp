// Every ending of the menu against double, as the library compiled it and as a user compiles the same file.
#include <limits>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm {
#include "gemm/endings/all.inl"
}

namespace envoi::gemm::tests {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
constexpr double kEps = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

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

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double silu_of(double x) { return x * sigmoid_of(x); }
double gelu_of(double x) {
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
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Endings, Types);

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

TYPED_TEST(Endings, swiglu_and_geglu_on_pairs) {
  using T = TypeParam;
  for (const bool gelu_gate : {false, true}) {
    const auto check = [&](bool own) {
      const Case<T> c(true);
      const bool kept = draw(0, 1), scaled = own || draw(0, 1);
      const Held<T> scale = hold<T>(c.rows, 1, draw(0, 5));
      Held<T> gated = c.empty(c.rows, c.columns / 2), projected = c.empty(c.rows, c.columns);
      const auto run_own = [&](const auto& plain, const auto& keeping) {
        if (kept) {
          run_ending(c.a.matrix, c.b.matrix, keeping, {.scale = scale.matrix},
                     {.gated = gated.writable(), .projected = projected.writable()}, c.threads);
        } else {
          run_ending(c.a.matrix, c.b.matrix, plain, {.scale = scale.matrix}, {.gated = gated.writable()}, c.threads);
        }
      };
      const auto run_library = [&](auto gate) {
        if (kept || scaled) {
          gate(c.a.matrix, c.b.matrix, scaled ? scale.matrix : Matrix(), gated.writable(),
               kept ? projected.writable() : MutableMatrix(), c.threads);
        } else {
          gate(c.a.matrix, c.b.matrix, gated.writable(), c.threads);
        }
      };
      if (own && gelu_gate) {
        run_own(GeGlu{}, GeGluKept{});
      } else if (own) {
        run_own(SwiGlu{}, SwiGluKept{});
      } else if (gelu_gate) {
        run_library([](const auto&... arguments) { geglu(arguments...); });
      } else {
        run_library([](const auto&... arguments) { swiglu(arguments...); });
      }
      const auto s = [&](std::int64_t i) { return scaled ? at<T>(scale.matrix, i, 0) : 1.0; };
      const auto p = [&](std::int64_t i, std::int64_t j) { return s(i) * c.expected(i, j); };
      const auto p_error = [&](std::int64_t i, std::int64_t j) { return std::abs(s(i)) * c.error(i, j); };
      const auto gate = [&](std::int64_t i, std::int64_t j) {
        return gelu_gate ? gelu_of(p(i, 2 * j)) : silu_of(p(i, 2 * j));
      };
      expect_near(
          gated, [&](std::int64_t i, std::int64_t j) { return gate(i, j) * p(i, 2 * j + 1); },
          [&](std::int64_t i, std::int64_t j) {
            const double e = curve_error<T>(p(i, 2 * j), p_error(i, 2 * j)), u = p(i, 2 * j + 1);
            const double f = p_error(i, 2 * j + 1);
            return e * std::abs(u) + (std::abs(gate(i, j)) + e) * f + kEps<T> * std::abs(gate(i, j) * u);
          });
      if (kept) expect_near(projected, p, p_error);
    };
    this->twice([&] { check(false); }, [&] { check(true); });
  }
}

// What is kept is the row-scaled product, to the bit; keeping it, and a scale of 1, change no bit of what is gated.
TYPED_TEST(Endings, gates_with_and_without_scale_and_kept_projection) {
  using T = TypeParam;
  const auto check = [](auto gate, const Case<T>& c) {
    const std::vector<T> scale = noise<T>(c.rows), ones(static_cast<std::size_t>(c.rows), T(1));
    const Matrix scales(scale.data(), c.rows, 1), all_ones(ones.data(), c.rows, 1);
    std::vector<T> first(static_cast<std::size_t>(c.rows * c.columns / 2)), second = first;
    std::vector<T> projected(2 * first.size()), wanted = projected;
    const auto half = [&](std::vector<T>& to) { return MutableMatrix(to.data(), c.rows, c.columns / 2); };
    const auto whole = [&](std::vector<T>& to) { return MutableMatrix(to.data(), c.rows, c.columns); };
    gate(c.a.matrix, c.b.matrix, half(first), c.threads);
    gate(c.a.matrix, c.b.matrix, all_ones, half(second));
    ASSERT_EQ(first, second);
    gate(c.a.matrix, c.b.matrix, Matrix(), half(second), whole(projected));
    store(c.a.matrix, c.b.matrix, whole(wanted));
    ASSERT_EQ(first, second);
    ASSERT_EQ(projected, wanted);
    gate(c.a.matrix, c.b.matrix, scales, half(first));
    gate(c.a.matrix, c.b.matrix, scales, half(second), whole(projected), c.threads);
    row_scale(c.a.matrix, c.b.matrix, scales, whole(wanted));
    ASSERT_EQ(first, second);
    ASSERT_EQ(projected, wanted);
  };
  for (int i = 0; i < effort(12); ++i) {
    check([](const auto&... arguments) { swiglu(arguments...); }, Case<T>(true));
    check([](const auto&... arguments) { geglu(arguments...); }, Case<T>(true));
  }
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
