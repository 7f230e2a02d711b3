// What a search costs, and how fast this processor's inner loop is: for plans, before any table is made.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "pursuit/screen_tables.hpp"
#include "pursuit/search.hpp"

namespace envoi::pursuit {

using atoms::Grid;

double multiply_add_rate() {
  const ScreenKernels<float>& kernels = screen_kernels<float>();
  const auto lanes = static_cast<std::size_t>(kernels.lanes);
  constexpr int kRows = 64;  // near caches hold them
  AlignedVector<float> panel(4 * kRows * lanes, 1.0f), table(std::size_t{kRows} * kChunk, 1.0f),
      sums(4 * kChunk * lanes);
  const double operations = 8.0 * kRows * kChunk * static_cast<double>(lanes);
  double best = 1e300;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernels.product(panel.data(), table.data(), table.data(), kRows, kChunk, sums.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return operations / std::max(best, 1e-9);
}

SearchCost search_cost(const Grid& grid, Precision precision) {
  const bool narrow = precision == Precision::exact;
  const int lanes = narrow ? screen_kernels<float>().lanes : screen_kernels<double>().lanes;
  const double width = narrow ? 4 : 8;
  SearchCost cost;
  double frequency_bytes = 0, kappa_bytes = 0;
  for (const Family& family : plan_families(grid, lanes, narrow)) {
    const double pairs = static_cast<double>(family.pairs.size()), depth = family.depth;
    const double atoms = pairs * family.frequencies * family.signs() * static_cast<double>(family.blocks.size());
    const double unit = unit_operations(family) / (family.transform > 0 ? 2 : 1);
    SearchWay way;
    way.durations = family.blocks.size();
    way.basis_windows = family.rank;
    way.transform = family.transform;
    way.both_signs = family.mirror >= 0;
    way.rows = family.rows();
    way.depth = family.depth;
    way.operations = static_cast<double>(family.tiles) * lanes * pairs * unit;
    cost.operations += way.operations;
    cost.ways.push_back(way);
    if (family.transform == 0)
      frequency_bytes += 2 * width * (family.rows() + family.kappa_rows()) * family.chunks * kChunk;
    kappa_bytes += family.tiles * atoms * (4 + width * (1 + 0.6 * lanes));
    cost.table_bytes += pairs * depth * 2 * width + static_cast<double>(family.items()) * (width + 16);
    const double points = family.transform > 0 ? 4.0 * family.transform * lanes + 4.0 * family.width * lanes : 0;
    const double bases = family.rank * (2 * depth * lanes + 4.0 * kChunk * lanes);
    cost.scratch_bytes = std::max(cost.scratch_bytes, (depth * (10 * lanes + 4 * kChunk) + points + bases) * width);
  }
  if (kappa_bytes > kKappaBudget) cost.operations *= 2;
  cost.table_bytes += std::min(frequency_bytes, kFrequencyBudget) + std::min(kappa_bytes, kKappaBudget);
  return cost;
}

}  // namespace envoi::pursuit
