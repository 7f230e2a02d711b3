// Finds delimiter, header row and columns of numbers from the first rows of a text file.
#include <array>
#include <map>

#include "shared.hpp"
#include "text_rows.hpp"
#include "text_table.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kSampleRows = 64;
constexpr std::size_t kMostColumns = 65536;

struct SampleRow {
  std::string_view text;
  std::size_t begin;
  std::size_t line;
};

struct Sample {
  std::vector<SampleRow> rows;
  std::string_view last_comment;  // the one right before the first row
};

void refuse_binary(const Input& input) {
  const std::string_view bytes = input.bytes;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    bad_file(input.name, "is UTF-16 text; save it as UTF-8 or plain ASCII");
  }
  std::size_t at = bytes.find('\0');
  for (std::size_t i = 0; i < std::min<std::size_t>({bytes.size(), at, 65536}); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c < 0x20 && !is_blank(bytes[i]) && c != '\n' && c != 0x1A) at = i;
  }
  if (at != std::string_view::npos) {
    bad_file(input.name, "is not text (byte " + std::to_string(at) +
                             " is a control character) and of no format known here; say which with --format");
  }
}

Sample take_sample(const TextLayout& layout) {
  Sample sample;
  Lines lines(layout.body, layout.line_end);
  std::string_view line;
  while (sample.rows.size() < kSampleRows && lines.next(line)) {
    if (without_blanks(line).empty()) continue;
    if (is_comment(line, layout.delimiter)) {
      if (sample.rows.empty()) sample.last_comment = line;
      continue;
    }
    sample.rows.push_back({line, lines.begin(), lines.number()});
  }
  return sample;
}

// How well the rows fit: the share of rows of one length times the share of their cells that are numbers.
double fit_of(const Sample& sample, char delimiter, std::size_t& columns) {
  struct Tally {
    std::size_t rows = 0, cells = 0, good = 0;
  };
  std::map<std::size_t, Tally> by_length;
  for (const SampleRow& row : sample.rows) {
    std::size_t good = 0;
    const std::size_t cells = for_each_cell(row.text, delimiter, [&](std::size_t, std::string_view cell, bool) {
      double value = 0;
      // A single column with a comma is more likely two columns than a decimal comma.
      if (parse_cell(cell, delimiter == '\0' ? ',' : delimiter, value) != Cell::text) ++good;
    });
    Tally& tally = by_length[cells];
    tally.rows += 1;
    tally.cells += cells;
    tally.good += good;
  }
  const Tally* best = nullptr;
  for (const auto& [length, tally] : by_length) {
    if (best && tally.rows <= best->rows) continue;
    best = &tally;
    columns = length;
  }
  if (!best || (delimiter != '\0' && columns < 2)) return -1;
  return static_cast<double>(best->rows) / static_cast<double>(sample.rows.size()) *
         (static_cast<double>(best->good) / static_cast<double>(best->cells));
}

void find_delimiter(const Sample& sample, TextLayout& layout) {
  double best = -1;
  for (const char delimiter : {'\t', ';', ',', ' ', '\0'}) {
    std::size_t columns = 1;
    const double fit = fit_of(sample, delimiter, columns);
    if (fit <= best + 1e-9) continue;
    best = fit;
    layout.delimiter = delimiter;
    layout.columns = columns;
  }
}

bool has_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  });
}

// Columns whose sampled cells, the first row apart, are mostly numbers.
std::vector<bool> find_numeric(const Sample& sample, const TextLayout& layout) {
  std::vector<std::size_t> texts(layout.columns, 0), cells(layout.columns, 0);
  for (std::size_t i = sample.rows.size() > 1 ? 1 : 0; i < sample.rows.size(); ++i) {
    for_each_cell(sample.rows[i].text, layout.delimiter, [&](std::size_t column, std::string_view cell, bool) {
      double value = 0;
      if (column >= layout.columns) return;
      ++cells[column];
      texts[column] += parse_cell(cell, layout.delimiter, value) == Cell::text ? 1 : 0;
    });
  }
  std::vector<bool> numeric(layout.columns);
  for (std::size_t i = 0; i < layout.columns; ++i) numeric[i] = 2 * texts[i] <= cells[i] && cells[i] > texts[i];
  return numeric;
}

std::string column_name(std::string_view cell) {
  std::string name = printable(cell, 200);
  for (std::size_t at = name.find("\"\""); at != std::string::npos; at = name.find("\"\"", at + 1)) name.erase(at, 1);
  return name;
}

