#include "gemm/cuda/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace envoi::cuda {
namespace {

// In clocks, from measurements: how fast a multiprocessor goes through tiles of a size, what a tile costs beside its
// steps, and a launch.
double clocks_of_step(const Kernel& kernel) {
  const int area = kernel.rows * kernel.columns;
  const double share_of_peak = area >= 128 * 256 ? 0.8 : area >= 128 * 128 ? 0.65 : 0.32;
  return area * (kStepBytes / 2) / (2048 * share_of_peak);
}
constexpr double kClocksOfTile = 1500, kClocksOfLaunch = 4000;

double clocks(const Kernel& kernel, const Work& work, std::int64_t rows) {
  const double clusters = std::max(1, work.multiprocessors / kernel.cluster);
  const double tiles =
      static_cast<double>(tiles_down(kernel, rows)) * static_cast<double>(tiles_across(kernel, work.columns));
  const double waves = std::max(1.0, std::ceil(tiles / clusters));
  return waves * (static_cast<double>(work.steps) * clocks_of_step(kernel) + kClocksOfTile) + kClocksOfLaunch;
}

}  // namespace

std::int64_t tiles_down(const Kernel& kernel, std::int64_t rows) {
  const std::int64_t height = static_cast<std::int64_t>(kernel.rows) * kernel.cluster;
  return (rows + height - 1) / height;
}
std::int64_t tiles_across(const Kernel& kernel, std::int64_t columns) {
  return (columns + kernel.columns - 1) / kernel.columns;
}

std::vector<Strip> schedule(std::span<const Kernel> kernels, const Work& work) {
  std::vector<Strip> best;
  double best_clocks = 0;
  const auto offer = [&](const std::vector<Strip>& strips) {
    double sum = 0;
    for (const Strip& strip : strips) sum += clocks(*strip.kernel, work, strip.rows);
    if (best.empty() || sum < best_clocks) best = strips, best_clocks = sum;
  };
  const auto has_loop = [&](const Kernel& kernel) { return (kernel.loops >> work.loop & 1) != 0; };
  for (const Kernel& kernel : kernels) {
    if (kernel.three_terms == work.three_terms) offer({{&kernel, 0, work.rows}});
  }
  if (!work.may_split) return best;
  for (const Kernel& first : kernels) {
    if (first.three_terms != work.three_terms || !has_loop(first)) continue;
    const std::int64_t height = static_cast<std::int64_t>(first.rows) * first.cluster;
    const std::int64_t across = std::max<std::int64_t>(1, tiles_across(first, work.columns));
    const std::int64_t at_once = std::max(1, work.multiprocessors / first.cluster);
    // Whole tiles; and as many rows of tiles as fill one wave less.
    const std::int64_t whole = work.rows / height;
    const std::int64_t waves = (tiles_down(first, work.rows) * across + at_once - 1) / at_once;
    for (const std::int64_t down : {whole, std::min(whole, (waves - 1) * at_once / across)}) {
      const std::int64_t rows = down * height;
      if (rows <= 0 || rows >= work.rows) continue;
      for (const Kernel& second : kernels) {
        if (second.three_terms != work.three_terms || !has_loop(second)) continue;
        offer({{&first, 0, rows}, {&second, rows, work.rows - rows}});
      }
    }
  }
  return best;
}

}  // namespace envoi::cuda
