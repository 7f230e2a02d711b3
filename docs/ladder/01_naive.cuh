// Step 01, naive: one thread, one element of C.
//
// Adds: nothing yet. Every thread reads a row of A and a row of B from global memory, two numbers for each
//   multiply-add.
// Limited by: loads. The 32 threads of a warp, 2 rows by 16 columns of C, read 16 rows of B at once, so that a request
//   touches 16 sectors of 32 bytes and uses 2 bytes of each; caches repair some of it.
#pragma once

#include "ladder.cuh"

namespace ladder {

__global__ void step_01_naive(Problem problem) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= problem.m || column >= problem.n) return;
  const bf16* a = problem.a + static_cast<std::size_t>(row) * problem.k;
  const bf16* b = problem.b + static_cast<std::size_t>(column) * problem.k;
  float sum = 0;
  for (int k = 0; k < problem.k; ++k) sum += __bfloat162float(a[k]) * __bfloat162float(b[k]);
  problem.c[static_cast<std::size_t>(row) * problem.c_step + column] = __float2bfloat16_rn(sum);
}

inline void run_01(const Problem& problem) {
  const dim3 threads(16, 16);
  const dim3 blocks(divide_up(problem.n, 16), divide_up(problem.m, 16));
  step_01_naive<<<blocks, threads, 0, problem.stream>>>(problem);
  check(cudaGetLastError(), "launching a kernel");
}

}  // namespace ladder
