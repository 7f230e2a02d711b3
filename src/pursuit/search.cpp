// Screen in fp32 (or fp64) with a proven bound, then fp64 for what could still win.
//
// For one duration, centre and pair of chirp rates +-c, the correlations with every frequency are sums of the folded,
// windowed, de-chirped samples against cosines and sines: four real sums serve both chirp rates. The sums of a tile of
// neighbouring centres are one small matrix product. kappa of cut atoms is the same product on the window itself, at
// twice the frequency and chirp rate; it does not depend on the signal, so it is kept where it fits.
#include "pursuit/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>

#include "envoi/error.hpp"
#include "pursuit/cpu/screen.hpp"

namespace envoi::pursuit {
namespace {

using atoms::Atom;
using atoms::Block;
using atoms::Grid;
using atoms::Samples;

constexpr double kFrequencyBudget = 24e6;  // bytes of tables kept; past it they are made again a task
constexpr double kKappaBudget = 64e6;
constexpr double kTie = 1e-12;

// Rows of a block with the same |c|: index of the +c and of the -c row, or -1.
struct Pair {
  double chirp_rate = 0;  // of the first row
  int row[2] = {-1, -1};
};

std::vector<Pair> pair_rows(const Block& block, bool symmetric) {
  std::vector<Pair> pairs;
  std::map<double, int> negative;
  const int rows = static_cast<int>(block.rows.size());
  if (symmetric) {
    for (int i = 0; i < rows; ++i) {
      if (block.rows[i].chirp_rate < 0) negative[-block.rows[i].chirp_rate] = i;
    }
  }
  for (int i = 0; i < rows; ++i) {
    const double c = block.rows[i].chirp_rate;
    if (symmetric && c < 0) continue;
    Pair pair{c, {i, -1}};
    if (const auto mirror = negative.find(c); mirror != negative.end())
      pair.row[1] = mirror->second, negative.erase(mirror);
    pairs.push_back(pair);
  }
  for (const auto& [c, row] : negative) pairs.push_back({c, {-1, row}});
  return pairs;
}

// What is known of a block before any signal.
struct BlockPlan {
  std::vector<Pair> pairs;
  bool symmetric = false;  // centres on whole samples
  int depth = 0;           // 1 + samples on one side of the centre
  int tiles = 0, chunks = 0;
  std::size_t first_item = 0;  // items of a block: [tile][chunk][pair]
  std::size_t items() const {
    return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(chunks) * pairs.size();
  }
  int chunk_size(const Block& block, int chunk) const {
    const std::int64_t all = block.rows.empty() ? 0 : frequencies_of(block);
    return static_cast<int>(std::min<std::int64_t>(kChunk, all - static_cast<std::int64_t>(chunk) * kChunk));
  }
  static std::int64_t frequencies_of(const Block& block) {
    std::int64_t most = 0;
    for (const atoms::ChirpRow& row : block.rows) most = std::max(most, row.f_end);
    return most;
  }
};

BlockPlan plan_block(const Block& block, std::int64_t samples, int lanes) {
  BlockPlan plan;
  plan.symmetric =
      block.centre_first == std::floor(block.centre_first) && block.centre_step == std::floor(block.centre_step);
  plan.pairs = pair_rows(block, plan.symmetric);
  const double last = block.centre_first + static_cast<double>(block.centres - 1) * block.centre_step;
  const double farthest = std::max({last, static_cast<double>(samples - 1) - block.centre_first, 0.0});
  plan.depth = 1 + static_cast<int>(std::min(std::floor(atoms::kSupport * std::exp(block.ln_duration) + 0.5),
                                             std::ceil(farthest) + 1));
  plan.tiles = static_cast<int>((block.centres + lanes - 1) / lanes);
  plan.chunks = static_cast<int>((BlockPlan::frequencies_of(block) + kChunk - 1) / kChunk);
  return plan;
}

// cosine[k][f] = cos(2 pi factor (first + f step) k), f in the chunk; exact at every 64th k, by rotation between.
template <class T>
void make_frequency_table(const Block& block, int chunk, int count, int depth, double factor, T* cosine, T* sine) {
  double c[kChunk], s[kChunk], dc[kChunk], ds[kChunk];
  const double two_pi = 2 * std::numbers::pi;
  for (int f = 0; f < kChunk; ++f) {
    const double turns = f < count ? factor * block.frequency(static_cast<std::int64_t>(chunk) * kChunk + f) : 0;
    dc[f] = std::cos(two_pi * turns), ds[f] = std::sin(two_pi * turns);
  }
  for (int k = 0; k < depth; ++k) {
    if (k % 64 == 0) {
      for (int f = 0; f < kChunk; ++f) {
        const double turns =
            f < count ? factor * block.frequency(static_cast<std::int64_t>(chunk) * kChunk + f) * k : 0;
        const double phase = two_pi * (turns - std::floor(turns));
        c[f] = std::cos(phase), s[f] = std::sin(phase);
      }
    }
    T* out_c = cosine + static_cast<std::size_t>(k) * kChunk;
    T* out_s = sine + static_cast<std::size_t>(k) * kChunk;
    for (int f = 0; f < kChunk; ++f) {
      out_c[f] = static_cast<T>(c[f]), out_s[f] = static_cast<T>(s[f]);
      const double next = c[f] * dc[f] - s[f] * ds[f];
      s[f] = c[f] * ds[f] + s[f] * dc[f];
      c[f] = next;
    }
  }
}

// Tables for a whole chunk, plain (for the signal) or doubled (for kappa).
template <class T>
struct FrequencyTable {
  std::vector<T> cosine, sine;
  void make(const Block& block, int chunk, int count, int depth, double factor) {
    cosine.resize(static_cast<std::size_t>(depth) * kChunk);
    sine.resize(cosine.size());
    make_frequency_table(block, chunk, count, depth, factor, cosine.data(), sine.data());
  }
};

// Scratch of one task.
template <class T>
struct Scratch {
  FrequencyTable<T> frequencies, doubled;
  std::vector<T> even, odd, panel, sums, kappa_even, kappa_odd, kappa_sums, kappa, chirp_cosine, chirp_sine, bounds;
  std::vector<double> wave;  // general centres: [k][lane] windowed samples on either side
};

// The tile's windowed samples and what the ending needs of each lane.
template <class T>
struct Tile {
  T inverse_norm[kMostLanes] = {};
  T error2[kMostLanes] = {};
  Atom atom[kMostLanes];  // centres
  bool interior = true;   // no atom is cut by an edge or a missing sample
  double largest_error = 0;
};

}  // namespace

template <class T>
struct Searcher::Tables {
  const Grid& grid;
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
  double bound_factor = 1;  // other than 1 in tests alone

