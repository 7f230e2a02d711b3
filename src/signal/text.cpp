// Text, CSV and TSV: chooses the columns of data and of time, and makes channels of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "channel_type.hpp"
#include "device_text.hpp"
#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"
#include "text_table.hpp"
#include "time_axis.hpp"

namespace envoi::signal {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct ColumnLabel {
  std::string name;
  std::string unit;
};

// "Fp1 (uV)" or "Fp1 [uV]": a name and its unit.
ColumnLabel label_of(const std::string& header) {
  for (const char* brackets : {"()", "[]"}) {
    const std::size_t open = header.rfind(brackets[0]);
    if (open == std::string::npos || open == 0 || header.back() != brackets[1]) continue;
    const std::string_view unit = trimmed(std::string_view(header).substr(open + 1, header.size() - open - 2));
    const std::string_view name = trimmed(std::string_view(header).substr(0, open));
    if (name.empty() || unit.empty() || unit.size() > 16 || unit.find(' ') != std::string_view::npos) continue;
    if (parse_number(unit)) continue;
    return {std::string(name), normal_unit(unit)};
  }
  return {header, ""};
}

// A header as it stands, or without its unit, or a 1-based number.
std::size_t find_column(const Input& input, const TextLayout& layout, const std::string& wanted) {
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (layout.names[i] == wanted) return i;
  }
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (label_of(layout.names[i]).name == wanted) return i;
  }
  if (const auto number = parse_integer(wanted)) {
    if (*number >= 1 && static_cast<std::uint64_t>(*number) <= layout.columns) {
      return static_cast<std::size_t>(*number - 1);
    }
  }
  bad_argument(input.name, "no column '" + printable(wanted) + "'; there are: " +
                               (layout.names.empty() ? "1 to " + std::to_string(layout.columns) + ", without names"
                                                     : list_of(layout.names)));
}

// The column whose header says that it is time.
std::optional<std::size_t> named_time_column(const TextLayout& layout) {
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (layout.numeric[i] && time_unit_of(layout.names[i]) > 0) return i;
  }
  return std::nullopt;
}

// 0, 1, 2, ... or 1, 2, 3, ...: rows counted, not time.
bool counts_rows(const std::vector<double>& values) {
  if (values.size() < 2 || (values[0] != 0 && values[0] != 1)) return false;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] != values[0] + static_cast<double>(i)) return false;
  }
  return true;
}

bool looks_like_time(const std::vector<double>& values) {
  if (values.size() < 3) return false;
  const TimeAxis axis = fit_time_axis(values);
  const double share = values.size() < 8 ? 1e-6 : 0.25;
  return axis.fits && axis.positions.empty() && axis.jitter_s * axis.rate_hz <= share;
}

