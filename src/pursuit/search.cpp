// Screen in fp32 (or fp64) with a proven bound, then fp64 for what could still win.
#include "pursuit/search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "envoi/error.hpp"
#include "pursuit/screening.hpp"

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {

constexpr double kTie = 1e-12;

}  // namespace

struct SearchState::Impl {
  std::vector<double> residual;
  double change_factor = 1;
  std::size_t refreshed = 0, units = 0;
  StateOf<float> f32;
  StateOf<double> f64;
  template <class T>
  StateOf<T>& of() {
    if constexpr (sizeof(T) == 4) {
      return f32;
    } else {
      return f64;
    }
  }
};

SearchState::SearchState() : impl_(std::make_unique<Impl>()) {}
SearchState::~SearchState() = default;
SearchState::SearchState(SearchState&&) noexcept = default;
SearchState& SearchState::operator=(SearchState&&) noexcept = default;
void SearchState::swap_scratch(SearchState& other) {
  std::swap(impl_->f32.scratch, other.impl_->f32.scratch);
  std::swap(impl_->f64.scratch, other.impl_->f64.scratch);
}
void SearchState::forget() { impl_->residual.clear(); }
void SearchState::scale_bound_for_test(double factor) { impl_->change_factor = factor; }
std::size_t SearchState::refreshed() const { return impl_->refreshed; }
std::size_t SearchState::units() const { return impl_->units; }

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
                      core::ThreadPool* pool, SearchState* state) const {
  double largest = 0;
  for (const double x : residual) {
    if (!std::isfinite(x))
      throw Error(ErrorKind::numerical, "a sample is not finite; treat it as missing or leave it out");
    largest = std::max(largest, std::abs(x));
  }
  if (largest == 0 || grid_.size == 0) return {};
  const Samples samples{residual.data(), weight.empty() ? nullptr : weight.data(),
                        static_cast<std::int64_t>(residual.size())};
  SearchState fresh;
  SearchState::Impl& kept = state ? *state->impl_ : *fresh.impl_;
  return f32_ ? best_of(*f32_, samples, largest, most_rivals, pool, kept)
              : best_of(*f64_, samples, largest, most_rivals, pool, kept);
}

