// A decomposition as a table for people at a terminal. Rounded; the other formats hold every digit.
#include <algorithm>
#include <cmath>
#include <vector>

#include "envoi/results.hpp"
#include "results/names.hpp"
#include "results/quantity.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

using results::display_width;
using results::plain_quantity;
using results::quantity;
using results::quantity_with_error;

constexpr std::size_t kMostRows = 200;
constexpr std::size_t kMostEmptyLines = 40;  // segments without an atom have a line of their own up to so many segments
constexpr double kFwhm = 2.3548200450309493;  // full width at half maximum of exp(-t^2/2)
constexpr double kTradeOff = 1.5;             // amplitude over peak

using Row = std::vector<std::string>;

struct Layout {
  bool errors;
  bool width;  // the column of full widths at half maximum
};

// Times of a recording: seconds with the decimals that tell its samples apart.
std::string time_text(double time_s, double rate_hz) {
  const int decimals = std::clamp(static_cast<int>(std::ceil(std::log10(std::max(rate_hz, 1.0)))), 2, 9);
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, time_s);
  return text;
}

Row heading(const Layout& layout, bool shares) {
  Row row = {"", "time", "frequency", "duration"};
  if (layout.width) row.push_back("FWHM");
  for (const char* name : {"chirp rate", "peak", shares ? "share" : "left"}) row.push_back(name);
  return row;
}

Row atom_row(const Chirplet& a, std::size_t order, const AnalysedChannel& channel, const Layout& layout, bool shares) {
  const auto cell = [&](double value, double error, std::string_view unit, int digits) {
    return layout.errors ? quantity_with_error(value, error, unit, digits) : quantity(value, unit, digits);
  };
  const bool traded = a.amplitude > kTradeOff * a.peak;
  Row row = {std::to_string(order)};
  std::string time = time_text(a.time_s, channel.rate_hz) + " s";
  if (layout.errors && std::isfinite(a.se.time_s)) time += " ±" + quantity(a.se.time_s, "s", 2);
  row.push_back(time);
  row.push_back(cell(a.frequency_hz, a.se.frequency_hz, "Hz", 4));
  row.push_back(cell(a.duration_s, a.se.duration_s, "s", 3));
  if (layout.width) row.push_back(quantity(kFwhm * a.duration_s, "s", 3));
  row.push_back(a.chirp_rate_hz_per_s == 0 ? "0 Hz/s"
                                           : cell(a.chirp_rate_hz_per_s, a.se.chirp_rate_hz_per_s, "Hz/s", 3));
  // The peak is as sure as the amplitude, except where amplitude and phase trade off.
  row.push_back(cell(a.peak, traded ? kUndetermined : a.se.amplitude, channel.unit, 3) + (traded ? "*" : ""));
  const double share = shares ? a.energy_share : a.energy_left_share;
  row.push_back(std::isfinite(share) ? results::rounded(100 * share, 3) + " %" : "-");
  return row;
}

std::string segment_line(const Decomposition& result, const Segment& s) {
  const AnalysedChannel& channel = result.channels.at(s.channel);
  const double end_s = s.start_s + static_cast<double>(s.samples) / channel.rate_hz;
  std::string line = "channel " + signal::printable(channel.name, 60) + ", " + time_text(s.start_s, channel.rate_hz) +
                     " to " + time_text(end_s, channel.rate_hz) + " s";
  if (!s.event.empty())
    line += ", event '" + signal::printable(s.event, 60) + "' at " + time_text(s.event_s, channel.rate_hz) + " s";
  if (s.stop_reason == StopReason::missing)
    return line + ": left out, " + std::to_string(s.missing_samples) + " samples missing";
  if (s.stop_reason == StopReason::silence && s.atom_count == 0) return line + ": silence";
  line += ": " + std::to_string(s.atom_count) + (s.atom_count == 1 ? " atom" : " atoms");
  if (s.atom_count > 0 && !std::isnan(s.snr_db))  // books of other programs do not say it
    line += ", SNR " + results::rounded(s.snr_db, 4) + " dB, " + results::rounded(100 * s.energy_left_share, 3) +
            " % of the energy left";
  line += ", stopped by " + std::string(to_string(s.stop_reason));
  if (s.in_band_share < 0.9995)
    line += "; " + results::rounded(100 * s.in_band_share, 3) + " % of the energy is in the band";
  return line;
}

std::string range_text(const Range& range, std::string_view unit) {
  return plain_quantity(range.low, unit) + " to " + plain_quantity(range.high, unit);
}

