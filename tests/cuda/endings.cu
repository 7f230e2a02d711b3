// The formulas of the menu in fp64, and how far an error of the product goes through each. What an ending adds itself
// is bounded by a few units in the last place of fp32: 2^-20 of a value for exp and its like, whose argument x adds
// |x| 2^-21.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <sstream>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

using gemm::Matrix;
using gemm::MutableMatrix;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu_argument(double x) { return 1.5957691216057308 * (x + 0.044715 * x * x * x); }
double gelu(double x) { return x * sigmoid(gelu_argument(x)); }
double around(double value, double argument) { return std::abs(value) * (0x1p-20 + std::abs(argument) * 0x1p-21); }

// silu and gelu of something that is off by `bound`: their slopes are at most 1.13.
Want silu_of(Want x) {
  const double y = silu(x.value);
  return {y, 1.13 * x.bound + around(y, x.value)};
}
Want gelu_of(Want x) {
  const double y = gelu(x.value);
  return {y, 1.13 * x.bound + around(y, gelu_argument(x.value))};
}
Want times(Want x, Want y) {
  const double value = x.value * y.value;
  return {value,
          x.bound * std::abs(y.value) + y.bound * std::abs(x.value) + x.bound * y.bound + 0x1p-23 * std::abs(value)};
}
Want plus(Want x, Want y) {
  const double value = x.value + y.value;
  return {value, x.bound + y.bound + 0x1p-23 * std::abs(value)};
}

struct Checker {
  const Prepared& setup;
  const Case& about = setup.about;
  const Matrix &a = setup.a.matrix, &b = setup.b.matrix;
  const std::int64_t rows = about.m, columns = about.n;
  Fp32 fp32 = fp32_of(about.kind);
  double share = 0;

  Want product(std::int64_t m, std::int64_t n) const { return {setup.product(m, n), setup.product.bound(m, n)}; }

  // An operand of the ending, filled, with its numbers as doubles would have them.
  struct Given {
    Held held;
    std::vector<float> values;
    std::int64_t columns = 0;
    double operator()(std::int64_t m, std::int64_t n) const {
      return values[static_cast<std::size_t>(m * columns + n)];
    }
  };
  Given operand(std::int64_t row_count, std::int64_t column_count) const {
    Given given{hold(about.operand_type, row_count, column_count, about.operand), {}, column_count};
    fill(given.held, about.fill);
    given.values.resize(static_cast<std::size_t>(row_count * column_count));
    const std::vector<std::byte> bytes = given.held.memory->copy();
    const Matrix& m = given.held.matrix;
    for (std::int64_t i = 0; i < row_count; ++i) {
      for (std::int64_t j = 0; j < column_count; ++j) {
        const std::int64_t at = (i * m.row_stride + j * m.column_stride) * static_cast<std::int64_t>(size_of(m.dtype));
        given.values[static_cast<std::size_t>(i * column_count + j)] =
            number(bytes.data() + static_cast<std::int64_t>(given.held.first) + at, m.dtype);
      }
    }
    return given;
  }
  Held result(std::int64_t row_count, std::int64_t column_count) const {
    return hold(about.result_type, row_count, column_count, about.result);
  }
  // One number a row is kept in fp32, row after row or at a stride.
  Held result_column() const {
    return hold(DType::f32, rows, 1, about.result == Layout::packed ? Layout::packed : Layout::every_third);
  }

  template <class F>
  void expect(const Held& held, const std::string& name, F want) {
    const std::vector<float> got = take(held, name);
    const Tolerance tolerance{held.matrix.dtype, about.kind == Kind::f32};
    const Verdict verdict = compare(got, held.matrix.rows, held.matrix.columns, tolerance, want);
    verdict.report(name);
    share = std::max(share, verdict.share);
  }

  void store() {
    const Held c = result(rows, columns);
    run(cuda::store(a, b, c.writable(), fp32));
    expect(c, "product", [&](std::int64_t m, std::int64_t n) { return product(m, n); });
  }

