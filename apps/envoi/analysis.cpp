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

using Told = std::function<void(const std::string&, const std::string&)>;

// Recalled from either, kept by both, and told either way.
Parts both(const Parts& first, const Parts& second, const Told& told) {
  Parts parts;
  parts.wanted = first.wanted ? first.wanted : second.wanted;
  parts.recall = [first, second, told](const std::string& name) {
    std::optional<std::string> bytes = first.recall ? first.recall(name) : std::nullopt;
    if (!bytes && second.recall) bytes = second.recall(name);
    if (bytes && told) told(name, *bytes);
    return bytes;
  };
  parts.keep = [first, second, told](const std::string& name, const std::string& bytes) {
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
  Analysed out{prepare_input(file.path, options, file.quiet), {}};
  const Recording& recording = out.recording;
  if (file.check) file.check(recording);
  std::unique_ptr<Resume> resume;
  Parts kept;
  if (file.partial) {
    resume = std::make_unique<Resume>(*file.partial, recording.sha256, options);
    kept = resume->parts(recording, options.pursuit.starts_s);
  }
  options.pursuit.parts = both(file.parts, kept, file.told);
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
