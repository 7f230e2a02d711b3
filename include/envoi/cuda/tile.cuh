// Tiles: their sizes, their place in the product, the ring of shared memory that they are made from.
#pragma once

#include <cstdint>

#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda {

// A tile: rows x columns of one block, each consumer warpgroup having 64 of the rows.
template <int rows, int columns, int stages, int cluster, bool three_terms = false>
struct TileShape {
  static constexpr int kRows = rows, kColumns = columns, kStages = stages, kCluster = cluster;
  static constexpr bool kThreeTerms = three_terms;
  static constexpr int kConsumers = rows / 64;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kSums = columns / 2;  // of a thread
  static constexpr int kParts = three_terms ? 2 : 1;
  static constexpr int kBytesA = rows * kStepBytes, kBytesB = columns * kStepBytes;  // of one part
  static constexpr int kStageBytes = (kBytesA + kBytesB) * kParts;
  static constexpr int kRingBytes = kStageBytes * stages;
  static constexpr int kSharedBytes = 1024 + kRingBytes + 4 * kConsumers * kStagingBytes + 16 * stages;
  static_assert(kSharedBytes <= 232448, "a block of Hopper has 227 KiB of shared memory");
  static_assert(columns % (64 * cluster) == 0);
};
using LargeTile = TileShape<128, 256, 4, 2>;
using MediumTile = TileShape<128, 128, 5, 1>;
using SmallTile = TileShape<64, 64, 12, 1>;
using ThreeTermTile = TileShape<128, 128, 2, 2, true>;

// Which of its ring's stages a warpgroup is at, and the parity of that stage's phase.
template <int stages>
struct RingPlace {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
};

// Tiles in the order in which clusters take them: `raster` rows of tiles at a time, down before across, so that what
// runs at the same time shares rows of A and columns of B in the cache.
struct TilePlace {
  int row, column;
};
__device__ __forceinline__ TilePlace tile_place(const Arguments& arguments, int number) {
  const int in_group = arguments.raster * arguments.column_tiles;
  const int group = number / in_group, within = number - group * in_group;
  const int first = group * arguments.raster;
  const int height = min(arguments.raster, arguments.row_tiles - first);
  const int column = within / height;
  return {first + within - column * height, column};
}

}  // namespace envoi::cuda
