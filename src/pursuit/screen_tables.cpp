// Tables of a grid: rows in pairs of +-c, frequencies, chirps, and kappa where it fits.
#include "pursuit/screen_tables.hpp"

#include <cmath>
#include <map>
#include <tuple>

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {

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

// Points of a transform whose bins are the block's frequencies, or 0.
int transform_points(const Block& block) {
  constexpr double kMost = 1 << 20;
  const double points = std::round(1 / block.frequency_step);
  if (!(points >= 8 && points <= kMost) || std::abs(block.frequency_step * points - 1) > 1e-9) return 0;
  if (BlockPlan::frequencies_of(block) > static_cast<std::int64_t>(points)) return 0;
  const int n = static_cast<int>(points);
  return n % 4 == 0 && atoms::next_smooth(n) == n ? n : 0;
}

template <class T>
TransformPlan<T> plan_transform(int size) {
  TransformPlan<T> plan;
  plan.size = size;
  for (int rest = size; rest > 1;) {
    const int radix = rest % 5 == 0 ? 5 : rest % 3 == 0 ? 3 : rest % 4 == 0 ? 4 : 2;
    plan.radices.push_back(radix);
    rest /= radix;
  }
  for (int k = 0; k < size; ++k) {
    const double phase = 2 * std::numbers::pi * k / size;
    plan.root.push_back(static_cast<T>(std::cos(phase)));
    plan.root.push_back(static_cast<T>(-std::sin(phase)));
  }
  return plan;
}

}  // namespace

double row_operations(const Block& block, const BlockPlan& plan) {
  const double frequencies = static_cast<double>(BlockPlan::frequencies_of(block)), depth = plan.depth;
  const double ending = 30 * frequencies;
  if (plan.transform > 0) return 5 * plan.transform * std::log2(plan.transform) + 8 * depth + ending;
  return 4 * depth * frequencies + ending;
}

BlockPlan plan_block(const Block& block, std::int64_t samples, int lanes, bool transforms) {
  BlockPlan plan;
  plan.symmetric =
      block.centre_first == std::floor(block.centre_first) && block.centre_step == std::floor(block.centre_step);
  const double last = block.centre_first + static_cast<double>(block.centres - 1) * block.centre_step;
  const double farthest = std::max({last, static_cast<double>(samples - 1) - block.centre_first, 0.0});
  plan.depth = 1 + static_cast<int>(std::min(std::floor(atoms::kSupport * std::exp(block.ln_duration) + 0.5),
                                             std::ceil(farthest) + 1));
  plan.tiles = static_cast<int>((block.centres + lanes - 1) / lanes);
  if (const int points = transform_points(block); transforms && plan.symmetric && points > 0) {
    // A transform's operation takes about twice the time of a product's.
    BlockPlan other = plan;
    other.transform = points;
    if (2 * row_operations(block, other) < row_operations(block, plan)) {
      plan.transform = points;
      plan.width = static_cast<int>(BlockPlan::frequencies_of(block));
    }
  }
  plan.pairs = pair_rows(block, plan.symmetric && plan.transform == 0);
  plan.chunks = static_cast<int>((BlockPlan::frequencies_of(block) + plan.width - 1) / plan.width);
  return plan;
}

// cosine[k][f] = cos(2 pi factor (first + f step) k), f in the chunk; exact at every 64th k, by rotation between.
template <class T>
void FrequencyTable<T>::make(const Block& block, int chunk, int count, int depth, double factor) {
  cosine.resize(static_cast<std::size_t>(depth) * kChunk);
  sine.resize(cosine.size());
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
    T* out_c = cosine.data() + static_cast<std::size_t>(k) * kChunk;
    T* out_s = sine.data() + static_cast<std::size_t>(k) * kChunk;
    for (int f = 0; f < kChunk; ++f) {
      out_c[f] = static_cast<T>(c[f]), out_s[f] = static_cast<T>(s[f]);
      const double next = c[f] * dc[f] - s[f] * ds[f];
      s[f] = c[f] * ds[f] + s[f] * dc[f];
      c[f] = next;
    }
  }
}

template <class T>
bool ScreenTables<T>::tile_is_interior(std::size_t b, int tile) const {
  const Block& block = grid.blocks[b];
  const std::int64_t first = static_cast<std::int64_t>(tile) * lanes();
  const std::int64_t last = std::min<std::int64_t>(first + lanes(), block.centres) - 1;
  const double low = block.centre_first + static_cast<double>(first) * block.centre_step;
  const double high = block.centre_first + static_cast<double>(last) * block.centre_step;
  const double reach = atoms::kSupport * std::exp(block.ln_duration);
  return plans[b].symmetric && low - reach >= 0 && high + reach <= static_cast<double>(grid.samples - 1);
}

template <class T>
ScreenTables<T>::ScreenTables(const Grid& g, bool fixed, core::ThreadPool& pool) : grid(g), phase_fixed(fixed) {
  const std::size_t blocks = grid.blocks.size();
  envelope.resize(blocks);
  chirp_cosine.resize(blocks);
  chirp_sine.resize(blocks);
  frequencies.resize(blocks);
  kappa.resize(blocks);
  transform.resize(blocks);
  half_transform.resize(blocks);
  twist.resize(blocks);
  double frequency_bytes = 0, kappa_bytes = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const Block& block = grid.blocks[b];
    BlockPlan plan = plan_block(block, grid.samples, lanes(), sizeof(T) == 4);
    plan.first_item = items;
    items += plan.items();
    plans.push_back(std::move(plan));
  }
  // Blocks that share their axis share the longest table.
  std::map<std::tuple<double, double, std::int64_t>, std::size_t> longest;
  for (std::size_t b = 0; b < blocks; ++b) {
    if (plans[b].transform > 0) continue;
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
      if (plans[b].transform > 0) continue;
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
    if (plan.transform > 0) {
      transform[b] = plan_transform<T>(plan.transform);
      half_transform[b] = plan_transform<T>(plan.transform / 2);
      for (std::size_t k = 0; k < depth; ++k) {
        const double turns = grid.blocks[b].frequency_first * static_cast<double>(k);
        const double phase = 2 * std::numbers::pi * (turns - std::floor(turns));
        twist[b].push_back(static_cast<T>(std::cos(phase)));
        twist[b].push_back(static_cast<T>(std::sin(phase)));
      }
    }
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
      if (plan.transform == 0) {
        s.doubled.make(grid.blocks[task.block], chunk, plan.chunk_size(grid.blocks[task.block], chunk), plan.depth, 2);
      }
      for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
        make_kappa(task.block, chunk, p, tile, s, out.data() + kappa_offset(task.block, chunk, p));
      }
    }
  });
}

template struct FrequencyTable<float>;
template struct FrequencyTable<double>;
template ScreenTables<float>::ScreenTables(const Grid&, bool, core::ThreadPool&);
template ScreenTables<double>::ScreenTables(const Grid&, bool, core::ThreadPool&);
template bool ScreenTables<float>::tile_is_interior(std::size_t, int) const;
template bool ScreenTables<double>::tile_is_interior(std::size_t, int) const;

}  // namespace envoi::pursuit
