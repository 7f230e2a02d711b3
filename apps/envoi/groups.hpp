// An analysis channel by channel, for recordings that are larger than memory: same bytes as all at once.
#pragma once

#include <functional>
#include <string>

#include "analysis.hpp"

namespace envoi::command {

// Whether no step of the analysis needs more than one channel at a time.
bool goes_by_channel(const FileAnalysis& file);

// Channels gathered into groups of some 200 MB of samples, each conditioned and taken apart when it is full.
class Groups {
 public:
  using Decompose = std::function<Decomposition(const Recording& group, std::size_t first_channel)>;
  Groups(const Conditioning& conditioning, Decompose decompose);

  void add(const Recording& about, Channel channel);
  std::size_t channels() const { return first_ + group_.channels.size(); }

  // At the end: conditions the last group (warnings about all channels go to `recording`), then takes it apart.
  void condition_rest(Recording& recording);
  Decomposition finish();

 private:
  void condition_group();
  void take_apart_group();

  const Conditioning& conditioning_;
  Decompose decompose_;
  double limit_bytes_;
  Recording group_;
  double bytes_ = 0;
  std::size_t first_ = 0;  // channel of the recording that is the group's first
  std::size_t short_stretches_ = 0;
  Decomposition out_;
};

// "window 2 17" of a group whose first channel is the recording's third: "window 4 17".
std::string of_recording(const std::string& part, std::size_t first_channel);

}  // namespace envoi::command
