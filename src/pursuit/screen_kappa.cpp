// kappa = sum g^2 / sum |g|^2 of every atom: of one item exactly, and of a tile as the ending of the screen reads it.
#include <algorithm>
#include <cmath>

#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Samples;

namespace {
constexpr double kSmallKappa = 0.05;  // up to here one bound serves all lanes
}

// The window of one block squared, where samples exist, folded: s.kappa_tile.
template <class T>
void ScreenTables<T>::load_kappa(std::size_t f, std::size_t b, const Tile<T>& tile, const Padded<T>* weights,
                                 const Samples& samples, Scratch<T>& s) const {
  const Family& family = families[f];
  Tile<T>& out = s.kappa_tile;
  out.index = tile.index;
  std::copy(std::begin(tile.atom), std::end(tile.atom), std::begin(out.atom));
  if (!family.symmetric) return load_wave(f, {nullptr, samples.weight, grid.samples}, 1, true, out);
  const auto n_lanes = static_cast<std::size_t>(lanes()), depth = static_cast<std::size_t>(family.depth);
  const std::vector<double>& e = envelope[family.blocks[b]];
  grow(s.window, depth);
  for (std::size_t k = 0; k < depth; ++k) s.window[k] = static_cast<T>(e[k] * e[k]);
  fold(family, out, weights ? *weights : present, s);
  grow(out.even, depth * n_lanes);
  grow(out.odd, depth * n_lanes);
  grow(out.magnitude, n_lanes);
  kernels.window(s.raw_even.data(), s.raw_odd.data(), s.window.data(), family.depth, out.even.data(), out.odd.data(),
                 out.magnitude.data());
}

// kappa = sum g^2 / sum |g|^2 of one item as [frequency][sign][re, im][lane], from s.kappa_tile.
template <class T>
const T* ScreenTables<T>::item_kappa(std::size_t f, std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile,
                                     Scratch<T>& s) const {
  const Family& family = families[f];
  const auto n_lanes = static_cast<std::size_t>(lanes());
  const int count = family.chunk_size(chunk);
  const T* norm = tile.inverse_norm.data() + b * n_lanes;
  grow(s.kappa, static_cast<std::size_t>(family.width) * 4 * n_lanes);
  if (family.transform > 0) {
    const T* points = transformed(f, pair, s.kappa_tile.even.data(), s.kappa_tile.odd.data(), true, s);
    const int period = half_transform[f].size;  // bins 2 k of a transform twice as long
    T* at = s.kappa.data();
    for (int i = 0; i < count; ++i) {
      for (int sign = 0; sign < family.signs(); ++sign, at += 2 * n_lanes) {
        const int bin = sign == 0 ? i % period : ((family.mirror - i) % period + period) % period;
        const T* from = points + static_cast<std::size_t>(bin) * 2 * n_lanes;
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
          at[lane] = from[lane] * norm[lane];
          at[n_lanes + lane] = (sign == 0 ? -from[n_lanes + lane] : from[n_lanes + lane]) * norm[lane];
        }
      }
    }
    return s.kappa.data();
  }
  const FrequencyTable<T>& table = frequency_table(f, chunk, true, s);
  panel(f, pair, s.kappa_tile.even.data(), s.kappa_tile.odd.data(), s.kappa_tile, true, s);
  kernels.product(s.panel.data(), table.cosine.data(), table.sine.data(), family.kappa_rows(), count, s.kappa.data());
  for (int i = 0; i < count; ++i) {
    T* at = s.kappa.data() + static_cast<std::size_t>(i) * 4 * n_lanes;
    for (std::size_t lane = 0; lane < n_lanes; ++lane) {
      const T ec = at[lane], es = at[n_lanes + lane], oc = at[2 * n_lanes + lane], os = at[3 * n_lanes + lane];
      at[lane] = (ec - os) * norm[lane], at[n_lanes + lane] = (oc + es) * norm[lane];
      at[2 * n_lanes + lane] = (ec + os) * norm[lane], at[3 * n_lanes + lane] = (oc - es) * norm[lane];
    }
  }
  if (phase_fixed && !family.symmetric) rotate(f, chunk, pair, tile, nullptr, s.kappa.data());
  return s.kappa.data();
}

