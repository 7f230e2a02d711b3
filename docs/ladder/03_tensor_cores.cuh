// Step 03, tensor cores: mma.sync, the way that also runs on the generation before Hopper.
//
// Adds: multiply-adds by the thousand. A warp's mma.sync multiplies 16 x 16 of A by 16 x 8 of B; ldmatrix brings the
//   pieces from shared memory into the registers where it wants them; cp.async copies global to shared memory past the
//   registers, three slices ahead of each other.
// Limited by: the warps themselves. They compute addresses, issue copies, load operands into registers and wait at
//   __syncthreads between the products, and mma.sync cannot feed Hopper's tensor cores at full rate.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace tensor_cores {

constexpr int kTile = 128, kDepth = 32, kStages = 3, kThreads = 128;
constexpr int kChunks = kDepth / 8;  // of 16 bytes, in a row of a slice

// ldmatrix reads 16-byte chunks from 8 rows at once. Rows are 64 bytes, so two fill the 32 banks; the chunks are
// swizzled such that any 8 rows' chunks of one number are in different banks.
__device__ __forceinline__ int chunk_of(int row, int chunk) { return row * kChunks + (chunk ^ (row / 2 % 4)); }

// A slice of 128 rows x 32 columns on its way; what is beyond the edges becomes zeros (a copy of no bytes).
__device__ __forceinline__ void copy_slice(uint4* to, const bf16* from, int rows, int k, int first_row, int depth) {
#pragma unroll
  for (int i = 0; i < kTile * kChunks / kThreads; ++i) {
    const int index = i * kThreads + threadIdx.x, row = index / kChunks, chunk = index % kChunks;
    const bool inside = first_row + row < rows && depth + chunk * 8 < k;
    const bf16* source = inside ? from + static_cast<std::size_t>(first_row + row) * k + depth + chunk * 8 : from;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(ptx::shared_address(to + chunk_of(row, chunk))),
                 "l"(source), "r"(inside ? 16 : 0)
                 : "memory");
  }
}

// Four matrices of 8 x 8, the rows of matrix i at the addresses that lanes 8 i to 8 i + 7 give.
__device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], const uint4* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(ptx::shared_address(row))
               : "memory");
}

__device__ __forceinline__ void multiply(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(kThreads, 2) step_03_tensor_cores(Problem problem) {
  __shared__ __align__(128) uint4 a[kStages][kTile * kChunks], b[kStages][kTile * kChunks];  // 48 KB
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile_row = blockIdx.y * kTile, tile_column = blockIdx.x * kTile;
  const int row = warp / 2 * 64, column = warp % 2 * 64;  // of the warp's 64 x 64 sums
  const int steps = divide_up(problem.k, kDepth);

  const auto copy = [&](int step) {
    if (step < steps) {
      copy_slice(a[step % kStages], problem.a, problem.m, problem.k, tile_row, step * kDepth);
      copy_slice(b[step % kStages], problem.b, problem.n, problem.k, tile_column, step * kDepth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");  // also an empty one, so that counting groups counts steps
  };
  for (int step = 0; step < kStages - 1; ++step) copy(step);

  float sums[4][8][4] = {};
  for (int step = 0; step < steps; ++step) {
    // This step's group is over for this thread, then for all; and all are done with the slice of the step before,
    // which the next copy overwrites.
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    copy(step + kStages - 1);
    const uint4 *slice_a = a[step % kStages], *slice_b = b[step % kStages];
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      std::uint32_t x[4][4], y[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Of A: rows 0-7 and 8-15 of the first 8 columns, then of the second. Of B: both halves of the depth of columns
        // 0-7, then of 8-15.
        load_matrices(x[i], slice_a + chunk_of(row + 16 * i + lane % 16, 2 * k + lane / 16));
        load_matrices(y[i], slice_b + chunk_of(column + 16 * i + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) multiply(sums[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int to_row = tile_row + row + 16 * i + lane / 4, to_column = tile_column + column + 8 * j + lane % 4 * 2;
      store_pair(problem, to_row, to_column, sums[i][j][0], sums[i][j][1]);
      store_pair(problem, to_row + 8, to_column, sums[i][j][2], sums[i][j][3]);
    }
  }
}

}  // namespace tensor_cores

inline void run_03(const Problem& problem) {
  const dim3 blocks(divide_up(problem.n, tensor_cores::kTile), divide_up(problem.m, tensor_cores::kTile));
  launch(problem, tensor_cores::step_03_tensor_cores, blocks, tensor_cores::kThreads, 0, problem);
}

}  // namespace ladder
