// Rules applied to the atoms of a result.
#include "envoi/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/glob.hpp"
#include "envoi/error.hpp"
#include "results/units.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

using signal::printable;

const double kWidthPerDuration = 2 * std::sqrt(2 * std::numbers::ln2);  // full width at half maximum

[[noreturn]] void refuse(const Rule& rule, const std::string& what) {
  throw Error(ErrorKind::bad_argument, "rule '" + printable(rule.name, 100) + "': " + what);
}

// Bounds in the channel's unit.
Bounds in_unit_of(const Rule& rule, const AnalysedChannel& channel, const Bounds& bounds, const std::string& unit) {
  if (bounds.empty()) return bounds;
  const std::string where = "channel '" + printable(channel.name) + "'";
  if (unit.empty() && !channel.unit.empty())
    refuse(rule, where + " is in " + printable(channel.unit) + "; write that, or a multiple of it, after the number");
  if (!unit.empty() && channel.unit.empty())
    refuse(rule, where + " has no unit, so nothing is known of " + printable(unit) +
                     " in it; leave the unit out, and the number counts as the channel's numbers do");
  const auto factor = results::unit_factor(unit, channel.unit);
  if (!factor)
    refuse(rule, where + " is in " + printable(channel.unit) + ", which cannot be compared with " + printable(unit));
  Bounds out;
  if (bounds.low) out.low = *bounds.low * *factor;
  if (bounds.high) out.high = *bounds.high * *factor;
  return out;
}

void apply(const Decomposition& result, const Rule& rule, std::vector<AtomAnnotation>& out) {
  std::vector<std::optional<Rule>> of_channel(result.channels.size());  // in its unit; none: another channel
  std::string names;
  for (std::size_t i = 0; i < result.channels.size(); ++i) {
    const AnalysedChannel& channel = result.channels[i];
    names += (i ? ", " : "") + printable(channel.name);
    if (!rule.channel.empty() && rule.channel != channel.name && !core::matches_glob(rule.channel, channel.name))
      continue;
    of_channel[i] = rule;
    of_channel[i]->peak = in_unit_of(rule, channel, rule.peak, rule.peak_unit);
    of_channel[i]->amplitude = in_unit_of(rule, channel, rule.amplitude, rule.amplitude_unit);
  }
  if (std::none_of(of_channel.begin(), of_channel.end(), [](const auto& r) { return r.has_value(); }))
    refuse(rule, "no channel '" + printable(rule.channel) + "'; there are: " + (names.empty() ? "none" : names));
  for (const Segment& segment : result.segments) {
    const std::optional<Rule>& wanted = of_channel.at(segment.channel);
    if (!wanted) continue;
    for (std::size_t i = segment.first_atom; i < segment.first_atom + segment.atom_count; ++i) {
      const Chirplet& atom = result.atoms[i];
      const double width_s = kWidthPerDuration * atom.duration_s;
      if (!atom.kept || !wanted->frequency_hz.contain(atom.frequency_hz) || !wanted->width_s.contain(width_s) ||
          !wanted->chirp_rate_hz_per_s.contain(atom.chirp_rate_hz_per_s) || !wanted->peak.contain(atom.peak) ||
          !wanted->amplitude.contain(atom.amplitude) ||
          !wanted->energy_share.contain(segment.energy > 0 ? atom.energy / segment.energy : 0))
        continue;
      out.push_back({{atom.time_s - width_s / 2, width_s, rule.name}, result.channels[segment.channel].name, i});
    }
  }
}

}  // namespace

std::vector<AtomAnnotation> annotate(const Decomposition& result, std::span<const Rule> rules) {
  std::vector<AtomAnnotation> found;
  for (const Rule& rule : rules) apply(result, rule, found);
  std::stable_sort(found.begin(), found.end(), [](const AtomAnnotation& a, const AtomAnnotation& b) {
    return a.annotation.onset_s < b.annotation.onset_s;
  });
  return found;
}

}  // namespace envoi
