// Screen in fp32 (or fp64) with a proven bound, then fp64 for what could still win.
#include "pursuit/search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "envoi/error.hpp"
#include "pursuit/screening.hpp"
#include "pursuit/together.hpp"

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {

constexpr double kTie = 1e-12;
constexpr std::size_t kCandidates = 8;  // atoms of a search that the next one scores first

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::abs(x));
  return largest;
}

}  // namespace

struct SearchState::Impl {
  struct OfChannel {
    std::vector<double> residual;
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
  std::vector<OfChannel> channels = std::vector<OfChannel>(1);
  std::vector<std::uint64_t> candidates;  // the best atoms of the items that the last search opened
  double change_factor = 1;
  std::size_t refreshed = 0, units = 0;
};

SearchState::SearchState() : impl_(std::make_unique<Impl>()) {}
SearchState::~SearchState() = default;
SearchState::SearchState(SearchState&&) noexcept = default;
SearchState& SearchState::operator=(SearchState&&) noexcept = default;
void SearchState::swap_scratch(SearchState& other) {
  Impl::OfChannel &a = impl_->channels[0], &b = other.impl_->channels[0];
  std::swap(a.f32.scratch, b.f32.scratch);
  std::swap(a.f64.scratch, b.f64.scratch);
}
void SearchState::forget() {
  for (Impl::OfChannel& channel : impl_->channels) channel.residual.clear();
  impl_->candidates.clear();
}
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
  return best({{residual}, weight, false}, most_rivals, pool, state);
}

Winner Searcher::best(const ChannelResiduals& channels, int most_rivals, core::ThreadPool* pool,
                      SearchState* state) const {
  // Channels of zeros alone have no part in it.
  ChannelResiduals there{{}, channels.weight, channels.one_phase};
  for (const std::span<const double> residual : channels.residual) {
    double largest = 0;
    for (const double x : residual) {
      if (!std::isfinite(x))
        throw Error(ErrorKind::numerical, "a sample is not finite; treat it as missing or leave it out");
      largest = std::max(largest, std::abs(x));
    }
    if (largest > 0) there.residual.push_back(residual);
  }
  if (there.residual.empty() || grid_.size == 0) return {};
  SearchState fresh;
  SearchState::Impl& kept = state ? *state->impl_ : *fresh.impl_;
  return f32_ ? best_of(*f32_, there, most_rivals, pool, kept) : best_of(*f64_, there, most_rivals, pool, kept);
}

