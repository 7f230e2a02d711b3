// Endings of a user's own, from the header that users include, and a call of each with what fp64 makes of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <envoi/cuda/ending.cuh>
#include <string>

#include "endings.cuh"

namespace mine {
using namespace envoi::cuda;

struct Layer {
  float factor;
  template <class V>
  struct In {
    Row<V> bias;
    Scalar<V> share;
    Tile<V> residual;
    HalfTile<V> gate;
  };
  template <class V>
  struct Out {
    Store<V> layer;
    StoreHalf<V> gated;
    SumN<V> sum;
    MaxN<V> largest;
    ArgmaxHalfN<V> best_gated;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = V(factor) * acc + in.bias - in.share * in.residual;
    const V gated = (x.even - x.odd) * in.gate;
    return {.layer = x, .gated = gated, .sum = x, .largest = x, .best_gated = gated};
  }
};

struct OverRows {
  template <class V>
  struct In {
    Column<V> scale;
  };
  template <class V>
  struct Out {
    SumM<V> sum;
    MaxAbsM<V> largest, largest_of_blocks;
    TopkM<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc * in.scale;
    return {.sum = x, .largest = x, .largest_of_blocks = x, .best = x};
  }
};

struct OverColumns {
  template <class V>
  struct In {
    Row<V> bias;
  };
  template <class V>
  struct Out {
    ArgmaxN<V> best;
    LseN<V> lse;
    SelectN<V> chosen;
    MaxAbsN<V> largest;
    ArgmaxAbsN<V> best_magnitude;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc + in.bias;
    return {.best = x, .lse = x, .chosen = x, .largest = x, .best_magnitude = x};
  }
};
}  // namespace mine

namespace envoi::cuda::tests {

using gemm::Matrix;
using gemm::MutableMatrix;

// Eighths between -2 and 2, the same in every type.
inline std::vector<float> draw_eighths(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = static_cast<float>(draw(-16, 16)) / 8;
  return values;
}
inline DType draw_type() {
  static constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};
  return kTypes[draw(0, 2)];
}

// A result that is the largest of some; NaN if one of them is.
inline void meet(Want& largest, const Want& x) {
  if (x.value > largest.value || std::isnan(x.value)) largest.value = x.value;
  largest.bound = std::max(largest.bound, x.bound);
}

template <class F>
void expect(const Held& held, Kind kind, const char* name, const F& want) {
  const Tolerance tolerance{held.matrix.dtype, kind == Kind::f32};
  compare(take(held, name), held.matrix.rows, held.matrix.columns, tolerance, want).report(name);
}

// The best k of one row's or column's candidates, in order, ties to the lower index.
inline void expect_best(const Winner* got, std::int64_t k, const std::vector<Want>& wanted, const std::string& name,
                        bool magnitude = false) {
  const auto key = [&](double value) { return magnitude ? std::abs(value) : value; };
  const auto candidates = static_cast<std::int64_t>(wanted.size());
  if (std::any_of(wanted.begin(), wanted.end(), [](const Want& w) { return std::isnan(w.value); })) {
    for (std::int64_t i = 0; i < std::min(k, candidates); ++i) {
      EXPECT_TRUE(got[i].index == kNanWinner && std::isnan(got[i].value)) << name << ", place " << i;
    }
    return;
  }
  std::vector<char> taken(wanted.size());
  for (std::int64_t i = 0; i < k; ++i) {
    if (i >= candidates) {
      EXPECT_EQ(got[i].index, -1) << name << ", place " << i;
      continue;
    }
    ASSERT_TRUE(got[i].index >= 0 && got[i].index < candidates) << name << ", place " << i << ": " << got[i].index;
    const auto index = static_cast<std::size_t>(got[i].index);
    EXPECT_FALSE(taken[index]) << name << ", place " << i << ": the same again";
    taken[index] = 1;
    EXPECT_NEAR(got[i].value, wanted[index].value, wanted[index].bound + rounding(DType::f32, wanted[index].value))
        << name << ", place " << i;
    if (i == 0) continue;
    EXPECT_TRUE(key(got[i - 1].value) > key(got[i].value) ||
                (key(got[i - 1].value) == key(got[i].value) && got[i - 1].index < got[i].index))
        << name << ", place " << i << ": out of order";
  }
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (taken[c]) continue;
    EXPECT_LE(key(wanted[c].value) - wanted[c].bound, key(got[std::min(k, candidates) - 1].value))
        << name << ": candidate " << c << " is better than the last";
  }
}

// What a call of each ending needs and leaves; tests compare the bytes of two of them, or each with fp64.
struct LayerCall {
  Prepared setup;
  std::vector<float> bias, residual, gate;
  float factor = -1.5f, share = 0.75f;
  Held layer, gated, sum, largest;
  HeldWinners best_gated;