  Tables(const Grid& g, bool fixed, core::ThreadPool& pool);

  int lanes() const { return kernels.lanes; }
  std::size_t kappa_item(int count) const {
    return static_cast<std::size_t>(count) * 4 * static_cast<std::size_t>(lanes());
  }
  std::size_t kappa_tile(std::size_t b) const {
    return plans[b].pairs.size() * 4 * static_cast<std::size_t>(lanes()) *
           static_cast<std::size_t>(BlockPlan::frequencies_of(grid.blocks[b]));
  }
  std::size_t kappa_offset(std::size_t b, int chunk, std::size_t pair) const {
    const auto& plan = plans[b];
    return (plan.pairs.size() * static_cast<std::size_t>(chunk) * kChunk +
            pair * static_cast<std::size_t>(plan.chunk_size(grid.blocks[b], chunk))) *
           4 * static_cast<std::size_t>(lanes());
  }

  // Rounding of a sum of `depth` products: one chain a part, plus the parts, plus the operands' own roundings.
  double gamma(int depth) const {
    const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    return (std::min(depth, kDepth) + depth / kDepth + 24) * unit * 1.01;
  }

  bool tile_is_interior(std::size_t b, int tile) const;
  Tile<T> load(std::size_t b, int tile, const Samples& samples, double scale, Scratch<T>& s) const;
  void panel(std::size_t b, std::size_t pair, const Tile<T>& tile, bool for_kappa, Scratch<T>& s) const;
  const FrequencyTable<T>& frequency_table(std::size_t b, int chunk, Scratch<T>& s) const;
  void make_kappa(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, Scratch<T>& s, T* out) const;
  ItemScores<T> item(std::size_t b, int tile_index, int chunk, std::size_t pair, const Tile<T>& tile, bool weighted,
                     double root_energy, const FrequencyTable<T>& table, Scratch<T>& s) const;
  void rotate(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, T* sums, T* kappa_sums, int count) const;
  void load_kappa_window(std::size_t b, const Tile<T>& tile, const Samples& samples, Scratch<T>& s) const;
};

template <class T>
bool Searcher::Tables<T>::tile_is_interior(std::size_t b, int tile) const {
  const Block& block = grid.blocks[b];
  const std::int64_t first = static_cast<std::int64_t>(tile) * lanes();
  const std::int64_t last = std::min<std::int64_t>(first + lanes(), block.centres) - 1;
  const double low = block.centre_first + static_cast<double>(first) * block.centre_step;
  const double high = block.centre_first + static_cast<double>(last) * block.centre_step;
  const double reach = atoms::kSupport * std::exp(block.ln_duration);
  return plans[b].symmetric && low - reach >= 0 && high + reach <= static_cast<double>(grid.samples - 1);
}

// Folds the window of each lane. For whole-sample centres even/odd are real; else `wave` keeps the two sides, and the
// folding waits for the chirp.
template <class T>
Tile<T> Searcher::Tables<T>::load(std::size_t b, int tile_index, const Samples& samples, double scale,
                                  Scratch<T>& s) const {
  const Block& block = grid.blocks[b];
  const BlockPlan& plan = plans[b];
  const int n_lanes = lanes(), depth = plan.depth;
  const std::size_t size = static_cast<std::size_t>(depth) * static_cast<std::size_t>(n_lanes);
  Tile<T> tile;
  s.panel.resize(4 * size);
  s.sums.resize(static_cast<std::size_t>(kChunk) * 4 * static_cast<std::size_t>(n_lanes));
  if (plan.symmetric) {
    s.even.assign(size, T(0));
    s.odd.assign(size, T(0));
  } else {
    s.wave.assign(2 * size, 0.0);
  }
  const double inverse = std::exp(-2 * block.ln_duration);
  for (int lane = 0; lane < n_lanes; ++lane) {
    const std::int64_t centre = static_cast<std::int64_t>(tile_index) * n_lanes + lane;
    if (centre >= block.centres) break;
    Atom& atom = tile.atom[lane];
    atom.ln_duration = block.ln_duration;
    block.place(centre, atom);
    const atoms::Support range = atoms::support(atom, samples.size);
    double norm2 = 0, magnitude = 0;
    auto sample = [&](std::int64_t k) -> double {
      if (k < range.begin || k >= range.end) return 0;
      const std::int64_t n = atom.sample + k;
      if (samples.weight && samples.weight[n] == 0) return 0;
      const double u = static_cast<double>(k) - atom.offset;
      const double e =
          plan.symmetric ? envelope[b][static_cast<std::size_t>(std::abs(k))] : std::exp(-u * u * inverse / 2);
      const double y = samples.value[n] * scale * e;
      norm2 += e * e;
      magnitude += std::abs(y);
      return y;
    };
    for (int k = 0; k < depth; ++k) {
      const double right = sample(k), left = k > 0 ? sample(-k) : 0;
      const std::size_t at =
          static_cast<std::size_t>(k) * static_cast<std::size_t>(n_lanes) + static_cast<std::size_t>(lane);
      if (plan.symmetric) {
        s.even[at] = static_cast<T>(right + left);
        s.odd[at] = static_cast<T>(k > 0 ? right - left : 0);
      } else {
        s.wave[2 * at] = right, s.wave[2 * at + 1] = left;
      }
    }
    if (norm2 > 0) {
      // Both parts of the sum are off by at most gamma times the sum of magnitudes.
      const double error = std::numbers::sqrt2 * gamma(depth) * magnitude * bound_factor;
      tile.inverse_norm[lane] = static_cast<T>(1 / norm2);
      tile.error2[lane] = static_cast<T>(error * error * 1.0001 + 1e-36);
      tile.largest_error = std::max(tile.largest_error, error / std::sqrt(norm2));
    }
  }
  return tile;
}

// The window's own weights in place of the samples, for kappa.
template <class T>
void Searcher::Tables<T>::load_kappa_window(std::size_t b, const Tile<T>& tile, const Samples& samples,
                                            Scratch<T>& s) const {
  const BlockPlan& plan = plans[b];
  const int n_lanes = lanes();
  const std::size_t size = static_cast<std::size_t>(plan.depth) * static_cast<std::size_t>(n_lanes);
  s.kappa_even.assign(plan.symmetric ? size : 2 * size, T(0));
  s.kappa_odd.assign(plan.symmetric ? size : 0, T(0));
  const double inverse = std::exp(-2 * grid.blocks[b].ln_duration);
  for (int lane = 0; lane < n_lanes; ++lane) {
    if (tile.inverse_norm[lane] == 0) continue;
    const Atom& atom = tile.atom[lane];
    const atoms::Support range = atoms::support(atom, samples.size);
    auto window = [&](std::int64_t k) -> double {
      if (k < range.begin || k >= range.end) return 0;
      if (samples.weight && samples.weight[atom.sample + k] == 0) return 0;
      const double u = static_cast<double>(k) - atom.offset;
      if (!plan.symmetric) return std::exp(-u * u * inverse);
      const double e = envelope[b][static_cast<std::size_t>(std::abs(k))];
      return e * e;
    };
    for (int k = 0; k < plan.depth; ++k) {
      const double right = window(k), left = k > 0 ? window(-k) : 0;
      const std::size_t at =
          static_cast<std::size_t>(k) * static_cast<std::size_t>(n_lanes) + static_cast<std::size_t>(lane);
      if (plan.symmetric) {
        s.kappa_even[at] = static_cast<T>(right + left);
        s.kappa_odd[at] = static_cast<T>(k > 0 ? right - left : 0);
      } else {
        s.kappa_even[2 * at] = static_cast<T>(right), s.kappa_even[2 * at + 1] = static_cast<T>(left);
      }
    }
  }
}

// e cos, e sin, o cos, o sin of the tile for one pair of chirp rates (doubled for kappa).
// Off whole samples the chirp is not even in k: the de-chirped samples are complex, and even and odd parts are taken
// after; signs are such that the ending of the even case serves.
template <class T>
void Searcher::Tables<T>::panel(std::size_t b, std::size_t pair, const Tile<T>& tile, bool for_kappa,
                                Scratch<T>& s) const {
  const BlockPlan& plan = plans[b];
  const int n_lanes = lanes(), depth = plan.depth;
  if (plan.symmetric) {
    const T* cosine = chirp_cosine[b].data() + pair * static_cast<std::size_t>(depth);
    const T* sine = chirp_sine[b].data() + pair * static_cast<std::size_t>(depth);
    if (for_kappa) {
      s.chirp_cosine.resize(static_cast<std::size_t>(depth));
      s.chirp_sine.resize(static_cast<std::size_t>(depth));
      for (int k = 0; k < depth; ++k) {
        const double phase = 2 * std::numbers::pi * plan.pairs[pair].chirp_rate * k * k;
        s.chirp_cosine[static_cast<std::size_t>(k)] = static_cast<T>(std::cos(phase));
        s.chirp_sine[static_cast<std::size_t>(k)] = static_cast<T>(std::sin(phase));
      }
      kernels.panel(s.kappa_even.data(), s.kappa_odd.data(), s.chirp_cosine.data(), s.chirp_sine.data(), depth,
                    s.panel.data());
    } else {
      kernels.panel(s.even.data(), s.odd.data(), cosine, sine, depth, s.panel.data());
    }
    return;
  }
  const double c = plan.pairs[pair].chirp_rate * (for_kappa ? 2 : 1);
  for (int lane = 0; lane < n_lanes; ++lane) {
    const double offset = tile.atom[lane].offset;
    for (int k = 0; k < depth; ++k) {
      const std::size_t at =
          static_cast<std::size_t>(k) * static_cast<std::size_t>(n_lanes) + static_cast<std::size_t>(lane);
      const double right = for_kappa ? static_cast<double>(s.kappa_even[2 * at]) : s.wave[2 * at];
      const double left = for_kappa ? static_cast<double>(s.kappa_even[2 * at + 1]) : s.wave[2 * at + 1];
      double even_re = 0, even_im = 0, odd_re = 0, odd_im = 0;
      if (right != 0 || left != 0) {
        // exp(-i pi c (k - offset)^2) without its constant: exp(-i pi c (k^2 -+ 2 k offset)).
        const double square = std::numbers::pi * c * k * k, twist = 2 * std::numbers::pi * c * k * offset;
        const double rr = right * std::cos(square - twist), ri = -right * std::sin(square - twist);
        const double lr = left * std::cos(square + twist), li = -left * std::sin(square + twist);
        even_re = rr + lr, even_im = ri + li, odd_re = rr - lr, odd_im = ri - li;
      }
      T* out = s.panel.data() + (static_cast<std::size_t>(k) * 4) * static_cast<std::size_t>(n_lanes) +
               static_cast<std::size_t>(lane);
      out[0] = static_cast<T>(even_re);
      out[n_lanes] = static_cast<T>(-even_im);
      out[2 * n_lanes] = static_cast<T>(odd_re);
      out[3 * n_lanes] = static_cast<T>(-odd_im);
    }
  }
}

template <class T>
const FrequencyTable<T>& Searcher::Tables<T>::frequency_table(std::size_t b, int chunk, Scratch<T>& s) const {
  if (!frequencies[b].empty()) return *frequencies[b][static_cast<std::size_t>(chunk)];
  s.frequencies.make(grid.blocks[b], chunk, plans[b].chunk_size(grid.blocks[b], chunk), plans[b].depth, 1);
  return s.frequencies;
}

// kappa = sum g^2 / sum |g|^2, laid out as the ending reads it. Needs s.kappa_even/odd and s.doubled.
template <class T>
void Searcher::Tables<T>::make_kappa(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, Scratch<T>& s,
                                     T* out) const {
  const int n_lanes = lanes(), count = plans[b].chunk_size(grid.blocks[b], chunk);
  panel(b, pair, tile, true, s);
  s.kappa_sums.resize(s.sums.size());
  kernels.product(s.panel.data(), s.doubled.cosine.data(), s.doubled.sine.data(), plans[b].depth, count,
                  s.kappa_sums.data());
  for (int f = 0; f < count; ++f) {
    const T* sums = s.kappa_sums.data() + static_cast<std::size_t>(f) * 4 * static_cast<std::size_t>(n_lanes);
    for (int lane = 0; lane < n_lanes; ++lane) {
      const T ec = sums[lane], es = sums[n_lanes + lane], oc = sums[2 * n_lanes + lane], os = sums[3 * n_lanes + lane];
      T* at = out + static_cast<std::size_t>(f) * 4 * static_cast<std::size_t>(n_lanes) + lane;
      const T norm = tile.inverse_norm[lane];
      at[0] = (ec - os) * norm, at[n_lanes] = (oc + es) * norm;
      at[2 * n_lanes] = (ec + os) * norm, at[3 * n_lanes] = (oc - es) * norm;
    }
  }
}

template <class T>
Searcher::Tables<T>::Tables(const Grid& g, bool fixed, core::ThreadPool& pool) : grid(g), phase_fixed(fixed) {
  const std::size_t blocks = grid.blocks.size();
  envelope.resize(blocks);
  chirp_cosine.resize(blocks);
  chirp_sine.resize(blocks);
  frequencies.resize(blocks);
  kappa.resize(blocks);
  double frequency_bytes = 0, kappa_bytes = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const Block& block = grid.blocks[b];
    BlockPlan plan = plan_block(block, grid.samples, lanes());
    plan.first_item = items;
    items += plan.items();
    plans.push_back(std::move(plan));
  }
  // Blocks that share their axis share the longest table.
  std::map<std::tuple<double, double, std::int64_t>, std::size_t> longest;
  for (std::size_t b = 0; b < blocks; ++b) {
    const Block& block = grid.blocks[b];
    const auto key = std::tuple(block.frequency_first, block.frequency_step, BlockPlan::frequencies_of(block));
    const auto [at, fresh] = longest.try_emplace(key, b);
    if (!fresh && plans[b].depth > plans[at->second].depth) at->second = b;
  }
  for (const auto& [key, b] : longest) frequency_bytes += 2.0 * sizeof(T) * plans[b].depth * plans[b].chunks * kChunk;
  if (frequency_bytes <= kFrequencyBudget) {
    for (const auto& [key, b] : longest) {
      for (int chunk = 0; chunk < plans[b].chunks; ++chunk) {
        auto table = std::make_shared<FrequencyTable<T>>();
        table->make(grid.blocks[b], chunk, plans[b].chunk_size(grid.blocks[b], chunk), plans[b].depth, 1);
        frequencies[b].push_back(std::move(table));
      }
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const Block& block = grid.blocks[b];
      const std::size_t from =
          longest[std::tuple(block.frequency_first, block.frequency_step, BlockPlan::frequencies_of(block))];
      if (b != from) frequencies[b] = frequencies[from];
    }
  }
  pool.run(blocks, [&](std::size_t b, unsigned) {
    const BlockPlan& plan = plans[b];
    if (!plan.symmetric) return;
    const double inverse = std::exp(-2 * grid.blocks[b].ln_duration);
    const auto depth = static_cast<std::size_t>(plan.depth);
    for (std::size_t k = 0; k < depth; ++k) envelope[b].push_back(std::exp(-static_cast<double>(k * k) * inverse / 2));
    chirp_cosine[b].resize(plan.pairs.size() * depth);
    chirp_sine[b].resize(plan.pairs.size() * depth);
    for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
      for (std::size_t k = 0; k < depth; ++k) {
        const double phase =
            std::numbers::pi * plan.pairs[p].chirp_rate * static_cast<double>(k) * static_cast<double>(k);
        chirp_cosine[b][p * depth + k] = static_cast<T>(std::cos(phase));
        chirp_sine[b][p * depth + k] = static_cast<T>(std::sin(phase));
      }
    }
  });

  // kappa of every tile that an edge cuts, and one for the others.
  struct Task {
    std::size_t block;
    int tile;     // index in kappa[block]
    int of_tile;  // centres to use
  };
  std::vector<Task> tasks;
  for (std::size_t b = 0; b < blocks; ++b) {
    int interior = -1;
    for (int t = 0; t < plans[b].tiles; ++t) {
      // A full tile, so that every lane of the shared table is filled.
      const bool full = static_cast<std::int64_t>(t + 1) * lanes() <= grid.blocks[b].centres;
      if (!tile_is_interior(b, t)) {
        tasks.push_back({b, t, t});
      } else if (full && interior < 0) {
        interior = t;
      }
    }
    if (interior < 0) {  // only the last, partial tile may be interior
      for (int t = 0; t < plans[b].tiles; ++t) {
        if (tile_is_interior(b, t)) interior = t;
      }
    }
    if (interior >= 0) tasks.push_back({b, plans[b].tiles, interior});
  }
  for (const Task& task : tasks) kappa_bytes += static_cast<double>(kappa_tile(task.block)) * sizeof(T);
  kappa_kept = kappa_bytes <= kKappaBudget;
  if (!kappa_kept) return;
  for (std::size_t b = 0; b < blocks; ++b) kappa[b].resize(static_cast<std::size_t>(plans[b].tiles) + 1);
  std::vector<Scratch<T>> scratch(pool.size());
  std::vector<double> ones(static_cast<std::size_t>(grid.samples), 1.0);
  const Samples flat{ones.data(), nullptr, grid.samples};
  pool.run(tasks.size(), [&](std::size_t i, unsigned worker) {
    const Task& task = tasks[i];
    Scratch<T>& s = scratch[worker];
    const BlockPlan& plan = plans[task.block];
    std::vector<T>& out = kappa[task.block][static_cast<std::size_t>(task.tile)];
    out.resize(kappa_tile(task.block));
    const Tile<T> tile = load(task.block, task.of_tile, flat, 1, s);
    load_kappa_window(task.block, tile, flat, s);
    for (int chunk = 0; chunk < plan.chunks; ++chunk) {
      s.doubled.make(grid.blocks[task.block], chunk, plan.chunk_size(grid.blocks[task.block], chunk), plan.depth, 2);
      for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
        make_kappa(task.block, chunk, p, tile, s, out.data() + kappa_offset(task.block, chunk, p));
      }
    }
  });
}

