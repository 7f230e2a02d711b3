// The inside of the text reader: how a table is laid out, and its columns of numbers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "readers.hpp"

namespace envoi::signal {

struct TextLayout {
  std::string_view body;  // the file without a byte order mark
  char line_end = '\n';   // '\r' in files that have no '\n'
  char delimiter = '\0';  // '\t' ';' ',' ' ' (any run of blanks), '\0' (one column)
  std::size_t columns = 1;
  std::vector<std::string> names;  // from the header row or a comment that stands for one; else empty
  std::vector<bool> numeric;       // columns that hold numbers
  std::size_t data_at = 0;         // byte of the body where the rows begin
  std::size_t data_line = 1;       // and its 1-based line
  std::vector<std::string> warnings;

  std::string name_of(std::size_t column) const;  // for messages: its name, else its number
};

// Throws Error (bad_file) if the bytes are no text or hold no column of numbers.
TextLayout find_text_layout(const Input& input);

// The numbers of the columns in `wanted`, NaN where a cell is empty or says that its value is missing.
// Throws Error (bad_file) with the line of a row of another length, or of a cell that is no number.
std::vector<std::vector<double>> parse_text_columns(const Input& input, const TextLayout& layout,
                                                    const std::vector<std::size_t>& wanted);

// The 1-based line of a row (0-based), for messages.
std::size_t line_of_row(const TextLayout& layout, std::size_t row);

}  // namespace envoi::signal
