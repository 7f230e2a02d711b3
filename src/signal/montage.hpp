// Which channels a reference or a bipolar difference means, and the differences themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "envoi/recording.hpp"

namespace envoi::signal {

struct Reference {
  std::vector<std::size_t> of;        // channels whose mean it is
  std::vector<std::size_t> from;      // channels that it is taken off
  std::vector<std::size_t> not_from;  // channels that are needed and keep what they have
};

struct Difference {
  std::string name;  // as it was asked for
  std::size_t plus = 0;
  std::size_t minus = 0;
};

// "average": the mean of all channels (of the EEG channels, where any channel is known to be one), off the same; else
// names with commas between, off those that are `needed`. Throws Error (bad_argument: a name that is not there,
// channels that do not share rate, unit and times, the average of a single channel). `file_names`: all that the file
// has, for messages; empty: the recording's.
Reference find_reference(const Recording& recording, const std::string& text, const std::vector<std::size_t>& needed,
                         const std::vector<std::string>& file_names = {});

// "F3-C3"; names may hold dashes themselves. Throws Error (bad_argument) likewise.
std::vector<Difference> find_differences(const Recording& recording, const std::vector<std::string>& pairs,
                                         const std::vector<std::string>& file_names = {});

// Where some of the channels of the mean are missing, it is that of the others; where all are, what it is taken off is
// missing.
void apply_reference(Recording& recording, const Reference& reference);

// The differences instead of the channels; missing where either is.
void apply_differences(Recording& recording, const std::vector<Difference>& differences);

}  // namespace envoi::signal
