// Screen in fp32 (or fp64) with a proven bound, then fp64 for what could still win.
#include "pursuit/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "envoi/error.hpp"
#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {

constexpr double kTie = 1e-12;
constexpr int kBin = 32;  // samples whose change is counted together

template <class T>
struct StateOf {
  std::vector<T> bound;  // [item]: upper bound of its energies, in units of 1 / scale^2
  double scale = 0;
  std::vector<Scratch<T>> scratch;
};

// A unit by its parts.
struct UnitRef {
  std::size_t family = 0, within = 0, pair = 0;
  int tile = 0, chunk = 0;
};

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

namespace {

// One search: the screen of its units, and what the state says of those that are not screened again.
template <class T>
class Screen {
 public:
  Screen(const ScreenTables<T>& tables, const Samples& samples, double largest, core::ThreadPool* pool,
         StateOf<T>& state)
      : tables_(tables), samples_(samples), pool_(pool), state_(state) {
    // A power of two, so that a signal scaled by one gives the same bits.
    int exponent = 0;
    std::frexp(largest, &exponent);
    scale_ = std::ldexp(1.0, -exponent);
    for (std::int64_t n = 0; n < samples.size; ++n)
      root_energy_ += samples.value[n] * scale_ * (samples.value[n] * scale_);
    root_energy_ = std::sqrt(root_energy_);
    signal_ = tables.pad(samples.value, samples.size, scale_);
    if (samples.weight) weights_ = tables.pad(samples.weight, samples.size, 1);
    state_.scratch.resize(pool ? pool->size() : 1);
    for (Scratch<T>& s : state_.scratch) s.tile.index = -1;
    for (const Family& family : tables.families) {
      first_unit_.push_back(units_);
      units_ += family.units();
    }
  }

  std::size_t units() const { return units_; }
  double scale() const { return scale_; }
  Scratch<T>& scratch() { return state_.scratch.front(); }

  UnitRef unit(std::size_t number) const {
    UnitRef out;
    out.family = static_cast<std::size_t>(std::upper_bound(first_unit_.begin(), first_unit_.end(), number) -
                                          first_unit_.begin()) -
                 1;
    const Family& family = tables_.families[out.family];
    out.within = number - first_unit_[out.family];
    out.pair = out.within % family.pairs.size();
    const std::size_t rest = out.within / family.pairs.size();
    out.chunk = static_cast<int>(rest % static_cast<std::size_t>(family.chunks));
    out.tile = static_cast<int>(rest / static_cast<std::size_t>(family.chunks));
    return out;
  }
  // Bounds of the unit's items, one a block.
  T* bounds(const UnitRef& unit) {
    const Family& family = tables_.families[unit.family];
    return state_.bound.data() + family.first + unit.within * family.blocks.size();
  }
  T largest_bound(const UnitRef& unit) {
    const T* b = bounds(unit);
    return *std::max_element(b, b + tables_.families[unit.family].blocks.size());
  }

  void prepare(const UnitRef& unit, Scratch<T>& s) const {
    if (s.tile.family == unit.family && s.tile.index == unit.tile) return;
    tables_.load(unit.family, unit.tile, signal_, samples_, scale_, root_energy_, weights(), s);
    const Family& family = tables_.families[unit.family];
    s.blocks.clear();
    s.weighted_kappa.clear();
    for (std::size_t b = 0; b < family.blocks.size(); ++b) {
      s.blocks.push_back(tables_.scores(unit.family, b, s.tile, root_energy_));
      if (weights() || !tables_.kappa_kept)
        s.weighted_kappa.push_back(tables_.kappa_of(unit.family, b, s.tile, weights(), samples_, s));
    }
  }

  // The bounds of these units, in ascending order, anew.
  void refresh(const std::vector<std::size_t>& numbers) {
    const std::size_t workers = pool_ ? pool_->size() : 1;
    // Consecutive units of one tile go together, so that it is loaded once.
    const std::size_t most = workers > 1 ? std::max<std::size_t>(1, numbers.size() / (6 * workers)) : numbers.size();
    std::vector<std::size_t> begins;
    UnitRef before;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const UnitRef here = unit(numbers[i]);
      if (i == 0 || here.family != before.family || here.tile != before.tile || i - begins.back() >= most)
        begins.push_back(i);
      before = here;
    }
    begins.push_back(numbers.size());
    const auto run = [&](std::size_t task, unsigned worker) {
      Scratch<T>& s = state_.scratch[worker];
      for (std::size_t i = begins[task]; i < begins[task + 1]; ++i) {
        const UnitRef at = unit(numbers[i]);
        const Family& family = tables_.families[at.family];
        prepare(at, s);
        const UnitSums<T> sums = tables_.unit(at.family, at.chunk, at.pair, s.tile, s);
        T* out = bounds(at);
        if (!sums.sums) {
          std::fill(out, out + family.blocks.size(), T(0));
          continue;
        }
        const std::size_t row = static_cast<std::size_t>(at.chunk) * family.pairs.size() + at.pair;
        for (std::size_t b = 0; b < family.blocks.size(); ++b) s.blocks[b].kappa = kappa(at, b, row, s);
        tables_.kernels.largest(sums, s.blocks.data(), static_cast<int>(family.blocks.size()), out);
      }
    };
    if (workers > 1) {
      pool_->run(begins.size() - 1, run);
    } else {
      for (std::size_t task = 0; task + 1 < begins.size(); ++task) run(task, 0);
    }
  }

