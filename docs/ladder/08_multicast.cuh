// Step 08, clusters of two: B is fetched once for two blocks.
//
// Adds: two blocks on neighbouring multiprocessors take two tiles one below the other, which need the same slices of B.
//   Each fetches one half of a slice, and the copy engine writes it into the shared memory of both (multicast). For a
//   step of depth 64 a block now asks L2 for 16 KB of A and 16 KB of B instead of 16 and 32. Stages are given back to
//   both blocks, with plain arrivals: `mbarrier.arrive` with an explicit release for the whole cluster waits for the
//   thread's own reads and writes of all memory first, which made this step slower than the one before (506 TFLOP/s at
//   8192^3 instead of 640). Nothing of that kind is to be ordered here: the stage was read by the tensor cores, whose
//   products are waited for, and is written by the copy engine.
// Limited by: the stores. Each warp's store instruction writes 16 bytes here and 16 there, half a sector each, and the
//   tensor cores wait until the last of them is issued.
#pragma once

#include "ladder.cuh"

namespace ladder {
namespace multicast {

constexpr int kRows = 128, kColumns = 256, kDepth = 64, kStages = 4;
constexpr int kWarpgroup = 128, kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kBlocks = 2;  // of a cluster

struct Stage {
  alignas(1024) bf16 a[kRows * kDepth];
  alignas(1024) bf16 b[kColumns * kDepth];
};
struct Shared {
  Stage stages[kStages];
  std::uint64_t full[kStages], empty[kStages];
};

__device__ __forceinline__ void init_barriers(Shared& shared) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      // Full: this block's producer arrives and announces all of the stage's bytes, those that the other block's half
      // of B will bring too. They may come before the announcement; the count is then negative for a while, and the
      // phase cannot end without the arrival.
      ptx::barrier_init(&shared.full[stage], 1);
      // Empty: this block's producer writes into both blocks' stage, so the consumers of both must have left it.
      ptx::barrier_init(&shared.empty[stage], kBlocks * kConsumers * kWarpgroup / 32);
    }
    ptx::fence_barrier_init();
  }
  __syncwarp();
  // No block touches the other's barriers before they are there.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

__device__ __forceinline__ void produce(Shared& shared, Turn<kStages>& turn, const CUtensorMap& a_map,
                                        const CUtensorMap& b_map, int row, int column, int steps, int rank) {
  constexpr int kHalf = kColumns / kBlocks;
  for (int step = 0; step < steps; ++step) {
    Stage& stage = shared.stages[turn.stage];
    ptx::barrier_wait(&shared.empty[turn.stage], turn.parity ^ 1);
    ptx::barrier_arrive_expecting(&shared.full[turn.stage], sizeof(Stage));
    ptx::load_box(stage.a, &a_map, step * kDepth, row, &shared.full[turn.stage]);
    // To the same place in both blocks, and counted at the barrier in the same place of each.
    ptx::load_box_to_blocks(stage.b + rank * kHalf * kDepth, &b_map, step * kDepth, column + rank * kHalf,
                            &shared.full[turn.stage], 0b11);
    turn.next();
  }
}

__device__ __forceinline__ void give_back(Shared& shared, int stage) {
  const int lane = threadIdx.x % 32;
  if (lane >= kBlocks) return;
  ptx::barrier_arrive_in_block(ptx::address_in_block(ptx::shared_address(&shared.empty[stage]), lane));
}

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
    if (step > 0) give_back(shared, before);
    before = turn.stage;
    turn.next();
  }
  ptx::multiply_wait<0>();
  give_back(shared, before);
  settle(sums);
}

__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads, 1)
    step_08_multicast(Problem problem, const __grid_constant__ CUtensorMap a_map,
                      const __grid_constant__ CUtensorMap b_map) {
  Shared& shared = shared_memory<Shared>();
  const int steps = divide_up(problem.k, kDepth);
  const int warpgroup = warpgroup_number();
  // Tiles come in pairs. Where the rows of tiles are odd in number, the last pair's second tile is below C: its A is
  // all zeros, its half of B is still needed, and it stores nothing.
  const int tiles_across = divide_up(problem.n, kColumns);
  const int pairs = divide_up(problem.m, kBlocks * kRows) * tiles_across;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first = blockIdx.x / kBlocks, stride = gridDim.x / kBlocks;
  init_barriers(shared);

  if (warpgroup == 0) {
    ptx::fewer_registers<40>();
    if (threadIdx.x < 32) {
      if (ptx::elected()) {
        Turn<kStages> turn;
        for (int pair = first; pair < pairs; pair += stride) {
          const int row = (pair / tiles_across * kBlocks + rank) * kRows, column = pair % tiles_across * kColumns;
          produce(shared, turn, a_map, b_map, row, column, steps, rank);
        }
      }
      __syncwarp();
    }
  } else {
    ptx::more_registers<232>();
    const int consumer = warpgroup - 1;
    float sums[128];
    Turn<kStages> turn;
    for (int pair = first; pair < pairs; pair += stride) {
      const int row = (pair / tiles_across * kBlocks + rank) * kRows, column = pair % tiles_across * kColumns;
      consume(shared, turn, sums, consumer, steps);
      store_sums(problem, row + 64 * consumer, column, sums);
    }
  }
  // A block that has ended has no shared memory any more, and the other's last arrivals are still going there.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace multicast

inline void run_08(const Problem& problem) {
  using namespace multicast;
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns / kBlocks);
  const int pairs = divide_up(problem.n, kColumns) * divide_up(problem.m, kBlocks * kRows);
  launch(problem, step_08_multicast, kBlocks * std::min(pairs, problem.multiprocessors / kBlocks), kThreads,
         shared_bytes<Shared>, problem, a_map, b_map);
}

}  // namespace ladder