// Off whole samples the sums lack a phase that only the phase-fixed score sees; put it back.
template <class T>
void Searcher::Tables<T>::rotate(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, T* sums, T* kappa_out,
                                 int count) const {
  const int n_lanes = lanes();
  const double c = plans[b].pairs[pair].chirp_rate;
  for (int f = 0; f < count; ++f) {
    const double frequency = grid.blocks[b].frequency(static_cast<std::int64_t>(chunk) * kChunk + f);
    for (int lane = 0; lane < n_lanes; ++lane) {
      const double offset = tile.atom[lane].offset;
      const double angle = 2 * std::numbers::pi * offset * (frequency - c * offset / 2);
      const std::complex<double> turn = std::polar(1.0, angle);
      T* at = sums + static_cast<std::size_t>(f) * 4 * static_cast<std::size_t>(n_lanes) + lane;
      const std::complex<double> z(static_cast<double>(at[0]) - static_cast<double>(at[3 * n_lanes]),
                                   -static_cast<double>(at[n_lanes]) - static_cast<double>(at[2 * n_lanes]));
      const std::complex<double> turned = z * turn;
      at[0] = static_cast<T>(turned.real()), at[3 * n_lanes] = 0, at[n_lanes] = static_cast<T>(-turned.imag()),
      at[2 * n_lanes] = 0;
      T* k = kappa_out + static_cast<std::size_t>(f) * 4 * static_cast<std::size_t>(n_lanes) + lane;
      const std::complex<double> kappa_turned = std::complex<double>(k[0], k[n_lanes]) * std::conj(turn * turn);
      k[0] = static_cast<T>(kappa_turned.real()), k[n_lanes] = static_cast<T>(kappa_turned.imag());
    }
  }
}

