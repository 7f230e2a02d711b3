// Rules parsed and files checked before anything is computed.
#include "annotation_outputs.hpp"

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "outputs.hpp"
#include "results/quantity.hpp"

namespace envoi::command {

AnnotationOutputs::AnnotationOutputs(const std::vector<std::string>& rules, std::vector<std::string> patterns,
                                     const std::vector<std::string>& inputs, OutputPaths& taken)
    : patterns_(std::move(patterns)) {
  for (const std::string& rule : rules) rules_.push_back(parse_rule(rule));
  if (rules_.empty() && !patterns_.empty())
    usage_error("--annotations needs a rule, such as --annotate 'alpha: 8-12 Hz'");
  if (!rules_.empty() && patterns_.empty())
    usage_error("--annotate needs a file: --annotations FILE (.edf, .tsv, .txt)");
  for (const std::string& pattern : patterns_) {
    if (pattern == "-" || !is_annotation_ending(pattern))
      usage_error(one_line(pattern) + ": annotations are written as .edf, .tsv or .txt; the ending chooses");
    for (const std::string& input : inputs) {
      const std::string path = with_name(pattern, input);
      if (!taken.add(path))
        usage_error(one_line(path) +
                    ": is given twice, or would hold the annotations of two inputs; put {name} into it, or name it "
                    "apart");
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

void AnnotationOutputs::write(const std::string& input, const Decomposition& result, bool quiet) const {
  if (patterns_.empty()) return;
  const std::vector<AtomAnnotation> found = annotate(result, rules_);
  for (const std::string& pattern : patterns_) {
    const std::string path = with_name(pattern, input);
    write_annotations(path, result, found);
    if (!quiet) say("envoi: " + path + ": " + results::counted(found.size(), "annotation"));
  }
}

}  // namespace envoi::command
