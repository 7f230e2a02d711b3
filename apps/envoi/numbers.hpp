// Numbers of the command line: SI endings, ranges, grids. Each throws Error (bad_argument) that names the option.
#pragma once

#include <string>
#include <string_view>

#include "envoi/options.hpp"

namespace envoi::command {

// "12.5", "20k", "1.5M", "50m", "10u", "3e-2"; finite.
double parse_number(std::string_view text, const std::string& option);
double parse_positive(std::string_view text, const std::string& option);
std::size_t parse_count(std::string_view text, const std::string& option);  // whole, 1 or more
Range parse_range(std::string_view text, const std::string& option);        // "LO:HI"
ExplicitGrid parse_grid(std::string_view text, const std::string& option);  // "tc=A:B:STEP,fc=..,lnDt=..,c=.." or "act"

// ACT-lib's published working grid, c' turned into df/dt = 2 c'.
ExplicitGrid act_grid();

}  // namespace envoi::command
