// Builds JSON text piece by piece, in the order of the calls, without a document in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace envoi::results {

// Fewest digits that read back to the same bits; always a JSON number with a point or an exponent ("256.0", "-0.0").
// Not for NaN or infinity.
std::string number_text(double value);

class JsonText {
 public:
  explicit JsonText(bool lines) : lines_(lines) {}  // false: everything on one line

  // Members of objects take their key; elements of arrays the key "".
  void open(std::string_view key, char bracket);  // '{' or '['
  void close(char bracket);                       // '}' or ']'
  void add(std::string_view key, double value);   // null where it is not finite
  void add(std::string_view key, const std::optional<double>& value);
  void add(std::string_view key, std::uint64_t value);
  void add(std::string_view key, bool value);
  void add(std::string_view key, std::string_view text);  // invalid UTF-8 becomes U+FFFD
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }
  void add_null(std::string_view key);
  void line(int indent);  // the next piece starts a line, after the comma that belongs before it

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view key);

  std::string text_;
  bool lines_;
  bool first_ = true;
  int pending_indent_ = -1;
};

}  // namespace envoi::results
