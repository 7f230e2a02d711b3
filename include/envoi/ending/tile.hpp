// What the main loop hands to an ending: a finished tile of the product, and where the ending's operands and results
// are.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "envoi/matrix.hpp"

namespace envoi::gemm {

// Tiles begin at multiples of these; a group's first row begins a tile too.
inline constexpr int kTileRows = 64;
inline constexpr int kTileColumns = 64;

// Rows of sums, each with its even columns first and its odd ones after them. `values` may be read some lanes beyond.
template <class T>
struct FinishedTile {
  const T* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t row = 0, column = 0;              // its first, in the whole product
  std::int64_t row_block = 0, column_block = 0;  // counted from 0
  int rows = 0, columns = 0;
  unsigned worker = 0;
  int evens() const { return (columns + 1) / 2; }
  int odds() const { return columns / 2; }
};

// A winner of argmax or top-k: its value, with its sign, and the index of its column, row or pair of columns; -1 where
// there was no (further) candidate.
struct Winner {
  double value = 0;
  std::int64_t index = -1;
};

enum class PortKind {
  scalar,
  row,
  column,
  tile,
  half_tile,  // loads
  store,
  store_half,  // stores
  sum_n,
  sum_m,
  max_n,
  max_abs_n,
  max_abs_m,
  lse_n,
  select_n,  // reductions
  argmax_n,
  argmax_abs_n,
  argmax_half_n,
  argmax_m,
  argmax_abs_m,
  topk_n,
  topk_abs_n,
  topk_half_n,
  topk_m,
  topk_abs_m
};

// Where a named operand or result of an ending lives.
struct Port : MutableMatrix {
  Winner* winners = nullptr;
  std::int64_t winner_count = 0;
  const std::int64_t* targets = nullptr;
  std::int64_t target_count = 0;

  Port() = default;
  Port(const Matrix& matrix) : MutableMatrix() { static_cast<Matrix&>(*this) = matrix; }
  Port(std::span<Winner> to) : winners(to.data()), winner_count(static_cast<std::int64_t>(to.size())) {}
};

// What may be bound to an operand, a result, winners (one or k for each row or column) and a selected column of each
// row.
struct OperandPort : Port {
  OperandPort(const Matrix& from) : Port(from) {}
};
struct ResultPort : Port {
  ResultPort(const MutableMatrix& to) : Port(to) {}
};
struct WinnersPort : Port {
  WinnersPort(std::span<Winner> to) : Port(to) {}
  WinnersPort(std::vector<Winner>& to) : Port(std::span<Winner>(to)) {}
  WinnersPort(Winner* to, std::integral auto count) { winners = to, winner_count = static_cast<std::int64_t>(count); }
};
struct SelectPort : Port {
  SelectPort(const MutableMatrix& to, std::span<const std::int64_t> chosen) : Port(to) {
    targets = chosen.data(), target_count = static_cast<std::int64_t>(chosen.size());
  }
  SelectPort(const MutableMatrix& to, const std::int64_t* chosen, std::integral auto count) : Port(to) {
    targets = chosen, target_count = static_cast<std::int64_t>(count);
  }
};

// The best k of every row or column that one worker has seen.
struct Best {
  std::int64_t k = 1;
  bool magnitude = false;                      // keys are magnitudes of values
  void* threshold = nullptr;                   // [slot], of the accumulators' type: the k-th best key, once there are k
  double* values = nullptr;                    // [slot][k], best first
  std::int64_t* index = nullptr;               // [slot][k]
  std::int64_t* count = nullptr;               // [slot]
  std::int64_t nan_row = -1, nan_column = -1;  // the first NaN

  void note_nan(std::int64_t row, std::int64_t column) {
    if (nan_row < 0 || row < nan_row || (row == nan_row && column < nan_column)) nan_row = row, nan_column = column;
  }
};

// One result while the product runs. Partial results of tiles are kept apart and added in a fixed order at the end.
struct PortState {
  Port port;
  PortKind kind = PortKind::store;
  void* partials = nullptr;         // sums: [block][row or column]; lse: pairs of them
  std::int64_t partial_stride = 0;  // elements from one block to the next
  Best* best = nullptr;             // winners: one a worker
};

// What the main loop calls once a tile, from several threads at once.
template <class T>
using ApplyTile = void (*)(const void* ending, const FinishedTile<T>& tile, const Port* operands,
                           const PortState* results);

}  // namespace envoi::gemm
