// --annotate and --annotations: rules, and the files that hold what they find.
#pragma once

#include <string>
#include <vector>

#include "envoi/rules.hpp"
#include "outputs.hpp"

namespace envoi::command {

class AnnotationOutputs {
 public:
  // Throws Error: bad_argument (a rule, an ending, rules without files or files without rules, one name for several
  // inputs, an input among the outputs, a file that is in `taken` already), bad_file (a folder that is not there or may
  // not be written).
  AnnotationOutputs(const std::vector<std::string>& rules, std::vector<std::string> patterns,
                    const std::vector<std::string>& inputs, OutputPaths& taken);

  // Throws Error (bad_argument) where the rules do not fit the recording's channels and units; before a long analysis.
  void check(const Recording& recording) const;

  void write(const std::string& input, const Decomposition& result, bool quiet) const;  // says how many, unless quiet

  bool empty() const { return patterns_.empty(); }

 private:
  std::vector<Rule> rules_;
  std::vector<std::string> patterns_;
};

}  // namespace envoi::command