TimeAxis axis_of(const Input& input, const TextLayout& layout, std::size_t column, std::vector<double>& times,
                 double unit_s, const ReadOptions& options, std::vector<std::string>& warnings) {
  const std::string what = "time column " + layout.name_of(column);
  for (double& time : times) time *= unit_s;
  if (times.size() == 1) {
    TimeAxis one;
    one.start_s = times[0];
    if (!std::isfinite(times[0])) bad_file(input.name, what + " holds no number");
    one.rate_hz = required_rate(input.name, options);
    one.samples = 1;
    return one;
  }
  TimeAxis axis = fit_time_axis(times);
  const auto line = [&] { return "line " + std::to_string(line_of_row(layout, axis.row)); };
  if (axis.out_of_order) {
    const double here = times[axis.row], before = times[axis.row - 1];
    if (!std::isfinite(here) || !std::isfinite(before)) {
      if (std::isfinite(here)) axis.row -= 1;
      bad_file(input.name, line() + ": " + what + " holds no number; correct it or name another with --time-column");
    }
    bad_file(input.name, line() + ": " + what + " goes from " + rounded(before, 12) + " s to " + rounded(here, 12) +
                             " s, but time must rise; correct it or name another with --time-column");
  }
  if (!axis.fits) {
    bad_file(input.name, what + " is not evenly spaced (" + rounded(axis.worst_s, 3) + " s off at " + line() +
                             "); resample it, or give --time-column none and --rate to take the rows as even");
  }
  if (!axis.positions.empty()) {
    const double rows = static_cast<double>(times.size()), samples = static_cast<double>(axis.samples);
    if ((samples - rows) * static_cast<double>(layout.columns) >
        32 * rows * static_cast<double>(layout.columns) + 1e6) {
      bad_file(input.name, "the gaps in " + what + " make " + rounded(samples, 9) + " samples out of " +
                               std::to_string(times.size()) + " rows; cut it into parts first");
    }
    warnings.push_back(what + ": " + std::to_string(axis.samples - times.size()) +
                       " rows are absent and filled with missing samples");
  }
  if (axis.jitter_s * axis.rate_hz > 0.01) {
    warnings.push_back(what + " is up to " + rounded(axis.jitter_s, 3) + " s (" +
                       rounded(100 * axis.jitter_s * axis.rate_hz, 2) + "% of a sample) off even spacing; taken as " +
                       rounded(axis.rate_hz, 9) + " Hz");
  }
  if (options.rate_hz) {
    const double given_hz = required_rate(input.name, options);
    const double drift = std::abs(given_hz / axis.rate_hz - 1);
    if (drift > 1e-4 && drift * static_cast<double>(axis.samples) > 0.5) {
      if (options.rate_is_fallback) return axis;
      bad_argument(input.name, what + " gives " + rounded(axis.rate_hz, 9) + " Hz, but --rate says " +
                                   rounded(given_hz, 9) + " Hz; leave --rate out, or give --time-column none");
    }
    axis.rate_hz = given_hz;
  }
  return axis;
}

struct Columns {
  std::vector<std::size_t> data;
  std::optional<std::size_t> time;
  std::optional<std::size_t> guess;  // may turn out to be time by its values
};

Columns choose_columns(const Input& input, const TextLayout& layout, const ReadOptions& options,
                       std::vector<std::string>& warnings) {
  Columns chosen;
  std::optional<std::size_t> wanted;
  if (!options.column.empty()) wanted = find_column(input, layout, options.column);
  const bool no_time = options.time_column == "none";
  if (!no_time && !options.time_column.empty()) {
    chosen.time = find_column(input, layout, options.time_column);
    if (chosen.time == wanted) bad_argument(input.name, "--column and --time-column name the same column");
  } else if (!no_time) {
    chosen.time = named_time_column(layout);
    if (chosen.time == wanted) chosen.time.reset();
  }
  if (wanted) {
    chosen.data.push_back(*wanted);
  } else {
    for (std::size_t i = 0; i < layout.columns; ++i) {
      if (i == chosen.time) continue;
      if (layout.numeric[i]) {
        chosen.data.push_back(i);
      } else {
        warnings.push_back("column " + layout.name_of(i) + " holds no numbers and is left out");
      }
    }
  }
  if (chosen.data.empty()) bad_file(input.name, "has a time column and nothing beside it");
  // A header that names no time says that none is there, unless the rate would be missing without it.
  if (!chosen.time && !no_time && (layout.names.empty() || layout.names[0].empty() || !options.rate_hz)) {
    const auto first = std::find(layout.numeric.begin(), layout.numeric.end(), true);
    const auto index = static_cast<std::size_t>(first - layout.numeric.begin());
    const bool others = wanted ? index != *wanted : chosen.data.size() > 1;
    if (first != layout.numeric.end() && others) chosen.guess = index;
  }
  return chosen;
}

// Rows to their places; the others are missing samples.
std::vector<double> spread(const std::vector<double>& rows, const TimeAxis& axis) {
  std::vector<double> samples(axis.samples, kMissing);
  for (std::size_t i = 0; i < rows.size(); ++i) samples[axis.positions[i]] = rows[i];
  return samples;
}

}  // namespace

