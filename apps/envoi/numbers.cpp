// Parsing of numbers, strict to the last character.
#include "numbers.hpp"

#include <charconv>
#include <cmath>
#include <vector>

#include "command.hpp"

namespace envoi::command {
namespace {

std::string quoted(std::string_view text) { return "'" + one_line(std::string(text)) + "'"; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

double factor_of(char ending) {
  switch (ending) {
    case 'p':
      return 1e-12;
    case 'n':
      return 1e-9;
    case 'u':
      return 1e-6;
    case 'm':
      return 1e-3;
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    default:
      return 0;
  }
}

}  // namespace

double parse_number(std::string_view text, const std::string& option) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double factor = 1;
  if (!digits.empty() && factor_of(digits.back()) > 0) {
    factor = factor_of(digits.back());
    digits.remove_suffix(1);
  }
  double value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc{} || end != digits.data() + digits.size())
    usage_error(option + ": " + quoted(text) +
                " is not a number; write 12.5, 3e-2 or with an SI ending 20k, 1.5M, 50m, 10u");
  // Dividing by a power of ten is exact where multiplying by its inverse is not: 50m is 0.05 to the bit.
  value = factor < 1 ? value / std::round(1 / factor) : value * factor;
  if (!std::isfinite(value)) usage_error(option + ": " + quoted(text) + " is not a finite number");
  return value;
}

double parse_positive(std::string_view text, const std::string& option) {
  const double value = parse_number(text, option);
  if (!(value > 0)) usage_error(option + ": " + quoted(text) + " must be above 0");
  return value;
}

std::size_t parse_count(std::string_view text, const std::string& option) {
  const double value = parse_number(text, option);
  if (value != std::floor(value) || value < 1 || value > 1e15)
    usage_error(option + ": " + quoted(text) + " must be a whole number, 1 or more");
  return static_cast<std::size_t>(value);
}

Range parse_range(std::string_view text, const std::string& option) {
  const auto parts = split(text, ':');
  if (parts.size() != 2) usage_error(option + ": " + quoted(text) + " is not a range; write LO:HI");
  const Range range{parse_number(parts[0], option), parse_number(parts[1], option)};
  if (range.low > range.high) usage_error(option + ": " + quoted(text) + " is upside down; write LO:HI");
  return range;
}

ExplicitGrid act_grid() {
  ExplicitGrid grid;
  grid.time = {0, 511, 5};
  grid.time_in_samples = true;
  grid.frequency_hz = {0.3, 20, 1};
  grid.ln_duration = {-1.897, -0.105, 0.08};
  grid.chirp_rate_hz_per_s = {-40, 40, 2};
  return grid;
}

ExplicitGrid parse_grid(std::string_view text, const std::string& option) {
  if (text == "act") return act_grid();
  ExplicitGrid grid;
  const std::string form =
      "write tc=A:B:STEP,fc=A:B:STEP,lnDt=A:B:STEP,c=A:B:STEP (tc with the suffix smp: samples), or act";
  const char* names[] = {"tc", "fc", "lnDt", "c"};
  Axis* axes[] = {&grid.time, &grid.frequency_hz, &grid.ln_duration, &grid.chirp_rate_hz_per_s};
  bool given[4] = {};
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    std::size_t axis = 0;
    while (axis < 4 && part.substr(0, equals) != names[axis]) ++axis;
    if (axis == 4 || equals == part.npos) usage_error(option + ": " + quoted(part) + " is not an axis; " + form);
    if (given[axis]) usage_error(option + ": axis " + names[axis] + " is given twice");
    given[axis] = true;
    std::string_view values = part.substr(equals + 1);
    if (axis == 0 && values.ends_with("smp")) {
      grid.time_in_samples = true;
      values.remove_suffix(3);
    }
    const auto numbers = split(values, ':');
    if (numbers.size() != 3) usage_error(option + ": " + quoted(part) + " needs three numbers, A:B:STEP");
    const std::string where = option + ": axis " + names[axis];
    *axes[axis] = {parse_number(numbers[0], where), parse_number(numbers[1], where), parse_number(numbers[2], where)};
    if (!(axes[axis]->step > 0)) usage_error(where + ": the step must be above 0");
    if (axes[axis]->last < axes[axis]->first) usage_error(where + ": ends before it begins");
  }
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (!given[axis]) usage_error(option + ": axis " + names[axis] + " is missing; " + form);
  return grid;
}

}  // namespace envoi::command
