// Reads JSON and NDJSON results. Each value is checked where it is taken, and a fault names its place.
#include "results/parse.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "envoi/error.hpp"
#include "results/names.hpp"
#include "signal/shared.hpp"

namespace envoi::results {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 40;  // of one segment

// A value with the way that led to it, as a chain through the callers' frames, so that only a fault spells it out.
class Node {
 public:
  Node(const json& value, const std::string& where) : value_(value), where_(&where) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_file, *where_ + ": " + path() + ": " + what);
  }

  const json& value() const { return value_; }
  Node child(const char* key, const json& value) const { return {value, *where_, this, key, 0}; }
  Node child(std::size_t index, const json& value) const { return {value, *where_, this, nullptr, index}; }

  void require_object() const {
    if (!value_.is_object()) fail("should be an object");
  }

  // The member, or null where there is none.
  const json* find(const char* key) const {
    const auto it = value_.find(key);
    return it == value_.end() ? nullptr : &*it;
  }
  Node at(const char* key) const {
    const json* found = find(key);
    if (found == nullptr) fail(std::string("has no member '") + key + "'");
    return child(key, *found);
  }

  double number() const {
    if (!value_.is_number()) fail("should be a number");
    const double number = value_.get<double>();
    if (!std::isfinite(number)) fail("is too large a number");
    return number;
  }
  std::uint64_t count(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    if (!value_.is_number_unsigned()) fail("should be a whole number, 0 or more");
    const auto number = value_.get<std::uint64_t>();
    if (number > most) fail("is " + std::to_string(number) + ", more than " + std::to_string(most));
    return number;
  }
  std::string string() const {
    if (!value_.is_string()) fail("should be a string");
    return value_.get<std::string>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) fail("should be true or false");
    return value_.get<bool>();
  }

  template <class F>
  void each(F&& take) const {
    if (!value_.is_array()) fail("should be an array");
    for (std::size_t i = 0; i < value_.size(); ++i) take(child(i, value_[i]));
  }
  // Calls take(node) if the member is there and not null.
  template <class F>
  void with(const char* key, F&& take) const {
    const json* found = find(key);
    if (found != nullptr && !found->is_null()) take(child(key, *found));
  }
  void read(const char* key, double& to) const {
    with(key, [&](const Node& n) { to = n.number(); });
  }
  void read(const char* key, std::optional<double>& to) const {
    with(key, [&](const Node& n) { to = n.number(); });
  }
  void read(const char* key, std::uint64_t& to) const {
    with(key, [&](const Node& n) { to = n.count(); });
  }
  void read(const char* key, std::string& to) const {
    with(key, [&](const Node& n) { to = n.string(); });
  }
  void read(const char* key, std::vector<std::string>& to) const {
    with(key, [&](const Node& n) { n.each([&](const Node& word) { to.push_back(word.string()); }); });
  }
  void read(const char* key, bool& to) const {
    with(key, [&](const Node& n) { to = n.boolean(); });
  }
  template <class E, std::size_t N>
  void read(const char* key, const Names<E, N>& names, E& to) const {
    with(key, [&](const Node& n) {
      const auto value = value_of(names, n.string());
      if (!value) n.fail("is not a word known here: '" + signal::printable(n.string()) + "'");
      to = *value;
    });
  }

 private:
  Node(const json& value, const std::string& where, const Node* parent, const char* key, std::size_t index)
      : value_(value), where_(&where), parent_(parent), key_(key), index_(index) {}

  std::string path() const {
    if (parent_ == nullptr) return "/";
    const std::string before = parent_->parent_ == nullptr ? "" : parent_->path();
    return before + "/" + (key_ != nullptr ? std::string(key_) : std::to_string(index_));
  }

  const json& value_;
  const std::string* where_;
  const Node* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
};

void read_range(const Node& node, const char* key, std::optional<Range>& to) {
  node.with(key, [&](const Node& n) {
    if (!n.value().is_array() || n.value().size() != 2) n.fail("should be [low, high]");
    const json& low = n.value()[0];
    const json& high = n.value()[1];
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    to = Range{low.is_null() ? -kInfinity : n.child(std::size_t{0}, low).number(),
               high.is_null() ? kInfinity : n.child(std::size_t{1}, high).number()};
    if (to->low > to->high) n.fail("is upside down");
  });
}

Axis read_axis(const Node& n) {
  n.require_object();
  return {n.at("first").number(), n.at("last").number(), n.at("step").number()};
}

void read_conditioning(const Node& n, Conditioning& conditioning) {
  n.require_object();
  n.read("reference", conditioning.reference);
  n.read("bipolar", conditioning.bipolar);
  n.read("high_pass_hz", conditioning.high_pass_hz);
  n.read("low_pass_hz", conditioning.low_pass_hz);
  n.with("notch_hz", [&](const Node& list) {
    list.each([&](const Node& notch_hz) { conditioning.notch_hz.push_back(notch_hz.number()); });
  });
  n.read("resample_hz", conditioning.resample_hz);
}

void read_events(const Node& n, Events& events) {
  n.require_object();
  events.text = n.at("text").string();
  events.before_s = n.at("before_s").number();
  events.after_s = n.at("after_s").number();
}

