// The JSON of ACT-lib's analyser. Its atoms are real, of phase 0 and unit energy over their window:
//   coefficient g / |g|, g = exp(-t^2 / (2 Dt^2)) cos(2 pi (c t^2 + fc t)), t = 0 at the centre,
// so that its chirp rate is half of df/dt. Centres are samples: of the file where windows are combined, else of the
// window.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "envoi/error.hpp"
#include "results/foreign.hpp"
#include "results/json_text.hpp"
#include "results/measure.hpp"
#include "results/quantity.hpp"
#include "signal/shared.hpp"

namespace envoi::results {
namespace {

using nlohmann::json;

constexpr double kMostSamples = 1e9;  // of a window; their centres are no integers beyond
constexpr std::string_view kCombined = "multi_sample_combined";

// The members of one object, each checked where it is taken.
class Object {
 public:
  Object(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) fail("should be an object");
  }
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::bad_file, where_ + ": " + what); }

  const json& at(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) fail(std::string("has no member '") + key + "'");
    return *found;
  }
  bool has(const char* key) const { return value_.find(key) != value_.end(); }
  double number(const char* key) const {
    const json& value = at(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      fail(std::string("'") + key + "' should be a number");
    return value.get<double>();
  }
  double positive(const char* key) const {
    const double value = number(key);
    if (!(value > 0)) fail(std::string("'") + key + "' should be above 0");
    return value;
  }
  double samples(const char* key) const {  // a whole number, 0 or more
    const double value = number(key);
    if (!(value >= 0 && value < 1e15) || value != std::floor(value))
      fail(std::string("'") + key + "' should be a whole number of samples");
    return value;
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) fail(std::string("'") + key + "' should be a string");
    return value.get<std::string>();
  }
  const json& array(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) fail(std::string("'") + key + "' should be an array");
    return value;
  }

 private:
  const json& value_;
  std::string where_;
};

std::optional<ExplicitGrid> read_ranges(const Object& root, const std::string& name) {
  if (!root.has("param_ranges")) return std::nullopt;
  const Object ranges(root.at("param_ranges"), name + ": /param_ranges");
  const auto axis = [&](const std::string& key, double factor) {
    return Axis{factor * ranges.number((key + "_min").c_str()), factor * ranges.number((key + "_max").c_str()),
                factor * ranges.number((key + "_step").c_str())};
  };
  return ExplicitGrid{axis("tc", 1), true, axis("fc", 1), axis("logDt", 1), axis("c", 2)};
}

json parse_document(std::string_view text, const std::string& name) {
  try {
    return json::parse(text);
  } catch (const json::exception& fault) {
    std::string_view reason = fault.what();
    if (const auto bracket = reason.find("] "); bracket != reason.npos) reason.remove_prefix(bracket + 2);
    throw Error(ErrorKind::bad_file, name + ": no ACT-lib result: " + signal::printable(reason, 120));
  }
}

// First sample of each window, and how many samples one has.
struct Windows {
  std::vector<double> starts;
  double size = 0;
  double origin = 0;  // what centres count from
};

Windows read_windows(const Object& root, const std::string& kind) {
  Windows out;
  if (kind == kCombined) {
    out.size = root.samples("window_size");
    for (const json& start : root.array("window_starts")) {
      if (!start.is_number() || !(start.get<double>() >= 0 && start.get<double>() < 1e15))
        root.fail("'window_starts' should hold numbers of samples");
      if (!out.starts.empty() && !(start.get<double>() > out.starts.back())) root.fail("'window_starts' should rise");
      out.starts.push_back(start.get<double>());
    }
  } else if (kind == "single") {
    out.size = root.samples("num_samples");
    out.starts = {out.origin = root.samples("start_sample")};
  } else if (kind == "multi_sample") {
    out.size = root.samples("window_size");
    out.starts = {out.origin = root.samples("window_start")};
  } else {
    root.fail("analysis_type '" + signal::printable(kind) +
              "' is not known here; there are single, multi_sample and multi_sample_combined");
  }
  if (!(out.size > 0 && out.size < kMostSamples)) root.fail("the size of its windows cannot be right");
  return out;
}

Chirplet read_atom(const Object& atom, const Windows& windows, const Segment& segment, double rate) {
  Chirplet out;
  out.time_s = (windows.origin + atom.number("time_center_samples")) / rate;
  out.frequency_hz = atom.number("frequency_hz");
  out.duration_s = atom.positive("duration_ms") / 1000;
  out.chirp_rate_hz_per_s = 2 * atom.number("chirp_rate_hz_per_s");
  const double coefficient = atom.number("coefficient");
  out.amplitude = 1;
  const Measure unit = measure(out, segment, rate, 1 << 18);
  if (!(unit.energy > 0)) atom.fail("lies outside its window");
  out.amplitude = std::abs(coefficient) / std::sqrt(unit.energy);
  out.phase_rad = coefficient < 0 ? std::numbers::pi : 0;
  out.peak = unit.peak * out.amplitude;
  out.energy = coefficient * coefficient;
  out.energy_share = out.energy_left_share = kUndetermined;
  if (!std::isfinite(out.energy) || !std::isfinite(out.amplitude)) atom.fail("'coefficient' cannot be right");
  return out;
}

}  // namespace

