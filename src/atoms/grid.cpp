// Steps and blocks of the two kinds of dictionary: with a promise, and explicit.
#include "atoms/grid.hpp"

#include <algorithm>
#include <cmath>

#include "envoi/error.hpp"

namespace envoi::atoms {
namespace {

constexpr double kMostRows = 1e7;  // chirp rates times durations; more is a mistake, and tables must fit

struct Steps {
  double centre, frequency, ln_duration, chirp_rate;  // of an atom of duration 1
};

// Each factor of a cell's corner keeps `share` of the energy (closed forms for unit Gaussians).
Steps steps_for(double share) {
  const double loss = -std::log(share);
  return {2 * std::sqrt(2 * loss), 2 * std::sqrt(loss / 2) / std::numbers::pi, 2 * std::acosh(1 / share),
          2 * std::sqrt(1 / (share * share) - 1) / std::numbers::pi};
}

double cells(double span, double step) { return std::max(1.0, std::ceil(span / step - 1e-9)); }

void finish(Grid& grid) {
  grid.size = 0;
  for (Block& block : grid.blocks) {
    block.atoms_per_centre = 0;
    for (ChirpRow& row : block.rows) {
      row.first = block.atoms_per_centre;
      block.atoms_per_centre += row.f_end - row.f_begin;
    }
    block.first = grid.size;
    grid.size += block.size();
  }
  std::erase_if(grid.blocks, [](const Block& block) { return block.size() == 0; });
}

// Atoms that a 10% grid would hold where this block's cells lie; of an explicit grid, at most its own.
double effective(const Block& block, double ln_step, std::int64_t samples, bool is_explicit) {
  const Steps unit = steps_for(std::pow(0.9, 0.25));
  const double d = std::exp(block.ln_duration);
  const auto cells_of = [&](double count, double step, double unit_step) {
    const double cells = count * step / unit_step;
    return std::max(1.0, is_explicit ? std::min(cells, count) : cells);
  };
  const double centres = cells_of(static_cast<double>(block.centres),
                                  std::min(block.centre_step, static_cast<double>(samples)), unit.centre * d);
  const auto rows = static_cast<double>(block.rows.size());
  const double span = block.rows.back().chirp_rate - block.rows.front().chirp_rate;
  const double chirp_cells = rows > 1 ? cells_of(rows, span / (rows - 1), unit.chirp_rate / (d * d)) : 1;
  double frequencies = 0;
  for (const ChirpRow& row : block.rows) {
    frequencies += cells_of(static_cast<double>(row.f_end - row.f_begin), block.frequency_step, unit.frequency / d);
  }
  // Frequencies summed over rows, as many rows as there are cells of chirp rate.
  const double plane = frequencies * chirp_cells / rows;
  const double durations = ln_step > 0 ? std::min(is_explicit ? 1.0 : 1e300, ln_step / unit.ln_duration) : 1;
  return centres * plane * durations;
}

}  // namespace

int next_smooth(int n) {
  for (int m = std::max(4, (n + 3) / 4 * 4);; m += 4) {
    int rest = m;
    for (const int prime : {2, 3, 5}) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return m;
  }
}

Atom Grid::at(std::uint64_t index) const {
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), index,
                                      [](std::uint64_t i, const Block& block) { return i < block.first; });
  const Block& block = *(after - 1);
  const auto local = static_cast<std::int64_t>(index - block.first);
  const std::int64_t centre = local / block.atoms_per_centre, rest = local % block.atoms_per_centre;
  const auto row = std::upper_bound(block.rows.begin(), block.rows.end(), rest,
                                    [](std::int64_t i, const ChirpRow& r) { return i < r.first; }) -
                   1;
  Atom atom;
  block.place(centre, atom);
  atom.frequency = block.frequency(row->f_begin + rest - row->first);
  atom.ln_duration = block.ln_duration;
  atom.chirp_rate = row->chirp_rate;
  return atom;
}

Limits Grid::limits_around(const Atom& winner) const {
  Limits result = limits;
  if (!box) return result;
  const double at[kParameters] = {winner.centre(), winner.frequency, winner.ln_duration, winner.chirp_rate};
  for (int i = 0; i < kParameters; ++i) {
    if (freed[i]) continue;
    result.low[i] = std::max(result.low[i], at[i] - step[i]);
    result.high[i] = std::min(result.high[i], at[i] + step[i]);
  }
  return result;
}