  void bias(Activation activation) {
    const Given bias = operand(1, columns);
    const Held layer = result(rows, columns);
    run(bias_activation(a, b, bias.held.matrix, activation, layer.writable(), fp32));
    expect(layer, "layer", [&](std::int64_t m, std::int64_t n) -> Want {
      const Want x = plus(product(m, n), {bias(0, n), 0});
      if (activation == Activation::relu) return {x.value > 0 || std::isnan(x.value) ? x.value : 0, x.bound};
      if (activation == Activation::silu) return silu_of(x);
      if (activation == Activation::gelu) return gelu_of(x);
      return x;
    });
  }

  void row_scale() {
    const Given scale = operand(rows, 1);
    const Held scaled = result(rows, columns);
    run(cuda::row_scale(a, b, scale.held.matrix, scaled.writable(), fp32));
    expect(scaled, "scaled", [&](std::int64_t m, std::int64_t n) { return times(product(m, n), {scale(m, 0), 0}); });
  }

  void residual(bool in_place) {
    Given residual = operand(rows, columns);
    Held sum = result(rows, columns);
    if (in_place) {  // the sum takes the place of what it was added to
      const std::vector<float> values = residual.values;
      sum = about.operand_type == about.result_type && static_cast<int>(about.operand) < kWriteLayouts
                ? residual.held
                : device_matrix(about.result_type, rows, columns, values);
      residual.held = sum;
      const std::vector<std::byte> bytes = sum.memory->copy();
      const Matrix& m = sum.matrix;
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t at = i / columns * m.row_stride + i % columns * m.column_stride;
        residual.values[static_cast<std::size_t>(i)] = number(
            bytes.data() + static_cast<std::int64_t>(sum.first) + at * static_cast<std::int64_t>(size_of(m.dtype)),
            m.dtype);
      }
    }
    const Held squares = result_column();
    run(residual_squares(a, b, residual.held.matrix, sum.writable(), squares.writable(), fp32));
    const auto summed = [&](std::int64_t m, std::int64_t n) { return plus(product(m, n), {residual(m, n), 0}); };
    expect(sum, "sum", summed);
    expect(squares, "squares", [&](std::int64_t m, std::int64_t) {
      Want total;
      for (std::int64_t n = 0; n < columns; ++n) {
        const Want x = summed(m, n);
        total.value += x.value * x.value;
        total.bound += 2 * std::abs(x.value) * x.bound + x.bound * x.bound;
      }
      total.bound += (static_cast<double>(columns) / 4 + 32) * 0x1p-24 * std::abs(total.value);
      return total;
    });
  }

  void gate(bool gelu, bool scaled, bool kept) {
    const Given scale = scaled ? operand(rows, 1) : Given{};
    const Held gated = result(rows, columns / 2);
    const Held projected = kept ? result(rows, columns) : Held{};
    const auto make = gelu ? cuda::geglu : cuda::swiglu;
    run(make(a, b, scaled ? scale.held.matrix : Matrix(), gated.writable(),
             kept ? projected.writable() : MutableMatrix(), fp32));
    const auto p = [&](std::int64_t m, std::int64_t n) {
      return scaled ? times(product(m, n), {scale(m, 0), 0}) : product(m, n);
    };
    expect(gated, "gated", [&](std::int64_t m, std::int64_t n) {
      const Want g = p(m, 2 * n);
      return times(gelu ? gelu_of(g) : silu_of(g), p(m, 2 * n + 1));
    });
    if (kept) expect(projected, "projected", p);
  }

  void rope() {
    const Given cosine = operand(rows, columns / 2), sine = operand(rows, columns / 2);
    const Held turned = result(rows, columns);
    run(cuda::rope(a, b, cosine.held.matrix, sine.held.matrix, turned.writable(), fp32));
    expect(turned, "turned", [&](std::int64_t m, std::int64_t n) {
      const Want x = product(m, n / 2 * 2), y = product(m, n / 2 * 2 + 1);
      const Want c{cosine(m, n / 2), 0}, s{sine(m, n / 2), 0};
      Want result = n % 2 == 0 ? plus(times(x, c), times(y, {-s.value, 0})) : plus(times(x, s), times(y, c));
      result.bound += 0x1p-22 * (std::abs(x.value) + std::abs(y.value)) * (std::abs(c.value) + std::abs(s.value));
      return result;
    });
  }

  void cross_entropy() {
    std::vector<std::int64_t> targets(static_cast<std::size_t>(rows));
    for (std::int64_t& target : targets) {  // some are no columns
      const std::int64_t which = draw(0, 19);
      target = which == 0 ? -1 : which == 1 ? columns : which == 2 ? std::int64_t{1} << 40 : draw(0, columns - 1);
      if (which == 3) target = columns - 1;
    }
    const Targets held_targets(targets);
    const Held lse = result_column(), target = result_column();
    fill(target);  // poison would pass for the NaN of what is no column
    run(cuda::cross_entropy(a, b, held_targets.data(), lse.writable(), target.writable(), fp32));
    expect(lse, "lse", [&](std::int64_t m, std::int64_t) {
      double largest = -INFINITY, bound = 0;
      for (std::int64_t n = 0; n < columns; ++n) {
        const Want x = product(m, n);
        if (std::isnan(x.value)) return Want{x.value, 0};
        largest = std::max(largest, x.value), bound = std::max(bound, x.bound);
      }
      if (std::isinf(largest)) return Want{largest, 0};
      double sum = 0;
      for (std::int64_t n = 0; n < columns; ++n) sum += std::exp(product(m, n).value - largest);
      const double value = largest + std::log(sum);
      // An error of every logit is one of their log-sum-exp; exp and the sums of exp are off by shares of themselves.
      return Want{value, bound + 0x1p-19 + std::abs(largest) * 0x1p-21 + static_cast<double>(columns) / 4 * 0x1p-24};
    });
    expect(target, "target", [&](std::int64_t m, std::int64_t) {
      const std::int64_t chosen = targets[static_cast<std::size_t>(m)];
      return chosen < 0 || chosen >= columns ? Want{NAN, 0} : product(m, chosen);
    });
  }

  // Winners of one slot. `ordered` holds what is wanted of every candidate.
  void winners_of(Verdict& verdict, std::int64_t slot, const Winner* got, std::int64_t k, bool magnitude,
                  const std::vector<Want>& wanted) const {
    const auto candidates = static_cast<std::int64_t>(wanted.size());
    const auto key = [&](double value) { return magnitude ? std::abs(value) : value; };
    const std::string name = "winners of " + std::to_string(slot);
    const bool nan = std::any_of(wanted.begin(), wanted.end(), [](const Want& w) { return std::isnan(w.value); });
    if (nan) {
      for (std::int64_t i = 0; i < std::min(k, candidates); ++i) {
        if (got[i].index != kNanWinner || !std::isnan(got[i].value)) verdict.fail(name + ": NaN is not reported");
      }
      return;
    }
    std::vector<char> chosen(wanted.size());
    for (std::int64_t i = 0; i < k; ++i) {
      const Winner w = got[i];
      const std::string place = name + ", place " + std::to_string(i) + ": ";
      if (i >= candidates) {
        if (w.index != -1 || w.value != 0) verdict.fail(place + "there is no candidate, but a winner");
        continue;
      }
      if (w.index < 0 || w.index >= candidates) {
        verdict.fail(place + "index " + std::to_string(w.index));
        return;
      }
      const auto index = static_cast<std::size_t>(w.index);
      if (chosen[index]++) verdict.fail(place + "the same index again");
      const Want x = wanted[index];
      verdict.see(slot, w.index, w.value, x.value, x.bound + rounding(DType::f32, x.value));
      if (i > 0 && !(key(got[i - 1].value) > key(w.value) ||
                     (key(got[i - 1].value) == key(w.value) && got[i - 1].index < w.index))) {
        verdict.fail(place + "out of order");
      }
    }
    if (candidates == 0) return;
    const double last = key(got[std::min(k, candidates) - 1].value);
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      const double bound = std::isinf(wanted[c].value) ? 0 : wanted[c].bound;
      if (!chosen[c] && key(wanted[c].value) - bound > last) {
        verdict.fail(name + ": candidate " + std::to_string(c) + " is better than the last");
      }
    }
  }

  template <class F>
  void expect_winners(const HeldWinners& held, std::int64_t slots, std::int64_t candidates, std::int64_t k,
                      bool magnitude, F want) {
    const std::vector<Winner> got = held.take();
    Verdict verdict;
    std::mutex together;
    parallel(slots, [&](std::int64_t first, std::int64_t last) {
      Verdict own;
      std::vector<Want> wanted(static_cast<std::size_t>(candidates));
      for (std::int64_t s = first; s < last; ++s) {
        for (std::int64_t c = 0; c < candidates; ++c) wanted[static_cast<std::size_t>(c)] = want(s, c);
        winners_of(own, s, got.data() + s * k, k, magnitude, wanted);
      }
      const std::lock_guard lock(together);
      verdict.add(own);
    });
    verdict.report("winners, k = " + std::to_string(k));
    share = std::max(share, verdict.share);
  }

  void winners(Over over, By by, std::int64_t k) {
    const bool across = over == Over::columns;
    const std::int64_t slots = across ? rows : columns, candidates = across ? columns : rows;
    const HeldWinners held(slots, std::max<std::int64_t>(k, 1));
    run(k == 0 ? argmax(a, b, over, by, held.data(), fp32) : top_k(a, b, over, by, k, held.data(), fp32));
    expect_winners(held, slots, candidates, std::max<std::int64_t>(k, 1), by == By::magnitude,
                   [&](std::int64_t s, std::int64_t c) { return across ? product(s, c) : product(c, s); });
  }

  void pair_energy(std::int64_t k) {
    const HeldWinners held(rows, k);
    run(cuda::pair_energy(a, b, k, held.data(), fp32));
    expect_winners(held, rows, columns / 2, k, false, [&](std::int64_t m, std::int64_t n) {
      const Want x = product(m, 2 * n), y = product(m, 2 * n + 1);
      return plus(times(x, x), times(y, y));
    });
  }
};