bool is_act_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') return false;
  const std::string_view head = text.substr(0, std::size_t{1} << 16);
  return head.find("\"analysis_type\"") != head.npos && head.find("\"envoi.decomposition\"") == head.npos;
}

Decomposition read_act_json(std::string_view text, const std::string& name) {
  const json document = parse_document(text, name);
  const Object root(document, name);
  const double rate = root.positive("sampling_frequency");
  if (!(rate >= 1e-9 && rate <= 1e15)) root.fail("'sampling_frequency' cannot be right");
  const std::string kind = root.text("analysis_type");
  const Windows windows = read_windows(root, kind);

  Decomposition out;
  const std::string file = root.has("source_file") ? root.text("source_file") : "";
  out.source.name = file.substr(file.find_last_of("/\\") + 1);
  out.source.format = "act";
  out.rate_hz = rate;
  out.channels = {{root.has("column_name") ? root.text("column_name") : "1", "", rate, 0}};
  if (root.has("column_name")) out.input.column = root.text("column_name");
  out.input.rate_hz = rate;
  out.options.grid = read_ranges(root, name);
  out.options.phase = Phase::fixed;
  out.options.window_s = windows.size / rate;
  if (kind == kCombined) out.options.hop_s = (windows.size - root.samples("overlap")) / rate;
  out.warnings = {"ACT-lib takes the mean off and does not say it; the reconstruction is without"};

  const Object result(root.at("result"), name + ": /result");
  const json& atoms = result.array("chirplets");
  for (const double start : windows.starts) {
    Segment segment;
    segment.start_s = start / rate;
    segment.samples = static_cast<std::size_t>(windows.size);
    segment.energy = segment.in_band_share = segment.energy_left_share = segment.snr_db = kUndetermined;
    out.segments.push_back(segment);
  }
  // The count within a window begins again with each. A window without chirplets leaves no trace, but files of ours
  // tell how many each has.
  std::vector<double> counts;
  if (result.has("chirplets_per_window")) {
    for (const json& count : result.array("chirplets_per_window"))
      counts.push_back(count.is_number() ? count.get<double>() : -1);
  } else {
    double before = 0;
    for (const json& atom : atoms) {
      const double index = Object(atom, name + ": /result/chirplets").number("index");
      if (counts.empty() || index <= before) counts.push_back(0);
      ++counts.back();
      before = index;
    }
    if (counts.empty() && windows.starts.size() == 1) counts = {0};
  }
  if (counts.size() != windows.starts.size())
    result.fail("holds chirplets of " + std::to_string(counts.size()) + " windows, but there are " +
                std::to_string(windows.starts.size()));

  std::vector<std::vector<Chirplet>> found(windows.starts.size());
  std::size_t at = 0;
  for (std::size_t w = 0; w < found.size(); ++w) {
    for (double i = 0; i < counts[w] && at < atoms.size(); ++i, ++at) {
      const Object atom(atoms[at], name + ": /result/chirplets/" + std::to_string(at));
      found[w].push_back(read_atom(atom, windows, out.segments[w], rate));
    }
    if (static_cast<double>(found[w].size()) != counts[w]) result.fail("'chirplets_per_window' cannot be right");
  }
  if (at != atoms.size()) result.fail("'chirplets_per_window' leaves chirplets over");
  mark_kept(out.segments, found, rate);
  for (std::size_t w = 0; w < found.size(); ++w) {
    out.segments[w].first_atom = out.atoms.size();
    out.segments[w].atom_count = found[w].size();
    out.atoms.insert(out.atoms.end(), found[w].begin(), found[w].end());
  }
  return out;
}

// --- Writing ---------------------------------------------------------------------------------------------------------

namespace {

void add_ranges(JsonText& out, const PursuitOptions& o, double window_samples) {
  const auto axis = [&](const std::string& key, double factor, const Axis& a) {
    out.line(4), out.add(key + "_min", factor * a.first);
    out.add(key + "_max", factor * a.last);
    out.add(key + "_step", factor * a.step);
  };
  const auto range = [](const std::optional<Range>& r) { return r ? Axis{r->low, r->high, 0} : Axis{0, 0, 0}; };
  out.line(2), out.open("param_ranges", '{');
  if (o.grid && o.grid->time_in_samples) {
    axis("tc", 1, o.grid->time);
    axis("fc", 1, o.grid->frequency_hz);
    axis("logDt", 1, o.grid->ln_duration);
    axis("c", 0.5, o.grid->chirp_rate_hz_per_s);
  } else {
    Axis ln_duration = range(o.durations_s);
    if (o.durations_s && o.durations_s->low > 0)
      ln_duration = {std::log(o.durations_s->low), std::log(o.durations_s->high), 0};
    axis("tc", 1, {0, window_samples - 1, 0});
    axis("fc", 1, range(o.band_hz));
    axis("logDt", 1, ln_duration);
    axis("c", 0.5, range(o.chirp_rates_hz_per_s));
  }
  out.close('}');
}

std::uint64_t first_sample(const Segment& segment, double rate, const std::string& name) {
  const double exact = segment.start_s * rate, whole = std::round(exact);
  if (!(whole >= 0 && whole < 1e15) || std::abs(exact - whole) > 1e-3)
    signal::bad_argument(name, "ACT-lib counts samples from the file's start, and the segment at " +
                                   signal::rounded(segment.start_s, 9) + " s does not begin with one; write .json");
  return static_cast<std::uint64_t>(whole);
}

}  // namespace

