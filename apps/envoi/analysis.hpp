// One file of an analysis: read, conditioned, taken apart.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analyze_options.hpp"
#include "envoi/decomposition.hpp"
#include "resume.hpp"

namespace envoi::command {

// Reads and conditions; with events, lays the windows about those of this recording (options.pursuit.starts_s).
Recording prepare_input(const std::string& path, AnalyzeOptions& options, bool quiet);

struct FileAnalysis {
  std::string path;
  AnalyzeOptions options;
  bool quiet = false;
  bool progress = true;                // a line on the terminal
  std::optional<PartialFile> partial;  // --resume
  Parts parts;                         // asked before and told after the partial file
  std::function<void(const std::string& name, const std::string& bytes)> told;  // each part, computed or recalled
  bool whole_recording = true;                  // false: its samples are not needed after the analysis
  std::function<void(const Recording&)> check;  // before the long part; throws
};

struct Analysed {
  Recording recording;  // what was analysed; without its samples, where they are not needed
  Decomposition result;
};

// Throws Error as the library does.
Analysed analyze_file(const FileAnalysis& file);

}  // namespace envoi::command
