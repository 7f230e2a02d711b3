// A recording the way the options of a command want it.
#pragma once

#include <string>

#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi::command {

// Reads, then conditions; says the warnings unless `quiet`. Throws Error as read and condition do.
Recording read_input(const std::string& path, const ReadOptions& input, const Conditioning& conditioning, bool quiet);

}  // namespace envoi::command
