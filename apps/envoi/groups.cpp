// Groups of channels, and their results joined.
#include "groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "envoi/pursuit.hpp"

namespace envoi::command {
namespace {

constexpr double kGroupBytes = 2e8;

// Tests make groups of few channels.
double group_bytes() {
  const char* text = std::getenv("ENVOI_GROUP_BYTES");
  const double asked = text != nullptr ? std::atof(text) : 0;
  return asked > 0 ? asked : kGroupBytes;
}

void append(Decomposition& to, Decomposition from, std::size_t first_channel) {
  if (first_channel == 0) {
    to = std::move(from);
    return;
  }
  for (Segment& segment : from.segments) {
    segment.channel += first_channel;
    segment.first_atom += to.atoms.size();
  }
  const auto join = [](auto& all, auto& more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  join(to.channels, from.channels);
  join(to.segments, from.segments);
  join(to.atoms, from.atoms);
  join(to.warnings, from.warnings);
}

}  // namespace

bool goes_by_channel(const FileAnalysis& file) {
  const Conditioning& c = file.options.conditioning;
  return !file.whole_recording && file.options.pursuit.channels == Channels::independent &&
         file.options.events.empty() && c.reference.empty() && c.bipolar.empty();
}

Groups::Groups(Decompose decompose) : decompose_(std::move(decompose)), limit_bytes_(group_bytes()) {}

void Groups::add(const Recording& about, Channel channel) {
  const double more = static_cast<double>(channel.samples.size()) * sizeof(double);
  if (!group_.channels.empty() && bytes_ + more > limit_bytes_) take_apart_group();
  if (group_.channels.empty()) group_ = about;
  bytes_ += more;
  group_.channels.push_back(std::move(channel));
}

void Groups::take_apart_group() {
  const std::size_t count = group_.channels.size();
  append(out_, decompose_(group_, first_), first_);
  first_ += count;
  group_ = {};
  bytes_ = 0;
}

Decomposition Groups::finish(const Recording& recording) {
  if (first_ + group_.channels.size() == 0) group_ = recording;  // which is what the refusal names
  take_apart_group();
  return std::move(out_);
}

std::string of_recording(const std::string& part, std::size_t first_channel) {
  const std::size_t begin = part.find(' ');
  const std::size_t end = part.find(' ', begin + 1);
  if (first_channel == 0 || begin == std::string::npos || end == std::string::npos) return part;
  return part.substr(0, begin + 1) + std::to_string(std::stoull(part.substr(begin + 1)) + first_channel) +
         part.substr(end);
}

}  // namespace envoi::command
