// Step 06, two consumers: a tile of 128 x 256, and registers where the sums are.
//
// Adds: two consumer warpgroups with 64 x 256 sums each, 128 registers a thread. The largest wgmma, 64 x 256 x 16,
//   reads the least from shared memory for its work; 128 x 64 of A and 256 x 64 of B from L2 make twice the sums of
//   step 05 for one and a half times the bytes. The producer's warpgroup hands its registers to the consumers.
//   A consumer's descriptors depend on its number, so this is one that the compiler knows to be a whole warp's.
// Limited by: beginnings and ends. One block fills a multiprocessor, so while it starts, waits for its first slice and
//   stores its tile, no product is made there.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace two_consumers {

constexpr int kRows = 128, kColumns = 256, kDepth = 64, kStages = 4;
constexpr int kWarpgroup = 128, kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;

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
    ptx::barrier_wait(&shared.empty[turn.stage], turn.parity ^ 1);
    ptx::barrier_arrive_expecting(&shared.full[turn.stage], sizeof(Stage));
    ptx::load_box(stage.a, &a_map, step * kDepth, row, &shared.full[turn.stage]);
    ptx::load_box(stage.b, &b_map, step * kDepth, column, &shared.full[turn.stage]);
    turn.next();
  }
}

// Consumer 0 has rows 0-63 of the tile, consumer 1 rows 64-127; both read all of B's slice.
__device__ __forceinline__ void consume(Shared& shared, float (&sums)[128], int consumer, int steps) {
  Turn<kStages> turn;
  int before = 0;
  for (int step = 0; step < steps; ++step) {
    ptx::barrier_wait(&shared.full[turn.stage], turn.parity);
    const Stage& stage = shared.stages[turn.stage];
    const std::uint64_t a = ptx::describe_by_depth(ptx::shared_address(stage.a + consumer * 64 * kDepth));
    const std::uint64_t b = ptx::describe_by_depth(ptx::shared_address(stage.b));
    ptx::multiply_begin();
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      ptx::multiply_bf16<false, false>(sums, a + 2 * k, b + 2 * k, step | k);
    }
    ptx::multiply_commit();
    ptx::multiply_wait<1>();
    if (step > 0 && threadIdx.x % 32 == 0) ptx::barrier_arrive(&shared.empty[before]);
    before = turn.stage;
    turn.next();
  }
  ptx::multiply_wait<0>();
  settle(sums);
}

__global__ void __launch_bounds__(kThreads, 1)
    step_06_two_consumers(Problem problem, const __grid_constant__ CUtensorMap a_map,
                          const __grid_constant__ CUtensorMap b_map) {
  Shared& shared = shared_memory<Shared>();
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const int steps = divide_up(problem.k, kDepth);
  const int warpgroup = warpgroup_number();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::barrier_init(&shared.full[stage], 1);
      ptx::barrier_init(&shared.empty[stage], kConsumers * kWarpgroup / 32);
    }
    ptx::fence_barrier_init();
  }
  __syncthreads();

  // 65536 registers for 384 threads are 168 each (in steps of 8), too few for 128 sums and the rest. So the warpgroups
  // share them out anew: 128 x 40 + 256 x 232 = 64512. All warps of a warpgroup say so together.
  if (warpgroup == 0) {
    ptx::fewer_registers<40>();
    if (threadIdx.x < 32 && ptx::elected()) produce(shared, a_map, b_map, row, column, steps);
  } else {
    ptx::more_registers<232>();
    const int consumer = warpgroup - 1;
    float sums[128];
    consume(shared, sums, consumer, steps);
    store_sums(problem, row + 64 * consumer, column, sums);
  }
}

}  // namespace two_consumers

inline void run_06(const Problem& problem) {
  using namespace two_consumers;
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns);
  const dim3 blocks(divide_up(problem.n, kColumns), divide_up(problem.m, kRows));
  launch(problem, step_06_two_consumers, blocks, kThreads, shared_bytes<Shared>, problem, a_map, b_map);
}

}  // namespace ladder