// The first row is a header if words stand over numbers, or if it alone is quoted.
bool first_row_is_header(const Sample& sample, const TextLayout& layout) {
  bool words_over_numbers = false, letters = false, all_quoted = true, next_quoted = false;
  const std::size_t cells =
      for_each_cell(sample.rows[0].text, layout.delimiter, [&](std::size_t column, std::string_view cell, bool quoted) {
        double value = 0;
        const bool word = parse_cell(cell, layout.delimiter, value) == Cell::text;
        words_over_numbers |= column < layout.columns && layout.numeric[column] && word;
        letters |= word && has_letter(cell);
        all_quoted &= quoted;
      });
  if (cells != layout.columns || sample.rows.size() < 2) return false;
  for_each_cell(sample.rows[1].text, layout.delimiter,
                [&](std::size_t, std::string_view, bool quoted) { next_quoted |= quoted; });
  return (words_over_numbers && letters) || (all_quoted && !next_quoted);
}

void names_from_row(std::string_view row, TextLayout& layout) {
  layout.names.assign(layout.columns, "");
  for_each_cell(row, layout.delimiter, [&](std::size_t column, std::string_view cell, bool) {
    if (column < layout.columns) layout.names[column] = column_name(cell);
  });
}

// "# time  x": a comment right before the rows that has as many words, or groups of words, as there are columns.
void names_from_comment(std::string_view comment, TextLayout& layout) {
  comment = without_blanks(comment);
  while (!comment.empty() && std::string_view("#%/!; \t").find(comment.front()) != std::string_view::npos) {
    comment.remove_prefix(1);
  }
  if (layout.columns < 2 || !has_letter(comment)) return;
  std::vector<std::string> names;
  if (layout.delimiter == ' ') {
    for (std::size_t at = 0; at < comment.size();) {
      const std::size_t end = std::min({comment.find("  ", at), comment.find('\t', at), comment.size()});
      if (end > at) names.push_back(column_name(without_blanks(comment.substr(at, end - at))));
      at = std::min(comment.find_first_not_of(" \t", end), comment.size());
    }
  }
  if (names.size() != layout.columns) {
    names.clear();
    for_each_cell(comment, layout.delimiter,
                  [&](std::size_t, std::string_view cell, bool) { names.push_back(column_name(cell)); });
  }
  if (names.size() == layout.columns) layout.names = names;
}

}  // namespace

std::string TextLayout::name_of(std::size_t column) const {
  const bool named = column < names.size() && !names[column].empty();
  return named ? std::string("'").append(printable(names[column])).append("'") : std::to_string(column + 1);
}

TextLayout find_text_layout(const Input& input) {
  refuse_binary(input);
  TextLayout layout;
  layout.body = input.bytes;
  if (layout.body.starts_with("\xEF\xBB\xBF")) layout.body.remove_prefix(3);
  if (layout.body.ends_with('\x1A')) layout.body.remove_suffix(1);  // the end mark of DOS
  if (layout.body.find('\n') == std::string_view::npos) layout.line_end = '\r';

  const Sample sample = take_sample(layout);
  if (sample.rows.empty()) bad_file(input.name, "holds no numbers");
  find_delimiter(sample, layout);
  if (layout.columns > kMostColumns) {
    bad_file(input.name, std::to_string(layout.columns) + " columns in a line are too many; put one sample on a line");
  }
  layout.numeric = find_numeric(sample, layout);
  const auto no_numbers = [&] {
    bad_file(input.name, "holds no column of numbers; line " + std::to_string(sample.rows[0].line) + " is '" +
                             printable(sample.rows[0].text) + "'");
  };
  if (std::find(layout.numeric.begin(), layout.numeric.end(), true) == layout.numeric.end()) no_numbers();

  std::size_t first = 0;
  if (first_row_is_header(sample, layout)) {
    names_from_row(sample.rows[0].text, layout);
    first = 1;
  } else {
    names_from_comment(sample.last_comment, layout);
  }
  layout.data_at = sample.rows[first].begin;
  layout.data_line = sample.rows[first].line;

  const bool points = layout.body.substr(0, 65536).find('.') != std::string_view::npos;
  if (layout.delimiter == ',' && layout.columns == 2 && layout.names.empty() && !points) {
    layout.warnings.push_back(
        "read as two columns parted by commas; if the comma is a decimal sign, write points instead");
  }
  return layout;
}

}  // namespace envoi::signal