Recording read_text(const Input& input, const ReadOptions& options) {
  if (options.rate_hz) required_rate(input.name, options);
  if (options.column.empty() && options.time_column.empty()) {
    if (auto recording = read_device_text(input, options)) return std::move(*recording);
  }
  const TextLayout layout = find_text_layout(input);
  Recording recording;
  recording.format = "text";
  recording.warnings = layout.warnings;

  Columns chosen = choose_columns(input, layout, options, recording.warnings);
  std::vector<std::size_t> parsed = chosen.data;
  for (const auto& extra : {chosen.time, chosen.guess}) {
    if (extra && std::find(parsed.begin(), parsed.end(), *extra) == parsed.end()) parsed.push_back(*extra);
  }
  std::vector<std::vector<double>> values = parse_text_columns(input, layout, parsed);
  const auto values_of = [&](std::size_t column) -> std::vector<double>& {
    return values[static_cast<std::size_t>(std::find(parsed.begin(), parsed.end(), column) - parsed.begin())];
  };

  double unit_s = 1;
  if (chosen.time) {
    if (!layout.names.empty()) unit_s = time_unit_of(layout.names[*chosen.time]);
    if (unit_s == 0) unit_s = 1;
  } else if (chosen.guess) {
    const std::vector<double>& first = values_of(*chosen.guess);
    if (counts_rows(first)) {
      std::erase(chosen.data, *chosen.guess);
      recording.warnings.push_back("column " + layout.name_of(*chosen.guess) + " counts the rows and is left out");
    } else if (looks_like_time(first)) {
      std::erase(chosen.data, *chosen.guess);
      chosen.time = chosen.guess;
      recording.warnings.push_back("column " + layout.name_of(*chosen.guess) +
                                   " rises evenly and is taken as time in seconds");
    }
  }

  TimeAxis axis;
  if (chosen.time) {
    axis = axis_of(input, layout, *chosen.time, values_of(*chosen.time), unit_s, options, recording.warnings);
  } else {
    axis.rate_hz = required_rate(input.name, options);
  }

  // A delimiter at the end of every line makes an empty column.
  const std::size_t last = layout.columns - 1;
  if (chosen.data.size() > 1 && chosen.data.back() == last && (layout.names.empty() || layout.names[last].empty())) {
    const std::vector<double>& tail = values_of(last);
    if (std::all_of(tail.begin(), tail.end(), [](double v) { return std::isnan(v); })) chosen.data.pop_back();
  }

  std::vector<std::string> names;
  std::vector<ColumnLabel> labels;
  for (const std::size_t column : chosen.data) {
    labels.push_back(label_of(layout.names.empty() ? "" : layout.names[column]));
    names.push_back(labels.back().name.empty() ? std::to_string(column + 1) : labels.back().name);
  }
  make_unique(names);
  std::vector<std::string> types;
  for (const std::string& name : names) types.push_back(type_of_label(name));
  const std::vector<std::size_t> selected = wanted_channels(input, names, types, options);

  Crop crop(input.name, options);
  std::size_t blank_lines = 0;
  for (const std::size_t i : selected) {
    Channel channel;
    channel.name = names[i];
    channel.type = types[i];
    channel.unit = labels[i].unit;
    channel.rate_hz = axis.rate_hz;
    channel.start_s = axis.start_s;
    std::vector<double>& rows = values_of(chosen.data[i]);
    channel.samples = axis.positions.empty() ? std::move(rows) : spread(rows, axis);
    blank_lines = static_cast<std::size_t>(
        std::count_if(channel.samples.begin(), channel.samples.end(), [](double v) { return std::isnan(v); }));
    crop.apply(channel);
    recording.channels.push_back(std::move(channel));
  }
  if (layout.columns == 1 && blank_lines > 0) {
    recording.warnings.push_back(std::to_string(blank_lines) + " empty lines or nan are taken as missing samples");
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
