// Operands that the copy engine cannot read as they lie, copied into rows by depth; fp32 split into two parts of TF32.
#include <initializer_list>

#include "gemm/cuda/start.cuh"
#include "gemm/cuda/steps.hpp"

namespace envoi::cuda {
namespace {

constexpr int kSide = 32, kRowsAtOnce = 8;

// The nearest number of TF32 (10 bits after the point), ties away from zero; no infinity comes of it.
__device__ float to_tf32(float x) {
  std::uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7F800000u) == 0x7F800000u) return x;
  const std::uint32_t rounded = (bits + 0x1000u) & 0xFFFFE000u;
  return __uint_as_float((rounded & 0x7F800000u) == 0x7F800000u ? bits & 0xFFFFE000u : rounded);
}

template <class Word, bool split>
__global__ void pack_kernel(Source from, Word* high, Word* low, std::int64_t stride, std::int64_t strips) {
  __shared__ Word tile[kSide][kSide + 1];
  const Word* data = static_cast<const Word*>(from.data);
  const bool by_vectors = from.vector_stride == 1;  // then neighbouring threads read neighbouring vectors
  for (std::int64_t b = blockIdx.x; b < strips; b += gridDim.x) {
    const std::int64_t across = (stride + kSide - 1) / kSide;
    const std::int64_t vector0 = b / across * kSide, depth0 = b % across * kSide;
    for (int y = threadIdx.y; y < kSide; y += kRowsAtOnce) {
      const int v = by_vectors ? threadIdx.x : y, d = by_vectors ? y : threadIdx.x;
      const std::int64_t vector = vector0 + v, depth = depth0 + d;
      tile[v][d] = vector < from.vectors && depth < from.depth
                       ? data[vector * from.vector_stride + depth * from.depth_stride]
                       : Word{};
    }
    __syncthreads();
    for (int y = threadIdx.y; y < kSide; y += kRowsAtOnce) {
      const std::int64_t vector = vector0 + y, depth = depth0 + threadIdx.x;
      if (vector >= from.vectors || depth >= stride) continue;
      const Word x = tile[y][threadIdx.x];
      if constexpr (split) {
        const float top = to_tf32(x);
        const bool finite = (__float_as_uint(x) & 0x7F800000u) != 0x7F800000u;
        high[vector * stride + depth] = top;
        low[vector * stride + depth] = finite ? to_tf32(x - top) : 0.0f;
      } else {
        high[vector * stride + depth] = x;
      }
    }
    __syncthreads();
  }
}

template <class Word, bool split>
cudaError_t launch(const Source& source, void* high, void* low, std::int64_t stride, cudaStream_t stream) {
  const std::int64_t strips = (source.vectors + kSide - 1) / kSide * ((stride + kSide - 1) / kSide);
  if (strips == 0) return cudaSuccess;
  const int blocks = static_cast<int>(strips < 8192 ? strips : 8192);
  return start(pack_kernel<Word, split>, dim3(blocks), dim3(kSide, kRowsAtOnce), stream, source,
               static_cast<Word*>(high), static_cast<Word*>(low), stride, strips);
}

}  // namespace

cudaError_t pack(const Source& source, void* high, void* low, std::int64_t stride, cudaStream_t stream) {
  if (source.dtype != DType::f32) return launch<std::uint16_t, false>(source, high, low, stride, stream);
  return low ? launch<float, true>(source, high, low, stride, stream)
             : launch<float, false>(source, high, low, stride, stream);
}

cudaError_t load_pack() {
  for (const cudaError_t error :
       {load(pack_kernel<std::uint16_t, false>), load(pack_kernel<float, false>), load(pack_kernel<float, true>)}) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace envoi::cuda
