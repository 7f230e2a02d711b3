// JSON text: commas, escapes and the shortest digits.
#include "results/json_text.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace envoi::results {

std::string number_text(double value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void JsonText::begin(std::string_view key) {
  if (!first_) text_ += pending_indent_ >= 0 ? "," : ", ";
  if (pending_indent_ >= 0) text_ += '\n' + std::string(static_cast<std::size_t>(pending_indent_), ' ');
  pending_indent_ = -1;
  first_ = false;
  if (!key.empty()) {
    text_ += '"';
    text_ += key;
    text_ += "\": ";
  }
}

void JsonText::line(int indent) {
  if (lines_) pending_indent_ = indent;
}

void JsonText::open(std::string_view key, char bracket) {
  begin(key);
  text_ += bracket;
  first_ = true;
}

void JsonText::close(char bracket) {
  if (pending_indent_ >= 0) text_ += '\n' + std::string(static_cast<std::size_t>(pending_indent_), ' ');
  pending_indent_ = -1;
  text_ += bracket;
  first_ = false;
}

void JsonText::add(std::string_view key, double value) {
  begin(key);
  text_ += std::isfinite(value) ? number_text(value) : "null";
}

void JsonText::add(std::string_view key, const std::optional<double>& value) {
  if (value)
    add(key, *value);
  else
    add_null(key);
}

void JsonText::add(std::string_view key, std::uint64_t value) {
  begin(key);
  text_ += std::to_string(value);
}

void JsonText::add(std::string_view key, bool value) {
  begin(key);
  text_ += value ? "true" : "false";
}

void JsonText::add(std::string_view key, std::string_view text) {
  begin(key);
  text_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonText::add_null(std::string_view key) {
  begin(key);
  text_ += "null";
}

}  // namespace envoi::results
