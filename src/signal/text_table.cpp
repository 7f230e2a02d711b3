// Rows of a text file to columns of numbers.
#include "text_table.hpp"

#include <limits>

#include "shared.hpp"
#include "text_rows.hpp"

namespace envoi::signal {

Cell parse_unusual_cell(std::string_view cell, char delimiter, double& value) {
  value = std::numeric_limits<double>::quiet_NaN();
  if (cell.empty()) return Cell::missing;
  const auto classify = [&](std::string_view text) {
    const auto number = parse_number(text);
    if (!number) return Cell::text;
    if (std::isnan(*number)) return Cell::missing;
    if (std::isinf(*number)) return Cell::infinite;
    value = *number;
    return Cell::number;
  };
  if (const Cell kind = classify(cell); kind != Cell::text) return kind;
  if (cell.size() > 64) return Cell::text;
  if (delimiter != ',' && cell.find('.') == std::string_view::npos) {
    std::string pointed(cell);
    if (const std::size_t comma = pointed.find(','); comma != std::string::npos) {
      pointed[comma] = '.';
      if (const Cell kind = classify(pointed); kind != Cell::text) return kind;
    }
  }
  const std::string word = lower_case(cell);
  for (const char* missing : {"na", "n/a", "null", "none", "#n/a", "missing"}) {
    if (word == missing) return Cell::missing;
  }
  return Cell::text;
}

namespace {

[[noreturn]] void ragged(const Input& input, const TextLayout& layout, std::size_t line, std::size_t cells) {
  bad_file(input.name, "line " + std::to_string(line) + " has " + std::to_string(cells) +
                           (cells == 1 ? " column" : " columns") + ", the others have " +
                           std::to_string(layout.columns) + "; correct it, or put # before it if it is a comment");
}

[[noreturn]] void bad_cell(const Input& input, const TextLayout& layout, std::size_t line, std::size_t column,
                           std::string_view cell, Cell kind) {
  const std::string what = kind == Cell::infinite ? "' is not finite" : "' is no number";
  bad_file(input.name, "line " + std::to_string(line) + ", column " + layout.name_of(column) + ": '" + printable(cell) +
                           what + "; correct it, or write nan for a missing sample");
}

}  // namespace

std::vector<std::vector<double>> parse_text_columns(const Input& input, const TextLayout& layout,
                                                    const std::vector<std::size_t>& wanted) {
  constexpr std::size_t kUnwanted = static_cast<std::size_t>(-1);
  std::vector<std::size_t> slot(layout.columns, kUnwanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) slot[wanted[i]] = i;
  std::vector<std::vector<double>> columns(wanted.size());

  Lines lines(layout.body, layout.line_end, layout.data_at, layout.data_line);
  std::string_view line;
  std::size_t blank_lines = 0;
  while (lines.next(line)) {
    const std::string_view bare = without_blanks(line);
    if (bare.empty()) {
      ++blank_lines;
      continue;
    }
    if (is_comment(bare, layout.delimiter)) continue;
    // An empty line of a one-column table is an empty cell.
    if (layout.columns == 1 && blank_lines > 0) {
      for (auto& column : columns) column.insert(column.end(), blank_lines, std::numeric_limits<double>::quiet_NaN());
    }
    blank_lines = 0;
    const std::size_t cells =
        for_each_cell(line, layout.delimiter, [&](std::size_t column, std::string_view cell, bool) {
          if (column >= layout.columns || slot[column] == kUnwanted) return;
          double value = 0;
          const Cell kind = parse_cell(cell, layout.delimiter, value);
          if (kind == Cell::text || kind == Cell::infinite) {
            bad_cell(input, layout, lines.number(), column, cell, kind);
          }
          columns[slot[column]].push_back(value);
        });
    if (cells != layout.columns) ragged(input, layout, lines.number(), cells);
  }
  return columns;
}

std::size_t line_of_row(const TextLayout& layout, std::size_t row) {
  Lines lines(layout.body, layout.line_end, layout.data_at, layout.data_line);
  std::string_view line;
  std::size_t seen = 0, blank_lines = 0;
  while (lines.next(line)) {
    const std::string_view bare = without_blanks(line);
    if (bare.empty()) {
      ++blank_lines;
      continue;
    }
    if (is_comment(bare, layout.delimiter)) continue;
    if (layout.columns == 1) seen += blank_lines;
    blank_lines = 0;
    if (seen++ >= row) return lines.number();
  }
  return lines.number();
}

}  // namespace envoi::signal