std::string act_json_text(const Decomposition& result, const std::string& name) {
  if (result.channels.size() != 1 || result.segments.empty())
    signal::bad_argument(name, "ACT-lib's JSON holds one channel and its windows, not " +
                                   results::counted(result.channels.size(), "channel") + " and " +
                                   results::counted(result.segments.size(), "segment") +
                                   "; analyse one channel alone, or write .json");
  const double rate = result.channels.front().rate_hz;
  const std::vector<Segment>& segments = result.segments;
  const std::uint64_t size = segments.front().samples;
  std::size_t most = 0;
  for (const Segment& segment : segments) {
    most = std::max(most, segment.atom_count);
    if (segment.samples != size)
      signal::bad_argument(name, "ACT-lib's windows have one length, and these have " + std::to_string(size) + " and " +
                                     std::to_string(segment.samples) +
                                     " samples; analyse a whole number of windows, or " + "write .json");
    for (const Chirplet& atom : result.atoms_of(segment))
      if (std::abs(std::sin(atom.phase_rad)) > 1e-9)
        signal::bad_argument(name, "ACT-lib's chirplets have phase 0, and the one at " + signal::rounded(atom.time_s) +
                                       " s has " + signal::rounded(atom.phase_rad, 3) +
                                       " rad, which would be lost; analyse with --phase fixed, or write .json");
  }

  const std::uint64_t start = first_sample(segments.front(), rate, name);
  const std::uint64_t end = first_sample(segments.back(), rate, name) + size;
  const std::uint64_t hop = segments.size() > 1 ? first_sample(segments[1], rate, name) - start : size;
  JsonText out(true);
  out.open("", '{');
  out.line(2), out.add("title", result.source.name + " - " + result.channels.front().name);
  out.line(2), out.add("source_file", result.source.name);
  out.line(2), out.add("column_name", result.channels.front().name);
  out.line(2), out.add("column_index", std::uint64_t{0});
  out.line(2), out.add("start_sample", start);
  out.line(2), out.add("num_samples", end - start);
  out.line(2), out.add("sampling_frequency", rate);
  add_ranges(out, result.options, static_cast<double>(size));
  out.line(2), out.add("analysis_type", kCombined);
  out.line(2), out.add("num_chirps_per_window", std::uint64_t{most});
  out.line(2), out.add("end_sample", end);
  out.line(2), out.add("overlap", size > hop ? size - hop : std::uint64_t{0});
  out.line(2), out.add("window_size", size);
  out.line(2), out.open("window_starts", '[');
  for (const Segment& segment : segments) out.add("", first_sample(segment, rate, name));
  out.close(']');
  out.line(2), out.open("result", '{');
  out.line(4), out.open("error_per_window", '[');
  for (const Segment& segment : segments) out.add("", std::sqrt(segment.energy * segment.energy_left_share));
  out.close(']');
  out.line(4), out.open("chirplets_per_window", '[');
  for (const Segment& segment : segments) out.add("", std::uint64_t{segment.atom_count});
  out.close(']');
  out.line(4), out.open("chirplets", '[');
  for (const Segment& segment : segments) {
    std::uint64_t index = 0;
    for (const Chirplet& atom : result.atoms_of(segment)) {
      const double norm = std::sqrt(measure(atom, segment, rate).energy);
      out.line(6), out.open("", '{');
      out.add("index", ++index);
      const double centre =
          static_cast<double>(first_sample(segment, rate, name)) + (atom.time_s - segment.start_s) * rate;
      out.add("time_center_samples", centre);
      out.add("time_center_seconds", centre / rate);
      out.add("frequency_hz", atom.frequency_hz);
      out.add("duration_ms", 1000 * atom.duration_s);
      out.add("chirp_rate_hz_per_s", atom.chirp_rate_hz_per_s / 2);
      out.add("coefficient", (std::cos(atom.phase_rad) < 0) != (atom.amplitude < 0) ? -norm : norm);
      out.close('}');
    }
  }
  out.close(']');
  out.close('}');
  out.line(0), out.close('}');
  return out.take() + "\n";
}

}  // namespace envoi::results