// Sums of one item, ready for its ending. With s.doubled and the kappa window loaded where kappa is not kept.
template <class T>
ItemScores<T> Searcher::Tables<T>::item(std::size_t b, int tile_index, int chunk, std::size_t pair, const Tile<T>& tile,
                                        bool weighted, double root_energy, const FrequencyTable<T>& table,
                                        Scratch<T>& s) const {
  const Block& block = grid.blocks[b];
  const BlockPlan& plan = plans[b];
  ItemScores<T> out;
  out.frequencies = plan.chunk_size(block, chunk);
  for (int sign = 0; sign < 2; ++sign) {
    const int row = plan.pairs[pair].row[sign];
    if (row < 0) continue;
    const std::int64_t base = static_cast<std::int64_t>(chunk) * kChunk;
    out.begin[sign] = static_cast<int>(
        std::clamp<std::int64_t>(block.rows[static_cast<std::size_t>(row)].f_begin - base, 0, out.frequencies));
    out.end[sign] = static_cast<int>(
        std::clamp<std::int64_t>(block.rows[static_cast<std::size_t>(row)].f_end - base, 0, out.frequencies));
  }
  if (out.begin[0] >= out.end[0] && out.begin[1] >= out.end[1]) return out;
  if (kappa_kept && !weighted) {
    const std::size_t which =
        tile_is_interior(b, tile_index) ? static_cast<std::size_t>(plan.tiles) : static_cast<std::size_t>(tile_index);
    out.kappa = kappa[b][which].data() + kappa_offset(b, chunk, pair);
  } else {
    s.kappa.resize(kappa_item(kChunk));
    make_kappa(b, chunk, pair, tile, s, s.kappa.data());
    out.kappa = s.kappa.data();
  }
  panel(b, pair, tile, false, s);
  kernels.product(s.panel.data(), table.cosine.data(), table.sine.data(), plan.depth, out.frequencies, s.sums.data());
  if (phase_fixed && !plan.symmetric) {
    if (out.kappa != s.kappa.data())
      s.kappa.assign(out.kappa, out.kappa + kappa_item(out.frequencies)), out.kappa = s.kappa.data();
    rotate(b, chunk, pair, tile, s.sums.data(), s.kappa.data(), out.frequencies);
  }
  out.sums = s.sums.data();
  out.inverse_norm = tile.inverse_norm;
  out.error2 = tile.error2;
  out.kappa_error = static_cast<T>(1.5 * gamma(plan.depth) * bound_factor);
  // Near the best split of the bound for the energies that matter, and room for the ending's own roundings.
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  out.eta =
      static_cast<T>(std::max(3 * std::numbers::sqrt2 * tile.largest_error / root_energy, 16 * unit * bound_factor));
  out.phase_fixed = phase_fixed;
  return out;
}