std::string head(const Decomposition& result) {
  const PursuitOptions& o = result.options;
  std::string text = signal::printable(result.source.name.empty() ? "signal" : result.source.name, 200);
  if (!result.source.format.empty()) text += "  " + result.source.format;
  if (!result.source.start.empty()) text += "  from " + signal::printable(result.source.start);
  text += '\n';
  for (std::size_t i = 0; i < std::min<std::size_t>(result.channels.size(), 8); ++i) {
    const AnalysedChannel& channel = result.channels[i];
    text += (i == 0 ? "channel " : ", ") + signal::printable(channel.name, 60) + " at " +
            plain_quantity(channel.rate_hz, "Hz");
  }
  if (result.channels.size() > 8) text += ", ... (" + std::to_string(result.channels.size()) + " channels)";
  text += '\n';
  text += "method " + std::string(results::name_of(results::kMethods, o.method));
  text += o.whole || !o.window_s ? "  window: whole" : "  window " + plain_quantity(*o.window_s, "s");
  if (o.hop_s && o.window_s && *o.hop_s != *o.window_s) text += ", hop " + plain_quantity(*o.hop_s, "s");
  if (o.band_hz) text += "  band " + range_text(*o.band_hz, "Hz");
  if (o.durations_s) text += "  durations " + range_text(*o.durations_s, "s");
  return text + "\n";
}

std::string padded(const Row& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < row.size(); ++c) line += std::string(2 + widths[c] - display_width(row[c]), ' ') + row[c];
  return line + "\n";
}

// The lines below the head, in one layout.
struct Body {
  struct Line {
    std::string text;  // a segment's, or empty:
    Row row;           // an atom's
  };
  std::vector<Line> lines;
  std::vector<std::size_t> widths;
  std::size_t shown = 0, hidden = 0, not_kept = 0, without = 0, left_out = 0;
  bool traded = false;

  std::size_t width() const {
    std::size_t total = 0;
    for (const std::size_t w : widths) total += 2 + w;
    return total;
  }
  void add(Row row) {
    widths.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c]));
    lines.push_back({"", std::move(row)});
  }
};

Body body(const Decomposition& result, const Layout& layout, bool shares) {
  Body out;
  out.add(heading(layout, shares));
  for (const Segment& segment : result.segments) {
    if (segment.stop_reason == StopReason::missing)
      ++out.left_out;
    else if (segment.atom_count == 0)
      ++out.without;
    const bool worth_a_line = segment.atom_count > 0 || result.segments.size() <= kMostEmptyLines;
    if (out.shown < kMostRows && worth_a_line) out.lines.push_back({segment_line(result, segment), {}});
    std::size_t order = 0;
    for (const Chirplet& atom : result.atoms_of(segment)) {
      ++order;
      if (!atom.kept) {
        ++out.not_kept;
      } else if (out.shown == kMostRows) {
        ++out.hidden;
      } else {
        ++out.shown;
        out.traded = out.traded || atom.amplitude > kTradeOff * atom.peak;
        out.add(atom_row(atom, order, result.channels.at(segment.channel), layout, shares));
      }
    }
  }
  return out;
}

std::string foot(const Decomposition& result, const Body& rows) {
  std::string text;
  if (rows.hidden > 0)
    text += std::to_string(rows.hidden) + " more atoms are not shown; -o FILE.json or FILE.tsv holds them all\n";
  if (result.segments.size() > 1) {
    text +=
        results::counted(result.segments.size(), "segment") + ", " + results::counted(rows.shown + rows.hidden, "atom");
    if (rows.without > 0) text += "; " + std::to_string(rows.without) + " without an atom";
    if (rows.left_out > 0) text += "; " + std::to_string(rows.left_out) + " left out for missing samples";
    text += '\n';
  }
  if (rows.not_kept > 0)
    text += std::to_string(rows.not_kept) + " atoms that belong to an overlapping window are not shown\n";
  if (rows.traded)
    text += "* amplitude and phase trade off here (amplitude above 1.5 times the peak): trust the peak\n";
  return text;
}

}  // namespace

std::string to_table(const Decomposition& result, int columns) {
  const bool shares = std::all_of(result.atoms.begin(), result.atoms.end(),
                                  [](const Chirplet& atom) { return std::isfinite(atom.energy_share); });
  Body rows;
  for (const Layout layout : {Layout{true, true}, Layout{true, false}, Layout{false, true}, Layout{false, false}}) {
    rows = body(result, layout, shares);
    if (rows.width() <= static_cast<std::size_t>(std::max(columns, 0))) break;
  }
  std::string text = head(result) + "\n";
  if (result.segments.empty()) text += "no segments\n";
  for (std::size_t i = result.atoms.empty() ? 1 : 0; i < rows.lines.size(); ++i) {
    const Body::Line& line = rows.lines[i];
    const bool gap = i > 1 && line.row.empty() && !rows.lines[i - 1].row.empty();
    text += (gap ? "\n" : "") + (line.row.empty() ? line.text + "\n" : padded(line.row, rows.widths));
  }
  const std::string end = foot(result, rows);
  return end.empty() ? text : text + "\n" + end;
}

}  // namespace envoi
