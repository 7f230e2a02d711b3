// Density, colours and ticks of the time-frequency map.
#include "results/map.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace envoi::results {
namespace {

constexpr double kReach = 5.5;  // standard deviations; exp(-15) is below any colour

struct Palette {
  std::string_view name, points;  // 17 colours
};
constexpr Palette kPalettes[] = {
    {"cividis",
     "00224e002e6a1a386f32436d434e6c535a6d61656f6f70737d7c788c88789b9476aba072bcae6ccdbb63dec958f0d846fee838"},
    {"viridis",
     "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725"},
    {"magma", "0000040a08221d114736106b51127c6a1c818326819c2e7fb73779d0416fe75263f56b5cfc8961fea772fec488fde2a3fcfdbf"},
    {"gray", "ffffffefefefdfdfdfcfcfcfbfbfbfafafaf9f9f9f8f8f8f7f7f7f6f6f6f5f5f5f4f4f4f3f3f3f2f2f2f1f1f1f0f0f0f000000"},
};

int hex(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// An atom's map as a normal density of weight E with the cell's size added to its spread:
// peak exp(-(t-tc)^2/(2 across_t) - (f - fc - slope (t-tc))^2/(2 across_f)).
struct Spread {
  double peak, slope, across_t, across_f;
};

Spread spread(const Chirplet& atom, double energy, double cell_s, double cell_hz) {
  const double d2 = atom.duration_s * atom.duration_s, c = atom.chirp_rate_hz_per_s;
  constexpr double kPi = std::numbers::pi;
  const double time = d2 / 2, along = 1 / (8 * kPi * kPi * d2);
  const double across_t = time + cell_s * cell_s / 4;
  const double joint = c * time, slope = joint / across_t;
  const double across_f = along + c * c * time + cell_hz * cell_hz / 4 - slope * joint;
  return {energy / (2 * kPi * std::sqrt(across_t * across_f)), slope, across_t, across_f};
}

// The cells [first, end) of `count` whose centres lie within reach of a place, in cells.
std::pair<std::size_t, std::size_t> cells(double place, double reach, std::size_t count) {
  const double most = static_cast<double>(count);
  const double first = std::clamp(std::floor(place - reach), 0.0, most);
  const double end = std::clamp(std::ceil(place + reach), 0.0, most);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(std::max(first, end))};
}

}  // namespace

DensityMap density_map(const std::vector<const Chirplet*>& atoms, double rate_hz, const MapView& view) {
  DensityMap map{std::vector<float>(view.columns * view.rows, 0.0F), 0};
  const double cell_s = (view.to_s - view.from_s) / static_cast<double>(view.columns);
  const double cell_hz = (view.high_hz - view.low_hz) / static_cast<double>(view.rows);
  const auto drawn = [](double peak) { return peak > 0 && std::isfinite(peak); };
  for (const Chirplet* atom : atoms) {
    const double peak = spread(*atom, atom->energy / rate_hz, cell_s, cell_hz).peak;
    if (drawn(peak)) map.unit = std::max(map.unit, peak);
  }
  for (const Chirplet* atom : atoms) {
    const auto [peak, slope, across_t, across_f] = spread(*atom, atom->energy / rate_hz, cell_s, cell_hz);
    if (!drawn(peak)) continue;
    const double time = atom->time_s - view.from_s;
    const double reach_f = kReach * std::sqrt(across_f) / cell_hz;
    const auto [left, right] = cells(time / cell_s, kReach * std::sqrt(across_t) / cell_s, view.columns);
    for (std::size_t x = left; x < right; ++x) {
      const double t = (static_cast<double>(x) + 0.5) * cell_s - time;
      const double height = peak / map.unit * std::exp(-t * t / (2 * across_t));
      const double ridge = atom->frequency_hz + slope * t - view.low_hz;
      const auto [bottom, top] = cells(ridge / cell_hz, reach_f, view.rows);
      for (std::size_t y = bottom; y < top; ++y) {
        const double f = (static_cast<double>(y) + 0.5) * cell_hz - ridge;
        map.values[y * view.columns + x] += static_cast<float>(height * std::exp(-f * f / (2 * across_f)));
      }
    }
  }
  return map;
}

std::optional<std::array<Color, 256>> color_table(std::string_view name) {
  for (const Palette& palette : kPalettes) {
    if (palette.name != name) continue;
    const std::string_view digits = palette.points;
    const std::size_t points = digits.size() / 6;
    const auto channel = [&](std::size_t point, std::size_t c) {
      return 16 * hex(digits[6 * point + 2 * c]) + hex(digits[6 * point + 2 * c + 1]);
    };
    std::array<Color, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      const double at = static_cast<double>(i) / 255 * static_cast<double>(points - 1);
      const std::size_t low = std::min(static_cast<std::size_t>(at), points - 2);
      for (std::size_t c = 0; c < 3; ++c) {
        const double value =
            channel(low, c) + (at - static_cast<double>(low)) * (channel(low + 1, c) - channel(low, c));
        table[i][c] = static_cast<std::uint8_t>(std::lround(value));
      }
    }
    return table;
  }
  return std::nullopt;
}

std::vector<double> ticks(double low, double high, int wanted) {
  std::vector<double> out;
  const double rough = (high - low) / std::max(wanted, 1);
  if (!(rough > 0) || !std::isfinite(rough)) return out;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  for (double k = std::ceil(low / step - 1e-9); k <= std::floor(high / step + 1e-9) && out.size() < 100; ++k)
    out.push_back(k * step);
  return out;
}

std::vector<std::string> tick_texts(const std::vector<double>& values) {
  std::vector<std::string> out;
  const double step = values.size() > 1 ? values[1] - values[0] : 1;
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  for (const double value : values) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < 1e-9 * step ? 0.0 : value);
    std::string shown(text);
    if (shown.starts_with('-')) shown.replace(0, 1, "−");
    out.push_back(shown);
  }
  return out;
}

}  // namespace envoi::results