  // Adds to every bound what the change of the residual may have done; its units are then of this search.
  void allow_for(std::span<const double> change, double factor);

  // The atoms of an item with a bound of at least `least`.
  void open(const UnitRef& at, std::size_t b, double least, std::vector<std::pair<T, std::uint64_t>>& found) {
    Scratch<T>& s = scratch();
    const Family& family = tables_.families[at.family];
    const Block& block = tables_.block(family, b);
    const int lanes = tables_.lanes();
    prepare(at, s);
    BlockScores<T> scores = s.blocks[b];
    scores.kappa.exact = tables_.exact_kappa(at.family, b, at.chunk, at.pair, s.tile, weights(), samples_, s);
    const UnitSums<T> sums = tables_.unit(at.family, at.chunk, at.pair, s.tile, s);
    s.bounds.resize(static_cast<std::size_t>(sums.frequencies) * 2 * static_cast<std::size_t>(lanes));
    tables_.kernels.bounds(sums, scores, s.bounds.data());
    found.clear();
    for (int sign = 0; sign < 2; ++sign) {
      for (int f = sums.begin[sign]; f < sums.end[sign]; ++f) {
        const T* bounds = s.bounds.data() + (f * 2 + sign) * lanes;
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int64_t centre = static_cast<std::int64_t>(at.tile) * lanes + lane;
          if (bounds[lane] <= 0 || centre >= block.centres ||
              static_cast<double>(bounds[lane]) / (scale_ * scale_) < least)
            continue;
          const atoms::ChirpRow& row = block.rows[static_cast<std::size_t>(family.pairs[at.pair].row[sign])];
          const std::int64_t frequency = static_cast<std::int64_t>(at.chunk) * family.width + f;
          found.emplace_back(bounds[lane],
                             block.first + static_cast<std::uint64_t>(centre * block.atoms_per_centre + row.first +
                                                                      frequency - row.f_begin));
        }
      }
    }
  }
  // Proven error of sqrt(energy) in the tile and block of an atom that was opened last.
  double error(std::size_t b) { return scratch().tile.largest_error[b] * std::numbers::sqrt2 / scale_; }

 private:
  const Padded<T>* weights() const { return samples_.weight ? &weights_ : nullptr; }
  KappaRow<T> kappa(const UnitRef& at, std::size_t b, std::size_t row, const Scratch<T>& s) const {
    if (!s.weighted_kappa.empty()) return s.weighted_kappa[b].row(row, tables_.lanes());
    const Family& family = tables_.families[at.family];
    return tables_.kappa[family.blocks[b]][tables_.slot(family, b, at.tile)].row(row, tables_.lanes());
  }

  const ScreenTables<T>& tables_;
  const Samples& samples_;
  core::ThreadPool* pool_;
  StateOf<T>& state_;
  Padded<T> signal_, weights_;
  double scale_ = 0, root_energy_ = 0;
  std::vector<std::size_t> first_unit_;
  std::size_t units_ = 0;
};