Searcher::Searcher(const Grid& grid, Precision precision, bool phase_fixed, core::ThreadPool& pool)
    : grid_(grid), phase_fixed_(phase_fixed) {
  if (precision == Precision::exact) {
    f32_ = std::make_unique<Tables<float>>(grid, phase_fixed, pool);
  } else {
    f64_ = std::make_unique<Tables<double>>(grid, phase_fixed, pool);
  }
}

Searcher::~Searcher() = default;

void Searcher::scale_bound_for_test(double factor) {
  if (f32_) f32_->bound_factor = factor;
  if (f64_) f64_->bound_factor = factor;
}

Winner Searcher::best(std::span<const double> residual, std::span<const double> weight, int most_rivals,
                      core::ThreadPool* pool) const {
  double largest = 0;
  for (const double x : residual) {
    if (!std::isfinite(x))
      throw Error(ErrorKind::numerical, "a sample is not finite; treat it as missing or leave it out");
    largest = std::max(largest, std::abs(x));
  }
  if (largest == 0 || grid_.size == 0) return {};
  const Samples samples{residual.data(), weight.empty() ? nullptr : weight.data(),
                        static_cast<std::int64_t>(residual.size())};
  return f32_ ? best_of(*f32_, samples, largest, most_rivals, pool)
              : best_of(*f64_, samples, largest, most_rivals, pool);
}

