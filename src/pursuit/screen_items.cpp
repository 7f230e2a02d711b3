// From samples to the sums of an item: windows folded about their centres, de-chirped, and multiplied out.
//
// For one duration, centre and pair of chirp rates +-c, the correlations with every frequency are sums of the folded,
// windowed, de-chirped samples against cosines and sines: four real sums serve both chirp rates. The sums of a tile of
// neighbouring centres are one small matrix product. kappa of cut atoms is the same product on the window itself, at
// twice the frequency and chirp rate; it does not depend on the signal, so it is kept where it fits.
#include <cmath>
#include <complex>

#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Atom;
using atoms::Block;
using atoms::Samples;

namespace {

// Even and odd part about the centre; a transform takes the two sides as they are.
template <class T>
void fold(const BlockPlan& plan, int k, double right, double left, T& even, T& odd) {
  const bool sides = plan.transform > 0;
  even = static_cast<T>(sides ? right : right + left);
  odd = static_cast<T>(sides ? left : k > 0 ? right - left : 0);
}

}  // namespace

// Folds the window of each lane. For whole-sample centres even/odd are real; else `wave` keeps the two sides, and the
// folding waits for the chirp.
template <class T>
Tile<T> ScreenTables<T>::load(std::size_t b, int tile_index, const Samples& samples, double scale,
                              Scratch<T>& s) const {
  const Block& block = grid.blocks[b];
  const BlockPlan& plan = plans[b];
  const int n_lanes = lanes(), depth = plan.depth;
  const std::size_t size = static_cast<std::size_t>(depth) * static_cast<std::size_t>(n_lanes);
  Tile<T> tile;
  if (plan.transform == 0) {
    s.panel.resize(4 * size);
    s.sums.resize(static_cast<std::size_t>(kChunk) * 4 * static_cast<std::size_t>(n_lanes));
  }
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
        fold(plan, k, right, left, s.even[at], s.odd[at]);
      } else {
        s.wave[2 * at] = right, s.wave[2 * at + 1] = left;
      }
    }
    if (norm2 > 0) {
      // Both parts of the sum are off by at most gamma times the sum of magnitudes.
      const double error = std::numbers::sqrt2 * gamma(b) * magnitude * bound_factor;
      tile.inverse_norm[lane] = static_cast<T>(1 / norm2);
      tile.error2[lane] = static_cast<T>(error * error * 1.0001 + 1e-36);
      tile.largest_error = std::max(tile.largest_error, error / std::sqrt(norm2));
    }
  }
  return tile;
}

