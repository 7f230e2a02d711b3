// Text of a result back into a decomposition; trusts nothing in it.
#pragma once

#include <string>
#include <string_view>

#include "envoi/decomposition.hpp"

namespace envoi::results {

// JSON or NDJSON, told apart by content. Unknown members are ignored. `name` is for messages.
// Throws Error (bad_file) with the byte, or the line and the member, of the fault.
Decomposition parse(std::string_view text, const std::string& name);

}  // namespace envoi::results
