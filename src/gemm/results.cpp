// Checks of ports, their partial results, and the fixed order in which these are finished.
#include "gemm/results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "gemm/vectors.hpp"

namespace envoi::gemm {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

void want_shape(const Port& port, const std::string& name, std::int64_t rows, std::int64_t columns) {
  check_matrix(port, name);
  if (port.rows != rows || port.columns != columns) {
    refuse(name + " is " + std::to_string(port.rows) + " x " + std::to_string(port.columns) + "; this product needs " +
           std::to_string(rows) + " x " + std::to_string(columns));
  }
}

// A result must not be written twice in one place.
void want_apart(const Port& port, const std::string& name) {
  const bool one_row = port.rows <= 1, one_column = port.columns <= 1;
  // The stride of a single row or column is never taken, whatever it is.
  const std::int64_t down = one_row ? 0 : std::abs(port.row_stride),
                     along = one_column ? 0 : std::abs(port.column_stride);
  const bool apart = (one_row || down > 0) && (one_column || along > 0) &&
                     (one_row || one_column || down / along >= port.columns || along / down >= port.rows ||
                      down > (port.columns - 1) * along || along > (port.rows - 1) * down);
  if (!apart && port.rows > 0 && port.columns > 0) refuse(name + " overlaps itself: check its strides");
}

void want_even(const Shape& shape, const std::string& name) {
  if (shape.columns % 2 != 0) {
    refuse(name + " takes columns by pairs, and B has " + std::to_string(shape.columns));
  }
}

template <class T>
void write(const Port& port, std::int64_t row, std::int64_t column, T value) {
  const std::int64_t at = row * port.row_stride + column * port.column_stride;
  void* data = const_cast<void*>(port.data);
  if (port.dtype == DType::f32) {
    static_cast<float*>(data)[at] = static_cast<float>(value);
  } else if (port.dtype == DType::f64) {
    static_cast<double*>(data)[at] = static_cast<double>(value);
  } else if (port.dtype == DType::bf16) {
    static_cast<bfloat16*>(data)[at] = bfloat16(static_cast<float>(value));
  } else {
    static_cast<float16*>(data)[at] = float16(static_cast<float>(value));
  }
}

template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

}  // namespace

PortFacts facts(PortKind kind) {
  switch (kind) {
    case PortKind::scalar:
      return {"scalar", false, false, false, false};
    case PortKind::row:
      return {"row", false, false, false, false};
    case PortKind::column:
      return {"column", false, false, false, false};
    case PortKind::tile:
      return {"tile", false, false, false, false};
    case PortKind::half_tile:
      return {"half tile", false, false, false, true};
    case PortKind::store:
      return {"store", false, false, false, false};
    case PortKind::store_half:
      return {"half store", false, false, false, true};
    case PortKind::sum_n:
      return {"sum_n", false, false, false, false};
    case PortKind::sum_m:
      return {"sum_m", false, true, false, false};
    case PortKind::max_n:
      return {"max_n", false, false, false, false};
    case PortKind::max_abs_n:
      return {"max_abs_n", false, false, true, false};
    case PortKind::max_abs_m:
      return {"max_abs_m", false, true, true, false};
    case PortKind::lse_n:
      return {"lse_n", false, false, false, false};
    case PortKind::select_n:
      return {"select_n", false, false, false, false};
    case PortKind::argmax_n:
      return {"argmax_n", true, false, false, false};
    case PortKind::argmax_abs_n:
      return {"argmax_abs_n", true, false, true, false};
    case PortKind::argmax_half_n:
      return {"argmax_half_n", true, false, false, true};
    case PortKind::argmax_m:
      return {"argmax_m", true, true, false, false};
    case PortKind::argmax_abs_m:
      return {"argmax_abs_m", true, true, true, false};
    case PortKind::topk_n:
      return {"topk_n", true, false, false, false};
    case PortKind::topk_abs_n:
      return {"topk_abs_n", true, false, true, false};
    case PortKind::topk_half_n:
      return {"topk_half_n", true, false, false, true};
    case PortKind::topk_m:
      return {"topk_m", true, true, false, false};
    case PortKind::topk_abs_m:
      return {"topk_abs_m", true, true, true, false};
  }
  refuse("an ending has a port that this library does not know");
}