  explicit LayerCall(const Case& about)
      : setup(prepare(about)),
        bias(draw_eighths(about.n)),
        residual(draw_eighths(about.m * about.n)),
        gate(draw_eighths(about.m * (about.n / 2))),
        best_gated(about.m, 1) {
    place();
  }
  void place() {
    const Case& about = setup.about;
    layer = hold(about.result_type, about.m, about.n, about.result);
    gated = hold(about.operand_type, about.m, about.n / 2, about.result);
    sum = hold(DType::f32, about.m, 1), largest = hold(about.result_type, about.m, 1, Layout::every_third);
  }
  template <class... Shapes>
  void run_it(bool keep = true) const {
    const Case& about = setup.about;
    const Held bias_held = device_matrix(about.operand_type, 1, about.n, bias);
    const Held share_held = device_matrix(draw_type(), 1, 1, {share});
    const Held residual_held = device_matrix(about.operand_type, about.m, about.n, residual);
    const Held gate_held = device_matrix(DType::bf16, about.m, about.n / 2, gate);
    run(product<mine::Layer, Shapes...>(setup.a.matrix, setup.b.matrix, mine::Layer{factor},
                                        {.bias = bias_held.matrix,
                                         .share = share_held.matrix,
                                         .residual = residual_held.matrix,
                                         .gate = gate_held.matrix},
                                        {.layer = keep ? layer.writable() : MutableMatrix(),
                                         .gated = gated.writable(),
                                         .sum = sum.writable(),
                                         .largest = largest.writable(),
                                         .best_gated = {best_gated.data(), about.m}},
                                        fp32_of(about.kind)));
  }
  Want x(std::int64_t m, std::int64_t n) const {
    const auto at = static_cast<std::size_t>(m * setup.about.n + n);
    const double product = factor * setup.product(m, n), b = bias[static_cast<std::size_t>(n)],
                 taken = share * residual[at];
    return {product + b - taken, std::abs(factor) * setup.product.bound(m, n) +
                                     0x1p-22 * (std::abs(product) + std::abs(b) + std::abs(taken))};
  }
  void expect_right(bool kept = true) const {
    SCOPED_TRACE(setup.about.text());
    const Case& about = setup.about;
    if (kept) {
      expect(layer, about.kind, "layer", [&](std::int64_t m, std::int64_t n) { return x(m, n); });
    } else {
      expect_untouched(layer, "layer");
    }
    const auto gated_at = [&](std::int64_t m, std::int64_t n) {
      const Want even = x(m, 2 * n), odd = x(m, 2 * n + 1);
      const double factor_of_pair = gate[static_cast<std::size_t>(m * (about.n / 2) + n)];
      const double value = (even.value - odd.value) * factor_of_pair;
      return Want{value, (even.bound + odd.bound) * std::abs(factor_of_pair) + 0x1p-22 * std::abs(value)};
    };
    expect(gated, about.kind, "gated", gated_at);
    const std::vector<Winner> best = best_gated.take();
    for (std::int64_t m = 0; m < about.m; ++m) {
      std::vector<Want> wanted;
      for (std::int64_t n = 0; n < about.n / 2; ++n) wanted.push_back(gated_at(m, n));
      expect_best(&best[static_cast<std::size_t>(m)], 1, wanted, "winner of row " + std::to_string(m));
    }
    expect(sum, about.kind, "sum", [&](std::int64_t m, std::int64_t) {
      Want total;
      double size = 0;
      for (std::int64_t n = 0; n < about.n; ++n) {
        const Want each = x(m, n);
        total.value += each.value, total.bound += each.bound, size += std::abs(each.value);
      }
      total.bound += (static_cast<double>(about.n) / 4 + 32) * 0x1p-24 * size;
      return total;
    });
    expect(largest, about.kind, "largest", [&](std::int64_t m, std::int64_t) {
      Want best{-INFINITY, 0};
      for (std::int64_t n = 0; n < about.n; ++n) meet(best, x(m, n));
      return best;
    });
  }
};

struct OverRowsCall {
  Prepared setup;
  std::vector<float> scale;
  bool scaled = draw(0, 1) == 1;
  std::int64_t k = draw(1, 9);
  Held sum, largest, largest_of_blocks;
  HeldWinners best;