void read_parameters(const Node& n, Decomposition& result) {
  PursuitOptions& o = result.options;
  ReadOptions& input = result.input;
  n.require_object();
  n.with("conditioning", [&](const Node& c) { read_conditioning(c, result.conditioning); });
  n.with("events", [&](const Node& e) { read_events(e, result.events); });
  n.with("input", [&](const Node& in) {
    in.require_object();
    in.read("format", input.format);
    in.read("rate_hz", input.rate_hz);
    in.read("unit", input.unit);
    in.with("raw_channels", [&](const Node& count) { input.raw_channels = count.count(1U << 16); });
    in.read("column", input.column);
    in.read("time_column", input.time_column);
    in.read("channels", input.channels);
    in.read("exclude", input.exclude);
    in.read("types", input.types);
    in.read("dataset", input.dataset);
    in.read("stream", input.stream);
    in.read("bad_spans_missing", input.bad_spans_missing);
    in.read("from_s", input.from_s);
    in.read("to_s", input.to_s);
  });
  read_range(n, "band_hz", o.band_hz);
  read_range(n, "durations_s", o.durations_s);
  read_range(n, "chirp_rates_hz_per_s", o.chirp_rates_hz_per_s);
  n.read("max_loss", o.max_loss);
  n.read("gabor", o.gabor);
  n.with("grid", [&](const Node& g) {
    g.require_object();
    ExplicitGrid grid;
    g.with("time_unit", [&](const Node& unit) {
      grid.time_in_samples = unit.string() == "samples";
      if (!grid.time_in_samples && unit.string() != "s") unit.fail("should be \"s\" or \"samples\"");
    });
    grid.time = read_axis(g.at("time"));
    grid.frequency_hz = read_axis(g.at("frequency_hz"));
    grid.ln_duration = read_axis(g.at("ln_duration"));
    grid.chirp_rate_hz_per_s = read_axis(g.at("chirp_rate_hz_per_s"));
    o.grid = grid;
  });
  n.read("phase", kPhases, o.phase);
  n.with("stop", [&](const Node& stop) {
    stop.require_object();
    stop.with("atoms", [&](const Node& atoms) { o.stop.atoms = atoms.count(); });
    stop.read("snr_db", o.stop.snr_db);
    stop.read("energy_left_share", o.stop.energy_left_share);
    stop.read("noise_p", o.stop.noise_p);
    stop.read("threshold", o.stop.threshold);
    stop.read("density_per_s", o.stop.density_per_s);
  });
  n.read("method", kMethods, o.method);
  n.read("refine", o.refine);
  n.read("detrend", kDetrends, o.detrend);
  n.read("missing", kMissing, o.missing);
  n.read("window_s", o.window_s);
  n.read("hop_s", o.hop_s);
  n.read("whole", o.whole);
  n.read("whole_signal", o.whole_signal);
  n.read("across", kChannels, o.channels);
  n.read("precision", kPrecisions, o.precision);
}

void read_grid(const Node& n, GridSummary& grid) {
  n.require_object();
  n.read("atoms_per_segment", grid.atoms_per_segment);
  n.read("max_loss", grid.max_loss);
  n.with("scales", [&](const Node& scales) {
    scales.each([&](const Node& scale) {
      scale.require_object();
      GridScale s;
      s.duration_s = scale.at("duration_s").number();
      s.atoms = scale.at("atoms").count();
      grid.scales.push_back(s);
    });
  });
}

double positive(const Node& n) {
  const double number = n.number();
  if (!(number > 0)) n.fail("should be more than 0");
  return number;
}

void read_head(const Node& root, Decomposition& result) {
  root.require_object();
  if (const json* format = root.find("format"); format == nullptr || *format != "envoi.decomposition")
    root.fail("is not a decomposition: no \"format\": \"envoi.decomposition\"");
  if (const auto version = root.at("version").count(); version != 1)
    root.at("version").fail("is " + std::to_string(version) + "; this program reads version 1");
  root.with("program", [&](const Node& n) {
    n.require_object();
    n.read("version", result.program.version);
    n.read("device", result.program.device);
    n.read("isa", result.program.isa);
  });
  root.with("source", [&](const Node& n) {
    n.require_object();
    n.read("name", result.source.name);
    n.read("sha256", result.source.sha256);
    n.read("format", result.source.format);
    n.read("start", result.source.start);
  });
  root.read("rate_hz", result.rate_hz);
  root.with("parameters", [&](const Node& n) { read_parameters(n, result); });
  root.with("grid", [&](const Node& n) { read_grid(n, result.grid); });
  root.at("channels").each([&](const Node& n) {
    n.require_object();
    AnalysedChannel channel;
    n.read("name", channel.name);
    n.read("unit", channel.unit);
    channel.rate_hz = positive(n.at("rate_hz"));
    n.read("atoms_per_segment", channel.atoms_per_segment);
    result.channels.push_back(channel);
  });
  root.with("warnings",
            [&](const Node& n) { n.each([&](const Node& warning) { result.warnings.push_back(warning.string()); }); });
}

