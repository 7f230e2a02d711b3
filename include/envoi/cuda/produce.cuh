// What fills the ring: one thread asks the copy engine (TMA) for step after step of the depth, as far as stages are
// free. The blocks of a cluster each bring a part of B for all of them.
#pragma once

#include <cstdint>

#include "envoi/cuda/ptx/barrier.cuh"
#include "envoi/cuda/ptx/copy.cuh"
#include "envoi/cuda/tile.cuh"

namespace envoi::cuda {

// Loads of one step. Operands by depth: boxes of the whole height; by vectors: boxes of 64 vectors.
template <class Shape>
__device__ __forceinline__ void load_step(unsigned char* stage, std::uint64_t* full, const CUtensorMap* map_a,
                                          const CUtensorMap* map_b, int loop, bool has_rows, int row, int column,
                                          int depth, std::uint32_t rank) {
  const bool a_by_vectors = loop & 2, b_by_vectors = loop & 1;
  if (!has_rows) {  // filling them with zeros would take long, and nothing comes of them
  } else if (a_by_vectors) {
#pragma unroll
    for (int i = 0; i < Shape::kRows / 64; ++i) ptx::load_box(stage + 8192 * i, map_a, row + 64 * i, depth, full);
  } else {
    ptx::load_box(stage, map_a, depth, row, full);
  }
  unsigned char* b = stage + Shape::kBytesA * Shape::kParts;
  constexpr int kShare = Shape::kColumns / Shape::kCluster;  // what this block brings for all of the cluster
  constexpr std::uint16_t kAll = (1 << Shape::kCluster) - 1;
  const int first = kShare * static_cast<int>(rank);
  if (b_by_vectors) {
#pragma unroll
    for (int i = 0; i < kShare / 64; ++i) {
      unsigned char* to = b + (first / 64 + i) * 8192;
      if constexpr (Shape::kCluster > 1) {
        ptx::load_box_to_blocks(to, map_b, column + first + 64 * i, depth, full, kAll);
      } else {
        ptx::load_box(to, map_b, column + first + 64 * i, depth, full);
      }
    }
  } else if constexpr (Shape::kCluster > 1) {
    ptx::load_box_to_blocks(b + first * kStepBytes, map_b, depth, column + first, full, kAll);
  } else {
    ptx::load_box(b, map_b, depth, column, full);
  }
}

template <class Shape>
__device__ __forceinline__ void produce(const Arguments& arguments, unsigned char* ring, std::uint64_t* full,
                                        std::uint64_t* empty, std::uint32_t rank) {
  RingPlace<Shape::kStages> at;
  const int tiles = arguments.row_tiles * arguments.column_tiles;
  const int step_depth = arguments.loop / 4 == static_cast<int>(Element::tf32) ? 32 : 64;
  for (int t = blockIdx.x / Shape::kCluster; t < tiles; t += gridDim.x / Shape::kCluster) {
    const TilePlace place = tile_place(arguments, t);
    const int row =
        static_cast<int>(arguments.first_row) + (place.row * Shape::kCluster + static_cast<int>(rank)) * Shape::kRows;
    const int column = place.column * Shape::kColumns;
    const bool has_rows = row < arguments.rows;
    const std::uint32_t bytes = has_rows ? arguments.step_bytes : Shape::kBytesB * Shape::kParts;
    for (int step = 0; step < arguments.steps; ++step) {
      ptx::barrier_wait(&empty[at.stage], at.phase ^ 1);
      ptx::barrier_arrive_expecting(&full[at.stage], bytes);
      unsigned char* stage = ring + at.stage * Shape::kStageBytes;
      load_step<Shape>(stage, &full[at.stage], &arguments.a, &arguments.b, arguments.loop, has_rows, row, column,
                       step * step_depth, rank);
      if constexpr (Shape::kThreeTerms) {
        // [A high, A low, B high, B low]; the low parts lie one operand further.
        if (has_rows) ptx::load_box(stage + Shape::kBytesA, &arguments.a_low, step * step_depth, row, &full[at.stage]);
        constexpr int kShare = Shape::kColumns / Shape::kCluster;
        const int first = kShare * static_cast<int>(rank);
        unsigned char* b_low = stage + 2 * Shape::kBytesA + Shape::kBytesB;
        ptx::load_box_to_blocks(b_low + first * kStepBytes, &arguments.b_low, step * step_depth, column + first,
                                &full[at.stage], (1 << Shape::kCluster) - 1);
      }
      at.advance();
    }
  }
}

}  // namespace envoi::cuda
