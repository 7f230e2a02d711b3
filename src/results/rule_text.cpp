// "spindle: 11-16 Hz, 0.5-2 s, peak > 10 uV" to a Rule.
#include <charconv>
#include <cmath>

#include "envoi/error.hpp"
#include "envoi/rules.hpp"
#include "results/units.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

using signal::printable;
using signal::trimmed;

[[noreturn]] void refuse(std::string_view rule, const std::string& what) {
  throw Error(ErrorKind::bad_argument, "rule '" + printable(rule, 100) + "': " + what);
}

constexpr const char* kForm = "; conditions are like 11-16 Hz, 0.5-2 s, -20..-5 Hz/s, > 5 %, peak > 10 uV, channel C*";

// The number at the front of `text`, taken off it.
std::optional<double> take_number(std::string_view& text) {
  text = trimmed(text);
  std::string_view rest = text;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (fault != std::errc{} || !std::isfinite(value)) return std::nullopt;
  text = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
  return value;
}

struct Condition {
  std::string_view word;
  Bounds bounds;
  std::string_view unit;
};

Condition parse_condition(std::string_view rule, std::string_view text) {
  const auto bad = [&](const char* what) { refuse(rule, "'" + printable(text, 60) + "' " + what + kForm); };
  Condition condition;
  const std::size_t value = std::min(text.find_first_of("0123456789+-.<>="), text.size());
  condition.word = trimmed(text.substr(0, value));
  std::string_view rest = text.substr(value);
  if (rest.empty()) bad("has no number");
  if (rest[0] == '<' || rest[0] == '>') {
    const bool above = rest[0] == '>';
    rest.remove_prefix(rest.starts_with("<=") || rest.starts_with(">=") ? 2 : 1);
    const auto limit = take_number(rest);
    if (!limit) bad("has no number after its sign");
    (above ? condition.bounds.low : condition.bounds.high) = limit;
  } else {
    // "11..16" apart, since "11." is a number.
    const std::size_t dots = rest.find("..");
    std::string_view first = rest.substr(0, dots);
    condition.bounds.low = take_number(first);
    if (!condition.bounds.low) bad("is no range");
    if (dots != rest.npos) {
      if (!first.empty()) bad("is no range");
      rest.remove_prefix(dots + 2);
    } else if (first.starts_with('-') || first.starts_with(':')) {
      rest = first.substr(1);
    } else if (first.starts_with("\u2013")) {  // a dash between numbers, as it is printed
      rest = first.substr(std::string_view("\u2013").size());
    } else {
      bad("is a single number; write a range or a limit");
    }
    condition.bounds.high = take_number(rest);
    if (!condition.bounds.high) bad("has no second number");
    if (*condition.bounds.low > *condition.bounds.high) bad("is upside down");
  }
  condition.unit = rest;
  return condition;
}

// A lower and an upper limit may come apart.
void narrow(std::string_view rule, Bounds& to, const Bounds& by, double factor) {
  for (const auto side : {&Bounds::low, &Bounds::high}) {
    if (!(by.*side)) continue;
    if (to.*side)
      refuse(rule, std::string("two ") + (side == &Bounds::low ? "lower" : "upper") +
                       " limits of one quantity; give one (what may be either needs a rule for each)");
    to.*side = *(by.*side) * factor;
  }
}

void take_level(std::string_view rule, const Condition& condition, Bounds& bounds, std::string& unit) {
  double factor = 1;
  if (bounds.empty()) {
    unit = signal::normal_unit(condition.unit);
  } else {
    const auto known = results::unit_factor(condition.unit, unit);
    if (!known) refuse(rule, "'" + printable(condition.unit) + "' and '" + printable(unit) + "' are not of one kind");
    factor = *known;
  }
  narrow(rule, bounds, condition.bounds, factor);
}

void take_condition(std::string_view rule, std::string_view text, Rule& out) {
  if (text.empty()) refuse(rule, std::string("has an empty condition") + kForm);
  if (text.starts_with("channel")) {
    std::string_view name = trimmed(text.substr(7));
    if (name.starts_with('=')) name = trimmed(name.substr(1));
    if (name.empty()) refuse(rule, "'channel' without a name");
    if (!out.channel.empty())
      refuse(rule, "'channel' is given twice; an atom lies in one channel (write a rule for each, or a pattern: C*)");
    out.channel = name;
    return;
  }
  const Condition c = parse_condition(rule, text);
  if (c.word == "peak") return take_level(rule, c, out.peak, out.peak_unit);
  if (c.word == "amplitude") return take_level(rule, c, out.amplitude, out.amplitude_unit);
  struct Quantity {
    const char* words[3];
    const char* unit;
    Bounds& bounds;
  };
  const Quantity quantities[] = {
      {{"frequency", "frequencies", "freq"}, "Hz", out.frequency_hz},
      {{"width", "duration", "length"}, "s", out.width_s},
      {{"chirp rate", "chirp", "slope"}, "Hz/s", out.chirp_rate_hz_per_s},
      {{"share", "energy", "energy share"}, "%", out.energy_share},
  };
  for (const Quantity& quantity : quantities) {
    bool named = false;
    for (const char* word : quantity.words) named = named || c.word == word;
    if (!named && !c.word.empty()) continue;
    const auto factor = results::unit_factor(c.unit, quantity.unit);
    if (!factor && !named) continue;
    if (!factor)
      refuse(rule, "'" + printable(text, 60) + "' needs a unit of " + quantity.unit + ", such as '" +
                       std::string(quantity.unit) + "' itself");
    narrow(rule, quantity.bounds, c.bounds, quantity.unit == std::string_view("%") ? 0.01 : *factor);
    return;
  }
  if (c.word.empty() && !c.unit.empty())
    refuse(rule, "'" + printable(text, 60) + "': write peak or amplitude before a value in '" + printable(c.unit) +
                     "'" + kForm);
  refuse(rule, "'" + printable(text, 60) + "' is not a condition known here" + kForm);
}

}  // namespace

Rule parse_rule(std::string_view text) {
  const std::size_t colon = text.find(':');
  Rule rule;
  rule.name = trimmed(text.substr(0, colon));
  if (colon == text.npos || rule.name.empty())
    refuse(text, std::string("has no name; write NAME: CONDITION, CONDITION, ...") + kForm);
  if (rule.name != printable(rule.name, rule.name.size()))
    refuse(text, "the name holds control characters, or is not UTF-8");
  for (std::size_t at = colon + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    take_condition(text, trimmed(text.substr(at, comma - at)), rule);
    at = comma + 1;
  }
  return rule;
}

}  // namespace envoi