bool is_argmax(PortKind kind) {
  return kind == PortKind::argmax_n || kind == PortKind::argmax_abs_n || kind == PortKind::argmax_half_n ||
         kind == PortKind::argmax_m || kind == PortKind::argmax_abs_m;
}

const char* kind_name(PortKind kind) { return facts(kind).name; }

std::int64_t check_result(const BoundPort& result, const Shape& shape) {
  const PortFacts about = facts(result.kind);
  const Port& port = result.port;
  const std::string& name = result.name;
  if (about.half) want_even(shape, name);
  if (about.along_m && shape.grouped) refuse(name + " goes over rows, which a grouped product splits");
  if (about.winners) {
    const std::int64_t slots = about.along_m ? shape.columns : shape.rows;
    const std::int64_t given = port.winner_count;
    if (given > 0 && !port.winners) refuse(name + " has nowhere to go (null)");
    const std::int64_t k = is_argmax(result.kind) ? 1 : slots > 0 ? given / slots : 1;
    if (k < 1 || given != slots * k) {
      refuse(name + " has room for " + std::to_string(given) + " winners; it needs " +
             (is_argmax(result.kind) ? "" : "a multiple of ") + std::to_string(slots));
    }
    return k;
  }
  switch (result.kind) {
    case PortKind::store:
      want_shape(port, name, shape.rows, shape.columns);
      break;
    case PortKind::store_half:
      want_shape(port, name, shape.rows, shape.columns / 2);
      break;
    case PortKind::sum_m:
      want_shape(port, name, 1, shape.columns);
      break;
    case PortKind::max_abs_m:  // one row, or one for each block
      want_shape(port, name, port.rows == 1 ? 1 : shape.row_blocks, shape.columns);
      break;
    case PortKind::sum_n:
    case PortKind::max_n:
    case PortKind::max_abs_n:
    case PortKind::lse_n:
    case PortKind::select_n:
      want_shape(port, name, shape.rows, 1);
      if (result.kind == PortKind::select_n && (port.target_count != shape.rows || (shape.rows > 0 && !port.targets))) {
        refuse(name + " needs a target column for each of the " + std::to_string(shape.rows) + " rows");
      }
      break;
    default:
      refuse(name + " is an operand, not a result");
  }
  want_apart(port, name);
  return 1;
}

void check_operand(const BoundPort& operand, const Shape& shape) {
  const std::string& name = operand.name;
  switch (operand.kind) {
    case PortKind::scalar:
      return want_shape(operand.port, name, 1, 1);
    case PortKind::row:
      return want_shape(operand.port, name, 1, shape.columns);
    case PortKind::column:
      return want_shape(operand.port, name, shape.rows, 1);
    case PortKind::tile:
      return want_shape(operand.port, name, shape.rows, shape.columns);
    case PortKind::half_tile:
      want_even(shape, name);
      return want_shape(operand.port, name, shape.rows, shape.columns / 2);
    default:
      refuse(name + " is a result, not an operand");
  }
}

namespace {

struct Extent {
  std::uintptr_t begin = 0, end = 0;
  bool compact = false;  // no element between them belongs to another
};

Extent extent(const Matrix& m) {
  if (m.rows == 0 || m.columns == 0 || !m.data) return {};
  const std::int64_t size = m.dtype == DType::f64 ? 8 : m.dtype == DType::f32 ? 4 : 2;
  const std::int64_t down = (m.rows - 1) * m.row_stride, along = (m.columns - 1) * m.column_stride;
  const std::int64_t low = std::min<std::int64_t>(down, 0) + std::min<std::int64_t>(along, 0);
  const std::int64_t high = std::max<std::int64_t>(down, 0) + std::max<std::int64_t>(along, 0) + 1;
  const auto base = reinterpret_cast<std::uintptr_t>(m.data);
  return {base + static_cast<std::uintptr_t>(low * size), base + static_cast<std::uintptr_t>(high * size),
          (high - low) / m.columns <= m.rows};
}

bool surely_overlap(const Matrix& a, const Matrix& b) {
  const Extent p = extent(a), q = extent(b);
  if (p.begin == p.end || q.begin == q.end) return false;
  if (p.compact && q.compact) return p.begin < q.end && q.begin < p.end;
  // Beside a compact one, the other's first element tells: where it lies there is something.
  const auto holds = [](const Extent& whole, const void* element) {
    const auto at = reinterpret_cast<std::uintptr_t>(element);
    return whole.compact && at >= whole.begin && at < whole.end;
  };
  return holds(p, b.data) || holds(q, a.data);
}

bool same_view(const Matrix& a, const Matrix& b) {
  return a.data == b.data && a.dtype == b.dtype && a.row_stride == b.row_stride && a.column_stride == b.column_stride;
}

}  // namespace

