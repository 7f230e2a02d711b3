// Lines of a table to rows, rows to cells, cells to numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace envoi::signal {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

inline std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

inline bool is_comment(std::string_view line, char delimiter) {
  line = without_blanks(line);
  return line.starts_with('#') || line.starts_with('%') || line.starts_with("//") || line.starts_with('!') ||
         (delimiter != ';' && line.starts_with(';'));
}

class Lines {
 public:
  Lines(std::string_view body, char line_end, std::size_t at = 0, std::size_t number = 1)
      : body_(body), line_end_(line_end), at_(at), next_number_(number) {}

  bool next(std::string_view& line) {
    if (at_ >= body_.size()) return false;
    begin_ = at_;
    const std::size_t end = std::min(body_.find(line_end_, at_), body_.size());
    line = body_.substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = end + 1;
    number_ = next_number_++;
    return true;
  }

  std::size_t number() const { return number_; }  // of the line just read, 1-based
  std::size_t begin() const { return begin_; }    // its first byte

 private:
  std::string_view body_;
  char line_end_;
  std::size_t at_;
  std::size_t next_number_;
  std::size_t number_ = 0;
  std::size_t begin_ = 0;
};

// Calls visit(index, cell, quoted) for each cell, without its quotes; returns how many there are.
template <class Visit>
std::size_t for_each_cell(std::string_view line, char delimiter, Visit visit) {
  std::size_t index = 0, at = 0;
  for (;;) {
    while (at < line.size() && is_blank(line[at]) && line[at] != delimiter) ++at;
    if (delimiter == ' ') {
      while (at < line.size() && is_blank(line[at])) ++at;
      if (at >= line.size()) return index;
    }
    std::string_view cell;
    bool quoted = false;
    if (at < line.size() && line[at] == '"') {
      std::size_t close = line.find('"', at + 1);
      while (close != std::string_view::npos && close + 1 < line.size() && line[close + 1] == '"') {
        close = line.find('"', close + 2);
      }
      if (close != std::string_view::npos) {
        std::size_t after = close + 1;
        while (after < line.size() && is_blank(line[after]) && line[after] != delimiter) ++after;
        const bool ends_cell = after >= line.size() || line[after] == delimiter || delimiter == ' ';
        if (ends_cell) {
          cell = without_blanks(line.substr(at + 1, close - at - 1));
          quoted = true;
          at = after;
        }
      }
    }
    if (!quoted) {
      std::size_t end = at;
      if (delimiter == ' ') {
        while (end < line.size() && !is_blank(line[end])) ++end;
      } else {
        end = delimiter == '\0' ? line.size() : std::min(line.find(delimiter, at), line.size());
      }
      cell = without_blanks(line.substr(at, end - at));
      at = end;
    }
    visit(index++, cell, quoted);
    if (delimiter == ' ') continue;
    if (at >= line.size()) return index;
    ++at;  // the delimiter
  }
}

enum class Cell { number, missing, infinite, text };

Cell parse_unusual_cell(std::string_view cell, char delimiter, double& value);

// `value` is NaN where the cell is missing. A comma is the decimal sign where it does not part cells.
inline Cell parse_cell(std::string_view cell, char delimiter, double& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc{} && end == cell.data() + cell.size() && std::isfinite(value)) return Cell::number;
  return parse_unusual_cell(cell, delimiter, value);
}

}  // namespace envoi::signal