// The window's own weights in place of the samples, for kappa.
template <class T>
void ScreenTables<T>::load_kappa_window(std::size_t b, const Tile<T>& tile, const Samples& samples,
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
        fold(plan, k, right, left, s.kappa_even[at], s.kappa_odd[at]);
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
void ScreenTables<T>::panel(std::size_t b, std::size_t pair, const Tile<T>& tile, bool for_kappa, Scratch<T>& s) const {
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
const FrequencyTable<T>& ScreenTables<T>::frequency_table(std::size_t b, int chunk, Scratch<T>& s) const {
  if (plans[b].transform > 0) return s.frequencies;  // not used
  if (!frequencies[b].empty()) return *frequencies[b][static_cast<std::size_t>(chunk)];
  s.frequencies.make(grid.blocks[b], chunk, plans[b].chunk_size(grid.blocks[b], chunk), plans[b].depth, 1);
  return s.frequencies;
}

// De-chirped samples (or, for kappa, the window, at twice the frequency and chirp rate) against all frequencies:
// [frequency][re, im][lane] of sum x conj(g).
template <class T>
const T* ScreenTables<T>::transformed(std::size_t b, std::size_t pair, bool for_kappa, Scratch<T>& s) const {
  const auto depth = static_cast<std::size_t>(plans[b].depth);
  const T* chirp_c = chirp_cosine[b].data() + pair * depth;
  const T* chirp_s = chirp_sine[b].data() + pair * depth;
  s.factor.resize(4 * depth);
  for (std::size_t k = 0; k < depth; ++k) {
    T cc = chirp_c[k], cs = chirp_s[k], tc = twist[b][2 * k], ts = twist[b][2 * k + 1];
    if (for_kappa) {
      const T cc2 = 1 - 2 * cs * cs, tc2 = 1 - 2 * ts * ts;
      cs = 2 * cc * cs, ts = 2 * tc * ts, cc = cc2, tc = tc2;
    }
    // exp(-i chirp) exp(-+i twist)
    s.factor[4 * k] = cc * tc - cs * ts, s.factor[4 * k + 1] = -(cc * ts + cs * tc);
    s.factor[4 * k + 2] = cc * tc + cs * ts, s.factor[4 * k + 3] = cc * ts - cs * tc;
  }
  const TransformPlan<T>& plan = for_kappa ? half_transform[b] : transform[b];
  const std::size_t size = static_cast<std::size_t>(transform[b].size) * 2 * static_cast<std::size_t>(lanes());
  s.points.resize(size);
  s.other.resize(size);
  kernels.wrap((for_kappa ? s.kappa_even : s.even).data(), (for_kappa ? s.kappa_odd : s.odd).data(), s.factor.data(),
               plans[b].depth, plan.size, s.points.data());
  return kernels.transform(s.points.data(), s.other.data(), plan);
}

// kappa = sum g^2 / sum |g|^2, laid out as the ending reads it. Needs s.kappa_even/odd and s.doubled.
template <class T>
void ScreenTables<T>::make_kappa(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, Scratch<T>& s,
                                 T* out) const {
  const int n_lanes = lanes(), count = plans[b].chunk_size(grid.blocks[b], chunk);
  if (plans[b].transform > 0) {
    const T* points = transformed(b, pair, true, s);
    const int period = half_transform[b].size;  // bins 2 k of a transform twice as long
    for (int f = 0; f < count; ++f) {
      const T* from = points + static_cast<std::size_t>(f % period) * 2 * static_cast<std::size_t>(n_lanes);
      T* at = out + static_cast<std::size_t>(f) * 2 * static_cast<std::size_t>(n_lanes);
      for (int lane = 0; lane < n_lanes; ++lane) {
        at[lane] = from[lane] * tile.inverse_norm[lane];
        at[n_lanes + lane] = -from[n_lanes + lane] * tile.inverse_norm[lane];
      }
    }
    return;
  }
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

// Off whole samples the sums lack a phase that only the phase-fixed score sees; put it back.
template <class T>
void ScreenTables<T>::rotate(std::size_t b, int chunk, std::size_t pair, const Tile<T>& tile, T* sums, T* kappa_out,
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
ItemScores<T> ScreenTables<T>::item(std::size_t b, int tile_index, int chunk, std::size_t pair, const Tile<T>& tile,
                                    bool weighted, double root_energy, const FrequencyTable<T>& table,
                                    Scratch<T>& s) const {
  const Block& block = grid.blocks[b];
  const BlockPlan& plan = plans[b];
  ItemScores<T> out;
  out.frequencies = plan.chunk_size(block, chunk);
  for (int sign = 0; sign < 2; ++sign) {
    const int row = plan.pairs[pair].row[sign];
    if (row < 0) continue;
    const std::int64_t base = static_cast<std::int64_t>(chunk) * plan.width;
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
    s.kappa.resize(static_cast<std::size_t>(plan.width) * plan.parts() * static_cast<std::size_t>(lanes()));
    make_kappa(b, chunk, pair, tile, s, s.kappa.data());
    out.kappa = s.kappa.data();
  }
  out.paired = plan.transform == 0;
  if (plan.transform > 0) {
    out.sums = transformed(b, pair, false, s);
  } else {
    panel(b, pair, tile, false, s);
    kernels.product(s.panel.data(), table.cosine.data(), table.sine.data(), plan.depth, out.frequencies, s.sums.data());
    out.sums = s.sums.data();
  }
  if (phase_fixed && !plan.symmetric) {
    if (out.kappa != s.kappa.data()) {
      const std::size_t size = static_cast<std::size_t>(out.frequencies) * 4 * static_cast<std::size_t>(lanes());
      s.kappa.assign(out.kappa, out.kappa + size);
      out.kappa = s.kappa.data();
    }
    rotate(b, chunk, pair, tile, s.sums.data(), s.kappa.data(), out.frequencies);
  }
  out.inverse_norm = tile.inverse_norm;
  out.error2 = tile.error2;
  out.kappa_error = static_cast<T>(1.5 * gamma(b) * bound_factor);
  // Near the best split of the bound for the energies that matter, and room for the ending's own roundings.
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  out.eta =
      static_cast<T>(std::max(3 * std::numbers::sqrt2 * tile.largest_error / root_energy, 16 * unit * bound_factor));
  out.phase_fixed = phase_fixed;
  return out;
}

template struct ScreenTables<float>;
template struct ScreenTables<double>;

}  // namespace envoi::pursuit
