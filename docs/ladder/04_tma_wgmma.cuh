// Step 04, TMA and wgmma: Hopper's copy engine and Hopper's products, with one buffer.
//
// Adds: one thread asks the copy engine for whole boxes of A and B, which arrive swizzled and count their bytes at a
//   barrier. A warpgroup (four warps) multiplies 64 x 16 by 16 x 128 with one instruction that reads both from shared
//   memory, so that registers hold nothing but sums.
// Limited by: turns. A block either waits for its slice or multiplies it; only the other two blocks of the
//   multiprocessor fill the gaps.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace tma_wgmma {

constexpr int kRows = 128, kColumns = 128, kDepth = 64, kThreads = 128;

struct Shared {
  alignas(1024) bf16 a[kRows * kDepth];
  alignas(1024) bf16 b[kColumns * kDepth];
  std::uint64_t arrived;
};

__global__ void __launch_bounds__(kThreads, 3)
    step_04_tma_wgmma(Problem problem, const __grid_constant__ CUtensorMap a_map,
                      const __grid_constant__ CUtensorMap b_map) {
  Shared& shared = shared_memory<Shared>();
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  if (threadIdx.x == 0) {
    // A phase of the barrier is over after one arrival (thread 0's) and all the bytes which that arrival announced.
    ptx::barrier_init(&shared.arrived, 1);
    ptx::fence_barrier_init();  // the copy engine must see the barrier as well
  }
  __syncthreads();

  // A descriptor is where an operand lies (in units of 16 bytes) and how: swizzled rows of 128 bytes, 1024 bytes from 8
  // rows to the next 8.
  const std::uint64_t a = ptx::describe_by_depth(ptx::shared_address(shared.a));
  const std::uint64_t b = ptx::describe_by_depth(ptx::shared_address(shared.b));
  float top[64] = {}, bottom[64] = {};
  const int steps = divide_up(problem.k, kDepth);
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      ptx::barrier_arrive_expecting(&shared.arrived, sizeof(shared.a) + sizeof(shared.b));
      ptx::load_box(shared.a, &a_map, step * kDepth, row, &shared.arrived);
      ptx::load_box(shared.b, &b_map, step * kDepth, column, &shared.arrived);
    }
    // Phases are numbered 0, 1, 2, ..; to wait is to name the parity of the phase that shall be over.
    ptx::barrier_wait(&shared.arrived, step % 2);
    ptx::multiply_begin();  // orders the registers of the sums before the products that will write them
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      // The swizzle is a function of address bits, so 16 numbers further in the depth are simply 32 bytes further, two
      // of a descriptor's units, and 64 rows further 64 x 128 bytes.
      ptx::multiply_bf16<false, false>(top, a + 2 * k, b + 2 * k, 1);
      ptx::multiply_bf16<false, false>(bottom, a + 2 * k + 64 * 128 / 16, b + 2 * k, 1);
    }
    ptx::multiply_commit();
    ptx::multiply_wait<0>();
    __syncthreads();  // all four warps' products have read the buffer: it may be overwritten
  }
  settle(top);
  settle(bottom);
  store_sums(problem, row, column, top);
  store_sums(problem, row + 64, column, bottom);
}

}  // namespace tma_wgmma

inline void run_04(const Problem& problem) {
  using namespace tma_wgmma;
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns);
  const dim3 blocks(divide_up(problem.n, kColumns), divide_up(problem.m, kRows));
  launch(problem, step_04_tma_wgmma, blocks, kThreads, shared_bytes<Shared>, problem, a_map, b_map);
}

}  // namespace ladder