// Frequencies on the bins of a Fourier transform of at least `least` points, where that costs few cells more than
// `f_cells`; if possible on whole or half bins, where -f is a bin for every f and one transform serves +-c.
static void align_to_bins(const Range& band, double least, Block& block, double& f_cells) {
  const double width = band.high - band.low, few = 1.15 * f_cells, most = 1.25 * f_cells;
  int points = next_smooth(static_cast<int>(std::ceil(least)));
  if (const double bins = cells(width, 1.0 / points); bins <= few) {
    f_cells = bins;
    block.frequency_step = 1.0 / points;
    block.frequency_first = band.low + (width - (f_cells - 1) * block.frequency_step) / 2;
  }
  for (; width > 0; points = next_smooth(points + 1)) {
    const double step = 1.0 / points;
    // Half a cell may be left at either edge, and none may stick out.
    const double first = std::ceil(2 * band.low / step - 1e-9) * step / 2;
    const double count = std::ceil((band.high - first) / step - 0.5 - 1e-9) + 1;
    if (count > most) return;
    if (count < 1 || first + (count - 1) * step > band.high + 1e-12) continue;
    f_cells = count;
    block.frequency_step = step;
    block.frequency_first = first;
    return;
  }
}

Grid make_grid(const Ranges& ranges, double max_loss, std::int64_t samples) {
  Grid grid;
  grid.samples = samples;
  grid.max_loss = max_loss;
  const double band = ranges.frequency.high - ranges.frequency.low;
  const bool one_chirp = ranges.chirp_rate_given && ranges.chirp_rate.low == ranges.chirp_rate.high;
  const bool one_duration = ranges.duration.low == ranges.duration.high;
  const int axes = 1 + (band > 0) + !one_duration + !one_chirp;
  const Steps unit = steps_for(std::pow(1 - max_loss, 1.0 / axes));

  const double ln_span = std::log(ranges.duration.high / ranges.duration.low);
  const double durations = cells(ln_span, unit.ln_duration);
  const double ln_cell = ln_span / durations;
  if (durations > kMostRows)
    throw Error(ErrorKind::bad_argument, "the grid's promise needs over 1e7 durations; raise --max-loss");
  double total_rows = 0;
  for (int i = 0; i < static_cast<int>(durations); ++i) {
    Block block;
    block.ln_duration = std::log(ranges.duration.low) + (i + 0.5) * ln_cell;
    const double d = std::exp(block.ln_duration);
    const double d_least = std::exp(block.ln_duration - ln_cell / 2);

    // Centres on whole samples (or halves), every cell of the segment covered.
    double step = unit.centre * d;
    step = step >= 1 ? std::floor(step) : step >= 0.5 ? 0.5 : step;
    step = std::min(step, static_cast<double>(samples));
    block.centre_step = step;
    block.centres = static_cast<std::int64_t>(std::ceil(static_cast<double>(samples) / step - 1e-9));
    const double left_over = static_cast<double>(samples - 1) - static_cast<double>(block.centres - 1) * step;
    block.centre_first = std::max(0.0, std::floor(left_over / 2));

    // Frequencies on the bins of a Fourier transform where that costs few atoms more.
    double f_cells = cells(band, unit.frequency / d);
    if (f_cells > 1e9)
      throw Error(ErrorKind::bad_argument,
                  "the grid's promise needs over 1e9 frequencies; narrow the band or shorten the durations");
    block.frequency_step = band / f_cells;
    block.frequency_first = ranges.frequency.low + (band - (f_cells - 1) * block.frequency_step) / 2;
    if (d / unit.frequency < 1e6) align_to_bins(ranges.frequency, d / unit.frequency, block, f_cells);

    // Chirp rates: symmetric about 0 where the range is.
    double c_low = ranges.chirp_rate.low, c_high = ranges.chirp_rate.high;
    if (!ranges.chirp_rate_given) {
      c_high = std::min(2 / (d_least * d_least), band / (2 * d_least));
      c_low = -c_high;
    }
    double c_cells = cells(c_high - c_low, unit.chirp_rate / (d * d));
    if (c_low == -c_high && std::fmod(c_cells, 2) == 0) c_cells += 1;
    total_rows += c_cells;
    if (total_rows > kMostRows)
      throw Error(ErrorKind::bad_argument,
                  "the grid's promise needs over 1e7 chirp rates; narrow --chirp-rates or shorten the durations");
    const double c_cell = (c_high - c_low) / c_cells;
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(c_cells); ++j) {
      ChirpRow row;
      row.chirp_rate = c_low == -c_high ? (static_cast<double>(j) - (c_cells - 1) / 2) * c_cell
                                        : c_low + (static_cast<double>(j) + 0.5) * c_cell;
      if (c_low == c_high) row.chirp_rate = c_low;
      row.f_end = static_cast<std::int64_t>(f_cells);
      if (!ranges.chirp_rate_given || !one_chirp || c_low != 0) {
        // Frequencies whose cell touches atoms with their ridge in the band.
        const double reach = std::max(0.0, std::abs(row.chirp_rate) - c_cell / 2) * d_least;
        const double f_step = std::max(block.frequency_step, 1e-300);
        const double inset = block.frequency_first - ranges.frequency.low;
        const double inset_above = ranges.frequency.high - block.frequency(static_cast<std::int64_t>(f_cells) - 1);
        const auto left_out = [&](double from_edge) {
          const double first = (reach - from_edge) / f_step - 0.5;
          return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(std::min(first, f_cells) - 1e-9)));
        };
        row.f_begin = left_out(inset);
        row.f_end -= left_out(inset_above);
        if (row.f_end <= row.f_begin) continue;
      }
      block.rows.push_back(row);
    }
    grid.blocks.push_back(std::move(block));
  }
  finish(grid);
  for (const Block& block : grid.blocks) grid.effective_atoms += effective(block, ln_cell, samples, false);
  grid.limits.low = {0, ranges.frequency.low, std::log(ranges.duration.low),
                     ranges.chirp_rate_given ? ranges.chirp_rate.low : -1e300};
  grid.limits.high = {static_cast<double>(samples - 1), ranges.frequency.high, std::log(ranges.duration.high),
                      ranges.chirp_rate_given ? ranges.chirp_rate.high : 1e300};
  grid.limits.ridge = true;
  return grid;
}

