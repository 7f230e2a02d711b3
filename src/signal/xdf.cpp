// XDF: streams of numbers at a rate to channels, streams of strings to annotations, all on the recorder's clock.
#include "xdf.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "channel_type.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::string shown(const XdfStream& stream) { return "stream '" + stream.name + "'"; }

bool marks_events(const XdfStream& stream) { return stream.is_text() || type_of_word(stream.type) == "stim"; }

// Where each run lies on one even grid.
struct Placed {
  double rate_hz = 0;
  double start_s = 0;  // of sample 0
  std::size_t samples = 0;
  std::vector<XdfRun> runs;
  std::vector<std::size_t> begins;  // of each run
};

double rate_of(const Input& input, const XdfStream& stream, const std::vector<XdfRun>& runs, const ReadOptions& options,
               std::vector<std::string>& warnings) {
  double steps = 0, seconds = 0, longest = 0;
  for (const XdfRun& run : runs) {
    steps += static_cast<double>(run.count - 1);
    seconds += static_cast<double>(run.count - 1) * run.interval_s;
    longest = std::max(longest, static_cast<double>(run.count));
  }
  const double told_hz = stream.nominal_hz;
  const double found_hz = seconds > 0 ? steps / seconds : told_hz;
  const double drift = std::abs(found_hz / told_hz - 1);
  if (options.rate_hz) {
    const double given_hz = required_rate(input.name, options);
    if (std::abs(given_hz / told_hz - 1) <= 1e-6) return told_hz;
    const bool fits = std::abs(given_hz / found_hz - 1) <= 1e-4;
    if (fits) return found_hz;
    if (!options.rate_is_fallback) {
      bad_argument(input.name, shown(stream) + " has " + rounded(told_hz, 9) + " Hz by its header and " +
                                   rounded(found_hz, 9) + " Hz by its time stamps, but --rate says " +
                                   rounded(given_hz, 9) + " Hz; leave --rate out");
    }
  }
  if (drift * longest <= 0.5) return told_hz;
  warnings.push_back(shown(stream) + " has " + rounded(found_hz, 7) + " Hz by its time stamps, which count, and " +
                     rounded(told_hz, 7) + " Hz by its header (--rate " + rounded(told_hz, 7) + " takes that)");
  return found_hz;
}

Placed place(const Input& input, const XdfStream& stream, std::vector<XdfRun> runs, double rate_hz,
             std::vector<std::string>& warnings) {
  Placed out;
  out.rate_hz = rate_hz;
  out.runs = std::move(runs);
  const auto middle_s = [&](const XdfRun& run) {
    return run.start_s + 0.5 * run.interval_s * static_cast<double>(run.count - 1);
  };
  const auto half = [&](const XdfRun& run) { return 0.5 * static_cast<double>(run.count - 1); };
  out.start_s = middle_s(out.runs[0]) - half(out.runs[0]) / rate_hz;
  std::size_t end = 0, backward = 0;
  double missing = 0, worst = 0;
  for (const XdfRun& run : out.runs) {
    const double wanted = std::round((middle_s(run) - out.start_s) * rate_hz - half(run));
    if (!(wanted < 1e15))
      bad_file(input.name, shown(stream) + " jumps to " + rounded(run.start_s) + " s; the file is damaged");
    const auto begin = std::max(wanted, static_cast<double>(end));
    backward += begin - wanted > 0.5 * rate_hz + 1 ? 1 : 0;
    missing += begin - static_cast<double>(end);
    worst = std::max(worst, half(run) * std::abs(run.interval_s - 1 / rate_hz));
    out.begins.push_back(static_cast<std::size_t>(begin));
    end = out.begins.back() + run.count;
  }
  out.samples = end;
  const double held = static_cast<double>(stream.times_s.size());
  if (missing * static_cast<double>(stream.channels.size()) >
      32 * held * static_cast<double>(stream.channels.size()) + 1e6) {
    bad_file(input.name, "the gaps in " + shown(stream) + " make " + rounded(static_cast<double>(end), 9) +
                             " samples out of " + rounded(held, 9) + "; cut it into parts first");
  }
  if (missing > 0) {
    warnings.push_back(shown(stream) + ": gaps of " + rounded(missing / rate_hz) + " s in all are filled with " +
                       rounded(missing, 12) + " missing samples");
  }
  if (backward > 0) {
    warnings.push_back("the time stamps of " + shown(stream) + " jump backward " + std::to_string(backward) +
                       " times; samples keep their order and follow on there");
  }
  if (worst * rate_hz > 1) {
    warnings.push_back(shown(stream) + ": its rate changes, so samples are up to " + rounded(worst, 3) +
                       " s off their time stamps");
  }
  return out;
}

void add_channels(const XdfStream& stream, std::vector<Channel>& channels) {
  const std::string stream_type = type_of_word(stream.type);
  for (std::size_t c = 0; c < stream.channels.size(); ++c) {
    const XdfChannel& about = stream.channels[c];
    Channel channel;
    const std::string number = std::to_string(c + 1);
    channel.name = !about.label.empty() ? about.label : stream.name.empty() ? number : stream.name + " " + number;
    channel.unit =
        printable(normal_unit(lower_case(about.unit).starts_with("micro") ? lower_case(about.unit) : about.unit), 24);
    channel.type = about.type.empty() ? stream_type : type_of_word(about.type);
    const bool of_the_body = stream_type == "eeg" || stream_type == "exg" || channel.type == "eeg" ||
                             channel.type == "eog" || channel.type == "emg" || channel.type == "ecg";
    channel.kind = stream_type == "audio" ? DataKind::audio : of_the_body ? DataKind::biosignal : DataKind::other;
    channels.push_back(std::move(channel));
  }
}

