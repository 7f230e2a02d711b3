// What a kernel of a product is called with, and what the host side of the library knows of a kernel. For compilers
// that have CUDA's headers; users of ready endings need envoi/cuda.hpp alone.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "envoi/ending/tile.hpp"

namespace envoi::cuda {

using gemm::DType;
using gemm::PortKind;
using gemm::Winner;

inline constexpr int kStepBytes = 128;    // of the depth, one step of the main loop: a row of the copy engine's swizzle
inline constexpr int kChunkColumns = 64;  // reductions over columns are summed by chunks, then in pairs up to a block
inline constexpr int kBlockColumns = 256;
inline constexpr int kBlockRows = 64;  // of reductions over rows
inline constexpr int kMaxPorts = 6;
inline constexpr int kMaxCopied = 2;
inline constexpr int kStagingBytes = 4096;  // of shared memory, for the stores of a warp

// A winner of a part of the columns (or rows), by its place in that part; -1: none, -2: there is a NaN.
struct Candidate {
  float value;
  std::int32_t offset;
};

// An operand or result of an ending.
struct DevicePort {
  void* data = nullptr;  // null: an operand of 1, a result that is not kept
  std::int64_t row_stride = 0, column_stride = 0;
  DType dtype = DType::f32;
  std::int32_t map = 0;             // which of the maps of copied results is its
  std::int32_t slots = 0;           // of a result that the copy engine stores: chunks that its staging holds
  std::int32_t staging = -1;        // of a result that is stored through shared memory: its place there
  void* partials = nullptr;         // [block][row or column] of floats, pairs of them or k candidates
  std::int64_t partial_stride = 0;  // elements from one block to the next
  const std::int64_t* targets = nullptr;
  std::int32_t k = 1;  // winners kept of each block
};

struct Arguments {
  CUtensorMap a, b;  // boxes of one step; of fp32 in three terms the high parts
  CUtensorMap a_low, b_low;
  CUtensorMap copied[kMaxCopied];                // boxes of 16 x 64 of the results that the copy engine stores
  std::int64_t rows = 0, columns = 0;            // of the product
  std::int64_t first_row = 0;                    // of the tiles
  std::int32_t steps = 0;                        // of the depth
  std::int32_t step_bytes = 0;                   // that a block receives in one
  std::int32_t loop = 0;                         // which main loop: 4 * element + 2 * (A by vectors) + (B by vectors)
  std::int32_t row_tiles = 0, column_tiles = 0;  // counted in tiles of a cluster
  std::int32_t raster = 8;                       // row tiles that are done together
  std::int32_t tile_way = 0;                     // how matrices among the operands come (TileWay)
  DevicePort operands[kMaxPorts], results[kMaxPorts];
  alignas(16) unsigned char ending[128] = {};
};

enum class Element : int { bf16 = 0, f16 = 1, tf32 = 2 };

// A kernel, compiled by nvcc beside its ending.
struct Kernel {
  int rows = 0, columns = 0, cluster = 1, threads = 0;
  int stages = 0;
  bool three_terms = false;  // for fp32; others take one
  unsigned loops = 0;        // bit 4 * element + 2 * (A by vectors) + (B by vectors)
  std::size_t shared_bytes = 0;
  cudaError_t (*prepare)(int* clusters) = nullptr;  // on the current device: how many clusters run at a time
  cudaError_t (*launch)(const Arguments& arguments, int blocks, cudaStream_t stream) = nullptr;
};

}  // namespace envoi::cuda
