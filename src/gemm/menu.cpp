// The menu of endings as plain functions.
#include "gemm/cpu/menu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/thread_pool.hpp"
#include "envoi/gemm.hpp"
#include "gemm/gemm.hpp"
#include "gemm/packed.hpp"

namespace envoi::gemm {
namespace {

using Ports = std::vector<BoundPort>;

// Runs one ending of the menu on sums of the type that A and B have.
template <class Ending>
void run_menu(ApplyTile<float> Menu<float>::*single, ApplyTile<double> Menu<double>::*twice, const Operand& a,
              const Columns& b, const Ending& ending, Ports operands, Ports results, core::ThreadPool& pool) {
  if (sums_in_double(a, b)) {
    run<double>(a, b, {menu<double>().*twice, &ending, std::move(operands), std::move(results)}, pool);
  } else {
    run<float>(a, b, {menu<float>().*single, &ending, std::move(operands), std::move(results)}, pool);
  }
}
#define ENVOI_MENU(Name) &Menu<float>::Name, &Menu<double>::Name

struct Stateless {};

// An ending of the menu, and one that also keeps what it is made from.
struct Gate {
  ApplyTile<float> Menu<float>::*single;
  ApplyTile<double> Menu<double>::*twice;
};

void run_gate(const Gate& plain, const Gate& kept, const Operand& a, const Columns& b, const Matrix& scale,
              const MutableMatrix& gated, const MutableMatrix& projected, unsigned threads) {
  static constexpr float kOne = 1;
  const auto given = [](const Matrix& m) { return m.data || m.rows != 0 || m.columns != 0; };
  Ports results{{PortKind::store_half, gated, "gated"}};
  if (given(projected)) results.push_back({PortKind::store, projected, "projected"});
  const Gate& gate = given(projected) ? kept : plain;
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(gate.single, gate.twice, a, b, Stateless{},
           {{PortKind::column, given(scale) ? scale : Matrix(&kOne, a.rows(), 1, 0, 0), "scale"}}, std::move(results),
           pool);
}

std::vector<Winner> winners_of(const char* name, const Operand& a, const Columns& columns, std::int64_t slots,
                               PortKind kind, std::int64_t k, core::ThreadPool& pool) {
  std::optional<Columns> own;
  const Columns& b = packed(columns, pool, own);  // B is refused before room is made for its winners
  if (k < 1) throw Error(ErrorKind::bad_argument, "the best " + std::to_string(k) + " are none; ask for at least 1");
  std::int64_t count = 0;
  if (slots < 0 || __builtin_mul_overflow(slots, k, &count) || count > (std::int64_t{1} << 40)) {
    throw Error(ErrorKind::bad_argument, "the best " + std::to_string(k) + " are too many");
  }
  std::vector<Winner> winners(static_cast<std::size_t>(count));
  const Ports to{{kind, Port(std::span<Winner>(winners)), name}};
  switch (kind) {
    case PortKind::topk_n:
      run_menu(ENVOI_MENU(TopColumns), a, b, Stateless{}, {}, to, pool);
      break;
    case PortKind::topk_abs_n:
      run_menu(ENVOI_MENU(TopColumnsMagnitude), a, b, Stateless{}, {}, to, pool);
      break;
    case PortKind::topk_m:
      run_menu(ENVOI_MENU(TopRows), a, b, Stateless{}, {}, to, pool);
      break;
    case PortKind::topk_abs_m:
      run_menu(ENVOI_MENU(TopRowsMagnitude), a, b, Stateless{}, {}, to, pool);
      break;
    default:
      run_menu(ENVOI_MENU(PairEnergy), a, b, Stateless{}, {}, to, pool);
      break;
  }
  return winners;
}

PortKind winners_kind(Over over, By by) {
  if (over == Over::columns) return by == By::value ? PortKind::topk_n : PortKind::topk_abs_n;
  return by == By::value ? PortKind::topk_m : PortKind::topk_abs_m;
}

std::int64_t slots_of(const Operand& a, const Columns& b, Over over) {
  return over == Over::columns ? a.rows() : b.columns();
}

}  // namespace

unsigned threads_for(const Operand& a, const Columns& b, unsigned threads) {
  const double products =
      static_cast<double>(a.rows()) * static_cast<double>(b.rows()) * static_cast<double>(b.columns());
  const unsigned asked = core::thread_count(threads);
  return products < 1e6 ? 1 : asked;
}

void store(const Operand& a, const Columns& b, MutableMatrix product, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(ENVOI_MENU(StoreProduct), a, b, Stateless{}, {}, {{PortKind::store, product, "product"}}, pool);
}

void bias_activation(const Operand& a, const Columns& b, Matrix bias, Activation activation, MutableMatrix layer,
                     unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(ENVOI_MENU(BiasActivation), a, b, activation, {{PortKind::row, bias, "bias"}},
           {{PortKind::store, layer, "layer"}}, pool);
}

void row_scale(const Operand& a, const Columns& b, Matrix scale, MutableMatrix scaled, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(ENVOI_MENU(RowScale), a, b, Stateless{}, {{PortKind::column, scale, "scale"}},
           {{PortKind::store, scaled, "scaled"}}, pool);
}

void residual_squares(const Operand& a, const Columns& b, Matrix residual, MutableMatrix sum, MutableMatrix squares,
                      unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(ENVOI_MENU(ResidualSquares), a, b, Stateless{}, {{PortKind::tile, residual, "residual"}},
           {{PortKind::store, sum, "sum"}, {PortKind::sum_n, squares, "squares"}}, pool);
}

void swiglu(const Operand& a, const Columns& b, Matrix scale, MutableMatrix gated, MutableMatrix projected,
            unsigned threads) {
  run_gate({ENVOI_MENU(SwiGlu)}, {ENVOI_MENU(SwiGluKept)}, a, b, scale, gated, projected, threads);
}
void swiglu(const Operand& a, const Columns& b, MutableMatrix gated, unsigned threads) {
  swiglu(a, b, Matrix(), gated, {}, threads);
}

void geglu(const Operand& a, const Columns& b, Matrix scale, MutableMatrix gated, MutableMatrix projected,
           unsigned threads) {
  run_gate({ENVOI_MENU(GeGlu)}, {ENVOI_MENU(GeGluKept)}, a, b, scale, gated, projected, threads);
}
void geglu(const Operand& a, const Columns& b, MutableMatrix gated, unsigned threads) {
  geglu(a, b, Matrix(), gated, {}, threads);
}

void rope(const Operand& a, const Columns& b, Matrix cosine, Matrix sine, MutableMatrix turned, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  run_menu(ENVOI_MENU(Rope), a, b, Stateless{},
           {{PortKind::half_tile, cosine, "cosine"}, {PortKind::half_tile, sine, "sine"}},
           {{PortKind::store, turned, "turned"}}, pool);
}

void cross_entropy(const Operand& a, const Columns& b, std::span<const std::int64_t> targets, MutableMatrix lse,
                   MutableMatrix target, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  Port select(target);
  select.targets = targets.data(), select.target_count = static_cast<std::int64_t>(targets.size());
  run_menu(ENVOI_MENU(CrossEntropy), a, b, Stateless{}, {},
           {{PortKind::lse_n, lse, "lse"}, {PortKind::select_n, select, "target"}}, pool);
}

std::vector<Winner> argmax(const Operand& a, const Columns& b, Over over, By by, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  return winners_of("argmax", a, b, slots_of(a, b, over), winners_kind(over, by), 1, pool);
}

std::vector<Winner> top_k(const Operand& a, const Columns& b, Over over, By by, std::int64_t k, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  return winners_of("top_k", a, b, slots_of(a, b, over), winners_kind(over, by), k, pool);
}

std::vector<Winner> pair_energy(const Operand& a, const Columns& b, std::int64_t k, unsigned threads) {
  core::ThreadPool pool(threads_for(a, b, threads));
  return winners_of("pair_energy", a, b, a.rows(), PortKind::topk_half_n, k, pool);
}

void block_maxima(const Operand& a, const Columns& b, MutableMatrix maxima, core::ThreadPool& pool) {
  run_menu(ENVOI_MENU(BlockMaxima), a, b, Stateless{}, {}, {{PortKind::max_abs_m, maxima, "maxima"}}, pool);
}

void best_rows(const Operand& a, const Columns& b, bool by_magnitude, std::int64_t k, std::span<Winner> winners,
               core::ThreadPool& pool) {
  const std::vector<Winner> found = winners_of(
      "best_rows", a, b, b.columns(), winners_kind(Over::rows, by_magnitude ? By::magnitude : By::value), k, pool);
  if (winners.size() != found.size()) {
    throw Error(ErrorKind::bad_argument, "the best rows have room for " + std::to_string(winners.size()) +
                                             " winners; there are " + std::to_string(found.size()));
  }
  std::copy(found.begin(), found.end(), winners.begin());
}

}  // namespace envoi::gemm