void check_overlaps(const Matrix* side, const char* name_of_side, const std::vector<BoundPort>& operands,
                    const std::vector<BoundPort>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& name = results[i].name;
    if (side && surely_overlap(*side, results[i].port)) refuse(name + " overlaps " + name_of_side);
    for (const BoundPort& operand : operands) {
      const bool in_place = operand.kind == PortKind::tile && results[i].kind == PortKind::store &&
                            same_view(operand.port, results[i].port);
      if (!in_place && surely_overlap(operand.port, results[i].port)) {
        refuse(name + " overlaps " + operand.name);
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (surely_overlap(results[j].port, results[i].port)) {
        refuse(name + " overlaps " + results[j].name);
      }
    }
  }
}

template <class T>
Results<T>::Results(const std::vector<BoundPort>& results, const Shape& shape, unsigned workers) : shape_(shape) {
  for (const BoundPort& result : results) {
    PortState state;
    state.port = result.port, state.kind = result.kind;
    memory_.push_back(std::make_unique<Memory>());
    memory_.back()->name = result.name;
    begin(state, *memory_.back(), workers);
    states_.push_back(state);
  }
}

template <class T>
void Results<T>::begin(PortState& state, Memory& memory, unsigned workers) {
  const PortFacts about = facts(state.kind);
  const std::string& name = memory.name;
  const std::int64_t k = check_result({state.kind, state.port, name}, shape_);
  if (about.winners) {
    const auto count = static_cast<std::size_t>(about.along_m ? shape_.columns : shape_.rows);
    constexpr std::size_t kBeyond = kTileColumns + 2 * 64;  // what a vector reads past the last column
    memory.best.resize(workers);
    for (Best& best : memory.best) {
      auto& thresholds = memory.thresholds.emplace_back(count + kBeyond, std::numeric_limits<T>::max());
      best.k = k, best.magnitude = about.magnitude;
      best.threshold = thresholds.data();
      best.values = memory.values.emplace_back(count * static_cast<std::size_t>(k)).data();
      best.index = memory.index.emplace_back(count * static_cast<std::size_t>(k)).data();
      best.count = memory.count.emplace_back(count).data();
    }
    state.best = memory.best.data();
    return;
  }
  const auto partials = [&](std::int64_t blocks, std::int64_t stride) {
    state.partial_stride = stride;
    memory.partials.resize(static_cast<std::size_t>(blocks * stride));
    state.partials = memory.partials.data();
  };
  switch (state.kind) {
    case PortKind::sum_m:
      partials(shape_.row_blocks, shape_.columns);
      break;
    case PortKind::max_abs_m:
      if (state.port.rows == shape_.row_blocks && state.port.dtype == dtype_of<T> && state.port.column_stride == 1) {
        state.partials = const_cast<void*>(state.port.data), state.partial_stride = state.port.row_stride;
      } else {
        partials(shape_.row_blocks, shape_.columns);
      }
      break;
    case PortKind::sum_n:
    case PortKind::max_n:
    case PortKind::max_abs_n:
      partials(shape_.column_blocks, shape_.rows);
      break;
    case PortKind::lse_n:
      partials(shape_.column_blocks, 2 * shape_.rows);
      break;
    case PortKind::select_n:
      for (std::int64_t m = 0; m < shape_.rows; ++m) {
        const std::int64_t target = state.port.targets[m];
        if (target < 0 || target >= shape_.columns) {
          refuse("the target of row " + std::to_string(m) + " is column " + std::to_string(target) + " of " +
                 std::to_string(shape_.columns));
        }
      }
      break;
    default:
      break;
  }
}

