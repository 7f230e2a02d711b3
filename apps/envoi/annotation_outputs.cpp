// Rules parsed and files checked before anything is computed.
#include "annotation_outputs.hpp"

#include <set>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "outputs.hpp"

namespace envoi::command {

AnnotationOutputs::AnnotationOutputs(const std::vector<std::string>& rules, std::vector<std::string> patterns,
                                     const std::vector<std::string>& inputs)
    : patterns_(std::move(patterns)) {
  for (const std::string& rule : rules) rules_.push_back(parse_rule(rule));
  if (rules_.empty() && !patterns_.empty())
    usage_error("--annotations needs a rule, such as --annotate 'alpha: 8-12 Hz'");
  if (!rules_.empty() && patterns_.empty())
    usage_error("--annotate needs a file: --annotations FILE (.edf, .tsv, .txt)");
  std::set<std::string> taken;
  for (const std::string& pattern : patterns_) {
    if (pattern == "-" || !is_annotation_ending(pattern))
      usage_error(one_line(pattern) + ": annotations are written as .edf, .tsv or .txt; the ending chooses");
    for (const std::string& input : inputs) {
      const std::string path = with_name(pattern, input);
      if (!taken.insert(path).second)
        usage_error(one_line(path) +
                    ": would hold the annotations of two inputs, or is given twice; put {name} into it");
      for (const std::string& other : inputs) require_different(path, other);
      core::AtomicFile::check(path);
    }
  }
}

void AnnotationOutputs::check(const Recording& recording) const {
  Decomposition empty;
  for (const Channel& channel : recording.channels)
    empty.channels.push_back({channel.name, channel.unit, channel.rate_hz, 0});
  annotate(empty, rules_);
}

void AnnotationOutputs::write(const std::string& input, const Decomposition& result) const {
  if (patterns_.empty()) return;
  const std::vector<AtomAnnotation> found = annotate(result, rules_);
  for (const std::string& pattern : patterns_) write_annotations(with_name(pattern, input), result, found);
}

}  // namespace envoi::command