template <class T>
Winner Searcher::best_of(const ScreenTables<T>& tables, const ChannelResiduals& channels, int most_rivals,
                         core::ThreadPool* pool, SearchState::Impl& state) const {
  const std::size_t count = channels.residual.size();
  if (state.channels.size() != count) {
    state.channels.resize(count);
    for (SearchState::Impl::OfChannel& channel : state.channels) channel.residual.clear();
  }
  std::vector<Samples> samples;
  std::vector<std::unique_ptr<Screen<T>>> screens;
  samples.reserve(count);
  for (std::size_t c = 0; c < count; ++c) {
    const std::span<const double> x = channels.residual[c];
    samples.push_back(
        {x.data(), channels.weight.empty() ? nullptr : channels.weight.data(), static_cast<std::int64_t>(x.size())});
    screens.push_back(
        std::make_unique<Screen<T>>(tables, samples[c], largest_of(x), pool, state.channels[c].template of<T>()));
  }
  Screen<T>& screen = *screens[0];  // all have the same units
  const std::size_t units = screen.units();
  // Bounds are upper bounds of the channels' energies together, in the signals' own units.
  const auto bound_of = [&](const UnitRef& at, std::size_t b) {
    double sum = 0;
    for (const auto& s : screens) sum += static_cast<double>(s->bounds(at)[b]) / (s->scale() * s->scale());
    return sum;
  };

  struct Entry {
    double bound;
    std::size_t unit;
    std::size_t block;  // in its family
  };
  const auto behind = [](const Entry& a, const Entry& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.unit != b.unit ? a.unit > b.unit : a.block > b.block;
  };
  std::vector<Entry> stale, order;  // heaps: units not yet searched in this residual; items that are
  const auto push_items = [&](std::size_t number) {
    const UnitRef at = screen.unit(number);
    for (std::size_t b = 0; b < tables.families[at.family].blocks.size(); ++b) {
      if (const double bound = bound_of(at, b); bound > 0) order.push_back({bound, number, b});
    }
  };
  const auto refresh = [&](const std::vector<std::size_t>& numbers) {
    for (const auto& s : screens) s->refresh(numbers);
  };
  state.units = units;
  const bool kept = std::all_of(state.channels.begin(), state.channels.end(), [&](auto& channel) {
    return channel.template of<T>().bound.size() == tables.items &&
           channel.residual.size() == static_cast<std::size_t>(samples[0].size);
  });
  if (kept) {
    for (std::size_t c = 0; c < count; ++c) {
      SearchState::Impl::OfChannel& channel = state.channels[c];
      StateOf<T>& of = channel.template of<T>();
      const double ratio = screens[c]->scale() / of.scale;
      for (T& bound : of.bound) bound = static_cast<T>(std::min(static_cast<double>(bound) * ratio * ratio, kHuge));
      for (std::size_t n = 0; n < channel.residual.size(); ++n) channel.residual[n] -= samples[c].value[n];
      screens[c]->allow_for(channel.residual, state.change_factor);
    }
    for (std::size_t number = 0; number < units; ++number) {
      const UnitRef at = screen.unit(number);
      double largest = 0;
      for (std::size_t b = 0; b < tables.families[at.family].blocks.size(); ++b)
        largest = std::max(largest, bound_of(at, b));
      stale.push_back({largest, number, 0});
    }
    std::make_heap(stale.begin(), stale.end(), behind);
    state.refreshed = 0;
  } else {
    for (SearchState::Impl::OfChannel& channel : state.channels)
      channel.template of<T>().bound.assign(tables.items, T(0));
    std::vector<std::size_t> all(units);
    for (std::size_t i = 0; i < units; ++i) all[i] = i;
    refresh(all);
    for (const std::size_t number : all) push_items(number);
    std::make_heap(order.begin(), order.end(), behind);
    state.refreshed = units;
  }
  for (std::size_t c = 0; c < count; ++c) {
    state.channels[c].template of<T>().scale = screens[c]->scale();
    state.channels[c].residual.assign(samples[c].value, samples[c].value + samples[c].size);
  }

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
  // The atoms of an item whose bound reaches `least`; returns the proven error of the screen's sqrt(energy).
  const auto open_item = [&](const Entry& entry, double least, unsigned worker, std::vector<Contender>& found) {
    const UnitRef at = screen.unit(entry.unit);
    if (count == 1) return screen.open(at, entry.block, least, worker, found);
    std::vector<Contender> one;
    double error2 = 0;
    found.clear();
    for (const auto& s : screens) {
      const double error = s->open(at, entry.block, 0, worker, one);
      error2 += error * error;
      found.insert(found.end(), one.begin(), one.end());
    }
    std::sort(found.begin(), found.end(), [](const Contender& a, const Contender& b) { return a.index < b.index; });
    std::size_t kept_count = 0;
    for (std::size_t i = 0; i < found.size();) {
      Contender sum{0, found[i].index};
      for (; i < found.size() && found[i].index == sum.index; ++i) sum.bound += found[i].bound;
      if (sum.bound >= least) found[kept_count++] = sum;
    }
    found.resize(kept_count);
    return std::sqrt(error2);
  };
  const auto score = [&](std::uint64_t index) {
    return together_energy(samples, grid_.at(index), phase_fixed_, channels.one_phase);
  };
  std::vector<Opened> opened;
  std::vector<Entry> popped;  // in falling order of their bounds
  double best_energy = 0;
  const auto needed = [&] { return best_energy * (1 - kTie); };
  const auto open = [&](Opened& item, unsigned worker) {
    double most = best_energy;
    const double error = open_item(item.entry, needed(), worker, item.found);
    std::sort(item.found.begin(), item.found.end());
    for (const Contender& contender : item.found) {
      if (contender.bound < most * (1 - kTie)) break;
      const double energy = score(contender.index);
      item.scored.push_back({contender.index, energy, error});
      most = std::max(most, energy);
    }
    std::erase_if(item.found, [&](const Contender& c) { return c.bound < most * (1 - kTie); });
  };
  // Largest items of each duration and |c|, of those that keep enough of the winner's energy: starts for refinement.
  const double rival_share = 1 - grid_.max_loss;
  const auto rival_rows = [&] {
    std::vector<Entry> rows;
    for (const Entry& entry : popped) {
      if (static_cast<int>(rows.size()) == most_rivals || entry.bound < rival_share * best_energy) break;
      const UnitRef at = screen.unit(entry.unit);
      const bool seen = std::any_of(rows.begin(), rows.end(), [&](const Entry& r) {
        const UnitRef other = screen.unit(r.unit);
        return other.family == at.family && r.block == entry.block && other.pair == at.pair;
      });
      if (!seen) rows.push_back(entry);
    }
    return rows;
  };
  // What did well in the last search bounds from below what can win in this one.
  if (kept) {
    for (const std::uint64_t index : state.candidates) best_energy = std::max(best_energy, score(index));
  }
  std::vector<std::size_t> again;
  for (;;) {
    const bool rivals_wanted = most_rivals > 0 && static_cast<int>(rival_rows().size()) < most_rivals;
    const double least = rivals_wanted ? std::min(needed(), rival_share * best_energy) : needed();
    const double next = stale.empty() ? 0 : stale.front().bound;
    const double top = std::max(order.empty() ? 0 : order.front().bound, next);
    if (!(top > 0) || top < least) break;
    if (next >= top) {
      // All at once that could win, or in the beginning that are not far behind.
      const double from = std::max(least, opened.empty() ? 0.5 * top : 0.0);
      again.clear();
      while (!stale.empty() && stale.front().bound >= from) {
        again.push_back(stale.front().unit);
        std::pop_heap(stale.begin(), stale.end(), behind);
        stale.pop_back();
      }
      std::sort(again.begin(), again.end());
      refresh(again);
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
      if (entry.bound >= needed()) opened.push_back({entry, {}, {}});
    } while (opened.size() - before < screen.workers() && !order.empty() && order.front().bound > next &&
             order.front().bound >= needed());
    screen.share(opened.size() - before, [&](std::size_t i, unsigned worker) { open(opened[before + i], worker); });
    for (std::size_t i = before; i < opened.size(); ++i) {
      for (const Candidate& candidate : opened[i].scored) best_energy = std::max(best_energy, candidate.energy);
    }
  }

  state.candidates.clear();
  for (const Opened& item : opened) {
    if (state.candidates.size() == kCandidates) break;
    const auto best = std::max_element(item.scored.begin(), item.scored.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.energy < b.energy; });
    if (best != item.scored.end()) state.candidates.push_back(best->index);
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
    if (item.entry.bound < needed()) continue;
    for (const Contender& contender : item.found) winner.survivors += contender.bound >= needed();
  }
  if (!(winner.energy > 0)) return {};
  winner.bound = error / std::sqrt(winner.energy);
  const std::vector<Entry> rows = rival_rows();
  std::vector<std::uint64_t> rivals(rows.size(), winner.index);
  screen.share(rows.size(), [&](std::size_t i, unsigned worker) {
    std::vector<Contender> found;
    open_item(rows[i], 0, worker, found);
    const auto best = std::min_element(found.begin(), found.end());
    if (best != found.end()) rivals[i] = best->index;
  });
  for (const std::uint64_t index : rivals) {
    if (index != winner.index) winner.rivals.push_back(index);
  }
  return winner;
}

}  // namespace envoi::pursuit
