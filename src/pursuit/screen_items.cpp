// From samples to the sums of a unit: windows folded about their centres, de-chirped, and multiplied out.
//
// For one window, centre and pair of chirp rates +-c, the correlations with every frequency are sums of the folded,
// windowed, de-chirped samples against cosines and sines: four real sums serve both chirp rates. The sums of a tile of
// neighbouring centres are one small matrix product. kappa of cut atoms is the same product on the window itself, at
// twice the frequency and chirp rate; it does not depend on the signal, so it is kept where it fits.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Atom;
using atoms::Block;
using atoms::Samples;

// The tile's centres; the arrays that depend on the signal are left as they are.
template <class T>
void ScreenTables<T>::place(std::size_t f, int tile, Tile<T>& out) const {
  const Family& family = families[f];
  const Block& first = block(family, 0);
  const auto n_lanes = static_cast<std::size_t>(lanes());
  out.family = f;
  out.index = tile;
  out.inverse_norm.assign(family.blocks.size() * n_lanes, T(0));
  out.error2.assign(family.blocks.size() * n_lanes, T(0));
  out.largest_error.assign(family.blocks.size(), 0.0);
  for (int lane = 0; lane < lanes(); ++lane) {
    out.atom[lane] = {};
    const std::int64_t centre = static_cast<std::int64_t>(tile) * lanes() + lane;
    if (centre < first.centres) first.place(centre, out.atom[lane]);
  }
}

// 1 / sum |g|^2 of one block's atoms over the samples that exist.
template <class T>
void ScreenTables<T>::norms(std::size_t f, std::size_t b, const double* weight, Tile<T>& tile) const {
  const Family& family = families[f];
  const Block& of = block(family, b);
  const double inverse = std::exp(-2 * of.ln_duration);
  for (int lane = 0; lane < lanes(); ++lane) {
    if (static_cast<std::int64_t>(tile.index) * lanes() + lane >= of.centres) break;
    Atom& atom = tile.atom[lane];
    atom.ln_duration = of.ln_duration;
    const atoms::Support range = atoms::support(atom, grid.samples);
    double norm2 = 0;
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      if (weight && weight[atom.sample + k] == 0) continue;
      const double u = static_cast<double>(k) - atom.offset;
      const double e = family.symmetric ? envelope[family.blocks[b]][static_cast<std::size_t>(std::abs(k))]
                                        : std::exp(-u * u * inverse / 2);
      norm2 += e * e;
    }
    tile.inverse_norm[b * static_cast<std::size_t>(lanes()) + static_cast<std::size_t>(lane)] =
        norm2 > 0 ? static_cast<T>(1 / norm2) : T(0);
  }
}

// Even and odd part of the samples about each centre; a transform takes the two sides as they are.
template <class T>
void ScreenTables<T>::fold(const Family& family, const Tile<T>& tile, const Padded<T>& signal, Scratch<T>& s) const {
  constexpr std::size_t kRun = 16;  // few enough that what is written stays in the nearest cache
  const auto n_lanes = static_cast<std::size_t>(lanes()), depth = static_cast<std::size_t>(family.depth);
  const bool sides = family.transform > 0;
  grow(s.raw_even, depth * n_lanes);
  grow(s.raw_odd, depth * n_lanes);
  const T* centre[kMostLanes];  // null: out of reach
  for (std::size_t lane = 0; lane < n_lanes; ++lane) {
    const std::int64_t at = tile.atom[lane].sample;
    const bool there =
        static_cast<std::int64_t>(tile.index) * lanes() + static_cast<std::int64_t>(lane) < block(family, 0).centres &&
        at > -family.depth && at < grid.samples + family.depth;
    centre[lane] = there ? signal.at(at) : nullptr;
  }
  for (std::size_t begin = 0; begin < depth; begin += kRun) {
    const std::size_t end = std::min(depth, begin + kRun);
    for (std::size_t lane = 0; lane < n_lanes; ++lane) {
      T* even = s.raw_even.data() + lane;
      T* odd = s.raw_odd.data() + lane;
      const T* x = centre[lane];
      for (std::size_t k = begin; k < end; ++k) {
        const T right = x ? x[k] : T(0), left = x && k > 0 ? *(x - k) : T(0);
        even[k * n_lanes] = sides ? right : right + left;
        odd[k * n_lanes] = sides ? left : right - left;
      }
    }
  }
  if (!sides) {  // no odd part at the centre
    for (std::size_t lane = 0; lane < n_lanes; ++lane) s.raw_odd[lane] = 0;
  }
}