template <class T>
Winner Searcher::best_of(const Tables<T>& tables, const Samples& samples, double largest, int most_rivals,
                         core::ThreadPool* pool) const {
  const int lanes = tables.lanes();
  const bool weighted = samples.weight != nullptr;
  // A power of two, so that a signal scaled by one gives the same bits.
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double scale = std::ldexp(1.0, -exponent);
  double root_energy = 0;
  for (std::int64_t n = 0; n < samples.size; ++n) root_energy += samples.value[n] * scale * (samples.value[n] * scale);
  root_energy = std::sqrt(root_energy);

  // First pass: the largest bound of every item.
  struct Task {
    std::size_t block;
    int tile, chunk;
  };
  std::vector<Task> tasks;
  for (std::size_t b = tables.plans.size(); b-- > 0;) {  // the longest first
    for (int t = 0; t < tables.plans[b].tiles; ++t) {
      for (int c = 0; c < tables.plans[b].chunks; ++c) tasks.push_back({b, t, c});
    }
  }
  std::vector<T> item_bound(tables.items, T(0));
  const unsigned workers = pool ? pool->size() : 1;
  std::vector<Scratch<T>> scratch(workers);
  std::vector<double> errors(tasks.size(), 0.0);
  auto item_index = [&](const Task& task, std::size_t pair) {
    const BlockPlan& plan = tables.plans[task.block];
    return plan.first_item +
           (static_cast<std::size_t>(task.tile) * static_cast<std::size_t>(plan.chunks) +
            static_cast<std::size_t>(task.chunk)) *
               plan.pairs.size() +
           pair;
  };
  auto prepare = [&](const Task& task, Scratch<T>& s) {
    Tile<T> tile = tables.load(task.block, task.tile, samples, scale, s);
    if (!tables.kappa_kept || weighted) {
      tables.load_kappa_window(task.block, tile, samples, s);
      s.doubled.make(grid_.blocks[task.block], task.chunk,
                     tables.plans[task.block].chunk_size(grid_.blocks[task.block], task.chunk),
                     tables.plans[task.block].depth, 2);
    }
    return tile;
  };
  auto screen = [&](std::size_t i, unsigned worker) {
    const Task& task = tasks[i];
    Scratch<T>& s = scratch[worker];
    const Tile<T> tile = prepare(task, s);
    errors[i] = tile.largest_error;
    const FrequencyTable<T>& table = tables.frequency_table(task.block, task.chunk, s);
    for (std::size_t p = 0; p < tables.plans[task.block].pairs.size(); ++p) {
      const ItemScores<T> item =
          tables.item(task.block, task.tile, task.chunk, p, tile, weighted, root_energy, table, s);
      if (item.sums) item_bound[item_index(task, p)] = tables.kernels.largest(item);
    }
  };
  if (pool && pool->size() > 1) {
    pool->run(tasks.size(), screen);
  } else {
    for (std::size_t i = 0; i < tasks.size(); ++i) screen(i, 0);
  }

  // Second pass: items in falling order of their bound, for as long as they could hold the winner.
  struct Ref {
    T bound;
    std::uint32_t task;
    std::uint32_t pair;
  };
  std::vector<Ref> order;
  T top = 0;
  for (const T bound : item_bound) top = std::max(top, bound);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::size_t p = 0; p < tables.plans[tasks[i].block].pairs.size(); ++p) {
      const T bound = item_bound[item_index(tasks[i], p)];
      // Energies cannot differ by more than this from the top and still win, unless the bound is loose: keep all then.
      if (bound > 0) order.push_back({bound, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p)});
    }
  }
  auto before = [&](const Ref& a, const Ref& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.task != b.task ? a.task < b.task : a.pair < b.pair;
  };
  std::make_heap(order.begin(), order.end(), [&](const Ref& a, const Ref& b) { return before(b, a); });

  const double unscale = 1 / (scale * scale);
  struct Candidate {
    std::uint64_t index;
    double energy;
  };
  std::vector<Candidate> scored;
  double best_energy = 0;
  Scratch<T>& s = scratch[0];
  std::vector<std::pair<T, std::uint64_t>> found;
  // The atoms of an item with a bound of at least `least`, the largest first.
  auto open_item = [&](const Ref& ref, double least) {
    const Task& task = tasks[ref.task];
    const Block& block = grid_.blocks[task.block];
    const BlockPlan& plan = tables.plans[task.block];
    const Tile<T> tile = prepare(task, s);
    const FrequencyTable<T>& table = tables.frequency_table(task.block, task.chunk, s);
    const ItemScores<T> item =
        tables.item(task.block, task.tile, task.chunk, ref.pair, tile, weighted, root_energy, table, s);
    s.bounds.resize(static_cast<std::size_t>(kChunk) * 2 * static_cast<std::size_t>(lanes));
    tables.kernels.bounds(item, s.bounds.data());
    found.clear();
    for (int sign = 0; sign < 2; ++sign) {
      for (int f = item.begin[sign]; f < item.end[sign]; ++f) {
        const T* bounds = s.bounds.data() + (f * 2 + sign) * lanes;
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int64_t centre = static_cast<std::int64_t>(task.tile) * lanes + lane;
          if (bounds[lane] <= 0 || centre >= block.centres || static_cast<double>(bounds[lane]) * unscale < least)
            continue;
          const atoms::ChirpRow& row = block.rows[static_cast<std::size_t>(plan.pairs[ref.pair].row[sign])];
          const std::int64_t frequency = static_cast<std::int64_t>(task.chunk) * kChunk + f;
          found.emplace_back(bounds[lane],
                             block.first + static_cast<std::uint64_t>(centre * block.atoms_per_centre + row.first +
                                                                      frequency - row.f_begin));
        }
      }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
  };
  auto needed = [&] { return best_energy * (1 - kTie); };
  const auto behind = [&](const Ref& a, const Ref& b) { return before(b, a); };
  std::vector<Ref> rival_rows;  // the largest item of each duration and |c| but the winner's
  while (!order.empty()) {
    const Ref ref = order.front();
    const bool could_win = static_cast<double>(ref.bound) * unscale >= needed();
    const bool could_rival = static_cast<int>(rival_rows.size()) < most_rivals &&
                             static_cast<double>(ref.bound) * unscale >= (1 - grid_.max_loss) * best_energy;
    if (!could_win && !could_rival) break;
    std::pop_heap(order.begin(), order.end(), behind);
    order.pop_back();
    if (could_win) {
      open_item(ref, needed());
      for (const auto& [bound, index] : found) {
        if (static_cast<double>(bound) * unscale < needed()) break;
        const double energy = atoms::energy(samples, grid_.at(index), phase_fixed_);
        scored.push_back({index, energy});
        best_energy = std::max(best_energy, energy);
      }
    }
    const bool seen = std::any_of(rival_rows.begin(), rival_rows.end(), [&](const Ref& r) {
      return tasks[r.task].block == tasks[ref.task].block && r.pair == ref.pair;
    });
    if (!seen && most_rivals > 0) rival_rows.push_back(ref);
  }

  Winner winner;
  winner.index = ~std::uint64_t{0};
  for (const Candidate& candidate : scored) {
    if (candidate.energy >= best_energy * (1 - kTie) && candidate.index < winner.index) {
      winner.index = candidate.index;
      winner.energy = candidate.energy;
    }
  }
  if (scored.empty()) return {};
  winner.survivors = scored.size();
  for (const Ref& ref : rival_rows) {
    open_item(ref, 0);
    if (!found.empty() && found.front().second != winner.index) winner.rivals.push_back(found.front().second);
  }
  const double error = *std::max_element(errors.begin(), errors.end()) / scale;
  winner.bound = winner.energy > 0 ? error * std::numbers::sqrt2 / std::sqrt(winner.energy) : 0;
  return winner;
}