// With P the projection on an atom, sqrt(energy) grows by at most |P change|: by no more than the norm of the change
// within the atom's support, nor than sqrt(weight) times its samples' magnitudes under the atom's window, where
// weight = 2 / (1 - |kappa|). Samples are taken in bins, a tile's centres together.
template <class T>
void Screen<T>::allow_for(std::span<const double> change, double factor) {
  const std::size_t bins = (change.size() + kBin - 1) / kBin;
  std::vector<double> magnitude(bins, 0.0), power(bins, 0.0);
  for (std::size_t n = 0; n < change.size(); ++n) {
    const double x = std::abs(change[n] * scale_);
    magnitude[n / kBin] += x;
    power[n / kBin] += x * x;
  }
  for (std::size_t f = 0; f < tables_.families.size(); ++f) {
    const Family& family = tables_.families[f];
    for (int tile = 0; tile < family.tiles; ++tile) {
      for (std::size_t b = 0; b < family.blocks.size(); ++b) {
        const Block& block = tables_.block(family, b);
        const double duration = std::exp(block.ln_duration), reach = atoms::kSupport * duration;
        const std::int64_t first = static_cast<std::int64_t>(tile) * tables_.lanes();
        const double low = block.centre_first + static_cast<double>(first) * block.centre_step;
        const double high =
            block.centre_first +
            static_cast<double>(std::min<std::int64_t>(first + tables_.lanes(), block.centres) - 1) * block.centre_step;
        double under = 0, within = 0;
        const auto begin =
            static_cast<std::size_t>(std::clamp((low - reach) / kBin - 1, 0.0, static_cast<double>(bins)));
        const auto end =
            static_cast<std::size_t>(std::clamp((high + reach) / kBin + 2, 0.0, static_cast<double>(bins)));
        for (std::size_t i = begin; i < end; ++i) {
          const double from = static_cast<double>(i * kBin), to = from + kBin - 1;
          const double distance = std::max({0.0, low - to, from - high});
          if (distance > reach || power[i] == 0) continue;
          within += power[i];
          under += magnitude[i] * std::exp(-distance * distance / (2 * duration * duration));
        }
        const double most = std::sqrt(within) * (1 + 1e-9);
        double inverse_norm = 0;
        const std::size_t slot = tables_.slot(family, b, tile);
        for (const T v : tables_.inverse_norm[family.blocks[b]][slot])
          inverse_norm = std::max(inverse_norm, static_cast<double>(v));
        under *= std::sqrt(inverse_norm) * (1 + 1e-6);
        const bool known = tables_.kappa_kept && !weights();  // else norms and kappa are of other samples
        for (std::size_t row = 0; row < family.pairs.size() * static_cast<std::size_t>(family.chunks); ++row) {
          UnitRef at;
          at.family = f;
          at.within =
              static_cast<std::size_t>(tile) * family.pairs.size() * static_cast<std::size_t>(family.chunks) + row;
          double grows = most;
          if (known) {
            grows = std::min(
                grows,
                std::sqrt(static_cast<double>(tables_.kappa[family.blocks[b]][slot].rows[row].any_weight)) * under);
          }
          T& bound = bounds(at)[b];
          const double root = std::sqrt(std::max(0.0, static_cast<double>(bound))) + grows * factor;
          if (grows > 0) bound = static_cast<T>(std::min(root * root * (1 + 1e-6), 1e37));
        }
      }
    }
  }
}

}  // namespace

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
    for (T& bound : kept.bound) bound = static_cast<T>(static_cast<double>(bound) * ratio * ratio);
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

  struct Candidate {
    std::uint64_t index;
    double energy, error;
  };
  std::vector<Candidate> scored;
  double best_energy = 0;
  const auto needed = [&] { return best_energy * (1 - kTie); };
  std::vector<std::pair<T, std::uint64_t>> found;  // bound, index
  const auto before = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  std::vector<Entry> rival_rows;  // the largest item of each duration and |c| but the winner's
  std::vector<std::size_t> again;
  for (;;) {
    const bool rivals_wanted = static_cast<int>(rival_rows.size()) < most_rivals;
    const double least = rivals_wanted ? std::min(needed(), (1 - grid_.max_loss) * best_energy) : needed();
    const T top = std::max(order.empty() ? T(0) : order.front().bound, stale.empty() ? T(0) : stale.front().bound);
    if (!(top > 0) || static_cast<double>(top) * unscale < least) break;
    if (!stale.empty() && stale.front().bound >= top) {
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
    const Entry entry = order.front();
    std::pop_heap(order.begin(), order.end(), behind);
    order.pop_back();
    const UnitRef at = screen.unit(entry.unit);
    if (static_cast<double>(entry.bound) * unscale >= needed()) {
      screen.open(at, entry.block, needed(), found);
      std::sort(found.begin(), found.end(), before);
      for (const auto& [bound, index] : found) {
        if (static_cast<double>(bound) * unscale < needed()) break;
        const double energy = atoms::energy(samples, grid_.at(index), phase_fixed_);
        scored.push_back({index, energy, screen.error(entry.block)});
        best_energy = std::max(best_energy, energy);
      }
    }
    const bool seen = std::any_of(rival_rows.begin(), rival_rows.end(), [&](const Entry& r) {
      const UnitRef other = screen.unit(r.unit);
      return other.family == at.family && r.block == entry.block && other.pair == at.pair;
    });
    if (!seen && rivals_wanted) rival_rows.push_back(entry);
  }

  if (scored.empty()) return {};
  Winner winner;
  winner.index = ~std::uint64_t{0};
  double error = 0;
  for (const Candidate& candidate : scored) {
    if (candidate.energy >= best_energy * (1 - kTie) && candidate.index < winner.index) {
      winner.index = candidate.index;
      winner.energy = candidate.energy;
      error = candidate.error;
    }
  }
  winner.survivors = scored.size();
  for (const Entry& row : rival_rows) {
    screen.open(screen.unit(row.unit), row.block, 0, found);
    const auto best = std::min_element(found.begin(), found.end(), before);
    if (best != found.end() && best->second != winner.index) winner.rivals.push_back(best->second);
  }
  winner.bound = winner.energy > 0 ? error / std::sqrt(winner.energy) : 0;
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
  const bool narrow = precision == Precision::exact;
  const int lanes = narrow ? screen_kernels<float>().lanes : screen_kernels<double>().lanes;
  const double width = narrow ? 4 : 8;
  SearchCost cost;
  double frequency_bytes = 0, kappa_bytes = 0;
  for (const Family& family : plan_families(grid, lanes, narrow)) {
    const double pairs = static_cast<double>(family.pairs.size()), depth = family.depth;
    const double atoms = pairs * family.frequencies * family.signs() * static_cast<double>(family.blocks.size());
    const double unit = unit_operations(family) / (family.transform > 0 ? 2 : 1);
    cost.operations += static_cast<double>(family.tiles) * lanes * pairs * unit;
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