Chirplet read_atom(const Node& n) {
  n.require_object();
  Chirplet atom;
  atom.time_s = n.at("time_s").number();
  atom.frequency_hz = n.at("frequency_hz").number();
  atom.duration_s = positive(n.at("duration_s"));
  atom.chirp_rate_hz_per_s = n.at("chirp_rate_hz_per_s").number();
  atom.amplitude = n.at("amplitude").number();
  atom.phase_rad = n.at("phase_rad").number();
  atom.peak = atom.energy = atom.energy_share = atom.energy_left_share = kUndetermined;
  n.read("peak", atom.peak);
  n.read("energy", atom.energy);
  n.read("energy_share", atom.energy_share);
  n.read("energy_left_share", atom.energy_left_share);
  n.read("kept", atom.kept);
  n.with("se", [&](const Node& se) {
    se.require_object();
    se.read("time_s", atom.se.time_s);
    se.read("frequency_hz", atom.se.frequency_hz);
    se.read("duration_s", atom.se.duration_s);
    se.read("chirp_rate_hz_per_s", atom.se.chirp_rate_hz_per_s);
    se.read("amplitude", atom.se.amplitude);
    se.read("phase_rad", atom.se.phase_rad);
  });
  return atom;
}

void read_segment(const Node& n, Decomposition& result) {
  n.require_object();
  Segment segment;
  segment.channel = n.at("channel").count();
  if (segment.channel >= result.channels.size())
    n.at("channel").fail("is " + std::to_string(segment.channel) + ", but there are " +
                         std::to_string(result.channels.size()) + " channels");
  segment.start_s = n.at("start_s").number();
  segment.samples = n.at("samples").count(kMostSamples);
  n.with("event", [&](const Node& event) {
    event.read("text", segment.event);
    event.read("time_s", segment.event_s);
  });
  n.read("mean", segment.mean);
  n.read("slope_per_s", segment.slope_per_s);
  segment.energy = segment.in_band_share = segment.snr_db = segment.energy_left_share = kUndetermined;
  n.read("energy", segment.energy);
  n.read("in_band_share", segment.in_band_share);
  n.with("missing_samples", [&](const Node& m) { segment.missing_samples = m.count(segment.samples); });
  n.read("stop_reason", kStopReasons, segment.stop_reason);
  if (const json* snr = n.find("snr_db"); snr != nullptr && snr->is_null())
    segment.snr_db = std::numeric_limits<double>::infinity();  // nothing was left
  n.read("snr_db", segment.snr_db);
  n.read("energy_left_share", segment.energy_left_share);
  n.with("certificate", [&](const Node& c) {
    c.require_object();
    c.read("precision", segment.certificate.precision);
    c.read("bound", segment.certificate.bound);
    c.with("survivors", [&](const Node& counts) {
      counts.each([&](const Node& count) { segment.certificate.survivors.push_back(count.count()); });
    });
  });
  segment.first_atom = result.atoms.size();
  n.at("atoms").each([&](const Node& atom) { result.atoms.push_back(read_atom(atom)); });
  segment.atom_count = result.atoms.size() - segment.first_atom;
  result.segments.push_back(std::move(segment));
}

json parse_json(std::string_view text, const std::string& where) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& fault) {
    std::string_view reason = fault.what();
    if (const auto colon = reason.find(": "); colon != reason.npos) reason.remove_prefix(colon + 2);
    throw Error(ErrorKind::bad_file, where + ": not a result, at byte " + std::to_string(fault.byte) + ": " +
                                         signal::printable(reason, 120));
  } catch (const json::exception& fault) {  // a number beyond double
    std::string_view reason = fault.what();
    if (const auto bracket = reason.find("] "); bracket != reason.npos) reason.remove_prefix(bracket + 2);
    throw Error(ErrorKind::bad_file, where + ": " + signal::printable(reason, 120));
  }
}

}  // namespace

Decomposition parse(std::string_view text, const std::string& name) {
  Decomposition result;
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  const json first = json::parse(text.substr(0, line_end), nullptr, false);
  const bool by_lines = first.is_object() && first.find("segments") == first.end();
  if (!by_lines) {
    const json document = parse_json(text, name);
    const Node root(document, name);
    read_head(root, result);
    root.at("segments").each([&](const Node& n) { read_segment(n, result); });
    return result;
  }
  const std::string head_name = name + ": line 1";
  read_head(Node(first, head_name), result);
  std::size_t number = 1;
  for (std::size_t at = line_end + 1; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = name + ": line " + std::to_string(number);
    const json segment = [&] {
      try {
        return parse_json(line, where);
      } catch (const Error&) {
        if (end < text.size()) throw;
        throw Error(ErrorKind::bad_file, where + ": ends within the line; the file was cut off");
      }
    }();
    read_segment(Node(segment, where), result);
  }
  Node(first, head_name).with("segment_count", [&](const Node& count) {
    if (count.count() != result.segments.size())
      throw Error(ErrorKind::bad_file, name + ": is cut off: line 1 announces " + std::to_string(count.count()) +
                                           " segments, and " + std::to_string(result.segments.size()) + " follow");
  });
  return result;
}

}  // namespace envoi::results