double multiply_add_rate() {
  const ScreenKernels<float>& kernels = screen_kernels<float>();
  const auto lanes = static_cast<std::size_t>(kernels.lanes);
  std::vector<float> panel(4 * kDepth * lanes, 1.0f), table(std::size_t{kDepth} * kChunk, 1.0f),
      sums(4 * kChunk * lanes);
  const double operations = 8.0 * kDepth * kChunk * static_cast<double>(lanes);
  double best = 1e300;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernels.product(panel.data(), table.data(), table.data(), kDepth, kChunk, sums.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return operations / std::max(best, 1e-9);
}

SearchCost search_cost(const Grid& grid, Precision precision, bool) {
  const int lanes = precision == Precision::exact ? screen_kernels<float>().lanes : screen_kernels<double>().lanes;
  const double width = precision == Precision::exact ? 4 : 8;
  SearchCost cost;
  double frequency_bytes = 0, kappa_bytes = 0;
  for (const Block& block : grid.blocks) {
    const BlockPlan plan = plan_block(block, grid.samples, lanes);
    const double frequencies = static_cast<double>(BlockPlan::frequencies_of(block)), depth = plan.depth;
    const double padded = static_cast<double>(plan.tiles) * lanes, pairs = static_cast<double>(plan.pairs.size());
    cost.operations += padded * pairs * frequencies * (8 * depth + 60) + padded * pairs * 4 * depth;
    frequency_bytes += 2 * width * depth * plan.chunks * kChunk;
    kappa_bytes += padded * pairs * frequencies * 4 * width;
    cost.table_bytes += pairs * depth * 2 * width + static_cast<double>(plan.items()) * (width + 16);
    cost.scratch_bytes = std::max(cost.scratch_bytes, depth * (10 * lanes + 4 * kChunk) * width + 16.0 * depth * lanes);
  }
  if (kappa_bytes > kKappaBudget) cost.operations *= 2;
  cost.table_bytes += std::min(frequency_bytes, kFrequencyBudget) + (kappa_bytes > kKappaBudget ? 0 : kappa_bytes);
  return cost;
}

}  // namespace envoi::pursuit