void add_annotations(const XdfStream& stream, double zero_s, std::vector<Annotation>& annotations) {
  for (std::size_t i = 0; i < stream.times_s.size(); ++i) {
    std::string text;
    if (stream.is_text()) {
      text = stream.strings[i];
    } else {
      const std::size_t width = stream.channels.size();
      for (std::size_t c = 0; c < width; ++c) text += (c ? ", " : "") + shortest(stream.values[i * width + c]);
    }
    annotations.push_back({stream.times_s[i] - zero_s, std::nullopt, std::move(text)});
  }
}

// Streams of numbers at a rate, and of them those that the option names.
std::vector<std::size_t> choose_streams(const Input& input, const XdfFile& file, const ReadOptions& options,
                                        std::vector<std::string>& warnings) {
  std::vector<std::string> known;
  std::vector<std::size_t> all, named;
  const auto number = parse_integer(options.stream);
  for (std::size_t i = 0; i < file.streams.size(); ++i) {
    const XdfStream& stream = file.streams[i];
    known.push_back(std::to_string(i + 1) + " " + stream.name + " (" + stream.type + ", " + stream.format + ", " +
                    rounded(stream.nominal_hz) + " Hz)");
    const bool is_named = stream.name == options.stream || lower_case(stream.type) == lower_case(options.stream);
    const bool is_numbered = number && static_cast<std::int64_t>(i) + 1 == *number;
    if (!options.stream.empty() && (is_named || is_numbered)) named.push_back(i);
    if (marks_events(stream)) continue;
    if (stream.nominal_hz == 0) {
      if (options.stream.empty()) {
        warnings.push_back(shown(stream) + " (" + stream.type + ") has numbers at irregular times and is left out");
      }
    } else if (stream.times_s.empty()) {
      warnings.push_back(shown(stream) + " (" + stream.type + ") holds no samples");
    } else {
      all.push_back(i);
    }
  }
  if (options.stream.empty()) return all;
  if (named.empty()) {
    bad_argument(input.name, "no stream '" + printable(options.stream) + "'; there are: " + list_of(known));
  }
  std::erase_if(named, [&](std::size_t i) { return std::find(all.begin(), all.end(), i) == all.end(); });
  if (named.empty()) {
    bad_argument(input.name,
                 "stream '" + printable(options.stream) + "' holds no numbers at a rate; there are: " + list_of(known));
  }
  return named;
}

}  // namespace

Recording read_xdf(const Input& input, const ReadOptions& options) {
  XdfFile file = read_xdf_chunks(input);
  Recording recording;
  recording.format = "xdf";
  recording.start = file.start;
  recording.warnings = std::move(file.warnings);

  std::vector<std::vector<XdfRun>> runs(file.streams.size());
  double zero_s = std::numeric_limits<double>::infinity();  // the first sample of all streams of numbers at a rate
  for (std::size_t i = 0; i < file.streams.size(); ++i) {
    XdfStream& stream = file.streams[i];
    const std::vector<std::size_t> resets = synchronize(stream);
    if (!resets.empty()) {
      recording.warnings.push_back("the clock of " + shown(stream) + " was set anew " + std::to_string(resets.size()) +
                                   (resets.size() == 1 ? " time" : " times") +
                                   "; each part is put on the recorder's clock");
    }
    if (marks_events(stream) || stream.nominal_hz == 0 || stream.times_s.empty()) continue;
    runs[i] = even_runs(stream, resets);
    zero_s = std::min(zero_s, runs[i][0].start_s);
  }
  const std::vector<std::size_t> chosen = choose_streams(input, file, options, recording.warnings);
  if (!std::isfinite(zero_s)) {
    bad_file(input.name, file.streams.empty() ? "holds no stream" : "holds no stream of numbers at a rate");
  }
  for (const XdfStream& stream : file.streams) {
    if (marks_events(stream)) add_annotations(stream, zero_s, recording.annotations);
  }
  std::stable_sort(recording.annotations.begin(), recording.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset_s < b.onset_s; });

  std::vector<Channel> channels;
  std::vector<std::size_t> stream_of;
  for (const std::size_t i : chosen) {
    add_channels(file.streams[i], channels);
    stream_of.resize(channels.size(), i);
  }
  std::vector<std::string> names, types;
  for (const Channel& channel : channels) names.push_back(channel.name), types.push_back(channel.type);
  make_unique(names);
  const std::vector<std::size_t> wanted = wanted_channels(input, names, types, options);

  Crop crop(input.name, options);
  std::vector<std::optional<Placed>> placed(file.streams.size());
  for (const std::size_t index : wanted) {
    const std::size_t i = stream_of[index];
    const XdfStream& stream = file.streams[i];
    if (!placed[i]) {
      const double rate_hz = rate_of(input, stream, runs[i], options, recording.warnings);
      placed[i] = place(input, stream, runs[i], rate_hz, recording.warnings);
    }
    const std::size_t width = stream.channels.size();
    const auto first_of_stream = std::find(stream_of.begin(), stream_of.end(), i) - stream_of.begin();
    const std::size_t column = index - static_cast<std::size_t>(first_of_stream);
    Channel channel = std::move(channels[index]);
    channel.name = names[index];
    channel.rate_hz = placed[i]->rate_hz;
    channel.start_s = placed[i]->start_s - zero_s;
    channel.samples.assign(placed[i]->samples, kMissing);
    for (std::size_t r = 0; r < placed[i]->runs.size(); ++r) {
      const XdfRun& run = placed[i]->runs[r];
      for (std::size_t k = 0; k < run.count; ++k) {
        channel.samples[placed[i]->begins[r] + k] = stream.values[(run.first + k) * width + column];
      }
    }
    crop.apply(channel);
    recording.channels.push_back(std::move(channel));
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