template <class T>
const T* ScreenTables<T>::exact_kappa(std::size_t f, std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile,
                                      const Padded<T>* weights, const Samples& samples, Scratch<T>& s) const {
  load_kappa(f, b, tile, weights, samples, s);
  return item_kappa(f, b, chunk, pair, tile, s);
}

template <class T>
KappaTile<T> ScreenTables<T>::kappa_of(std::size_t f, std::size_t b, const Tile<T>& tile, const Padded<T>* weights,
                                       const Samples& samples, Scratch<T>& s) const {
  const Family& family = families[f];
  const auto n_lanes = static_cast<std::size_t>(lanes());
  const auto signs = static_cast<std::size_t>(family.signs());
  const T* norm = tile.inverse_norm.data() + b * n_lanes;
  const double error = 1.5 * gamma(family);
  KappaTile<T> out;
  std::vector<std::pair<double, std::size_t>> large;
  load_kappa(f, b, tile, weights, samples, s);
  std::size_t entries = 0;
  for (int chunk = 0; chunk < family.chunks; ++chunk) {
    const std::size_t count = static_cast<std::size_t>(family.chunk_size(chunk)) * signs;
    for (std::size_t pair = 0; pair < family.pairs.size(); ++pair) {
      const T* values = item_kappa(f, b, chunk, pair, tile, s);
      typename KappaTile<T>::Row row{out.weight.size(), entries, T(0), T(0)};
      large.clear();
      for (std::size_t i = 0; i < count; ++i) {
        const T* k = values + i * 2 * n_lanes;
        T most = 0;
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
          if (norm[lane] > 0) most = std::max(most, k[lane] * k[lane] + k[n_lanes + lane] * k[n_lanes + lane]);
        }
        // From 1 - |kappa| = 1e-3 on only one quadrature counts, and the energy is less than this bound.
        const double magnitude = std::min(std::sqrt(static_cast<double>(most)) * (1 + 1e-6) + error, 1 - 5e-4);
        out.at.push_back(-1);
        out.weight.push_back(static_cast<T>(2 / (1 - magnitude) * (1 + 1e-6)));
        row.any_weight = std::max(row.any_weight, out.weight.back());
        if (magnitude > kSmallKappa) large.emplace_back(-magnitude, i);
      }
      const auto most = static_cast<std::size_t>(most_exact(static_cast<int>(count)));
      if (large.size() > most) {
        std::nth_element(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(most), large.end());
        large.resize(most);
      }
      for (std::size_t j = 0; j < large.size(); ++j) {
        const T* k = values + large[j].second * 2 * n_lanes;
        out.at[row.first + large[j].second] = static_cast<std::int32_t>(j);
        out.exact.insert(out.exact.end(), k, k + 2 * n_lanes);
      }
      entries += large.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (out.at[row.first + i] < 0) row.largest_weight = std::max(row.largest_weight, out.weight[row.first + i]);
      }
      out.rows.push_back(row);
    }
  }
  return out;
}

// The members of this file.
#define ENVOI_INSTANTIATE(T)                                                                                  \
  template const T* ScreenTables<T>::exact_kappa(std::size_t, std::size_t, int, std::size_t, const Tile<T>&,  \
                                                 const Padded<T>*, const Samples&, Scratch<T>&) const;        \
  template KappaTile<T> ScreenTables<T>::kappa_of(std::size_t, std::size_t, const Tile<T>&, const Padded<T>*, \
                                                  const Samples&, Scratch<T>&) const;
ENVOI_INSTANTIATE(float)
ENVOI_INSTANTIATE(double)
#undef ENVOI_INSTANTIATE

}  // namespace envoi::pursuit
