// From a path to a result.
#include "analysis.hpp"

#include <memory>

#include "command.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/signal.hpp"
#include "input.hpp"
#include "progress.hpp"

namespace envoi::command {
namespace {

// Recalled from either, kept by both.
Parts both(const Parts& first, const Parts& second) {
  Parts parts;
  parts.wanted = first.wanted ? first.wanted : second.wanted;
  parts.recall = [first, second](const std::string& name) {
    std::optional<std::string> bytes = first.recall ? first.recall(name) : std::nullopt;
    return bytes || !second.recall ? bytes : second.recall(name);
  };
  parts.keep = [first, second](const std::string& name, const std::string& bytes) {
    if (first.keep) first.keep(name, bytes);
    if (second.keep) second.keep(name, bytes);
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
  Analysed out{prepare_input(file.path, options, file.quiet), {}};
  const Recording& recording = out.recording;
  if (file.check) file.check(recording);
  std::unique_ptr<Resume> resume;
  options.pursuit.parts = file.parts;
  if (file.partial) {
    resume = std::make_unique<Resume>(*file.partial, recording.sha256, options);
    options.pursuit.parts = both(file.parts, resume->parts(recording, options.pursuit.starts_s));
  }
  ProgressLine line(recording.name, file.progress && !file.quiet);
  if (line.shown())
    options.pursuit.progress = [&line](const Progress& progress) {
      line.update(progress);
      return true;
    };
  Decomposition& result = out.result;
  result = decompose(recording, options.pursuit);
  result.input = options.input;
  result.conditioning = options.conditioning;
  result.events = options.events;
  if (!file.quiet)
    for (const std::string& warning : result.warnings) warn(recording.name + ": " + warning);
  result.warnings.insert(result.warnings.begin(), recording.warnings.begin(), recording.warnings.end());
  return out;
}

}  // namespace envoi::command
