// The recording behind a result, read again the way it was read then.
#pragma once

#include <string>

#include "envoi/decomposition.hpp"

namespace envoi::command {

// Reading options of a result: its rate is for files that carry none.
ReadOptions of_result(ReadOptions input);

// Reads and conditions as the result says. Throws Error (bad_file: another file than the one analysed, unless `force`).
// Says its warnings, and that it could not check where the result does not know its file.
Recording read_source(const std::string& path, const Decomposition& result, bool force);

}  // namespace envoi::command
