// From a path to a result.
#include "analysis.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "command.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/signal.hpp"
#include "groups.hpp"
#include "input.hpp"
#include "progress.hpp"
#include "signal/by_channel.hpp"

namespace envoi::command {
namespace {

using Told = std::function<void(const std::string&, const std::string&)>;

// Recalled from either, kept by both, and told either way, by names that count channels from the recording's first.
Parts both(const Parts& first, const Parts& second, const Told& told, std::size_t first_channel) {
  Parts parts;
  parts.wanted = first.wanted ? first.wanted : second.wanted;
  parts.recall = [=](const std::string& part) {
    const std::string name = of_recording(part, first_channel);
    std::optional<std::string> bytes = first.recall ? first.recall(name) : std::nullopt;
    if (!bytes && second.recall) bytes = second.recall(name);
    if (bytes && told) told(name, *bytes);
    return bytes;
  };
  parts.keep = [=](const std::string& part, const std::string& bytes) {
    const std::string name = of_recording(part, first_channel);
    if (first.keep) first.keep(name, bytes);
    if (second.keep) second.keep(name, bytes);
    if (told) told(name, bytes);
  };
  return parts;
}

// Segments of a channel and windows are both in the order of their starts; a window that was left out has no segment.
void name_events(Decomposition& result, const std::vector<EventWindow>& windows) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < result.segments.size(); ++i) {
    Segment& segment = result.segments[i];
    const double half_s = 0.501 / result.channels.at(segment.channel).rate_hz;
    if (i == 0 || result.segments[i - 1].channel != segment.channel) next = 0;
    while (next < windows.size() && windows[next].start_s < segment.start_s - half_s) ++next;
    if (next == windows.size() || windows[next].start_s > segment.start_s + half_s) continue;
    segment.event = windows[next].event;
    segment.event_s = windows[next].event_s;
  }
}

// "channel A: what" and "channel B: what" as one: "channels A, B: what".
std::vector<std::string> merged(const std::vector<std::string>& warnings,
                                const std::vector<AnalysedChannel>& channels) {
  constexpr std::size_t kShown = 8;
  std::vector<std::pair<std::string, std::vector<std::string>>> by_text;  // what, and of which channels
  for (const std::string& warning : warnings) {
    const auto says = [&](const AnalysedChannel& c) { return warning.starts_with("channel " + c.name + ": "); };
    const auto of = std::find_if(channels.begin(), channels.end(), says);
    if (of == channels.end()) {
      by_text.push_back({warning, {}});
      continue;
    }
    const std::string what = warning.substr(of->name.size() + 10);
    const auto same = std::find_if(by_text.begin(), by_text.end(),
                                   [&](const auto& entry) { return !entry.second.empty() && entry.first == what; });
    if (same == by_text.end())
      by_text.push_back({what, {of->name}});
    else
      same->second.push_back(of->name);
  }
  std::vector<std::string> out;
  for (const auto& [what, names] : by_text) {
    std::string text = names.empty() ? "" : names.size() == 1 ? "channel " : "channels ";
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > kShown) text += ", ... (" + std::to_string(names.size()) + ")";
    out.push_back(text + (names.empty() ? "" : ": ") + what);
  }
  return out;
}

}  // namespace

Recording prepare_input(const std::string& path, AnalyzeOptions& options, bool quiet) {
  Recording recording = read_input(path, options.input, options.conditioning, quiet);
  if (options.events.empty()) return recording;
  const std::size_t said = recording.warnings.size();
  options.event_windows = event_windows(recording, options.events);
  options.pursuit.starts_s.clear();
  for (const EventWindow& window : options.event_windows) options.pursuit.starts_s.push_back(window.start_s);
  for (std::size_t i = said; i < recording.warnings.size(); ++i)
    if (!quiet) warn(recording.name + ": " + recording.warnings[i]);
  return recording;
}

Analysed analyze_file(const FileAnalysis& file) {
  AnalyzeOptions options = file.options;
  Analysed out;
  Recording& recording = out.recording;
  std::unique_ptr<Resume> resume;
  const auto take_apart = [&](const Recording& group, std::size_t first_channel) {
    Parts kept;
    if (file.partial) {
      if (!resume) {
        resume = std::make_unique<Resume>(*file.partial, group.sha256, options);
        const std::size_t done = resume->parts_done();
        if (done > 0 && !file.quiet)
          say("envoi: continuing from " + file.partial->path() + ": " + std::to_string(done) +
              (done == 1 ? " part is done" : " parts are done"));
        say_resumable();
      }
      kept = resume->parts(group, options.pursuit.starts_s);
    }
    PursuitOptions pursuit = options.pursuit;
    pursuit.parts = both(file.parts, kept, file.told, first_channel);
    ProgressLine line(first_channel == 0 ? group.name : group.name + " from " + group.channels.front().name,
                      file.progress && !file.quiet);
    if (line.shown())
      pursuit.progress = [&line](const Progress& progress) {
        line.update(progress);
        return true;
      };
    return decompose(group, pursuit);
  };

  Decomposition& result = out.result;
  if (goes_by_channel(file)) {
    Groups groups(take_apart);
    const auto add = [&groups](const Recording& about, Channel channel) { groups.add(about, std::move(channel)); };
    recording = signal::read_by_channel(file.path, options.input, options.conditioning, add);
    if (!file.quiet)
      for (const std::string& warning : recording.warnings) warn(recording.name + ": " + warning);
    result = groups.finish(recording);
  } else {
    recording = prepare_input(file.path, options, file.quiet);
    if (file.check) file.check(recording);
    result = take_apart(recording, 0);
    name_events(result, options.event_windows);
  }
  result.input = options.input;
  if (result.input.rate_is_fallback && !options.conditioning.resample_hz && result.input.rate_hz != result.rate_hz)
    result.input.rate_hz.reset();  // the file carries its own
  result.conditioning = options.conditioning;
  result.events = options.events;
  result.warnings = merged(result.warnings, result.channels);
  for (std::string& warning : limit_warnings(result)) result.warnings.push_back(std::move(warning));
  if (!file.quiet)
    for (const std::string& warning : result.warnings) warn(recording.name + ": " + warning);
  result.warnings.insert(result.warnings.begin(), recording.warnings.begin(), recording.warnings.end());
  return out;
}

}  // namespace envoi::command
