// Where results go: which files, for which input, found out before anything is computed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "envoi/decomposition.hpp"

namespace envoi::command {

// The files that a run writes, by any spelling: no two outputs are one. Devices and pipes may be given twice.
class OutputPaths {
 public:
  bool add(const std::string& path);      // whether it is new
  void require(const std::string& path);  // throws Error (bad_argument) if it is not

 private:
  std::set<std::string> taken_;
};

// -o FILE, and reports (.html), for one input. For several: FILE.tsv holds them all; else FILE has {name} in it, which
// becomes the input's name without its ending, or is a folder with a '/' at its end, for {name}.json in it.
class Outputs {
 public:
  // Throws Error: bad_argument (ending, one name for several results, an input among the outputs, a
  // file that is in `taken` already), bad_file (a folder
  // that is not there or may not be written).
  // `own`: those of the inputs that this run writes; null: all.
  Outputs(std::vector<std::string> patterns, const std::vector<std::string>& inputs, OutputPaths& taken,
          const std::vector<std::string>* own = nullptr);

  // Writes what belongs to that input; a .tsv of several is kept until finish(). From any thread.
  // `recording` is what was analysed; books and reports hold its samples.
  void write(const std::string& input, const Decomposition& result, const Recording& recording = {});
  void finish(const std::vector<std::string>& order);  // a .tsv of several holds the inputs in this order

  // The first result of that input; for a .tsv of several, a name of its own beside it. "": there is none.
  std::string first(const std::string& input) const;

  bool needs_samples() const;  // of the recording: books and reports

  bool empty() const { return patterns_.empty(); }

 private:
  bool collects(const std::string& pattern) const;

  std::vector<std::string> patterns_;
  bool several_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::string>> collected_;  // by pattern, then input
};

// `pattern` with the input's name, without folder and ending, for {name}.
std::string with_name(std::string pattern, const std::string& input);

// "results are written as ...", for messages.
const char* result_endings();

// Throws Error (bad_argument) if both are one file.
void require_different(const std::string& output, const std::string& input);

// The same for many inputs.
class Inputs {
 public:
  explicit Inputs(const std::vector<std::string>& paths);
  void require_other(const std::string& output) const;

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>> files_;  // device and number
};

}  // namespace envoi::command
