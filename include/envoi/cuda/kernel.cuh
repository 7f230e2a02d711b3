// The kernel of a product on Hopper: one warpgroup has the copy engine (TMA) fill a ring of shared memory with steps of
// 128 bytes of the depth, the others multiply from there (wgmma) and put each finished tile through the ending. Blocks
// stay for many tiles (persistent grid); the blocks of a cluster take neighbouring rows and share B by multicast.
#pragma once

#include <climits>
#include <cstdint>

#include "envoi/cuda/arguments.hpp"
#include "envoi/cuda/end_tile.cuh"
#include "envoi/cuda/produce.cuh"
#include "envoi/cuda/sums.cuh"

namespace envoi::cuda {

template <class Shape, class Ending, Loops loops>
__device__ __forceinline__ void consume(const Arguments& arguments, unsigned char* ring, std::uint64_t* full,
                                        std::uint64_t* empty, std::uint32_t rank, int warpgroup) {
  RingPlace<Shape::kStages> at;
  const Ring places = ring_of<Shape>(ring, full, empty);
  const int tiles = arguments.row_tiles * arguments.column_tiles;
  const int thread = threadIdx.x % 128;
  for (int t = blockIdx.x / Shape::kCluster; t < tiles; t += gridDim.x / Shape::kCluster) {
    const TilePlace place = tile_place(arguments, t);
    Spot spot;
    spot.block_row = arguments.first_row + 64 * warpgroup +
                     (static_cast<std::int64_t>(place.row) * Shape::kCluster + rank) * Shape::kRows;
    spot.row = spot.block_row + thread / 32 * 16 + thread % 32 / 4;
    spot.column_block = place.column;
    spot.column = static_cast<std::int64_t>(place.column) * Shape::kColumns + 2 * (thread % 4);
    spot.rows_left = static_cast<int>(max(min(arguments.rows - spot.row, std::int64_t{INT_MAX}), std::int64_t{0}));
    spot.columns_left =
        static_cast<int>(max(min(arguments.columns - spot.column, std::int64_t{INT_MAX}), std::int64_t{0}));
    spot.thread = thread;
    spot.warpgroup = warpgroup;
    spot.staging = ring + Shape::kRingBytes + (4 * warpgroup + thread / 32) * kStagingBytes;
    spot.arguments = &arguments;
    Operands<Shape, Ending> operands{{}, spot};
    float sums[Shape::kSums];
    multiply_any<Shape, loops>(sums, arguments, places, at, warpgroup, operands);
    end_tile<Shape, Ending>(sums, operands.loaders, spot);
  }
  if (thread % 32 == 0) ptx::wait_stores_read<0>();
}

template <class Shape, class Ending, Loops loops>
__global__ void __launch_bounds__(Shape::kThreads, 1) product_kernel(const __grid_constant__ Arguments arguments) {
  extern __shared__ unsigned char shared[];
  unsigned char* ring = shared + ((1024 - (ptx::shared_address(shared) & 1023)) & 1023);
  std::uint64_t* full =
      reinterpret_cast<std::uint64_t*>(ring + Shape::kRingBytes + 4 * Shape::kConsumers * kStagingBytes);
  std::uint64_t* empty = full + Shape::kStages;
  const std::uint32_t rank = Shape::kCluster > 1 ? ptx::cluster_rank() : 0;
  const int warpgroup = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&arguments.a);
    ptx::prefetch_map(&arguments.b);
    for (int s = 0; s < Shape::kStages; ++s) {
      ptx::barrier_init(&full[s], 1);
      ptx::barrier_init(&empty[s], 4 * Shape::kConsumers * Shape::kCluster);
    }
    ptx::fence_barrier_init();
  }
  if constexpr (Shape::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  } else {
    __syncthreads();
  }
  constexpr bool kMoves = Shape::kConsumers == 2;  // registers between the warpgroups
  if (warpgroup == 0) {
    if constexpr (kMoves) ptx::fewer_registers<40>();
    if (threadIdx.x < 32 && ptx::elected()) produce<Shape>(arguments, ring, full, empty, rank);
    __syncwarp();
  } else {
    if constexpr (kMoves) ptx::more_registers<232>();
    consume<Shape, Ending, loops>(arguments, ring, full, empty, rank, warpgroup - 1);
  }
  if constexpr (Shape::kCluster > 1) {  // another block may still write here or arrive at these barriers
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

// --- For the host --------------------------------------------------------------------------------------------------

template <class Shape>
cudaLaunchConfig_t configuration(int blocks, cudaStream_t stream, cudaLaunchAttribute* attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = Shape::kCluster, attribute->val.clusterDim.y = 1, attribute->val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks), config.blockDim = dim3(Shape::kThreads);
  config.dynamicSmemBytes = Shape::kSharedBytes, config.stream = stream;
  config.attrs = attribute, config.numAttrs = 1;
  return config;
}
template <class Shape, class Ending, Loops loops>
cudaError_t prepare_kernel(int* clusters) {
  const cudaError_t error = cudaFuncSetAttribute(product_kernel<Shape, Ending, loops>,
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config = configuration<Shape>(Shape::kCluster, nullptr, &attribute);
  return cudaOccupancyMaxActiveClusters(clusters, product_kernel<Shape, Ending, loops>, &config);
}
template <class Shape, class Ending, Loops loops>
cudaError_t launch_kernel(const Arguments& arguments, int blocks, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config = configuration<Shape>(blocks, stream, &attribute);
  return cudaLaunchKernelEx(&config, product_kernel<Shape, Ending, loops>, arguments);
}
template <class Shape, class Ending, Loops loops = Loops::a_by_depth>
Kernel kernel_of() {
  Kernel kernel;
  kernel.rows = Shape::kRows, kernel.columns = Shape::kColumns, kernel.cluster = Shape::kCluster;
  kernel.threads = Shape::kThreads, kernel.stages = Shape::kStages, kernel.three_terms = Shape::kThreeTerms;
  kernel.loops = loops_of(loops, Shape::kThreeTerms);
  kernel.shared_bytes = Shape::kSharedBytes;
  kernel.prepare = &prepare_kernel<Shape, Ending, loops>, kernel.launch = &launch_kernel<Shape, Ending, loops>;
  return kernel;
}

}  // namespace envoi::cuda