namespace {
double axis_count(const Axis& axis) { return std::floor((axis.last - axis.first) / axis.step + 1e-9) + 1; }
}  // namespace

double count_atoms(const ExplicitGrid& axes) {
  return std::min(1e18, axis_count(axes.time) * axis_count(axes.frequency_hz) * axis_count(axes.ln_duration) *
                            axis_count(axes.chirp_rate_hz_per_s));
}

Grid make_grid(const ExplicitGrid& axes, double rate_hz, std::int64_t samples, const PursuitOptions& options) {
  Grid grid;
  grid.samples = samples;
  const double to_samples = axes.time_in_samples ? 1 : rate_hz;
  const double ln_rate = std::log(rate_hz), rate2 = rate_hz * rate_hz;
  const auto durations = static_cast<std::int64_t>(axis_count(axes.ln_duration));
  const auto rows = static_cast<std::int64_t>(axis_count(axes.chirp_rate_hz_per_s));
  const auto frequencies = static_cast<std::int64_t>(axis_count(axes.frequency_hz));
  if (static_cast<double>(durations) * static_cast<double>(rows) > kMostRows) {
    throw Error(ErrorKind::bad_argument, "the grid has over 1e7 pairs of duration and chirp rate; use larger steps");
  }
  for (std::int64_t i = 0; i < durations; ++i) {
    Block block;
    block.ln_duration = axes.ln_duration.first + static_cast<double>(i) * axes.ln_duration.step + ln_rate;
    block.centre_first = axes.time.first * to_samples;
    block.centre_step = axes.time.step * to_samples;
    block.centres = static_cast<std::int64_t>(axis_count(axes.time));
    block.frequency_first = axes.frequency_hz.first / rate_hz;
    block.frequency_step = axes.frequency_hz.step / rate_hz;
    for (std::int64_t j = 0; j < rows; ++j) {
      const double c = axes.chirp_rate_hz_per_s.first + static_cast<double>(j) * axes.chirp_rate_hz_per_s.step;
      block.rows.push_back({c / rate2, 0, frequencies, 0});
    }
    grid.blocks.push_back(std::move(block));
  }
  finish(grid);
  for (const Block& block : grid.blocks) grid.effective_atoms += effective(block, axes.ln_duration.step, samples, true);
  grid.box = true;
  grid.limits.low = {axes.time.first * to_samples, axes.frequency_hz.first / rate_hz, axes.ln_duration.first + ln_rate,
                     axes.chirp_rate_hz_per_s.first / rate2};
  grid.limits.high = {axes.time.last * to_samples, axes.frequency_hz.last / rate_hz, axes.ln_duration.last + ln_rate,
                      axes.chirp_rate_hz_per_s.last / rate2};
  grid.step = {axes.time.step * to_samples, axes.frequency_hz.step / rate_hz, axes.ln_duration.step,
               axes.chirp_rate_hz_per_s.step / rate2};
  auto free_within = [&](Parameter i, double low, double high) {
    grid.limits.low[i] = low, grid.limits.high[i] = high, grid.freed[i] = true;
  };
  if (options.band_hz) free_within(kFrequency, options.band_hz->low / rate_hz, options.band_hz->high / rate_hz);
  if (options.durations_s)
    free_within(kLnDuration, std::log(options.durations_s->low) + ln_rate,
                std::log(options.durations_s->high) + ln_rate);
  if (options.chirp_rates_hz_per_s)
    free_within(kChirpRate, options.chirp_rates_hz_per_s->low / rate2, options.chirp_rates_hz_per_s->high / rate2);
  return grid;
}

}  // namespace envoi::atoms
