// One signal against rows in memory, compiled once an instruction set by Highway.
#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pursuit/cpu/dense_column.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "pursuit/cpu/dense_column.hpp"

HWY_BEFORE_NAMESPACE();
namespace envoi::pursuit {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
using gemm::bfloat16;

HWY_INLINE V Load(const float* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE V Load(const bfloat16* from) {
  const hn::Rebind<uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> bits;
  return hn::BitCast(Tag(),
                     hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)))));
}

// The sum of all lanes by halves.
#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE float Sum(D, hn::Vec<D> v) {
  return hn::GetLane(v);
}
#else
template <class D>
HWY_INLINE float Sum(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return Sum(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    HWY_ALIGN float lane[4];
    hn::Store(v, d, lane);
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
  }
}
#endif

// Products of `rows` rows, `apart` numbers between them, read side by side.
template <int rows, class A>
HWY_INLINE void Products(const A* HWY_RESTRICT row, size_t apart, size_t depth, const float* HWY_RESTRICT column,
                         float* out) {
  const Tag d;
  constexpr size_t lanes = HWY_LANES(float);
  V sum[rows];
  for (int r = 0; r < rows; ++r) sum[r] = hn::Zero(d);
  const size_t whole = depth / lanes * lanes;
  size_t k = 0;
  for (; k < whole; k += lanes) {
    const V x = Load(column + k);
    for (int r = 0; r < rows; ++r) sum[r] = hn::MulAdd(Load(row + static_cast<size_t>(r) * apart + k), x, sum[r]);
  }
  if (k < depth) {
    const V x = Load(column + k);
    for (int r = 0; r < rows; ++r) {
      A tail[lanes] = {};
      std::copy(row + static_cast<size_t>(r) * apart + k, row + static_cast<size_t>(r) * apart + depth, tail);
      sum[r] = hn::MulAdd(Load(tail), x, sum[r]);
    }
  }
  for (int r = 0; r < rows; ++r) out[r] = Sum(d, sum[r]);
}

template <class A>
HWY_NOINLINE void Maxima(const A* rows, size_t stride, size_t count, size_t depth, const float* column,
                         size_t block_rows, float* maxima) {
  const size_t half = count / block_rows / 2;  // whole blocks that have a partner `half` blocks on
  for (size_t b = 0; b < half; ++b) {
    const A* HWY_RESTRICT row = rows + b * block_rows * stride;
    float first = 0, second = 0;
    for (size_t r = 0; r < block_rows; ++r, row += stride) {
      float product[2];
      Products<2>(row, half * block_rows * stride, depth, column, product);
      first = std::max(first, std::abs(product[0]));
      second = std::max(second, std::abs(product[1]));
    }
    maxima[b] = first;
    maxima[b + half] = second;
  }
  for (size_t at = 2 * half * block_rows; at < count; at += block_rows) {
    float largest = 0;
    for (size_t r = at; r < std::min(count, at + block_rows); ++r) {
      float product[1];
      Products<1>(rows + r * stride, 0, depth, column, product);
      largest = std::max(largest, std::abs(product[0]));
    }
    maxima[at / block_rows] = largest;
  }
}

ColumnKernel<float> ColumnF32() { return {HWY_LANES(float), &Maxima<float>}; }
ColumnKernel<bfloat16> ColumnBf16() { return {HWY_LANES(float), &Maxima<bfloat16>}; }

}  // namespace HWY_NAMESPACE
}  // namespace envoi::pursuit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/isa.hpp"

namespace envoi::pursuit {
HWY_EXPORT(ColumnF32);
HWY_EXPORT(ColumnBf16);

template <>
const ColumnKernel<float>& column_kernel() {
  static const auto kernel = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(ColumnF32)(); });
  return kernel;
}
template <>
const ColumnKernel<gemm::bfloat16>& column_kernel() {
  static const auto kernel = core::with_isa([] { return HWY_DYNAMIC_DISPATCH(ColumnBf16)(); });
  return kernel;
}

}  // namespace envoi::pursuit
#endif  // HWY_ONCE
