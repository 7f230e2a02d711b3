// A decomposition as JSON (version 1) and as NDJSON. Field names and meanings are a promise to readers elsewhere.
#include <cmath>

#include "envoi/results.hpp"
#include "results/json_text.hpp"
#include "results/names.hpp"

namespace envoi {
namespace {

using results::JsonText;
using results::name_of;

void add_range(JsonText& out, const char* key, const std::optional<Range>& range) {
  if (!range) return out.add_null(key);
  out.open(key, '[');
  out.add("", range->low);
  out.add("", range->high);
  out.close(']');
}

void add_axis(JsonText& out, const char* key, const Axis& axis) {
  out.open(key, '{');
  out.add("first", axis.first);
  out.add("last", axis.last);
  out.add("step", axis.step);
  out.close('}');
}

void add_explicit_grid(JsonText& out, const std::optional<ExplicitGrid>& grid) {
  if (!grid) return out.add_null("grid");
  out.open("grid", '{');
  out.add("time_unit", grid->time_in_samples ? "samples" : "s");
  add_axis(out, "time", grid->time);
  add_axis(out, "frequency_hz", grid->frequency_hz);
  add_axis(out, "ln_duration", grid->ln_duration);
  add_axis(out, "chirp_rate_hz_per_s", grid->chirp_rate_hz_per_s);
  out.close('}');
}

// Nothing where it is empty.
void add_list(JsonText& out, const char* key, const std::vector<std::string>& words) {
  if (words.empty()) return;
  out.open(key, '[');
  for (const std::string& word : words) out.add("", word);
  out.close(']');
}

// Nothing where nothing was done.
void add_conditioning(JsonText& out, const Conditioning& conditioning) {
  if (conditioning.empty()) return;
  out.line(4), out.open("conditioning", '{');
  if (!conditioning.reference.empty()) out.add("reference", conditioning.reference);
  add_list(out, "bipolar", conditioning.bipolar);
  if (conditioning.high_pass_hz) out.add("high_pass_hz", *conditioning.high_pass_hz);
  if (conditioning.low_pass_hz) out.add("low_pass_hz", *conditioning.low_pass_hz);
  if (!conditioning.notch_hz.empty()) {
    out.open("notch_hz", '[');
    for (const double notch_hz : conditioning.notch_hz) out.add("", notch_hz);
    out.close(']');
  }
  if (conditioning.resample_hz) out.add("resample_hz", *conditioning.resample_hz);
  out.close('}');
}

void add_events(JsonText& out, const Events& events) {
  if (events.empty()) return;
  out.line(4), out.open("events", '{');
  out.add("text", events.text);
  out.add("before_s", events.before_s);
  out.add("after_s", events.after_s);
  out.close('}');
}

// The options that bear on the result; not threads, device, force and the callback.
void add_parameters(JsonText& out, const Decomposition& result) {
  const PursuitOptions& o = result.options;
  const ReadOptions& input = result.input;
  out.open("parameters", '{');
  out.line(4), out.open("input", '{');
  out.add("format", input.format);
  out.add("rate_hz", input.rate_hz);
  if (!input.unit.empty()) out.add("unit", input.unit);
  if (input.raw_channels) out.add("raw_channels", std::uint64_t{*input.raw_channels});
  out.add("column", input.column);
  out.add("time_column", input.time_column);
  out.open("channels", '[');
  for (const std::string& name : input.channels) out.add("", name);
  out.close(']');
  add_list(out, "exclude", input.exclude);
  add_list(out, "types", input.types);
  if (!input.dataset.empty()) out.add("dataset", input.dataset);
  if (!input.stream.empty()) out.add("stream", input.stream);
  if (!input.bad_spans_missing) out.add("bad_spans_missing", false);
  out.add("from_s", input.from_s);
  out.add("to_s", input.to_s);
  out.close('}');
  add_conditioning(out, result.conditioning);
  add_events(out, result.events);
  out.line(4), add_range(out, "band_hz", o.band_hz);
  add_range(out, "durations_s", o.durations_s);
  add_range(out, "chirp_rates_hz_per_s", o.chirp_rates_hz_per_s);
  out.add("max_loss", o.max_loss);
  out.add("gabor", o.gabor);
  out.line(4), add_explicit_grid(out, o.grid);
  out.add("phase", name_of(results::kPhases, o.phase));
  out.line(4), out.open("stop", '{');
  if (o.stop.atoms)
    out.add("atoms", std::uint64_t{*o.stop.atoms});
  else
    out.add_null("atoms");
  out.add("snr_db", o.stop.snr_db);
  out.add("energy_left_share", o.stop.energy_left_share);
  out.add("noise_p", o.stop.noise_p);
  if (o.stop.threshold) out.add("threshold", o.stop.threshold);
  if (o.stop.density_per_s) out.add("density_per_s", o.stop.density_per_s);
  out.close('}');
  out.line(4), out.add("method", name_of(results::kMethods, o.method));
  out.add("refine", o.refine);
  out.add("detrend", name_of(results::kDetrends, o.detrend));
  out.add("missing", name_of(results::kMissing, o.missing));
  out.line(4), out.add("window_s", o.window_s);
  out.add("hop_s", o.hop_s);
  out.add("whole", o.whole);
  if (o.whole_signal) out.add("whole_signal", true);
  if (o.channels != Channels::independent) out.add("across", name_of(results::kChannels, o.channels));
  out.add("precision", name_of(results::kPrecisions, o.precision));
  out.close('}');
}

void add_grid(JsonText& out, const GridSummary& grid) {
  out.open("grid", '{');
  out.add("atoms_per_segment", grid.atoms_per_segment);
  out.add("max_loss", grid.max_loss);
  out.open("scales", '[');
  for (const GridScale& scale : grid.scales) {
    out.open("", '{');
    out.add("duration_s", scale.duration_s);
    out.add("atoms", scale.atoms);
    out.close('}');
  }
  out.close(']');
  out.close('}');
}

// Everything before the segments.
void add_head(JsonText& out, const Decomposition& result) {
  out.add("format", "envoi.decomposition");
  out.add("version", std::uint64_t{1});
  out.line(2), out.open("program", '{');
  out.add("version", result.program.version);
  out.add("device", result.program.device);
  out.add("isa", result.program.isa);
  out.close('}');
  out.line(2), out.open("source", '{');
  out.add("name", result.source.name);
  out.add("sha256", result.source.sha256);
  out.add("format", result.source.format);
  if (result.source.start.empty())
    out.add_null("start");
  else
    out.add("start", result.source.start);
  out.close('}');
  out.line(2), out.add("rate_hz", result.rate_hz);
  out.line(2), add_parameters(out, result);
  out.line(2), add_grid(out, result.grid);
  out.line(2), out.open("channels", '[');
  for (const AnalysedChannel& channel : result.channels) {
    out.line(4), out.open("", '{');
    out.add("name", channel.name);
    out.add("unit", channel.unit);
    out.add("rate_hz", channel.rate_hz);
    out.add("atoms_per_segment", channel.atoms_per_segment);
    out.close('}');
  }
  out.close(']');
  out.line(2), out.open("warnings", '[');
  for (const std::string& warning : result.warnings) out.line(4), out.add("", warning);
  out.close(']');
}

void add_if_determined(JsonText& out, const char* key, double value) {
  if (std::isfinite(value)) out.add(key, value);
}

void add_atom(JsonText& out, const Chirplet& atom) {
  out.open("", '{');
  out.add("time_s", atom.time_s);
  out.add("frequency_hz", atom.frequency_hz);
  out.add("duration_s", atom.duration_s);
  out.add("chirp_rate_hz_per_s", atom.chirp_rate_hz_per_s);
  out.add("amplitude", atom.amplitude);
  out.add("phase_rad", atom.phase_rad);
  out.add("peak", atom.peak);
  out.add("energy", atom.energy);
  add_if_determined(out, "energy_share", atom.energy_share);
  out.add("energy_left_share", atom.energy_left_share);
  if (!atom.kept) out.add("kept", false);
  out.open("se", '{');
  add_if_determined(out, "time_s", atom.se.time_s);
  add_if_determined(out, "frequency_hz", atom.se.frequency_hz);
  add_if_determined(out, "duration_s", atom.se.duration_s);
  add_if_determined(out, "chirp_rate_hz_per_s", atom.se.chirp_rate_hz_per_s);
  add_if_determined(out, "amplitude", atom.se.amplitude);
  add_if_determined(out, "phase_rad", atom.se.phase_rad);
  out.close('}');
  out.close('}');
}

void add_segment(JsonText& out, const Decomposition& result, const Segment& segment) {
  out.open("", '{');
  out.add("channel", std::uint64_t{segment.channel});
  out.add("start_s", segment.start_s);
  out.add("samples", std::uint64_t{segment.samples});
  if (!segment.event.empty()) {
    out.open("event", '{');
    out.add("text", segment.event);
    out.add("time_s", segment.event_s);
    out.close('}');
  }
  out.add("mean", segment.mean);
  out.add("slope_per_s", segment.slope_per_s);
  out.add("energy", segment.energy);
  out.add("in_band_share", segment.in_band_share);
  out.add("missing_samples", std::uint64_t{segment.missing_samples});
  out.line(6), out.add("stop_reason", to_string(segment.stop_reason));
  if (!std::isnan(segment.snr_db)) out.add("snr_db", segment.snr_db);  // null: nothing was left
  out.add("energy_left_share", segment.energy_left_share);
  out.open("certificate", '{');
  out.add("precision", segment.certificate.precision);
  out.add("bound", segment.certificate.bound);
  out.open("survivors", '[');
  for (const std::uint64_t count : segment.certificate.survivors) out.add("", count);
  out.close(']');
  out.close('}');
  out.line(6), out.open("atoms", '[');
  for (const Chirplet& atom : result.atoms_of(segment)) {
    out.line(8), add_atom(out, atom);
  }
  out.close(']');
  out.close('}');
}

}  // namespace

std::string to_json(const Decomposition& result) {
  JsonText out(true);
  out.open("", '{');
  out.line(2), add_head(out, result);
  out.line(2), out.open("segments", '[');
  for (const Segment& segment : result.segments) out.line(4), add_segment(out, result, segment);
  out.close(']');
  out.line(0), out.close('}');
  return out.take() + "\n";
}

std::string to_ndjson(const Decomposition& result) {
  JsonText head(false);
  head.open("", '{');
  add_head(head, result);
  head.add("segment_count", std::uint64_t{result.segments.size()});  // so that a file that was cut off shows it
  head.close('}');
  std::string text = head.take() + "\n";
  for (const Segment& segment : result.segments) {
    JsonText line(false);
    add_segment(line, result, segment);
    text += line.text() + "\n";
  }
  return text;
}

}  // namespace envoi