// Centres off whole samples: the windowed samples on either side, or the window's square alone (for kappa).
template <class T>
void ScreenTables<T>::load_wave(std::size_t f, const Samples& samples, double scale, bool squared,
                                Tile<T>& tile) const {
  const Family& family = families[f];
  const Block& of = block(family, 0);
  const auto n_lanes = static_cast<std::size_t>(lanes());
  const double inverse = std::exp(-2 * of.ln_duration);
  tile.wave.assign(2 * static_cast<std::size_t>(family.depth) * n_lanes, 0.0);
  tile.magnitude.assign(n_lanes, T(0));
  for (std::size_t lane = 0; lane < n_lanes; ++lane) {
    if (static_cast<std::int64_t>(tile.index) * lanes() + static_cast<std::int64_t>(lane) >= of.centres) break;
    Atom atom = tile.atom[lane];
    atom.ln_duration = of.ln_duration;
    const atoms::Support range = atoms::support(atom, samples.size);
    double magnitude = 0;
    const auto value = [&](std::int64_t k) -> double {
      if (k < range.begin || k >= range.end) return 0;
      const std::int64_t n = atom.sample + k;
      if (samples.weight && samples.weight[n] == 0) return 0;
      const double u = static_cast<double>(k) - atom.offset;
      const double y = squared ? std::exp(-u * u * inverse) : samples.value[n] * scale * std::exp(-u * u * inverse / 2);
      magnitude += std::abs(y);
      return y;
    };
    for (int k = 0; k < family.depth; ++k) {
      double* out = tile.wave.data() + 2 * (static_cast<std::size_t>(k) * n_lanes + lane);
      out[0] = value(k);
      out[1] = k > 0 ? value(-k) : 0;
    }
    tile.magnitude[lane] = static_cast<T>(magnitude * (1 + 1e-6));
  }
}

// The tile's windowed samples, with the norms of its atoms and the errors to allow for.
template <class T>
void ScreenTables<T>::load(std::size_t f, int tile_index, const Padded<T>& signal, const Samples& samples, double scale,
                           double root_energy, const Padded<T>* weights, Scratch<T>& s) const {
  const Family& family = families[f];
  const auto n_lanes = static_cast<std::size_t>(lanes());
  const std::size_t size = static_cast<std::size_t>(family.depth) * n_lanes;
  Tile<T>& tile = s.tile;
  place(f, tile_index, tile);
  if (family.symmetric) {
    const auto rank = static_cast<std::size_t>(family.rank);
    fold(family, tile, signal, s);
    grow(tile.even, rank * size);
    grow(tile.odd, rank * size);
    grow(tile.magnitude, rank * n_lanes);
    for (std::size_t j = 0; j < rank; ++j) {
      kernels.window(s.raw_even.data(), s.raw_odd.data(), basis[f].data() + j * static_cast<std::size_t>(family.depth),
                     family.depth, tile.even.data() + j * size, tile.odd.data() + j * size,
                     tile.magnitude.data() + j * n_lanes);
    }
  } else {
    load_wave(f, samples, scale, false, tile);
  }
  // The magnitudes were summed in T.
  const double sum_error = gamma(family) * (1 + 1e-6) * (1 + 2.0 * family.depth * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53));
  for (std::size_t b = 0; b < family.blocks.size(); ++b) {
    T* inverse = tile.inverse_norm.data() + b * n_lanes;
    if (weights) {
      norms(f, b, samples.weight, tile);
    } else {
      const std::vector<T>& known = inverse_norm[family.blocks[b]][slot(family, b, tile_index)];
      std::copy(known.begin(), known.end(), inverse);
    }
    for (std::size_t lane = 0; lane < n_lanes; ++lane) {
      if (!(inverse[lane] > 0)) continue;
      // Both parts of the sum are off by at most gamma times the sum of magnitudes (summed in T, so with some room);
      // the combination of basis windows leaves a rest of the window.
      double magnitude = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(family.rank); ++j) {
        magnitude += std::abs(family.mix[b * static_cast<std::size_t>(family.rank) + j]) *
                     static_cast<double>(tile.magnitude[j * n_lanes + lane]);
      }
      const double error = (std::numbers::sqrt2 * sum_error * magnitude + family.rest[b] * root_energy) * bound_factor;
      tile.error2[b * n_lanes + lane] = static_cast<T>(error * error * 1.0001 + 1e-36);
      tile.largest_error[b] =
          std::max(tile.largest_error[b], error * std::sqrt(static_cast<double>(inverse[lane]) * 1.0001));
    }
  }
}

