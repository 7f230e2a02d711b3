// Which kernels make a product, and how many rows each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda {

// Rows of the product that one kernel makes.
struct Strip {
  const Kernel* kernel = nullptr;
  std::int64_t first_row = 0, rows = 0;
};

std::int64_t tiles_down(const Kernel& kernel, std::int64_t rows);  // of clusters
std::int64_t tiles_across(const Kernel& kernel, std::int64_t columns);

// What the product is, as far as its time goes.
struct Work {
  std::int64_t rows = 0, columns = 0, steps = 0;
  bool three_terms = false;
  int loop = 0;            // the main loop that reads the operands where they lie
  bool may_split = false;  // into two strips
  int multiprocessors = 0;
};

// The kernel, or two of them one after the other, whose waves of tiles take the least time; empty where none can do it.
// Tiles of all sizes give the same bits, so this may depend on the number of rows.
std::vector<Strip> schedule(std::span<const Kernel> kernels, const Work& work);

}  // namespace envoi::cuda
