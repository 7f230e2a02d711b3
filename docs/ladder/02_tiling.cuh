// Step 02, tiling: a block makes a tile of C from slices of A and B in shared memory, a thread a small tile of it in
// registers.
//
// Adds: reuse. A slice of 128 x 16 of A and one of B serve 128 x 128 sums. Of these a warp has 64 x 32 and a thread
//   8 x 8 (four pieces of 4 x 4): 16 numbers read from shared memory are 64 multiply-adds. The next slice is fetched
//   into registers while this one is multiplied.
// Limited by: the fp32 units: 128 multiply-adds a clock and multiprocessor, 67 TFLOP/s in all. The tensor cores would
//   do 2048.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace tiling {

constexpr int kTile = 128, kDepth = 16, kThreads = 256;
// Slices lie with the depth as the slow dimension, so that four neighbouring rows are one load of 16 bytes.
constexpr int kStep = kTile + 4;

// 8 numbers of a row of A or B, where they are inside; zeros where they are not.
__device__ __forceinline__ uint4 fetch(const bf16* from, int rows, int k, int row, int depth) {
  if (row >= rows || depth >= k) return make_uint4(0, 0, 0, 0);
  return *reinterpret_cast<const uint4*>(from + static_cast<std::size_t>(row) * k + depth);
}

__device__ __forceinline__ void put(float (&slice)[kDepth][kStep], int row, int depth, const uint4& eight) {
  const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(&eight);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    slice[depth + 2 * i][row] = pair.x;
    slice[depth + 2 * i + 1][row] = pair.y;
  }
}

__global__ void __launch_bounds__(kThreads) step_02_tiling(Problem problem) {
  __shared__ __align__(16) float a[kDepth][kStep], b[kDepth][kStep];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile_row = blockIdx.y * kTile, tile_column = blockIdx.x * kTile;
  // Copying: each thread 8 numbers of A and 8 of B. Computing: warps 2 x 4, lanes 8 x 4.
  const int copied_row = threadIdx.x / 2, copied_depth = threadIdx.x % 2 * 8;
  const int row = warp / 4 * 64 + lane / 4 * 4, column = warp % 4 * 32 + lane % 4 * 4;

  float sums[8][8] = {};
  uint4 next_a = fetch(problem.a, problem.m, problem.k, tile_row + copied_row, copied_depth);
  uint4 next_b = fetch(problem.b, problem.n, problem.k, tile_column + copied_row, copied_depth);
  for (int depth = 0; depth < problem.k; depth += kDepth) {
    put(a, copied_row, copied_depth, next_a);
    put(b, copied_row, copied_depth, next_b);
    __syncthreads();
    next_a = fetch(problem.a, problem.m, problem.k, tile_row + copied_row, depth + kDepth + copied_depth);
    next_b = fetch(problem.b, problem.n, problem.k, tile_column + copied_row, depth + kDepth + copied_depth);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float x[8], y[8];
      *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(&a[k][row]);
      *reinterpret_cast<float4*>(x + 4) = *reinterpret_cast<const float4*>(&a[k][row + 32]);
      *reinterpret_cast<float4*>(y) = *reinterpret_cast<const float4*>(&b[k][column]);
      *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<const float4*>(&b[k][column + 16]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] += x[i] * y[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      store_pair(problem, tile_row + row + i % 4 + i / 4 * 32, tile_column + column + j % 4 + j / 4 * 16, sums[i][j],
                 sums[i][j + 1]);
    }
  }
}

}  // namespace tiling

inline void run_02(const Problem& problem) {
  const dim3 blocks(divide_up(problem.n, tiling::kTile), divide_up(problem.m, tiling::kTile));
  launch(problem, tiling::step_02_tiling, blocks, tiling::kThreads, 0, problem);
}

}  // namespace ladder
