// Prefix and base of a unit.
#include "results/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "signal/shared.hpp"

namespace envoi::results {
namespace {

constexpr std::array<std::string_view, 9> kBases = {"Hz/s", "Hz", "s", "V", "A", "T", "Pa", "g", "Ohm"};

struct Unit {
  std::string base;
  int exponent = 0;  // of ten
};

std::optional<int> prefix_of(std::string_view prefix) {
  if (prefix.empty()) return 0;
  constexpr std::string_view kPrefixes = "fpnumkMG";
  constexpr std::array kExponents = {-15, -12, -9, -6, -3, 3, 6, 9};
  if (prefix == "\u00B5" || prefix == "\u03BC") return -6;
  const std::size_t at = kPrefixes.find(prefix);
  if (prefix.size() != 1 || at == kPrefixes.npos) return std::nullopt;
  return kExponents[at];
}

Unit parse(std::string_view text) {
  const std::string unit = signal::normal_unit(text);
  for (const std::string_view base : kBases) {
    if (!unit.ends_with(base)) continue;
    if (const auto exponent = prefix_of(std::string_view(unit).substr(0, unit.size() - base.size())))
      return {std::string(base), *exponent};
  }
  return {unit, 0};
}

}  // namespace

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  const Unit a = parse(from), b = parse(to);
  if (a.base != b.base) return std::nullopt;
  const int exponent = a.exponent - b.exponent;
  // A power of ten of negative exponent has no exact double; its inverse has.
  return exponent < 0 ? 1 / std::pow(10, -exponent) : std::pow(10, exponent);
}

}  // namespace envoi::results
