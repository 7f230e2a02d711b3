// An ending of one's own, compiled by one's own compiler for one's own flags: the library's main loop leaves each tile
// of sums in the cache and calls back once a tile. docs/endings.md shows one from start to end.
//
// An ending is a struct with
//   template <class V> struct In  { named operands: Scalar<V>, Row<V>, Column<V>, Tile<V>, HalfTile<V> };
//   template <class V> struct Out { named results: Store<V>, SumN<V>, LseN<V>, TopkN<V>, ... };
//   template <class V> ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const;
// of at most 6 fields each, all of them ports (ending/ports.inl), and called as
//   run_ending(a, b, MyEnding{}, {.scale = ..}, {.product = ..});
// V is some lanes of float, or of double where A and B are fp64: use + - * / and their assignments, fma, abs, sqrt,
// exp, log, tanh, max, min, where_greater, sigmoid, silu and gelu, on V and on Pair<V> alike, and V(number) for a
// constant.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "envoi/ending/function.hpp"
#include "envoi/ending/tile.hpp"
#include "envoi/gemm.hpp"

#if defined(__CUDACC__)  // what follows runs on the host alone, though ENVOI_FN allows a device as well
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20013, 20014
#endif

namespace envoi::gemm {

// Lanes as a plain array, whose loops any compiler turns into vectors.
template <class T>
struct Lanes {
  using Number = T;
  static constexpr int kLanes = 32 / sizeof(T);
  T v[kLanes];

  Lanes() = default;
  ENVOI_FN explicit Lanes(double number) {
    for (T& x : v) x = static_cast<T>(number);
  }

  static constexpr int lanes() { return kLanes; }
  static ENVOI_FN Lanes load(const T* from) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = from[i];
    return r;
  }
  ENVOI_FN void store(T* to) const {
    for (int i = 0; i < kLanes; ++i) to[i] = v[i];
  }
  static ENVOI_FN void load_pairs(const T* from, Lanes& even, Lanes& odd) {
    for (int i = 0; i < kLanes; ++i) even.v[i] = from[2 * i], odd.v[i] = from[2 * i + 1];
  }
  static ENVOI_FN void store_pairs(const Lanes& even, const Lanes& odd, T* to) {
    for (int i = 0; i < kLanes; ++i) to[2 * i] = even.v[i], to[2 * i + 1] = odd.v[i];
  }
  ENVOI_FN T first() const { return v[0]; }

  ENVOI_FN friend Lanes operator+(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] + b.v[i];
    return r;
  }
  ENVOI_FN friend Lanes operator-(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] - b.v[i];
    return r;
  }
  ENVOI_FN friend Lanes operator*(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] * b.v[i];
    return r;
  }
  ENVOI_FN friend Lanes operator/(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] / b.v[i];
    return r;
  }
  ENVOI_FN friend Lanes operator-(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = -a.v[i];
    return r;
  }
  ENVOI_FN Lanes& operator+=(const Lanes& b) { return *this = *this + b; }
  ENVOI_FN Lanes& operator-=(const Lanes& b) { return *this = *this - b; }
  ENVOI_FN Lanes& operator*=(const Lanes& b) { return *this = *this * b; }
  ENVOI_FN Lanes& operator/=(const Lanes& b) { return *this = *this / b; }
  ENVOI_FN friend Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) { return a * b + c; }
  ENVOI_FN friend Lanes abs(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::abs(a.v[i]);
    return r;
  }
  ENVOI_FN friend Lanes sqrt(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::sqrt(a.v[i]);
    return r;
  }
  ENVOI_FN friend Lanes exp(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::exp(a.v[i]);
    return r;
  }
  ENVOI_FN friend Lanes log(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::log(a.v[i]);
    return r;
  }
  ENVOI_FN friend Lanes tanh(const Lanes& a) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::tanh(a.v[i]);
    return r;
  }
  // NaN if either is.
  ENVOI_FN friend Lanes max(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] > b.v[i] || a.v[i] != a.v[i] ? a.v[i] : b.v[i];
    return r;
  }
  ENVOI_FN friend Lanes min(const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] < b.v[i] || a.v[i] != a.v[i] ? a.v[i] : b.v[i];
    return r;
  }
  // Where a > b, x, elsewhere y.
  ENVOI_FN friend Lanes where_greater(const Lanes& a, const Lanes& b, const Lanes& x, const Lanes& y) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] > b.v[i] ? x.v[i] : y.v[i];
    return r;
  }
  // The first `count` lanes of a, the others of b.
  ENVOI_FN friend Lanes first_lanes(int count, const Lanes& a, const Lanes& b) {
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = i < count ? a.v[i] : b.v[i];
    return r;
  }
  ENVOI_FN friend bool all_at_most(const Lanes& a, const Lanes& b) {
    bool all = true;
    for (int i = 0; i < kLanes; ++i) all &= a.v[i] <= b.v[i];
    return all;
  }
};

#include "envoi/ending/ports.inl"

namespace detail {
using BoundPorts = std::vector<std::pair<PortKind, Port>>;

// Operands or results in the order of their fields.
struct Collect {
  BoundPorts& ports;
  template <class Field>
  void operator()(Field& field, int) const {
    ports.emplace_back(Field::kind, field);
  }
};

ENVOI_API bool sums_in_double(const Operand& a, const Columns& b);
ENVOI_API void run_ending(const Operand& a, const Columns& b, ApplyTile<float> apply, const void* ending,
                          const BoundPorts& operands, const BoundPorts& results, unsigned threads);
ENVOI_API void run_ending(const Operand& a, const Columns& b, ApplyTile<double> apply, const void* ending,
                          const BoundPorts& operands, const BoundPorts& results, unsigned threads);
}  // namespace detail

// Runs an ending over A B. Its operands and results are matrices: a scalar 1 x 1, a row 1 x columns, a column and
// ..N results rows x 1, ..M results 1 x columns (MaxAbsM also one row for each kTileRows), half tiles rows x columns /
// 2; winners a std::span<Winner> of one or k for each row or column, those without a candidate of index -1. Throws
// Error: bad_argument for what does not fit; numerical where an argmax or top-k meets NaN.
template <class Ending>
void run_ending(const Operand& a, const Columns& b, const Ending& ending, typename Checked<Ending>::In in,
                typename Checked<Ending>::Out out, unsigned threads = 0) {
  detail::BoundPorts operands, results;
  each_field<operands_of<Ending>>(in, detail::Collect{operands});
  each_field<results_of<Ending>>(out, detail::Collect{results});
  if (detail::sums_in_double(a, b)) {
    detail::run_ending(a, b, &apply_ending<Ending, Lanes<double>>, &ending, operands, results, threads);
  } else {
    detail::run_ending(a, b, &apply_ending<Ending, Lanes<float>>, &ending, operands, results, threads);
  }
}

}  // namespace envoi::gemm

#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
