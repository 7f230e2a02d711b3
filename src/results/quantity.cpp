// SI prefixes and digits.
#include "results/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace envoi::results {
namespace {

struct Prefix {
  double factor;
  const char* sign;
};
constexpr Prefix kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},  {1, ""},
                                {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}, {1e-12, "p"}};
constexpr std::string_view kPrefixable[] = {"Hz", "s", "Hz/s", "V", "A", "T", "Pa"};

Prefix prefix_for(double magnitude, std::string_view unit) {
  const Prefix none{1, ""};
  if (std::find(std::begin(kPrefixable), std::end(kPrefixable), unit) == std::end(kPrefixable)) return none;
  if (!(magnitude > 0) || !std::isfinite(magnitude)) return none;
  if (magnitude < 1 && unit.starts_with("Hz")) return none;
  for (const Prefix& prefix : kPrefixes)
    if (magnitude >= prefix.factor * 0.9995) return prefix;
  return magnitude < 1e-15 ? none : kPrefixes[8];
}

std::string shown_unit(std::string_view unit, const char* prefix) {
  std::string text = prefix;
  if (unit.size() > 1 && unit[0] == 'u' && (unit[1] == 'V' || unit[1] == 'A' || unit[1] == 's'))
    text += "µ" + std::string(unit.substr(1));
  else
    text += unit;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text.empty() ? text : " " + text;
}

std::string fixed(double value, int decimals) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Power of ten of the first digit.
int order(double value) { return value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value)))); }

}  // namespace

std::string rounded(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char scientific[64];
  std::snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
  const int top = std::atoi(std::strchr(scientific, 'e') + 1);  // after rounding: 0.9996 begins with a 1
  if (value != 0 && (top < -5 || top > 8)) return scientific;
  return fixed(value, std::clamp(digits - 1 - top, 0, 12));
}

std::string quantity(double value, std::string_view unit, int digits) {
  if (!std::isfinite(value)) return "-";
  const Prefix prefix = prefix_for(std::abs(value), unit);
  return rounded(value / prefix.factor, digits) + shown_unit(unit, prefix.sign);
}

std::string plain_quantity(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "-";
  const Prefix prefix = prefix_for(std::abs(value), unit);
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value / prefix.factor);
  return text + shown_unit(unit, prefix.sign);
}

std::string quantity_with_error(double value, double error, std::string_view unit, int digits) {
  if (!std::isfinite(value) || !std::isfinite(error) || !(error > 0)) return quantity(value, unit, digits);
  const Prefix prefix = prefix_for(std::max(std::abs(value), error), unit);
  const double v = value / prefix.factor, e = error / prefix.factor;
  const int decimals = 1 - order(e);
  if (decimals > 9 || std::max(order(v), order(e)) > 8)
    return rounded(v, digits) + " ±" + rounded(e, 2) + shown_unit(unit, prefix.sign);
  return fixed(v, std::max(decimals, 0)) + " ±" + fixed(e, std::max(decimals, 0)) + shown_unit(unit, prefix.sign);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string counted(std::size_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace envoi::results
