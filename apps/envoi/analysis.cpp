// From a path to a result.
#include "analysis.hpp"

#include <memory>

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

}  // namespace

Recording prepare_input(const std::string& path, AnalyzeOptions& options, bool quiet) {
  Recording recording = read_input(path, options.input, options.conditioning, quiet);
  if (options.events.empty()) return recording;
  const std::size_t said = recording.warnings.size();
  options.pursuit.starts_s = event_starts(recording, options.events);
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
      if (!resume) resume = std::make_unique<Resume>(*file.partial, group.sha256, options);
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
  }
  result.input = options.input;
  if (result.input.rate_is_fallback && !options.conditioning.resample_hz && result.input.rate_hz != result.rate_hz)
    result.input.rate_hz.reset();  // the file carries its own
  result.conditioning = options.conditioning;
  result.events = options.events;
  if (!file.quiet)
    for (const std::string& warning : result.warnings) warn(recording.name + ": " + warning);
  result.warnings.insert(result.warnings.begin(), recording.warnings.begin(), recording.warnings.end());
  return out;
}

}  // namespace envoi::command