template <class T>
void Results<T>::finish_reduction(const PortState& state) {
  const T* partials = static_cast<const T*>(state.partials);
  const bool along_m = facts(state.kind).along_m;
  const std::int64_t blocks = along_m ? shape_.row_blocks : shape_.column_blocks;
  const std::int64_t count = along_m ? shape_.columns : shape_.rows;
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    T value = state.kind == PortKind::max_n || state.kind == PortKind::lse_n ? kNothing : 0;
    if (blocks == 0) {  // there are no partial results, not even at an address
    } else if (state.kind == PortKind::lse_n) {
      const T* pairs = partials + 2 * i;
      for (std::int64_t b = 0; b < blocks; ++b) value = larger(value, pairs[b * state.partial_stride]);
      if (std::abs(value) < std::numeric_limits<T>::infinity()) {
        T sum = 0;
        for (std::int64_t b = 0; b < blocks; ++b) {
          const T* pair = pairs + b * state.partial_stride;
          sum += pair[1] * std::exp(pair[0] - value);
        }
        value += std::log(sum);
      }
    } else {
      for (std::int64_t b = 0; b < blocks; ++b) {
        const T part = partials[b * state.partial_stride + i];
        value = state.kind == PortKind::sum_n || state.kind == PortKind::sum_m ? value + part : larger(value, part);
      }
    }
    write(state.port, along_m ? 0 : i, along_m ? i : 0, value);
  }
}

template <class T>
void Results<T>::finish_winners(const PortState& state, const Memory& memory) {
  const PortFacts about = facts(state.kind);
  Best first;  // of the NaN
  for (const Best& best : memory.best) {
    if (best.nan_row >= 0 && (first.nan_row < 0 || best.nan_row < first.nan_row ||
                              (best.nan_row == first.nan_row && best.nan_column < first.nan_column))) {
      first = best;
    }
  }
  if (first.nan_row >= 0) {
    throw Error(ErrorKind::numerical, std::string("the product has NaN in row ") + std::to_string(first.nan_row) +
                                          (about.half ? ", pair of columns " : ", column ") +
                                          std::to_string(first.nan_column) + "; " + memory.name +
                                          " needs numbers: look for NaN or infinity in A and B");
  }
  const std::int64_t slots = about.along_m ? shape_.columns : shape_.rows;
  const std::int64_t k = memory.best.front().k;
  std::vector<Winner> candidates;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    candidates.clear();
    for (const Best& best : memory.best) {
      for (std::int64_t i = 0; i < best.count[slot]; ++i) {
        candidates.push_back({best.values[slot * k + i], best.index[slot * k + i]});
      }
    }
    const auto key = [&](const Winner& w) { return about.magnitude ? std::abs(w.value) : w.value; };
    std::sort(candidates.begin(), candidates.end(),
              [&](const Winner& a, const Winner& b) { return key(a) != key(b) ? key(a) > key(b) : a.index < b.index; });
    for (std::int64_t i = 0; i < k; ++i) {
      state.port.winners[slot * k + i] =
          static_cast<std::size_t>(i) < candidates.size() ? candidates[static_cast<std::size_t>(i)] : Winner{};
    }
  }
}

template <class T>
void Results<T>::finish() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PortState& state = states_[i];
    if (state.best) {
      finish_winners(state, *memory_[i]);
    } else if (state.kind == PortKind::max_abs_m && state.port.rows == shape_.row_blocks && shape_.row_blocks != 1) {
      if (state.partials == state.port.data) continue;
      for (std::int64_t b = 0; b < shape_.row_blocks; ++b) {
        for (std::int64_t n = 0; n < shape_.columns; ++n) {
          write(state.port, b, n, static_cast<const T*>(state.partials)[b * state.partial_stride + n]);
        }
      }
    } else if (state.kind != PortKind::store && state.kind != PortKind::store_half &&
               state.kind != PortKind::select_n) {
      finish_reduction(state);
    }
  }
}

template class Results<float>;
template class Results<double>;

}  // namespace envoi::gemm
