// Which axis of an array of numbers is time, where the format does not say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "shared.hpp"

namespace envoi::signal {

constexpr std::uint64_t kMostArrayChannels = 1024;

struct ArrayShape {
  std::uint64_t samples = 0;
  std::uint64_t channels = 1;
  bool samples_first = true;  // axis 0 is time
};

// The longer axis is time. Throws Error (bad_file) for an empty array, and where even the shorter axis is too long to
// be channels.
inline ArrayShape shape_of(const std::string& file, const std::string& what, const std::vector<std::uint64_t>& axes,
                           std::vector<std::string>& warnings) {
  const std::uint64_t rows = axes.empty() ? 1 : axes[0], columns = axes.size() > 1 ? axes[1] : 1;
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  if (rows == 0 || columns == 0) bad_file(file, what + " is empty");
  const ArrayShape shape{std::max(rows, columns), std::min(rows, columns), rows >= columns};
  if (shape.channels > kMostArrayChannels) {
    bad_file(file, what + " is " + size + "; the longer axis is time, and " + std::to_string(shape.channels) +
                       " channels are more than " + std::to_string(kMostArrayChannels) +
                       ": it is an image or a table; store channels x samples");
  }
  if (rows == columns && rows > 1) {
    warnings.push_back(what + " is " + size + "; taken as samples x channels, transpose it if that is upside down");
  }
  return shape;
}

}  // namespace envoi::signal
