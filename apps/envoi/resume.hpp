// --resume: finished parts of one file's analysis, kept beside its output.
#pragma once

#include <string>
#include <vector>

#include "analyze_options.hpp"
#include "core/journal.hpp"
#include "envoi/recording.hpp"

namespace envoi::command {

// Where the parts of an output are kept: FILE.partial, and FILE.I.partial for share I of several processes.
struct PartialFile {
  std::string output;  // FILE
  std::size_t share = 0;

  std::string path() const { return output + (share > 0 ? "." + std::to_string(share) : "") + ".partial"; }
};

class Resume {
 public:
  // Opens or creates the file, and reads those of the other shares. Throws Error (bad_file): the file cannot be
  // written, is in use, or belongs to a run of another recording, other options or another program.
  Resume(const PartialFile& file, const std::string& sha256, const AnalyzeOptions& options);

  std::size_t parts_done() const;  // that were kept by runs before

  // For a run on these channels. What was kept for other samples is not found.
  Parts parts(const Recording& recording, const std::vector<double>& starts_s);

 private:
  core::Journal journal_;
  std::vector<std::unique_ptr<core::Journal>> others_;
};

// Removes all partial files of that output but those that another process has open.
void remove_partial_files(const std::string& output);

}  // namespace envoi::command
