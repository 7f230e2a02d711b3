// Step 10, a grouped raster: the same kernel as step 09, its tiles in another order.
//
// Adds: tiles that are at work at the same time form a patch that is about as high as wide. At 8192^3, 66 pairs of
//   tiles taken row by row are 2 rows of pairs by all 32 columns: 512 rows of A and 8192 of B. In groups of 8 rows of
//   pairs, column by column within a group, they are 2048 of A and some 2300 of B: half the bytes that L2 must hold
//   and fetch.
// Limited by: the tensor cores, and the power that they draw.
#pragma once

#include "09_tma_store.cuh"

namespace ladder {

struct Grouped {
  static __device__ tma_store::Pair pair(int i, int rows, int columns) {
    constexpr int kGroup = 8;  // rows of pairs
    const int group = i / (kGroup * columns), within = i % (kGroup * columns);
    const int height = min(kGroup, rows - group * kGroup);  // the last group may be lower
    return {group * kGroup + within % height, within / height};
  }
};

inline void run_10(const Problem& problem) { tma_store::run<Grouped>(problem); }

}  // namespace ladder