std::int64_t draw_k() {
  static constexpr std::int64_t kChoices[] = {1, 3, 8, 64};
  return kChoices[draw(0, 3)];
}

}  // namespace

double expect_right(Ending ending, const Prepared& setup) {
  SCOPED_TRACE(std::string(to_string(ending)) + " of " + setup.about.text());
  Checker check{setup};
  switch (ending) {
    case Ending::store:
      check.store();
      break;
    case Ending::bias:
      check.bias(Activation::none);
      break;
    case Ending::bias_relu:
      check.bias(Activation::relu);
      break;
    case Ending::bias_silu:
      check.bias(Activation::silu);
      break;
    case Ending::bias_gelu:
      check.bias(Activation::gelu);
      break;
    case Ending::row_scale:
      check.row_scale();
      break;
    case Ending::residual_squares:
      check.residual(false);
      break;
    case Ending::residual_in_place:
      check.residual(true);
      break;
    case Ending::swiglu:
      check.gate(false, false, false);
      break;
    case Ending::swiglu_scaled:
      check.gate(false, true, false);
      break;
    case Ending::swiglu_kept:
      check.gate(false, true, true);
      break;
    case Ending::geglu:
      check.gate(true, false, false);
      break;
    case Ending::geglu_scaled:
      check.gate(true, true, false);
      break;
    case Ending::geglu_kept:
      check.gate(true, false, true);
      break;
    case Ending::rope:
      check.rope();
      break;
    case Ending::cross_entropy:
      check.cross_entropy();
      break;
    case Ending::argmax_columns:
      check.winners(Over::columns, By::value, 0);
      break;
    case Ending::argmax_columns_magnitude:
      check.winners(Over::columns, By::magnitude, 0);
      break;
    case Ending::argmax_rows:
      check.winners(Over::rows, By::value, 0);
      break;
    case Ending::argmax_rows_magnitude:
      check.winners(Over::rows, By::magnitude, 0);
      break;
    case Ending::top_columns:
      check.winners(Over::columns, By::value, draw_k());
      break;
    case Ending::top_columns_magnitude:
      check.winners(Over::columns, By::magnitude, draw_k());
      break;
    case Ending::top_rows:
      check.winners(Over::rows, By::value, draw_k());
      break;
    case Ending::top_rows_magnitude:
      check.winners(Over::rows, By::magnitude, draw_k());
      break;
    case Ending::pair_energy:
      check.pair_energy(draw_k());
      break;
  }
  return check.share;
}

}  // namespace envoi::cuda::tests
