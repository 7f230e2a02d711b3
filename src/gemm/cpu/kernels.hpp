// The main loop: a tile of A B from rows of A and packed columns of B, one source for every instruction set.
//
// The order of summation. With W the lanes of the instruction set, lane l sums the products of k = l, l + W, l + 2 W,
// ... one fused multiply-add after the other from zero (SSE4 and older: a product, then a sum); a depth that is no
// multiple of W is filled up with zeros. The W sums are then added by halves: l and l + W/2, and so on. It depends on
// nothing but the depth and the instruction set, so neither on the other rows and columns nor on which kernel takes
// them. bf16 operands are widened exactly, fp16 ones before they come here, so they give the bits of the same numbers
// in fp32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "envoi/matrix.hpp"

namespace envoi::gemm {

inline constexpr int kPanel = 4;  // columns that a panel of packed B interleaves

// Rows and columns beside one another; the columns of a tile stand even ones first, then odd ones, here and in `out`.
template <class A, class B, class T>
struct TileWork {
  const A* const* rows = nullptr;       // row_count, `depth` numbers each
  const A* tails = nullptr;             // [row][lanes]: what is left of depth / lanes, then zeros
  const A* const* next_rows = nullptr;  // read next: fetched into the cache meanwhile; or null
  int row_count = 0;
  const B* packed = nullptr;  // see pack.hpp
  int columns = 0;
  std::int64_t depth = 0;
  T* out = nullptr;
  std::int64_t out_stride = 0;
};

template <class A, class B, class T>
struct Kernel {
  int lanes = 0;
  void (*tile)(const TileWork<A, B, T>& work) = nullptr;
};

// The widths of the panels of `columns` columns: as many of kPanel as there are, then 2, then 1.
inline int panel_width(int columns_left) { return columns_left >= kPanel ? kPanel : columns_left >= 2 ? 2 : 1; }

// Of the chosen instruction set (core/isa.hpp). There are <float, float, float>, <double, double, double> and the
// three of float and bfloat16.
template <class A, class B, class T>
const Kernel<A, B, T>& kernel();

}  // namespace envoi::gemm
