// Text files of headsets' own programs, which the table reader would misread: rows of events, counters of samples that
// tell what was dropped, time stamps that come in bursts.
#pragma once

#include <optional>

#include "readers.hpp"

namespace envoi::signal {

// Mind Monitor, muselsl, the OpenBCI GUI and BrainFlow, told by their content; nothing for any other text.
// Throws Error (bad_file, bad_argument).
std::optional<Recording> read_device_text(const Input& input, const ReadOptions& options);

}  // namespace envoi::signal
