// The time-frequency map of atoms as numbers: the sum of their Wigner maps on a grid of cells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "envoi/decomposition.hpp"

namespace envoi::results {

struct MapView {
  double from_s = 0, to_s = 1;
  double low_hz = 0, high_hz = 1;
  std::size_t columns = 1, rows = 1;
};

// Sum of 2 E exp(-(t-tc)^2/Dt^2 - 4 pi^2 Dt^2 (f - fc - c (t-tc))^2) at the centres of the cells, each atom spread by
// half a cell, so that what is smaller than one is neither lost nor seen too large. Energies are divided by the rate: a
// power density, unit^2/Hz. By rows, that of the lowest frequencies first.
struct DensityMap {
  std::vector<float> values;  // shares of `unit`: single precision holds them, however small the signal's unit is
  double unit = 1;            // the largest density of a single atom
};
DensityMap density_map(const std::vector<const Chirplet*>& atoms, double rate_hz, const MapView& view);

using Color = std::array<std::uint8_t, 3>;

// 256 colours, evenly spaced to the eye: "cividis" "viridis" "magma" "gray". Nothing for another name.
std::optional<std::array<Color, 256>> color_table(std::string_view name);

// About so many round numbers that divide [low, high] into steps of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, int wanted);

// The numbers as text with the decimals that tell them apart.
std::vector<std::string> tick_texts(const std::vector<double>& values);

}  // namespace envoi::results
