// What a search of one grid needs before any signal: plans of blocks, tables, and the sums and bounds of an item.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "atoms/grid.hpp"
#include "core/thread_pool.hpp"
#include "pursuit/cpu/screen.hpp"

namespace envoi::pursuit {

inline constexpr double kFrequencyBudget = 24e6;  // bytes of tables kept; past it they are made again a task
inline constexpr double kKappaBudget = 64e6;

// Rows of a block with the same |c|: index of the +c and of the -c row, or -1.
struct Pair {
  double chirp_rate = 0;  // of the first row
  int row[2] = {-1, -1};
};

// What is known of a block before any signal.
struct BlockPlan {
  std::vector<Pair> pairs;
  bool symmetric = false;  // centres on whole samples
  int depth = 0;           // 1 + samples on one side of the centre
  int transform = 0;       // points of a Fourier transform over the frequencies; 0: a product with their cosines
  int tiles = 0, chunks = 0;
  int width = kChunk;          // frequencies of a chunk
  std::size_t first_item = 0;  // items of a block: [tile][chunk][pair]
  std::size_t items() const {
    return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(chunks) * pairs.size();
  }
  int chunk_size(const atoms::Block& block, int chunk) const {
    const std::int64_t all = block.rows.empty() ? 0 : frequencies_of(block);
    return static_cast<int>(std::min<std::int64_t>(width, all - static_cast<std::int64_t>(chunk) * width));
  }
  std::size_t parts() const { return transform > 0 ? 2 : 4; }  // numbers a frequency and lane: sums, and kappa
  static std::int64_t frequencies_of(const atoms::Block& block) {
    std::int64_t most = 0;
    for (const atoms::ChirpRow& row : block.rows) most = std::max(most, row.f_end);
    return most;
  }
};

// `transforms`: Fourier transforms may be chosen, where they cost less.
BlockPlan plan_block(const atoms::Block& block, std::int64_t samples, int lanes, bool transforms);
// Floating-point operations of one lane, chirp rate and all frequencies.
double row_operations(const atoms::Block& block, const BlockPlan& plan);

// Tables for a whole chunk, plain (for the signal) or doubled (for kappa).
template <class T>
struct FrequencyTable {
  std::vector<T> cosine, sine;
  void make(const atoms::Block& block, int chunk, int count, int depth, double factor);
};

// Scratch of one task.
template <class T>
struct Scratch {
  FrequencyTable<T> frequencies, doubled;
  std::vector<T> even, odd, panel, sums, kappa_even, kappa_odd, kappa_sums, kappa, chirp_cosine, chirp_sine, bounds,
      factor, points, other;
  std::vector<double> wave;  // general centres: [k][lane] windowed samples on either side
};

// The tile's windowed samples and what the ending needs of each lane.
template <class T>
struct Tile {
  T inverse_norm[kMostLanes] = {};
  T error2[kMostLanes] = {};
  atoms::Atom atom[kMostLanes];  // centres
  double largest_error = 0;
};

template <class T>
struct ScreenTables {
  const atoms::Grid& grid;
  const ScreenKernels<T>& kernels = screen_kernels<T>();
  bool phase_fixed = false;
  std::vector<BlockPlan> plans;
  std::size_t items = 0;
  std::vector<std::vector<double>> envelope;             // [block][k + 0]: exp(-k^2 / 2D^2), symmetric blocks
  std::vector<std::vector<T>> chirp_cosine, chirp_sine;  // [block][pair][k], symmetric blocks
  // [block][chunk], where kept; blocks with the same axis share one.
  std::vector<std::vector<std::shared_ptr<FrequencyTable<T>>>> frequencies;
  // [block][tile][chunk][pair] -> offset; interior tiles share the tables of tile `tiles`.
  std::vector<std::vector<std::vector<T>>> kappa;  // [block][tile or interior][...]
  bool kappa_kept = false;
  std::vector<TransformPlan<T>> transform, half_transform;  // [block]: of the samples; of kappa
  std::vector<std::vector<T>> twist;                        // [block][k]: cos, sin of 2 pi f_first k
  double bound_factor = 1;                                  // other than 1 in tests alone

  ScreenTables(const atoms::Grid& g, bool fixed, core::ThreadPool& pool);

  int lanes() const { return kernels.lanes; }
  std::size_t kappa_tile(std::size_t b) const {
    return plans[b].pairs.size() * plans[b].parts() * static_cast<std::size_t>(lanes()) *
           static_cast<std::size_t>(BlockPlan::frequencies_of(grid.blocks[b]));
  }
  std::size_t kappa_offset(std::size_t b, int chunk, std::size_t pair) const {
    const auto& plan = plans[b];
    return (plan.pairs.size() * static_cast<std::size_t>(chunk) * kChunk +
            pair * static_cast<std::size_t>(plan.chunk_size(grid.blocks[b], chunk))) *
           plan.parts() * static_cast<std::size_t>(lanes());
  }

  // Rounding of a sum, relative to its terms' magnitudes: one chain a part of a product, plus the parts; or the levels
  // of a transform, each an addition and a complex factor; plus the operands' own roundings.
  double gamma(std::size_t b) const {
    const BlockPlan& plan = plans[b];
    const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    const double steps = plan.transform > 0 ? 6 * std::log2(plan.transform) + 40
                                            : std::min(plan.depth, kDepth) + plan.depth / kDepth + 24;
    return steps * unit * 1.01;
  }

  bool tile_is_interior(std::size_t b, int tile) const;
  Tile<T> load(std::size_t b, int tile, const atoms::Samples& samples, double scale, Scratch<T>& s) const;
  void panel(std::size_t b, std::size_t pair, const Tile<T>& tile, bool for_kappa, Scratch<T>& s) const;
  const FrequencyTable<T>& frequency_table(std::size_t b, int chunk, Scratch<T>& s) const;
  void make_kappa(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, Scratch<T>& s, T* out) const;
  ItemScores<T> item(std::size_t b, int tile_index, int chunk, std::size_t pair, const Tile<T>& tile, bool weighted,
                     double root_energy, const FrequencyTable<T>& table, Scratch<T>& s) const;
  const T* transformed(std::size_t b, std::size_t pair, bool for_kappa, Scratch<T>& s) const;
  void rotate(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, T* sums, T* kappa_sums, int count) const;
  void load_kappa_window(std::size_t b, const Tile<T>& tile, const atoms::Samples& samples, Scratch<T>& s) const;
};

extern template struct ScreenTables<float>;
extern template struct ScreenTables<double>;

}  // namespace envoi::pursuit
