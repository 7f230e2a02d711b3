// What a search of one grid needs before any signal: families of blocks with their plans and tables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include "atoms/grid.hpp"
#include "core/aligned.hpp"
#include "core/thread_pool.hpp"
#include "pursuit/cpu/screen.hpp"

namespace envoi::pursuit {

using core::AlignedVector;

inline constexpr double kFrequencyBudget = 24e6;  // bytes of tables kept; past it they are made again a task
inline constexpr double kKappaBudget = 64e6;

// Rows of a block with the same |c|: index of the +c and of the -c row, or -1.
struct Pair {
  double chirp_rate = 0;  // of the first row
  int row[2] = {-1, -1};
};

// Blocks that share centres, frequencies and chirp rates and differ in duration alone. Their windows are combinations
// of a few basis windows, to a small known error, so only the sums against these need samples. A block that shares with
// no other, or whose windows would gain nothing, is a family of its own, and its basis is its window.
struct Family {
  std::vector<std::size_t> blocks;
  std::vector<Pair> pairs;
  bool symmetric = false;  // centres on whole samples
  int depth = 0;           // 1 + samples on one side of the centre
  Folding folding;
  int transform = 0;  // points of a Fourier transform over the frequencies; 0: a product with their cosines
  int mirror = -1;    // the bin of minus the first frequency, from where the row of -c is read; -1: it is none
  int tiles = 0, chunks = 0;
  int width = kChunk;         // frequencies of a chunk
  int frequencies = 0;        // of all chunks
  std::size_t first = 0;      // number of its first item; its items are [tile][chunk][pair][block]
  int rank = 1;               // basis windows
  std::vector<double> basis;  // [basis][k], symmetric families
  std::vector<double> mix;    // [block][basis]
  std::vector<double> rest;   // [block]: norm of what the combination leaves of the window, both sides

  std::size_t units() const {
    return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(chunks) * pairs.size();
  }
  std::size_t items() const { return units() * blocks.size(); }
  std::size_t unit(int tile, int chunk, std::size_t pair) const {
    return (static_cast<std::size_t>(tile) * static_cast<std::size_t>(chunks) + static_cast<std::size_t>(chunk)) *
               pairs.size() +
           pair;
  }
  int chunk_size(int chunk) const { return std::min(width, frequencies - chunk * width); }
  int signs() const { return transform > 0 && mirror < 0 ? 1 : 2; }
  int rows() const { return folding.rows(depth); }
  // At twice the frequencies.
  Folding kappa_folding() const {
    if (folding.period % 2 != 0) return {folding.period, false};
    return {folding.period / 2, folding.flip};
  }
  int kappa_rows() const { return kappa_folding().rows(depth); }
  // 2 pi (f u + c u^2 / 2) at most, radians.
  double largest_phase(const atoms::Block& of) const {
    double chirp_rate = 0;
    for (const Pair& pair : pairs) chirp_rate = std::max(chirp_rate, std::abs(pair.chirp_rate));
    const double frequency = std::max(std::abs(of.frequency_first), std::abs(of.frequency(frequencies - 1)));
    return 2 * std::numbers::pi * depth * (frequency + chirp_rate * depth / 2);
  }
};

// Atoms of a row of `atoms` that may have an entry of their own for each lane.
inline int most_exact(int atoms) { return std::min(atoms, std::max(8, atoms * 3 / 10)); }

// `narrow`: an fp32 screen, where transforms, foldings and bases may be chosen if they cost less.
std::vector<Family> plan_families(const atoms::Grid& grid, int lanes, bool narrow);
// Floating-point operations of one lane and unit (all chunks of a pair) of one block alone, or of the whole family.
double unit_operations(const Family& family);

// cos and sin (2 pi factor f k) for a whole chunk, plain (for the signal) or doubled (for kappa).
template <class T>
struct FrequencyTable {
  AlignedVector<T> cosine, sine;
  void make(const atoms::Block& block, int chunk, int count, int rows, double factor);
};

// kappa of every atom of one block and tile, as the ending reads it.
template <class T>
struct KappaTile {
  struct Row {
    std::size_t first = 0, exact = 0;
    T largest_weight = 0, any_weight = 0;
  };
  std::vector<Row> rows;  // [chunk][pair]
  std::vector<std::int32_t> at;
  std::vector<T> weight;
  AlignedVector<T> exact;
  KappaRow<T> row(std::size_t i, int lanes) const {
    const Row& r = rows[i];
    return {at.data() + r.first, weight.data() + r.first, exact.data() + r.exact * 2 * static_cast<std::size_t>(lanes),
            r.largest_weight, r.any_weight};
  }
};

// Samples as the screen reads them: scaled, rounded, zeros around them.
template <class T>
struct Padded {
  std::vector<T> value;
  std::int64_t before = 0;  // zeros before sample 0
  const T* at(std::int64_t n) const { return value.data() + before + n; }
};

// One tile of a family, windowed by each basis window, and what a score needs of each block and lane.
template <class T>
struct Tile {
  std::size_t family = 0;
  int index = -1;
  AlignedVector<T> even, odd;             // [basis][k][lane]; for a transform the right and left sides
  std::vector<double> wave;               // centres off whole samples: [k][lane] windowed samples on either side
  AlignedVector<T> magnitude;             // [basis][lane]
  AlignedVector<T> inverse_norm, error2;  // [block][lane]
  std::vector<double> largest_error;      // [block]: of sqrt(energy), at most
  atoms::Atom atom[kMostLanes];           // centres
};

// Scratch is never made smaller: growing again would fill it with zeros.
template <class T>
void grow(AlignedVector<T>& scratch, std::size_t size) {
  if (scratch.size() < size) scratch.resize(size);
}

// Scratch of one worker.
template <class T>
struct Scratch {
  Tile<T> tile, kappa_tile;
  FrequencyTable<T> frequencies, doubled;
  AlignedVector<T> raw_even, raw_odd, panel, sums, kappa, bounds, factor, points, other, window;
  std::vector<KappaTile<T>> weighted_kappa;  // [block], of the tile
  std::vector<BlockScores<T>> blocks;
  std::vector<T> largest;
};

// For T = float and double; the members are in screen_tables.cpp, screen_items.cpp and screen_kappa.cpp.
template <class T>
struct ScreenTables {
  const atoms::Grid& grid;
  const ScreenKernels<T>& kernels = screen_kernels<T>();
  bool phase_fixed = false;
  std::vector<Family> families;
  std::size_t items = 0;
  std::vector<std::vector<double>> envelope;             // [block][k]: exp(-k^2 / 2D^2), symmetric families
  std::vector<std::vector<T>> basis, mix;                // [family], as in Family
  std::vector<std::vector<T>> chirp_cosine, chirp_sine;  // [family][pair][k], symmetric families
  std::vector<std::vector<T>> kappa_cosine, kappa_sine;  // the same at twice the angle, where sums are products
  // [family][chunk], where kept; families with the same axis share one.
  std::vector<std::vector<std::shared_ptr<FrequencyTable<T>>>> frequencies, doubled;
  std::vector<std::vector<KappaTile<T>>> kappa;           // [block][slot], where kept
  std::vector<std::vector<std::vector<T>>> inverse_norm;  // [block][slot][lane]
  bool kappa_kept = false;
  std::vector<TransformPlan<T>> transform, half_transform;  // [family]: of the samples; of kappa
  std::vector<std::vector<T>> twist;                        // [family][k]: cos, sin of 2 pi f_first k
  Padded<T> present;                                        // ones
  std::int64_t padding = 0;
  double bound_factor = 1;  // other than 1 in tests alone

