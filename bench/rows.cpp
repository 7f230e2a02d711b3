// What every bench program does with rows: text, tables, JSON, verdicts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "bench.hpp"

namespace bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string to_cell(const Row::Value& value) {
  if (std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  const double number = std::get<double>(value);
  if (!std::isfinite(number)) return "-";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), std::abs(number) >= 1e4 ? "%.0f" : "%.4g", number);
  return text.data();
}

std::size_t width(const std::string& text) {  // of UTF-8
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string exact(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 40> text{};
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    if (std::strtod(text.data(), nullptr) == value) break;
  }
  return text.data();
}

std::string to_json(const Row& row, const std::vector<std::pair<std::string, std::string>>& machine) {
  const char* commit = std::getenv("ENVOI_COMMIT");
  std::string line = "{\"bench\": " + quoted(row.bench);
  for (const auto& [name, value] : row.fields) {
    line += ", " + quoted(name) + ": ";
    line +=
        std::holds_alternative<double>(value) ? exact(std::get<double>(value)) : quoted(std::get<std::string>(value));
  }
  for (const auto& [name, value] : machine) line += ", " + quoted(name) + ": " + quoted(value);
  return line + ", \"commit\": " + quoted(commit ? commit : "unknown") + "}";
}

void print_table(const std::string& name, const std::string& title, const Rows& rows) {
  std::vector<std::string> columns;
  for (const Row& row : rows) {
    for (const auto& field : row.fields) {
      if (std::find(columns.begin(), columns.end(), field.first) == columns.end()) columns.push_back(field.first);
    }
  }
  std::vector<std::vector<std::string>> cells{columns};
  for (const Row& row : rows) {
    std::vector<std::string>& line = cells.emplace_back(columns.size());
    for (const auto& [field, value] : row.fields) {
      line[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), field) - columns.begin())] =
          to_cell(value);
    }
  }
  std::cout << "\n" << name << ": " << title << "\n";
  std::vector<std::size_t> widths(columns.size());
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width(line[c]));
  }
  for (const auto& line : cells) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) text += "  " + line[c] + std::string(widths[c] - width(line[c]), ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    std::cout << text << "\n";
  }
  std::cout.flush();
}

bool named(const Question& question, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return question.name == name || question.name.rfind(name + "/", 0) == 0;
         });
}

bool reached(const Row& row) {
  return std::none_of(row.fields.begin(), row.fields.end(), [](const auto& field) {
    return field.first == "failed" || (field.first == "met" && field.second == Row::Value(std::string("NO")));
  });
}

void note(const std::string& line) { std::cerr << "  .. " << line << "\n"; }

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace bench
