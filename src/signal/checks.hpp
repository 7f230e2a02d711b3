// What is done and said about every recording once its reader is through.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "envoi/recording.hpp"

namespace envoi::signal {

// Channel by channel, then what there is to say of all of them.
class BadSpans {
 public:
  explicit BadSpans(const std::vector<Annotation>& annotations);
  void mark(Channel& channel);
  void say(Recording& recording) const;

 private:
  std::vector<std::pair<double, double>> spans_;  // s
  std::size_t marked_ = 0, channels_ = 0;
};

class OddUnits {
 public:
  void look_at(const Channel& channel);
  void say(Recording& recording) const;

 private:
  std::vector<std::string> absurd_, without_, garbled_;
};

// Samples under annotations that begin with BAD_ or BAD and a blank, in any case, become NaN; a warning says how many.
void mark_bad_spans(Recording& recording);

// Says which channels of a biosignal have no unit, one that cannot be made out, or amplitudes that make it absurd.
void say_odd_units(Recording& recording);

}  // namespace envoi::signal
