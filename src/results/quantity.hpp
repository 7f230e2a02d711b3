// Numbers as people read them: sensible digits, SI prefixes, "12.4 Hz", "310 ms", "-15.2 MHz/s".
#pragma once

#include <string>
#include <string_view>

namespace envoi::results {

// `digits` significant digits and no exponent where that stays short.
std::string rounded(double value, int digits);

// Value and unit with the prefix that leaves 1 to 1000 before the point. Units that already carry a prefix (uV), and
// unknown ones, keep theirs; "u" is shown as "µ". Hz and Hz/s take no prefix below one ("0.625 Hz").
std::string quantity(double value, std::string_view unit, int digits);

// As given by a person: up to six digits, no zeros at the end: "0.5 Hz", "142.857 kHz".
std::string plain_quantity(double value, std::string_view unit);

// quantity() with its standard error: "12.40 ±0.05 Hz", both in one prefix, both to the second digit of the error.
// Without an error (NaN): as above.
std::string quantity_with_error(double value, double error, std::string_view unit, int digits);

// Columns a UTF-8 text takes on a terminal, one a code point.
std::size_t display_width(std::string_view text);

// "1 atom", "2 atoms".
std::string counted(std::size_t count, const std::string& one);

}  // namespace envoi::results