// e cos, e sin, o cos, o sin of the tile for one pair of chirp rates (doubled for kappa).
// Off whole samples the chirp is not even in k: the de-chirped samples are complex, and even and odd parts are taken
// after; signs are such that the ending of the even case serves.
template <class T>
void ScreenTables<T>::panel(std::size_t f, std::size_t pair, const T* even, const T* odd, const Tile<T>& tile,
                            bool for_kappa, Scratch<T>& s) const {
  const Family& family = families[f];
  const int n_lanes = lanes(), depth = family.depth;
  grow(s.panel, 4 * static_cast<std::size_t>(depth) * static_cast<std::size_t>(n_lanes));
  if (family.symmetric) {
    const std::size_t at = pair * static_cast<std::size_t>(depth);
    if (for_kappa) {
      kernels.panel(even, odd, kappa_cosine[f].data() + at, kappa_sine[f].data() + at, depth, family.kappa_folding(),
                    s.panel.data());
    } else {
      kernels.panel(even, odd, chirp_cosine[f].data() + at, chirp_sine[f].data() + at, depth, family.folding,
                    s.panel.data());
    }
    return;
  }
  const double c = family.pairs[pair].chirp_rate * (for_kappa ? 2 : 1);
  for (int lane = 0; lane < n_lanes; ++lane) {
    const double offset = tile.atom[lane].offset;
    for (int k = 0; k < depth; ++k) {
      const std::size_t at =
          static_cast<std::size_t>(k) * static_cast<std::size_t>(n_lanes) + static_cast<std::size_t>(lane);
      const double right = tile.wave[2 * at], left = tile.wave[2 * at + 1];
      double even_re = 0, even_im = 0, odd_re = 0, odd_im = 0;
      if (right != 0 || left != 0) {
        // exp(-i pi c (k - offset)^2) without its constant: exp(-i pi c (k^2 -+ 2 k offset)).
        const double square = std::numbers::pi * c * k * k, twirl = 2 * std::numbers::pi * c * k * offset;
        const double rr = right * std::cos(square - twirl), ri = -right * std::sin(square - twirl);
        const double lr = left * std::cos(square + twirl), li = -left * std::sin(square + twirl);
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
const FrequencyTable<T>& ScreenTables<T>::frequency_table(std::size_t f, int chunk, bool for_kappa,
                                                          Scratch<T>& s) const {
  const auto& kept = for_kappa ? doubled[f] : frequencies[f];
  if (!kept.empty()) return *kept[static_cast<std::size_t>(chunk)];
  FrequencyTable<T>& table = for_kappa ? s.doubled : s.frequencies;
  table.make(block(families[f], 0), chunk, families[f].chunk_size(chunk),
             for_kappa ? families[f].kappa_rows() : families[f].rows(), for_kappa ? 2 : 1);
  return table;
}

// De-chirped samples (or, for kappa, the window, at twice the frequency and chirp rate) against all frequencies:
// [frequency][re, im][lane] of sum x conj(g).
template <class T>
const T* ScreenTables<T>::transformed(std::size_t f, std::size_t pair, const T* right, const T* left, bool for_kappa,
                                      Scratch<T>& s) const {
  const auto depth = static_cast<std::size_t>(families[f].depth);
  const T* chirp_c = chirp_cosine[f].data() + pair * depth;
  const T* chirp_s = chirp_sine[f].data() + pair * depth;
  grow(s.factor, 4 * depth);
  for (std::size_t k = 0; k < depth; ++k) {
    T cc = chirp_c[k], cs = chirp_s[k], tc = twist[f][2 * k], ts = twist[f][2 * k + 1];
    if (for_kappa) {
      const T cc2 = 1 - 2 * cs * cs, tc2 = 1 - 2 * ts * ts;
      cs = 2 * cc * cs, ts = 2 * tc * ts, cc = cc2, tc = tc2;
    }
    // exp(-i chirp) exp(-+i twist)
    s.factor[4 * k] = cc * tc - cs * ts, s.factor[4 * k + 1] = -(cc * ts + cs * tc);
    s.factor[4 * k + 2] = cc * tc + cs * ts, s.factor[4 * k + 3] = cc * ts - cs * tc;
  }
  const TransformPlan<T>& plan = for_kappa ? half_transform[f] : transform[f];
  const std::size_t size = static_cast<std::size_t>(transform[f].size) * 2 * static_cast<std::size_t>(lanes());
  grow(s.points, size);
  grow(s.other, size);
  kernels.wrap(right, left, s.factor.data(), families[f].depth, plan.size, s.points.data());
  return kernels.transform(s.points.data(), s.other.data(), plan,
                           {std::min(families[f].frequencies, plan.size), families[f].mirror});
}

// Sums of one unit against each basis window.
template <class T>
UnitSums<T> ScreenTables<T>::unit(std::size_t f, int chunk, std::size_t pair, const Tile<T>& tile,
                                  Scratch<T>& s) const {
  const Family& family = families[f];
  const auto n_lanes = static_cast<std::size_t>(lanes());
  UnitSums<T> out;
  out.frequencies = family.chunk_size(chunk);
  out.paired = family.transform == 0;
  out.mirror = family.mirror;
  out.points = family.transform;
  out.rank = family.rank;
  out.phase_fixed = phase_fixed;
  for (int sign = 0; sign < 2; ++sign) {
    const int row = family.pairs[pair].row[sign];
    if (row < 0) continue;
    const atoms::ChirpRow& of = block(family, 0).rows[static_cast<std::size_t>(row)];
    const std::int64_t base = static_cast<std::int64_t>(chunk) * family.width;
    out.begin[sign] = static_cast<int>(std::clamp<std::int64_t>(of.f_begin - base, 0, out.frequencies));
    out.end[sign] = static_cast<int>(std::clamp<std::int64_t>(of.f_end - base, 0, out.frequencies));
    if (out.begin[sign] >= out.end[sign]) out.begin[sign] = out.end[sign] = 0;
  }
  // An absent sign must not widen the range of the other.
  for (int sign = 0; sign < 2; ++sign) {
    if (out.begin[sign] == out.end[sign]) out.begin[sign] = out.end[sign] = out.begin[1 - sign];
  }
  if (out.begin[0] == out.end[0] && out.begin[1] == out.end[1]) return out;
  const std::size_t size = static_cast<std::size_t>(family.depth) * n_lanes;
  if (family.transform > 0) {
    out.sums = transformed(f, pair, tile.even.data(), tile.odd.data(), false, s);
    return out;
  }
  const FrequencyTable<T>& table = frequency_table(f, chunk, false, s);
  out.stride = static_cast<std::size_t>(kChunk) * 4 * n_lanes;
  grow(s.sums, out.stride * static_cast<std::size_t>(family.rank));
  for (std::size_t j = 0; j < static_cast<std::size_t>(family.rank); ++j) {
    panel(f, pair, family.symmetric ? tile.even.data() + j * size : nullptr,
          family.symmetric ? tile.odd.data() + j * size : nullptr, tile, false, s);
    kernels.product(s.panel.data(), table.cosine.data(), table.sine.data(), family.rows(), out.frequencies,
                    s.sums.data() + j * out.stride);
  }
  out.sums = s.sums.data();
  if (phase_fixed && !family.symmetric) rotate(f, chunk, pair, tile, s.sums.data(), nullptr);
  return out;
}

// Off whole samples the sums lack a phase that only the phase-fixed score sees; put it back, in kappa as well.
template <class T>
void ScreenTables<T>::rotate(std::size_t f, int chunk, std::size_t pair, const Tile<T>& tile, T* sums,
                             T* kappa_out) const {
  const Family& family = families[f];
  const int n_lanes = lanes();
  const double c = family.pairs[pair].chirp_rate;
  for (int i = 0; i < family.chunk_size(chunk); ++i) {
    const double frequency = block(family, 0).frequency(static_cast<std::int64_t>(chunk) * kChunk + i);
    for (int lane = 0; lane < n_lanes; ++lane) {
      const double offset = tile.atom[lane].offset;
      const double angle = 2 * std::numbers::pi * offset * (frequency - c * offset / 2);
      const std::complex<double> turn = std::polar(1.0, angle);
      const std::size_t at =
          static_cast<std::size_t>(i) * 4 * static_cast<std::size_t>(n_lanes) + static_cast<std::size_t>(lane);
      if (sums) {
        T* z = sums + at;
        const std::complex<double> turned =
            turn * std::complex<double>(static_cast<double>(z[0]) - static_cast<double>(z[3 * n_lanes]),
                                        -static_cast<double>(z[n_lanes]) - static_cast<double>(z[2 * n_lanes]));
        z[0] = static_cast<T>(turned.real()), z[3 * n_lanes] = 0, z[n_lanes] = static_cast<T>(-turned.imag()),
        z[2 * n_lanes] = 0;
      }
      if (kappa_out) {
        T* k = kappa_out + at;
        const std::complex<double> turned = std::complex<double>(k[0], k[n_lanes]) * std::conj(turn * turn);
        k[0] = static_cast<T>(turned.real()), k[n_lanes] = static_cast<T>(turned.imag());
      }
    }
  }
}

template <class T>
BlockScores<T> ScreenTables<T>::scores(std::size_t f, std::size_t b, const Tile<T>& tile, double root_energy) const {
  const Family& family = families[f];
  const auto n_lanes = static_cast<std::size_t>(lanes());
  BlockScores<T> out;
  out.mix = mix[f].data() + b * static_cast<std::size_t>(family.rank);
  out.inverse_norm = tile.inverse_norm.data() + b * n_lanes;
  out.error2 = tile.error2.data() + b * n_lanes;
  out.kappa_error = static_cast<T>(1.5 * gamma(family) * bound_factor);
  // Near the best split of the bound for the energies that matter, and room for the ending's own roundings.
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  out.eta =
      static_cast<T>(std::max(3 * std::numbers::sqrt2 * tile.largest_error[b] / root_energy, 16 * unit * bound_factor));
  return out;
}

// The members of this file.
#define ENVOI_INSTANTIATE(T)                                                                                      \
  template void ScreenTables<T>::place(std::size_t, int, Tile<T>&) const;                                         \
  template void ScreenTables<T>::norms(std::size_t, std::size_t, const double*, Tile<T>&) const;                  \
  template void ScreenTables<T>::fold(const Family&, const Tile<T>&, const Padded<T>&, Scratch<T>&) const;        \
  template void ScreenTables<T>::load_wave(std::size_t, const Samples&, double, bool, Tile<T>&) const;            \
  template void ScreenTables<T>::load(std::size_t, int, const Padded<T>&, const Samples&, double, double,         \
                                      const Padded<T>*, Scratch<T>&) const;                                       \
  template void ScreenTables<T>::panel(std::size_t, std::size_t, const T*, const T*, const Tile<T>&, bool,        \
                                       Scratch<T>&) const;                                                        \
  template const FrequencyTable<T>& ScreenTables<T>::frequency_table(std::size_t, int, bool, Scratch<T>&) const;  \
  template const T* ScreenTables<T>::transformed(std::size_t, std::size_t, const T*, const T*, bool, Scratch<T>&) \
      const;                                                                                                      \
  template UnitSums<T> ScreenTables<T>::unit(std::size_t, int, std::size_t, const Tile<T>&, Scratch<T>&) const;   \
  template void ScreenTables<T>::rotate(std::size_t, int, std::size_t, const Tile<T>&, T*, T*) const;             \
  template BlockScores<T> ScreenTables<T>::scores(std::size_t, std::size_t, const Tile<T>&, double) const;
ENVOI_INSTANTIATE(float)
ENVOI_INSTANTIATE(double)
#undef ENVOI_INSTANTIATE

}  // namespace envoi::pursuit
