// What all readers share: faults in one voice, text made safe to show, numbers out of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "envoi/signal.hpp"

namespace envoi::signal {

// Throw Error of that kind: "file: what".
[[noreturn]] void bad_file(const std::string& file, const std::string& what);
[[noreturn]] void bad_argument(const std::string& file, const std::string& what);

// One line, valid UTF-8, no control characters, at most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 40);

// Valid UTF-8 as it is; anything else taken as Latin-1.
std::string to_utf8(std::string_view text);

std::string_view trimmed(std::string_view text);  // without blanks, line ends and NULs at either end
std::string lower_case(std::string_view text);    // ASCII letters alone

// The whole of `text` as a number, "+1.5" included; "1e999" is infinite, "1e-999" is 0.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

std::string shortest(double value);                 // fewest digits that read back to the same bits
std::string rounded(double value, int digits = 6);  // for messages

// Throws Error (out_of_memory) if so many doubles cannot fit into this machine.
void require_memory(const std::string& file, double doubles);

// The rate of a file that carries none. Throws Error (bad_argument) where it was not given.
double required_rate(const std::string& file, const ReadOptions& options);

// Throws Error (bad_argument) if a rate was given and differs from the file's own.
void check_own_rate(const std::string& file, const std::string& what, double own_rate_hz, const ReadOptions& options);

// "uV" for the ways to write microvolts; all other units as they are.
std::string normal_unit(std::string_view unit);

}  // namespace envoi::signal
