// Units with SI prefixes, as far as numbers in one can be turned into another.
#pragma once

#include <optional>
#include <string_view>

namespace envoi::results {

// What a number in unit `from` is multiplied by to be one in unit `to`: 1000 from "mV" to "uV"; none where they do not
// measure the same, or one is not known here and they are not the same word.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

}  // namespace envoi::results
