// Step 05, a ring: warps with roles, and several slices on their way at once.
//
// Adds: a producer warp that does nothing but ask for slices, up to three ahead, and a consumer warpgroup that does
//   nothing but multiply. They meet only at barriers: "full" (the bytes are there) and "empty" (the products are done).
// Limited by: the tile. 128 x 128 sums need 128 x 64 of A and of B from L2 for each step of depth 64, and the tensor
//   cores read a fresh 64 x 16 of A from shared memory for each 128 columns; and while a block stores its tile, only
//   the other block of the multiprocessor multiplies.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace ring {

constexpr int kRows = 128, kColumns = 128, kDepth = 64, kStages = 3;
constexpr int kConsumers = 128, kThreads = kConsumers + 32;  // threads

struct Stage {
  alignas(1024) bf16 a[kRows * kDepth];
  alignas(1024) bf16 b[kColumns * kDepth];
};
struct Shared {
  Stage stages[kStages];
  std::uint64_t full[kStages], empty[kStages];
};

__device__ __forceinline__ void produce(Shared& shared, const CUtensorMap& a_map, const CUtensorMap& b_map, int row,
                                        int column, int steps) {
  Turn<kStages> turn;
  for (int step = 0; step < steps; ++step) {
    Stage& stage = shared.stages[turn.stage];
    // In the first round no consumer has been there. A fresh barrier counts as if a phase of parity 1 were over, so
    // waiting for the opposite parity passes at once then, and waits for the round before ever after.
    ptx::barrier_wait(&shared.empty[turn.stage], turn.parity ^ 1);
    ptx::barrier_arrive_expecting(&shared.full[turn.stage], sizeof(Stage));
    ptx::load_box(stage.a, &a_map, step * kDepth, row, &shared.full[turn.stage]);
    ptx::load_box(stage.b, &b_map, step * kDepth, column, &shared.full[turn.stage]);
    turn.next();
  }
}

__device__ __forceinline__ void consume(Shared& shared, float (&top)[64], float (&bottom)[64], int steps) {
  Turn<kStages> turn;
  int before = 0;  // the stage whose products may still be at work
  for (int step = 0; step < steps; ++step) {
    ptx::barrier_wait(&shared.full[turn.stage], turn.parity);
    const std::uint64_t a = ptx::describe_by_depth(ptx::shared_address(shared.stages[turn.stage].a));
    const std::uint64_t b = ptx::describe_by_depth(ptx::shared_address(shared.stages[turn.stage].b));
    ptx::multiply_begin();
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      // The first product of a tile overwrites the sums, so nothing need be set to zero.
      ptx::multiply_bf16<false, false>(top, a + 2 * k, b + 2 * k, step | k);
      ptx::multiply_bf16<false, false>(bottom, a + 2 * k + 64 * 128 / 16, b + 2 * k, step | k);
    }
    ptx::multiply_commit();
    // One step's products stay at work while the next step's are issued: the tensor cores never run dry. Those of the
    // step before are over, and its stage is given back, once by each warp. No fence is needed before the copy engine
    // writes there: wgmma reads through the same (asynchronous) path, and waiting for it is enough.
    ptx::multiply_wait<1>();
    if (step > 0 && threadIdx.x % 32 == 0) ptx::barrier_arrive(&shared.empty[before]);
    before = turn.stage;
    turn.next();
  }
  ptx::multiply_wait<0>();  // nobody waits for the last stage to be given back
  settle(top);
  settle(bottom);
}

__global__ void __launch_bounds__(kThreads, 2) step_05_ring(Problem problem, const __grid_constant__ CUtensorMap a_map,
                                                            const __grid_constant__ CUtensorMap b_map) {
  Shared& shared = shared_memory<Shared>();
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const int steps = divide_up(problem.k, kDepth);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::barrier_init(&shared.full[stage], 1);
      ptx::barrier_init(&shared.empty[stage], kConsumers / 32);
    }
    ptx::fence_barrier_init();
  }
  __syncthreads();

  if (warpgroup_number() == 1) {  // one warp of it is here, the producer
    if (ptx::elected()) produce(shared, a_map, b_map, row, column, steps);
  } else {
    float top[64], bottom[64];
    consume(shared, top, bottom, steps);
    store_sums(problem, row, column, top);
    store_sums(problem, row + 64, column, bottom);
  }
}

}  // namespace ring

inline void run_05(const Problem& problem) {
  using namespace ring;
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns);
  const dim3 blocks(divide_up(problem.n, kColumns), divide_up(problem.m, kRows));
  launch(problem, step_05_ring, blocks, kThreads, shared_bytes<Shared>, problem, a_map, b_map);
}

}  // namespace ladder
