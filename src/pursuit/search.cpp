// Screen in fp32 (or fp64) with a proven bound, then fp64 for what could still win.
#include "pursuit/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "envoi/error.hpp"
#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {
constexpr double kTie = 1e-12;
}  // namespace

Searcher::Searcher(const Grid& grid, Precision precision, bool phase_fixed, core::ThreadPool& pool)
    : grid_(grid), phase_fixed_(phase_fixed) {
  if (precision == Precision::exact) {
    f32_ = std::make_unique<ScreenTables<float>>(grid, phase_fixed, pool);
  } else {
    f64_ = std::make_unique<ScreenTables<double>>(grid, phase_fixed, pool);
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
Winner Searcher::best_of(const ScreenTables<T>& tables, const Samples& samples, double largest, int most_rivals,
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
      const BlockPlan& plan = tables.plans[task.block];
      const Block& block = grid_.blocks[task.block];
      if (plan.transform == 0) s.doubled.make(block, task.chunk, plan.chunk_size(block, task.chunk), plan.depth, 2);
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
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::size_t p = 0; p < tables.plans[tasks[i].block].pairs.size(); ++p) {
      const T bound = item_bound[item_index(tasks[i], p)];
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
    s.bounds.resize(static_cast<std::size_t>(item.frequencies) * 2 * static_cast<std::size_t>(lanes));
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
          const std::int64_t frequency = static_cast<std::int64_t>(task.chunk) * plan.width + f;
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

SearchCost search_cost(const Grid& grid, Precision precision) {
  const int lanes = precision == Precision::exact ? screen_kernels<float>().lanes : screen_kernels<double>().lanes;
  const double width = precision == Precision::exact ? 4 : 8;
  SearchCost cost;
  double frequency_bytes = 0, kappa_bytes = 0;
  for (const Block& block : grid.blocks) {
    const BlockPlan plan = plan_block(block, grid.samples, lanes, precision == Precision::exact);
    const double frequencies = static_cast<double>(BlockPlan::frequencies_of(block)), depth = plan.depth;
    const double padded = static_cast<double>(plan.tiles) * lanes, rows = static_cast<double>(block.rows.size());
    cost.operations += padded * rows * row_operations(block, plan) * (plan.transform > 0 ? 2 : 1);
    if (plan.transform == 0) frequency_bytes += 2 * width * depth * plan.chunks * kChunk;
    kappa_bytes += padded * rows * frequencies * 2 * width;
    cost.table_bytes += rows * depth * 2 * width + static_cast<double>(plan.items()) * (width + 16);
    const double points = plan.transform > 0 ? 4.0 * plan.transform * lanes + 4.0 * plan.width * lanes : 0;
    cost.scratch_bytes =
        std::max(cost.scratch_bytes, (depth * (10 * lanes + 4 * kChunk) + points) * width + 16.0 * depth * lanes);
  }
  if (kappa_bytes > kKappaBudget) cost.operations *= 2;
  cost.table_bytes += std::min(frequency_bytes, kFrequencyBudget) + (kappa_bytes > kKappaBudget ? 0 : kappa_bytes);
  return cost;
}

}  // namespace envoi::pursuit
