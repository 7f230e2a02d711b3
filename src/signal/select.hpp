// Which channels and which stretch of a recording are wanted.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "readers.hpp"

namespace envoi::signal {

// Appends " (2)", " (3)" ... to names that were there before; empty names become their 1-based number.
void make_unique(std::vector<std::string>& names);

// Indices of the names that the patterns (a name, else a 1-based number or range, else a glob of * and ?) choose, in
// the order of the patterns, each once. Throws Error (bad_argument) for a pattern that chooses nothing.
std::vector<std::size_t> select_channels(const std::string& file, const std::vector<std::string>& names,
                                         const std::vector<std::string>& patterns);

// What `options` wants of these channels: `channels`, or all; of `types` alone (case does not count); without
// `exclude`. Tells input.all_names. Throws Error (bad_argument) for a pattern or a type that chooses nothing, and where
// nothing is left.
std::vector<std::size_t> wanted_channels(const Input& input, const std::vector<std::string>& names,
                                         const std::vector<std::string>& types, const ReadOptions& options);

// "Fp1, Fp2, ... and 30 more".
std::string list_of(const std::vector<std::string>& names);

struct SampleRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// The stretch [from_s, to_s), channel by channel, each at its own rate.
class Crop {
 public:
  // Throws Error (bad_argument) if the limits are no numbers or upside down.
  Crop(const std::string& file, const ReadOptions& options);

  // The samples wanted of a channel; its start is moved along.
  SampleRange take(double& start_s, double rate_hz, std::size_t samples);

  // For samples that are already there.
  void apply(Channel& channel);

  // Leaves out channels that have no sample in the stretch, with a warning.
  // Throws Error (bad_argument) if none is left.
  void finish(Recording& recording) const;

 private:
  std::string file_;
  double from_s_;
  double to_s_;
  double first_s_ = std::numeric_limits<double>::infinity();
  double end_s_ = -std::numeric_limits<double>::infinity();
};

}  // namespace envoi::signal