template <class T>
Winner Searcher::best_of(const ScreenTables<T>& tables, const Samples& samples, double largest, int most_rivals,
                         core::ThreadPool* pool, SearchState::Impl& state) const {
  StateOf<T>& kept = state.of<T>();
  Screen<T> screen(tables, samples, largest, pool, kept);
  const double unscale = 1 / (screen.scale() * screen.scale());
  const std::size_t units = screen.units();

  struct Entry {
    T bound;
    std::size_t unit;
    std::size_t block;  // in its family
  };
  const auto behind = [](const Entry& a, const Entry& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.unit != b.unit ? a.unit > b.unit : a.block > b.block;
  };
  std::vector<Entry> stale, order;  // heaps: units not yet searched in this residual; items that are
  const auto push_items = [&](std::size_t number) {
    const UnitRef at = screen.unit(number);
    const T* bounds = screen.bounds(at);
    for (std::size_t b = 0; b < tables.families[at.family].blocks.size(); ++b) {
      if (bounds[b] > 0) order.push_back({bounds[b], number, b});
    }
  };
  state.units = units;
  if (kept.bound.size() == tables.items && state.residual.size() == static_cast<std::size_t>(samples.size)) {
    const double ratio = screen.scale() / kept.scale;
    for (T& bound : kept.bound) bound = static_cast<T>(std::min(static_cast<double>(bound) * ratio * ratio, kHuge));
    for (std::size_t n = 0; n < state.residual.size(); ++n) state.residual[n] -= samples.value[n];
    screen.allow_for(state.residual, state.change_factor);
    for (std::size_t number = 0; number < units; ++number)
      stale.push_back({screen.largest_bound(screen.unit(number)), number, 0});
    std::make_heap(stale.begin(), stale.end(), behind);
    state.refreshed = 0;
  } else {
    kept.bound.assign(tables.items, T(0));
    std::vector<std::size_t> all(units);
    for (std::size_t i = 0; i < units; ++i) all[i] = i;
    screen.refresh(all);
    for (const std::size_t number : all) push_items(number);
    std::make_heap(order.begin(), order.end(), behind);
    state.refreshed = units;
  }
  kept.scale = screen.scale();
  state.residual.assign(samples.value, samples.value + samples.size);

  using Contender = typename Screen<T>::Contender;
  struct Candidate {
    std::uint64_t index;
    double energy, error;
  };
  // An item that could win, its atoms that could, and those that were scored.
  struct Opened {
    Entry entry;
    std::vector<Contender> found;
    std::vector<Candidate> scored;
  };
  std::vector<Opened> opened;
  std::vector<Entry> popped;  // in falling order of their bounds
  double best_energy = 0;
  const auto needed = [&] { return best_energy * (1 - kTie); };
  const auto open = [&](Opened& item, unsigned worker) {
    double most = best_energy;
    const double error = screen.open(screen.unit(item.entry.unit), item.entry.block, needed(), worker, item.found);
    std::sort(item.found.begin(), item.found.end());
    for (const Contender& contender : item.found) {
      if (static_cast<double>(contender.bound) * unscale < most * (1 - kTie)) break;
      const double energy = atoms::energy(samples, grid_.at(contender.index), phase_fixed_);
      item.scored.push_back({contender.index, energy, error});
      most = std::max(most, energy);
    }
    std::erase_if(item.found,
                  [&](const Contender& c) { return static_cast<double>(c.bound) * unscale < most * (1 - kTie); });
  };
  // Largest items of each duration and |c|, of those that keep enough of the winner's energy: starts for refinement.
  const double rival_share = 1 - grid_.max_loss;
  const auto rival_rows = [&] {
    std::vector<Entry> rows;
    for (const Entry& entry : popped) {
      if (static_cast<int>(rows.size()) == most_rivals ||
          static_cast<double>(entry.bound) * unscale < rival_share * best_energy)
        break;
      const UnitRef at = screen.unit(entry.unit);
      const bool seen = std::any_of(rows.begin(), rows.end(), [&](const Entry& r) {
        const UnitRef other = screen.unit(r.unit);
        return other.family == at.family && r.block == entry.block && other.pair == at.pair;
      });
      if (!seen) rows.push_back(entry);
    }
    return rows;
  };
  std::vector<std::size_t> again;
  for (;;) {
    const bool rivals_wanted = most_rivals > 0 && static_cast<int>(rival_rows().size()) < most_rivals;
    const double least = rivals_wanted ? std::min(needed(), rival_share * best_energy) : needed();
    const T next = stale.empty() ? T(0) : stale.front().bound;
    const T top = std::max(order.empty() ? T(0) : order.front().bound, next);
    if (!(top > 0) || static_cast<double>(top) * unscale < least) break;
    if (next >= top) {
      // All at once that could win, or in the beginning that are not far behind.
      const double from = std::max(least / unscale, best_energy > 0 ? 0.0 : 0.5 * static_cast<double>(top));
      again.clear();
      while (!stale.empty() && static_cast<double>(stale.front().bound) >= from) {
        again.push_back(stale.front().unit);
        std::pop_heap(stale.begin(), stale.end(), behind);
        stale.pop_back();
      }
      std::sort(again.begin(), again.end());
      screen.refresh(again);
      state.refreshed += again.size();
      for (const std::size_t number : again) push_items(number);
      std::make_heap(order.begin(), order.end(), behind);
      continue;
    }
    // One item for each worker.
    const std::size_t before = opened.size();
    do {
      const Entry entry = order.front();
      std::pop_heap(order.begin(), order.end(), behind);
      order.pop_back();
      popped.push_back(entry);
      if (static_cast<double>(entry.bound) * unscale >= needed()) opened.push_back({entry, {}, {}});
    } while (opened.size() - before < screen.workers() && !order.empty() && order.front().bound > next &&
             static_cast<double>(order.front().bound) * unscale >= needed());
    screen.share(opened.size() - before, [&](std::size_t i, unsigned worker) { open(opened[before + i], worker); });
    for (std::size_t i = before; i < opened.size(); ++i) {
      for (const Candidate& candidate : opened[i].scored) best_energy = std::max(best_energy, candidate.energy);
    }
  }

  if (opened.empty()) return {};
  Winner winner;
  winner.index = ~std::uint64_t{0};
  double error = 0;
  for (const Opened& item : opened) {
    for (const Candidate& candidate : item.scored) {
      if (candidate.energy >= needed() && candidate.index < winner.index) {
        winner.index = candidate.index;
        winner.energy = candidate.energy;
        error = candidate.error;
      }
    }
    // Items that were opened for want of a better bound do not count.
    if (static_cast<double>(item.entry.bound) * unscale < needed()) continue;
    for (const Contender& contender : item.found)
      winner.survivors += static_cast<double>(contender.bound) * unscale >= needed();
  }
  if (!(winner.energy > 0)) return {};
  winner.bound = error / std::sqrt(winner.energy);
  const std::vector<Entry> rows = rival_rows();
  std::vector<std::uint64_t> rivals(rows.size(), winner.index);
  screen.share(rows.size(), [&](std::size_t i, unsigned worker) {
    std::vector<Contender> found;
    screen.open(screen.unit(rows[i].unit), rows[i].block, 0, worker, found);
    const auto best = std::min_element(found.begin(), found.end());
    if (best != found.end()) rivals[i] = best->index;
  });
  for (const std::uint64_t index : rivals) {
    if (index != winner.index) winner.rivals.push_back(index);
  }
  return winner;
}

}  // namespace envoi::pursuit
