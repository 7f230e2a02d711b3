// The screen of one residual: bounds of its units, anew or carried over from the last search, and the atoms of an item.
// Part of search.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

inline constexpr int kBin = 32;        // samples whose change is counted together
inline constexpr double kHuge = 1e37;  // a bound that says nothing, but that fp32 can hold

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

// An atom of an item that was opened.
struct Contender {
  double bound;  // of its energy
  std::uint64_t index;
  bool operator<(const Contender& other) const {  // the largest first
    return bound != other.bound ? bound > other.bound : index < other.index;
  }
};

// One search: the screen of its units, and what the state says of those that are not screened again.
template <class T>
class Screen {
 public:
  Screen(const ScreenTables<T>& tables, const atoms::Samples& samples, double largest, core::ThreadPool* pool,
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
  unsigned workers() const { return pool_ ? pool_->size() : 1; }

  // task(i, worker) for i in [0, count).
  template <class Task>
  void share(std::size_t count, const Task& task) {
    if (workers() > 1 && count > 1) {
      pool_->run(count, task);
    } else {
      for (std::size_t i = 0; i < count; ++i) task(i, 0u);
    }
  }

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

  // The bounds of these units, in ascending order, anew. Each worker begins with a stretch of its own, so that it loads
  // few tiles, and then helps the others.
  void refresh(const std::vector<std::size_t>& numbers) {
    struct Stretch {
      std::atomic<std::size_t> next{0};
      std::size_t end = 0;
    };
    const std::size_t count = workers();
    std::vector<Stretch> stretches(count);
    for (std::size_t i = 0; i < count; ++i) {
      stretches[i].next = numbers.size() * i / count;
      stretches[i].end = numbers.size() * (i + 1) / count;
    }
    share(count, [&](std::size_t own, unsigned worker) {
      for (std::size_t i = 0; i < count; ++i) {
        Stretch& stretch = stretches[(own + i) % count];
        for (std::size_t at; (at = stretch.next.fetch_add(1)) < stretch.end;)
          refresh_unit(unit(numbers[at]), state_.scratch[worker]);
      }
    });
  }

  // Adds to every bound what the change of the residual may have done; its units are then of this search.
  void allow_for(std::span<const double> change, double factor);

  // The atoms of an item with a bound of at least `least`; returns the proven error of the screen's sqrt(energy).
  double open(const UnitRef& at, std::size_t b, double least, unsigned worker, std::vector<Contender>& found) {
    Scratch<T>& s = state_.scratch[worker];
    const Family& family = tables_.families[at.family];
    const atoms::Block& block = tables_.block(family, b);
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
          const double bound = static_cast<double>(bounds[lane]) / (scale_ * scale_);
          if (bounds[lane] <= 0 || centre >= block.centres || bound < least) continue;
          const atoms::ChirpRow& row = block.rows[static_cast<std::size_t>(family.pairs[at.pair].row[sign])];
          const std::int64_t frequency = static_cast<std::int64_t>(at.chunk) * family.width + f;
          found.push_back({bound, block.first + static_cast<std::uint64_t>(centre * block.atoms_per_centre + row.first +
                                                                           frequency - row.f_begin)});
        }
      }
    }
    return s.tile.largest_error[b] * std::numbers::sqrt2 / scale_;
  }

 private:
  const Padded<T>* weights() const { return samples_.weight ? &weights_ : nullptr; }
  KappaRow<T> kappa(const UnitRef& at, std::size_t b, std::size_t row, const Scratch<T>& s) const {
    if (!s.weighted_kappa.empty()) return s.weighted_kappa[b].row(row, tables_.lanes());
    const Family& family = tables_.families[at.family];
    return tables_.kappa[family.blocks[b]][tables_.slot(family, b, at.tile)].row(row, tables_.lanes());
  }

  void refresh_unit(const UnitRef& at, Scratch<T>& s) {
    const Family& family = tables_.families[at.family];
    prepare(at, s);
    const UnitSums<T> sums = tables_.unit(at.family, at.chunk, at.pair, s.tile, s);
    T* out = bounds(at);
    if (!sums.sums) {
      std::fill(out, out + family.blocks.size(), T(0));
      return;
    }
    const std::size_t row = static_cast<std::size_t>(at.chunk) * family.pairs.size() + at.pair;
    for (std::size_t b = 0; b < family.blocks.size(); ++b) s.blocks[b].kappa = kappa(at, b, row, s);
    tables_.kernels.largest(sums, s.blocks.data(), static_cast<int>(family.blocks.size()), out);
  }

  const ScreenTables<T>& tables_;
  const atoms::Samples& samples_;
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
        const atoms::Block& block = tables_.block(family, b);
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
          if (grows > 0) bound = static_cast<T>(std::min(root * root * (1 + 1e-6), kHuge));
        }
      }
    }
  }
}

}  // namespace envoi::pursuit
