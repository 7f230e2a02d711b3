// Step 09, TMA stores: C leaves through shared memory and the copy engine.
//
// Adds: each consumer warp writes its rows as bf16 into swizzled boxes of 16 x 64 in shared memory, 16 x 16 sums with
//   one instruction, and the copy engine stores whole rows of 128 bytes of a box, clipped at the edges of C, while the
//   warp goes on with the next box or the next tile. Warps have boxes of their own and need not wait for each other.
//   Clipping is by pieces of 16 bytes, so that N has to be a multiple of 8.
// Limited by: L2 again where C is wide: tiles are taken row by row, so that all of B passes by for every two rows of
//   tiles.
#pragma once

#include "08_multicast.cuh"
#include "ladder.cuh"

namespace ladder {
namespace tma_store {

// Ring, producer and consumers are those of step 08.
using multicast::kBlocks, multicast::kColumns, multicast::kConsumers, multicast::kDepth, multicast::kRows,
    multicast::kStages, multicast::kThreads;

constexpr int kBoxRows = 16, kWarps = 4;  // warps of a consumer
struct Box {
  alignas(1024) bf16 numbers[kBoxRows * kBoxWidth];
};
struct Shared {
  multicast::Shared ring;
  Box boxes[kConsumers][kWarps][2];  // of each warp one that is being written and one that is on its way
};

struct Pair {
  int row, column;  // in tiles; the row in pairs of them
};
// Which pair of tiles is the i-th: row by row. (Step 10 has a better order.)
struct RowByRow {
  static __device__ Pair pair(int i, int, int columns) { return {i / columns, i % columns}; }
};

// Four matrices of 8 x 8, held as wgmma holds its sums: 8 rows of 16 bytes each, at the addresses that lanes 8 i to
// 8 i + 7 give for matrix i.
__device__ __forceinline__ void store_matrices(std::uint32_t row_address, const std::uint32_t (&x)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address), "r"(x[0]),
               "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

__device__ __forceinline__ std::uint32_t pack(float left, float right) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(left, right);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Columns 64 box to 64 box + 63 of a warp's sums.
template <int box>
__device__ __forceinline__ void fill(Box& to, const float (&sums)[128]) {
  const int lane = threadIdx.x % 32;
  // Matrices 0 and 1 are the upper and lower 8 rows of one chunk of 8 columns, 2 and 3 of the next.
  const int row = lane / 8 % 2 * 8 + lane % 8;
  const std::uint32_t begin = ptx::shared_address(to.numbers) + row * kBoxWidth * sizeof(bf16);
#pragma unroll
  for (int chunk = 0; chunk < 8; chunk += 2) {
    const int i = 4 * (8 * box + chunk);
    const std::uint32_t x[4] = {pack(sums[i], sums[i + 1]), pack(sums[i + 2], sums[i + 3]),
                                pack(sums[i + 4], sums[i + 5]), pack(sums[i + 6], sums[i + 7])};
    store_matrices(begin + ((chunk + lane / 16) ^ (row % 8)) * 16, x);
  }
}

template <int box>
__device__ __forceinline__ void store_through(Box& through, const CUtensorMap& c_map, const Problem& problem, int row,
                                              int column, const float (&sums)[128]) {
  // One lane stores all of the warp's boxes, because stores are waited for by the thread that asked for them.
  const bool storing = threadIdx.x % 32 == 0;
  // At most the newest store still reads its box, and that is the other one.
  if (storing) ptx::wait_stores_read<1>();
  __syncwarp();
  fill<box>(through, sums);
  // What threads write and what the copy engine reads go different ways to shared memory (the generic and the
  // asynchronous proxy): each thread's fence puts its own writes before whatever the engine is asked after the warp has
  // met.
  ptx::fence_for_copies();
  __syncwarp();
  if (storing) {
    const int box_column = column + box * kBoxWidth;
    if (row < problem.m && box_column < problem.n) ptx::store_box(&c_map, box_column, row, through.numbers);
    ptx::commit_stores();  // also of nothing, so that counting groups counts boxes
  }
}

template <class Order>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads, 1)
    step_09_tma_store(Problem problem, const __grid_constant__ CUtensorMap a_map,
                      const __grid_constant__ CUtensorMap b_map, const __grid_constant__ CUtensorMap c_map) {
  Shared& shared = shared_memory<Shared>();
  const int steps = divide_up(problem.k, kDepth);
  const int warpgroup = warpgroup_number();
  const int columns = divide_up(problem.n, kColumns), rows = divide_up(problem.m, kBlocks * kRows);
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first = blockIdx.x / kBlocks, stride = gridDim.x / kBlocks;
  multicast::init_barriers(shared.ring);

  if (warpgroup == 0) {
    ptx::fewer_registers<40>();
    if (threadIdx.x < 32) {
      if (ptx::elected()) {
        Turn<kStages> turn;
        for (int i = first; i < rows * columns; i += stride) {
          const Pair pair = Order::pair(i, rows, columns);
          multicast::produce(shared.ring, turn, a_map, b_map, (pair.row * kBlocks + rank) * kRows,
                             pair.column * kColumns, steps, rank);
        }
      }
      __syncwarp();
    }
  } else {
    ptx::more_registers<232>();
    const int consumer = warpgroup - 1;
    const int warp = threadIdx.x / 32 % kWarps;
    Box(&boxes)[2] = shared.boxes[consumer][warp];
    float sums[128];
    Turn<kStages> turn;
    for (int i = first; i < rows * columns; i += stride) {
      const Pair pair = Order::pair(i, rows, columns);
      const int row = (pair.row * kBlocks + rank) * kRows + 64 * consumer + 16 * warp, column = pair.column * kColumns;
      multicast::consume(shared.ring, turn, sums, consumer, steps);
      store_through<0>(boxes[0], c_map, problem, row, column, sums);
      store_through<1>(boxes[1], c_map, problem, row, column, sums);
      store_through<2>(boxes[0], c_map, problem, row, column, sums);
      store_through<3>(boxes[1], c_map, problem, row, column, sums);
    }
    // The boxes must stay until the copy engine has read them.
    if (threadIdx.x % 32 == 0) ptx::wait_stores_read<0>();
    __syncwarp();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

template <class Order>
void run(const Problem& problem) {
  const CUtensorMap a_map = make_map(problem.a, problem.m, problem.k, problem.k, kRows);
  const CUtensorMap b_map = make_map(problem.b, problem.n, problem.k, problem.k, kColumns / kBlocks);
  const CUtensorMap c_map = make_map(problem.c, problem.m, problem.n, problem.c_step, kBoxRows);
  const int pairs = divide_up(problem.n, kColumns) * divide_up(problem.m, kBlocks * kRows);
  launch(problem, step_09_tma_store<Order>, kBlocks * std::min(pairs, problem.multiprocessors / kBlocks), kThreads,
         shared_bytes<Shared>, problem, a_map, b_map, c_map);
}

}  // namespace tma_store

inline void run_09(const Problem& problem) { tma_store::run<tma_store::RowByRow>(problem); }

}  // namespace ladder
