// Tables of a grid: frequencies, chirps, transforms, norms, and kappa where it fits.
#include "pursuit/screen_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;
using atoms::Samples;

namespace {

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

// Exact at every 64th k, by rotation between.
template <class T>
void FrequencyTable<T>::make(const Block& block, int chunk, int count, int rows, double factor) {
  cosine.resize(static_cast<std::size_t>(rows) * kChunk);
  sine.resize(cosine.size());
  double c[kChunk], s[kChunk], dc[kChunk], ds[kChunk];
  const double two_pi = 2 * std::numbers::pi;
  for (int f = 0; f < kChunk; ++f) {
    const double turns = f < count ? factor * block.frequency(static_cast<std::int64_t>(chunk) * kChunk + f) : 0;
    dc[f] = std::cos(two_pi * turns), ds[f] = std::sin(two_pi * turns);
  }
  for (int k = 0; k < rows; ++k) {
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
bool ScreenTables<T>::tile_is_interior(const Family& family, std::size_t b, int tile) const {
  const Block& of = block(family, b);
  const std::int64_t first = static_cast<std::int64_t>(tile) * lanes();
  const std::int64_t last = std::min<std::int64_t>(first + lanes(), of.centres) - 1;
  const double low = of.centre_first + static_cast<double>(first) * of.centre_step;
  const double high = of.centre_first + static_cast<double>(last) * of.centre_step;
  const double reach = atoms::kSupport * std::exp(of.ln_duration);
  // A full tile, so that every lane of the shared slot is filled.
  return family.symmetric && first + lanes() <= of.centres && low - reach >= 0 &&
         high + reach <= static_cast<double>(grid.samples - 1);
}

template <class T>
Padded<T> ScreenTables<T>::pad(const double* value, std::int64_t size, double scale) const {
  Padded<T> out;
  out.before = padding;
  out.value.assign(static_cast<std::size_t>(size + 2 * padding), T(0));
  for (std::int64_t n = 0; n < size; ++n)
    out.value[static_cast<std::size_t>(n + padding)] = static_cast<T>(value[n] * scale);
  return out;
}

// Fourier transforms over the frequencies of a family.
template <class T>
void ScreenTables<T>::make_transforms(std::size_t f) {
  const Family& family = families[f];
  transform[f] = plan_transform<T>(family.transform);
  half_transform[f] = plan_transform<T>(family.transform / 2);
  for (int k = 0; k < family.depth; ++k) {
    const double turns = block(family, 0).frequency_first * k;
    const double phase = 2 * std::numbers::pi * (turns - std::floor(turns));
    twist[f].push_back(static_cast<T>(std::cos(phase)));
    twist[f].push_back(static_cast<T>(std::sin(phase)));
  }
}

template <class T>
ScreenTables<T>::ScreenTables(const Grid& g, bool fixed, core::ThreadPool& pool) : grid(g), phase_fixed(fixed) {
  families = plan_families(grid, lanes(), sizeof(T) == 4);
  const std::size_t count = families.size();
  for (auto* tables : {&basis, &mix, &chirp_cosine, &chirp_sine, &kappa_cosine, &kappa_sine, &twist})
    tables->resize(count);
  envelope.resize(grid.blocks.size());
  frequencies.resize(count);
  doubled.resize(count);
  transform.resize(count);
  half_transform.resize(count);
  // Tables of the same frequencies are shared, and made once if they fit.
  std::map<std::tuple<double, double, int, double>, int> rows;
  const auto key = [&](const Family& family, double factor) {
    const Block& first = block(family, 0);
    return std::tuple(first.frequency_first, first.frequency_step, family.frequencies, factor);
  };
  double frequency_bytes = 0;
  for (const Family& family : families) {
    items += family.items();
    padding = std::max<std::int64_t>(padding, 2 * family.depth + 2);
    if (family.transform > 0) continue;
    for (const double factor : {1.0, 2.0}) {
      int& most = rows[key(family, factor)];
      const int wanted = factor == 1 ? family.rows() : family.kappa_rows();
      frequency_bytes += 2.0 * sizeof(T) * family.chunks * kChunk * std::max(0, wanted - most);
      most = std::max(most, wanted);
    }
  }
  if (frequency_bytes <= kFrequencyBudget) {
    std::map<std::tuple<double, double, int, double>, std::vector<std::shared_ptr<FrequencyTable<T>>>> made;
    for (std::size_t f = 0; f < count; ++f) {
      const Family& family = families[f];
      if (family.transform > 0) continue;
      for (const double factor : {1.0, 2.0}) {
        auto& tables = made[key(family, factor)];
        for (int chunk = static_cast<int>(tables.size()); chunk < family.chunks; ++chunk) {
          tables.push_back(std::make_shared<FrequencyTable<T>>());
          tables.back()->make(block(family, 0), chunk, family.chunk_size(chunk), rows[key(family, factor)], factor);
        }
        (factor == 1 ? frequencies : doubled)[f] = tables;
      }
    }
  }
  pool.run(count, [&](std::size_t f, unsigned) {
    const Family& family = families[f];
    mix[f].assign(family.mix.begin(), family.mix.end());
    if (!family.symmetric) return;
    const auto depth = static_cast<std::size_t>(family.depth);
    for (const std::size_t b : family.blocks) {
      const double inverse = std::exp(-2 * grid.blocks[b].ln_duration);
      const double reach = atoms::kSupport * std::exp(grid.blocks[b].ln_duration);
      for (std::size_t k = 0; k < depth; ++k) {
        const double u = static_cast<double>(k);
        envelope[b].push_back(u <= reach ? std::exp(-u * u * inverse / 2) : 0);
      }
    }
    const std::vector<double>& windows = family.basis.empty() ? envelope[family.blocks.front()] : family.basis;
    basis[f].assign(windows.begin(), windows.end());
    if (family.transform > 0) make_transforms(f);
    for (const Pair& pair : family.pairs) {
      for (std::size_t k = 0; k < depth; ++k) {
        const double phase = std::numbers::pi * pair.chirp_rate * static_cast<double>(k) * static_cast<double>(k);
        const double sign = family.folding.sign(static_cast<int>(k));
        chirp_cosine[f].push_back(static_cast<T>(sign * std::cos(phase)));
        chirp_sine[f].push_back(static_cast<T>(sign * std::sin(phase)));
        if (family.transform > 0) continue;
        const double kappa_sign = family.kappa_folding().sign(static_cast<int>(k));
        kappa_cosine[f].push_back(static_cast<T>(kappa_sign * std::cos(2 * phase)));
        kappa_sine[f].push_back(static_cast<T>(kappa_sign * std::sin(2 * phase)));
      }
    }
  });
  const std::vector<double> ones(static_cast<std::size_t>(grid.samples), 1.0);
  present = pad(ones.data(), grid.samples, 1);
  make_kappa_tables(pool);
}

// Norms and kappa of every tile that an edge cuts, and of one for the others.
template <class T>
void ScreenTables<T>::make_kappa_tables(core::ThreadPool& pool) {
  struct Task {
    std::size_t family, b, slot;
    int tile;
  };
  std::vector<Task> tasks;
  double bytes = 0;
  kappa.resize(grid.blocks.size());
  inverse_norm.resize(grid.blocks.size());
  for (std::size_t f = 0; f < families.size(); ++f) {
    const Family& family = families[f];
    for (std::size_t b = 0; b < family.blocks.size(); ++b) {
      bool shared = false;
      kappa[family.blocks[b]].resize(static_cast<std::size_t>(family.tiles) + 1);
      inverse_norm[family.blocks[b]].resize(static_cast<std::size_t>(family.tiles) + 1);
      for (int tile = 0; tile < family.tiles; ++tile) {
        const std::size_t at = slot(family, b, tile);
        const bool interior = at == static_cast<std::size_t>(family.tiles);
        if (interior && shared) continue;
        shared = shared || interior;
        tasks.push_back({f, b, at, tile});
        const int atoms = family.frequencies * family.signs();
        bytes +=
            static_cast<double>(family.pairs.size()) *
            (atoms * (4.0 + sizeof(T)) + 2.0 * family.chunks * most_exact(atoms / family.chunks) * sizeof(T) * lanes());
      }
    }
  }
  kappa_kept = bytes <= kKappaBudget;
  std::vector<Scratch<T>> scratch(pool.size());
  const Samples flat{nullptr, nullptr, grid.samples};
  pool.run(tasks.size(), [&](std::size_t i, unsigned worker) {
    const Task& task = tasks[i];
    Scratch<T>& s = scratch[worker];
    const Family& family = families[task.family];
    const std::size_t number = family.blocks[task.b];
    place(task.family, task.tile, s.tile);
    norms(task.family, task.b, nullptr, s.tile);
    const T* from = s.tile.inverse_norm.data() + task.b * static_cast<std::size_t>(lanes());
    inverse_norm[number][task.slot].assign(from, from + lanes());
    if (kappa_kept) kappa[number][task.slot] = kappa_of(task.family, task.b, s.tile, nullptr, flat, s);
  });
}

template struct FrequencyTable<float>;
template struct FrequencyTable<double>;
// The members of this file; those of screen_items.cpp come with the whole struct there.
#define ENVOI_INSTANTIATE(T)                                                              \
  template ScreenTables<T>::ScreenTables(const Grid&, bool, core::ThreadPool&);           \
  template void ScreenTables<T>::make_transforms(std::size_t);                            \
  template void ScreenTables<T>::make_kappa_tables(core::ThreadPool&);                    \
  template bool ScreenTables<T>::tile_is_interior(const Family&, std::size_t, int) const; \
  template Padded<T> ScreenTables<T>::pad(const double*, std::int64_t, double) const;
ENVOI_INSTANTIATE(float)
ENVOI_INSTANTIATE(double)
#undef ENVOI_INSTANTIATE

}  // namespace envoi::pursuit
