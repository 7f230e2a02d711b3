// Where results go: which files, for which input, found out before anything is computed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "envoi/decomposition.hpp"

namespace envoi::command {

// -o FILE, and reports (.html), for one input. For several: FILE.tsv holds them all; else FILE has {name} in it, which
// becomes the input's name without its ending, or is a folder with a '/' at its end, for {name}.json in it.
class Outputs {
 public:
  // Throws Error: bad_argument (ending, one name for several results, an input among the outputs), bad_file (a folder
  // that is not there or may not be written).
  Outputs(std::vector<std::string> patterns, const std::vector<std::string>& inputs);

  // Writes what belongs to that input; a .tsv of several is kept until finish().
  // `recording` is what was analysed; books and reports hold its samples.
  void write(const std::string& input, const Decomposition& result, const Recording& recording = {});
  void finish();

  bool empty() const { return patterns_.empty(); }

 private:
  bool collects(const std::string& pattern) const;

  std::vector<std::string> patterns_;
  bool several_;
  std::map<std::string, std::string> collected_;
};

// `pattern` with the input's name, without folder and ending, for {name}.
std::string with_name(std::string pattern, const std::string& input);

// "results are written as ...", for messages.
const char* result_endings();

// Throws Error (bad_argument) if both are one file.
void require_different(const std::string& output, const std::string& input);

}  // namespace envoi::command