  explicit OverRowsCall(const Case& about)
      : setup(prepare(about)),
        scale(draw_eighths(about.m)),
        sum(hold(DType::f32, 1, about.n)),
        largest(hold(about.result_type, 1, about.n, Layout::every_third)),
        largest_of_blocks(hold(about.operand_type, (about.m + 63) / 64, about.n, about.result)),
        best(about.n, k) {}
  template <class... Shapes>
  void run_it() const {
    const Case& about = setup.about;
    const Held scale_held = device_matrix(about.operand_type, about.m, 1, scale);
    run(product<mine::OverRows, Shapes...>(setup.a.matrix, setup.b.matrix, mine::OverRows{},
                                           {.scale = scaled ? scale_held.matrix : Matrix()},
                                           {.sum = sum.writable(),
                                            .largest = largest.writable(),
                                            .largest_of_blocks = largest_of_blocks.writable(),
                                            .best = {best.data(), about.n * k}},
                                           fp32_of(about.kind)));
  }
  Want x(std::int64_t m, std::int64_t n) const {
    const double factor = scaled ? scale[static_cast<std::size_t>(m)] : 1, value = factor * setup.product(m, n);
    return {value, std::abs(factor) * setup.product.bound(m, n) + 0x1p-23 * std::abs(value)};
  }
  void expect_right() const {
    SCOPED_TRACE(setup.about.text() + (scaled ? ", scaled" : "") + ", k = " + std::to_string(k));
    const Case& about = setup.about;
    expect(sum, about.kind, "sum", [&](std::int64_t, std::int64_t n) {
      Want total;
      double size = 0;
      for (std::int64_t m = 0; m < about.m; ++m) {
        const Want each = x(m, n);
        total.value += each.value, total.bound += each.bound, size += std::abs(each.value);
      }
      total.bound += (static_cast<double>(about.m) / 64 + 32) * 0x1p-24 * size;
      return total;
    });
    const auto largest_between = [&](std::int64_t first, std::int64_t last, std::int64_t n) {
      Want top;
      for (std::int64_t m = first; m < std::min(last, about.m); ++m) {
        const Want each = x(m, n);
        meet(top, {std::abs(each.value), each.bound});
      }
      return top;
    };
    expect(largest, about.kind, "largest",
           [&](std::int64_t, std::int64_t n) { return largest_between(0, about.m, n); });
    expect(largest_of_blocks, about.kind, "largest of 64 rows",
           [&](std::int64_t m, std::int64_t n) { return largest_between(64 * m, 64 * m + 64, n); });
    const std::vector<Winner> got = best.take();
    for (std::int64_t n = 0; n < about.n; ++n) {
      std::vector<Want> wanted;
      for (std::int64_t m = 0; m < about.m; ++m) wanted.push_back(x(m, n));
      expect_best(got.data() + n * k, k, wanted, "winners of column " + std::to_string(n));
    }
  }
};

struct OverColumnsCall {
  Prepared setup;
  std::vector<float> bias;
  std::vector<std::int64_t> targets;
  Held lse, chosen, largest;
  HeldWinners best, best_magnitude;

  explicit OverColumnsCall(const Case& about)
      : setup(prepare(about)), bias(draw_eighths(about.n)), best(about.m, 1), best_magnitude(about.m, 1) {
    for (std::int64_t m = 0; m < about.m; ++m) targets.push_back(draw(0, about.n - 1));
    lse = hold(DType::f32, about.m, 1), chosen = hold(DType::f32, about.m, 1);
    largest = hold(about.result_type, about.m, 1, Layout::every_third);
  }
  template <class... Shapes>
  void run_it() const {
    const Case& about = setup.about;
    const Held bias_held = device_matrix(about.operand_type, 1, about.n, bias);
    const Targets held_targets(targets);
    run(product<mine::OverColumns, Shapes...>(setup.a.matrix, setup.b.matrix, mine::OverColumns{},
                                              {.bias = bias_held.matrix},
                                              {.best = {best.data(), about.m},
                                               .lse = lse.writable(),
                                               .chosen = {chosen.writable(), held_targets.data(), about.m},
                                               .largest = largest.writable(),
                                               .best_magnitude = {best_magnitude.data(), about.m}},
                                              fp32_of(about.kind)));
  }
  Want x(std::int64_t m, std::int64_t n) const {
    const double value = setup.product(m, n) + bias[static_cast<std::size_t>(n)];
    return {value, setup.product.bound(m, n) + 0x1p-23 * std::abs(value)};
  }
  void expect_right() const {
    SCOPED_TRACE(setup.about.text());
    const Case& about = setup.about;
    expect(lse, about.kind, "lse", [&](std::int64_t m, std::int64_t) {
      Want top{-INFINITY, 0};
      for (std::int64_t n = 0; n < about.n; ++n) meet(top, x(m, n));
      double sum = 0;
      for (std::int64_t n = 0; n < about.n; ++n) sum += std::exp(x(m, n).value - top.value);
      return Want{top.value + std::log(sum),
                  top.bound + 0x1p-19 + std::abs(top.value) * 0x1p-21 + static_cast<double>(about.n) / 4 * 0x1p-24};
    });
    expect(chosen, about.kind, "chosen",
           [&](std::int64_t m, std::int64_t) { return x(m, targets[static_cast<std::size_t>(m)]); });
    expect(largest, about.kind, "largest", [&](std::int64_t m, std::int64_t) {
      Want top;
      for (std::int64_t n = 0; n < about.n; ++n) meet(top, {std::abs(x(m, n).value), x(m, n).bound});
      return top;
    });
    const std::vector<Winner> got = best.take(), got_magnitude = best_magnitude.take();
    for (std::int64_t m = 0; m < about.m; ++m) {
      std::vector<Want> wanted;
      for (std::int64_t n = 0; n < about.n; ++n) wanted.push_back(x(m, n));
      const auto row = static_cast<std::size_t>(m);
      expect_best(&got[row], 1, wanted, "winner of row " + std::to_string(m));
      expect_best(&got_magnitude[row], 1, wanted, "largest magnitude of row " + std::to_string(m), true);
    }
  }
};

}  // namespace envoi::cuda::tests