  ScreenTables(const atoms::Grid& g, bool fixed, core::ThreadPool& pool);

  int lanes() const { return kernels.lanes; }
  const atoms::Block& block(const Family& family, std::size_t b) const { return grid.blocks[family.blocks[b]]; }
  // Tiles that no edge cuts share one slot, the last.
  std::size_t slot(const Family& family, std::size_t b, int tile) const {
    return static_cast<std::size_t>(tile_is_interior(family, b, tile) ? family.tiles : tile);
  }
  bool tile_is_interior(const Family& family, std::size_t b, int tile) const;

  // Rounding of a sum (or of kappa), relative to its terms' magnitudes: one chain a part of a product, plus the parts
  // and the basis windows; or the levels of a transform, each an addition and a complex factor; either way after the
  // samples that a period folds or wraps onto one another, twice as many for kappa; plus the operands' own roundings.
  // And what fp64 leaves of the largest phase, in the tables here and in the scores that they are compared with.
  double gamma(const Family& family) const {
    const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    const double depth = family.depth;
    const double steps = family.transform > 0 ? 6 * std::log2(family.transform) + 40 + 4 * depth / family.transform + 2
                                              : std::min(family.rows(), kDepth) + family.rows() / kDepth +
                                                    2 * (depth / family.kappa_rows() + 1) + family.rank + 24;
    return steps * unit * 1.01 + 4 * family.largest_phase(block(family, 0)) * 0x1p-53;
  }

  Padded<T> pad(const double* value, std::int64_t size, double scale) const;
  // Weights (0/1) may be null: all ones.
  void load(std::size_t f, int tile, const Padded<T>& signal, const atoms::Samples& samples, double scale,
            double root_energy, const Padded<T>* weights, Scratch<T>& s) const;
  UnitSums<T> unit(std::size_t f, int chunk, std::size_t pair, const Tile<T>& tile, Scratch<T>& s) const;
  BlockScores<T> scores(std::size_t f, std::size_t b, const Tile<T>& tile, double root_energy) const;
  // Every kappa of one item: [frequency][sign][re, im][lane].
  const T* exact_kappa(std::size_t f, std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile,
                       const Padded<T>* weights, const atoms::Samples& samples, Scratch<T>& s) const;
  KappaTile<T> kappa_of(std::size_t f, std::size_t b, const Tile<T>& tile, const Padded<T>* weights,
                        const atoms::Samples& samples, Scratch<T>& s) const;

 private:
  void place(std::size_t f, int tile, Tile<T>& out) const;
  void norms(std::size_t f, std::size_t b, const double* weight, Tile<T>& tile) const;
  void fold(const Family& family, const Tile<T>& tile, const Padded<T>& signal, Scratch<T>& s) const;
  void load_wave(std::size_t f, const atoms::Samples& samples, double scale, bool squared, Tile<T>& tile) const;
  void panel(std::size_t f, std::size_t pair, const T* even, const T* odd, const Tile<T>& tile, bool for_kappa,
             Scratch<T>& s) const;
  const T* transformed(std::size_t f, std::size_t pair, const T* right, const T* left, bool for_kappa,
                       Scratch<T>& s) const;
  const FrequencyTable<T>& frequency_table(std::size_t f, int chunk, bool for_kappa, Scratch<T>& s) const;
  void load_kappa(std::size_t f, std::size_t b, const Tile<T>& tile, const Padded<T>* weights,
                  const atoms::Samples& samples, Scratch<T>& s) const;
  const T* item_kappa(std::size_t f, std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile,
                      Scratch<T>& s) const;
  void rotate(std::size_t f, int chunk, std::size_t pair, const Tile<T>& tile, T* sums, T* kappa) const;
  void make_transforms(std::size_t f);
  void make_kappa_tables(core::ThreadPool& pool);
};

}  // namespace envoi::pursuit
