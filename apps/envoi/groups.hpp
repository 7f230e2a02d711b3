// An analysis channel by channel, for recordings that are larger than memory: same bytes as all at once.
#pragma once

#include <functional>
#include <string>

#include "analysis.hpp"

namespace envoi::command {

// Whether no step of the analysis needs more than one channel at a time.
bool goes_by_channel(const FileAnalysis& file);

// Channels gathered into groups of some 200 MB of samples, each taken apart when it is full.
class Groups {
 public:
  using Decompose = std::function<Decomposition(const Recording& group, std::size_t first_channel)>;
  explicit Groups(Decompose decompose);

  void add(const Recording& about, Channel channel);

  // Takes the last group apart. `recording`: what is refused where it has no channel.
  Decomposition finish(const Recording& recording);

 private:
  void take_apart_group();

  Decompose decompose_;
  double limit_bytes_;
  Recording group_;
  double bytes_ = 0;
  std::size_t first_ = 0;  // channel of the recording that is the group's first
  Decomposition out_;
};

// "window 2 17" of a group whose first channel is the recording's third: "window 4 17".
std::string of_recording(const std::string& part, std::size_t first_channel);

}  // namespace envoi::command
