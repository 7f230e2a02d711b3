// --plan: scales, atoms, operations, memory and time, before anything is searched.
#include "plan.hpp"

#include <algorithm>
#include <cstdio>

#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "results/names.hpp"
#include "results/quantity.hpp"

namespace envoi::command {
namespace {

using results::plain_quantity;
using results::quantity;

std::string range_text(const std::optional<Range>& range, const char* unit) {
  if (!range) return "as the band and the durations allow";
  return plain_quantity(range->low, unit) + " to " + plain_quantity(range->high, unit);
}

std::string row(const char* name, const std::string& value) {
  char text[40];
  std::snprintf(text, sizeof text, "  %-20s", name);
  return text + value + "\n";
}

std::string bytes_text(double bytes) {
  return bytes < 1e6   ? results::rounded(bytes / 1e3, 3) + " kB"
         : bytes < 1e9 ? results::rounded(bytes / 1e6, 3) + " MB"
                       : results::rounded(bytes / 1e9, 3) + " GB";
}

std::string one(const Plan& plan, double rate_hz) {
  const PursuitOptions& o = plan.options;
  std::string text =
      row(o.whole_signal ? "whole signal" : "windows",
          (o.whole_signal ? "" : std::to_string(plan.segments) + " of ") + std::to_string(plan.samples_per_segment) +
              " samples, " + plain_quantity(static_cast<double>(plan.samples_per_segment) / rate_hz, "s"));
  if (!o.grid) {
    text += row("band", range_text(o.band_hz, "Hz")) + row("durations", range_text(o.durations_s, "s")) +
            row("chirp rates", range_text(o.chirp_rates_hz_per_s, "Hz/s")) +
            row("grid's promise",
                "at least " + results::rounded(100 * (1 - plan.grid.max_loss), 3) + " % of any atom's energy");
  }
  std::string stops;
  const auto stop = [&stops](const std::string& rule) { stops += (stops.empty() ? "" : ", ") + rule; };
  if (o.stop.atoms) stop(results::counted(*o.stop.atoms, "atom"));
  if (o.stop.snr_db) stop(results::rounded(*o.stop.snr_db, 4) + " dB");
  if (o.stop.energy_left_share) stop(results::rounded(100 * *o.stop.energy_left_share, 3) + " % left");
  if (o.stop.noise_p) stop("noise at " + results::rounded(*o.stop.noise_p, 2));
  if (o.stop.threshold) stop("atoms of less energy than " + results::rounded(*o.stop.threshold, 4));
  if (o.stop.density_per_s) stop(results::rounded(*o.stop.density_per_s, 4) + " atoms a second");
  text += row("stops at", stops) + row("method", std::string(results::name_of(results::kMethods, o.method)));
  text += row("scales", std::to_string(plan.grid.scales.size()));
  std::size_t next = 0;
  for (const Plan::Search& search : plan.search) {
    const bool alone = search.scales == 1;
    for (const std::size_t end = next + search.scales; next < end; ++next) {
      const GridScale& scale = plan.grid.scales[next];
      text += row("", quantity(scale.duration_s, "s", 3) + "  " + std::to_string(scale.atoms) + " atoms" +
                          (alone ? "  by " + search.way : ""));
    }
    if (!alone) text += row("", "all " + std::to_string(search.scales) + " by " + search.way);
  }
  text += row(o.whole_signal ? "atoms of a stretch" : "atoms in the grid", std::to_string(plan.grid.atoms_per_segment));
  text += row("one search", results::rounded(plan.operations_per_search / 1e9, 3) + " G operations");
  text += row("memory", bytes_text(plan.memory_bytes));
  text += row("expected time",
              quantity(plan.expected_seconds, "s", 2) +
                  (o.whole_signal ? " if nothing but the density stops it" : " if every window takes all its atoms"));
  return text;
}

}  // namespace

std::string plan_text(const Recording& recording, const PursuitOptions& options) {
  if (recording.channels.empty())
    throw Error(ErrorKind::bad_file, recording.name + ": there is no data channel to analyse");
  std::string text = recording.name + "\n";
  double total = 0;
  for (std::size_t first = 0; first < recording.channels.size();) {
    // Channels that are alike are planned once.
    const Channel& channel = recording.channels[first];
    std::string names = channel.name;
    std::size_t next = first + 1;
    while (next < recording.channels.size() && recording.channels[next].rate_hz == channel.rate_hz &&
           recording.channels[next].samples.size() == channel.samples.size() &&
           recording.channels[next].kind == channel.kind)
      names += ", " + recording.channels[next++].name;
    const Plan p = plan(channel, options);
    text += "channel " + names + ", " + plain_quantity(channel.rate_hz, "Hz") + "\n" + one(p, channel.rate_hz);
    total += p.expected_seconds * static_cast<double>(next - first);
    first = next;
  }
  if (recording.channels.size() > 1)
    text += std::to_string(recording.channels.size()) + " channels, expected time " + quantity(total, "s", 2) + "\n";
  return text;
}

}  // namespace envoi::command
