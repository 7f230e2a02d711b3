// Step 07, a persistent grid: as many blocks as multiprocessors, each of which makes one tile after another.
//
// Adds: the ring never stops. While the consumers store a tile, the producer is already fetching the first slices of
//   the next; barriers and maps are set up once.
// Limited by: L2. Every block fetches its own slices, although the blocks of a row of tiles all want the same of A and
//   the blocks of a column the same of B.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace persistent {

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

// The sums of one tile. The turn goes on from tile to tile, in the producer and in the consumers alike, and every stage
// is given back, the last of a tile too: the next tile needs it.
__device__ __forceinline__ void consume(Shared& shared, Turn<kStages>& turn, float (&sums)[128], int consumer,
                                        int steps) {
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
  if (threadIdx.x % 32 == 0) ptx::barrier_arrive(&shared.empty[before]);
  settle(sums);
}

__global__ void __launch_bounds__(kThreads, 1)
    step_07_persistent(Problem problem, const __grid_constant__ CUtensorMap a_map,
                       const __grid_constant__ CUtensorMap b_map) {
  Shared& shared = shared_memory<Shared>();
  const int steps = divide_up(problem.k, kDepth);
  const int warpgroup = warpgroup_number();
  const int tiles_across = divide_up(problem.n, kColumns);
  const int tiles = divide_up(problem.m, kRows) * tiles_across;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::barrier_init(&shared.full[stage], 1);
      ptx::barrier_init(&shared.empty[stage], kConsumers * kWarpgroup / 32);
    }
    ptx::fence_barrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    ptx::fewer_registers<40>();
    if (threadIdx.x < 32 && ptx::elected()) {
      Turn<kStages> turn;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int row = tile / tiles_across * kRows, column = tile % tiles_across * kColumns;
        for (int step = 0; step < steps; ++step) {
          Stage& stage = shared.stages[turn.stage];
          ptx::barrier_wait(&shared.empty[turn.stage], turn.parity ^ 1);
          ptx::barrier_arrive_expecting(&shared.full[turn.stage], sizeof(Stage));
          ptx::load_box(stage.a, &a_map, step * kDepth, row, &shared.full[turn.stage]);
          ptx::load_box(stage.b, &b_map, step * kDepth, column, &shared.full[turn.stage]);
          turn.next();
        }
      }
    }
  } else {
    ptx::more_registers<232>();
    const int consumer = warpgroup - 1;
    float sums[128];
    Turn<kStages> turn;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int row = tile / tiles_across * kRows, column = tile % tiles_across * kColumns;
      consume(shared, turn, sums, consumer, steps);
      store_sums(problem, row + 64 * consumer, column, sums);
    }
  }
}

}  // namespace persistent

inline void run_07(const Problem& problem) {
  using namespace persistent;
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns);
  const int tiles = divide_up(problem.n, kColumns) * divide_up(problem.m, kRows);
  launch(problem, step_07_persistent, std::min(tiles, problem.multiprocessors), kThreads, shared_bytes<Shared>, problem,
         a_map, b_map);
}

}  // namespace ladder
