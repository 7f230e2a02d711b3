// What all readers share: faults in one voice, text made safe to show, numbers out of text.
#include "shared.hpp"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "envoi/error.hpp"

namespace envoi::signal {
namespace {

// Length of the UTF-8 character that starts at `text[i]`; 0 if it is not valid (RFC 3629, table 3-7 of Unicode).
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(i + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && byte(i + 1) < 0xA0) return 0;
    if (first == 0xED && byte(i + 1) > 0x9F) return 0;
    return follows(i + 1) && follows(i + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && byte(i + 1) < 0x90) return 0;
    if (first == 0xF4 && byte(i + 1) > 0x8F) return 0;
    return follows(i + 1) && follows(i + 2) && follows(i + 3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void bad_file(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::bad_file, printable(file, 300) + ": " + what);
}

void bad_argument(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::bad_argument, printable(file, 300) + ": " + what);
}

std::string printable(std::string_view text, std::size_t limit) {
  const bool cut_early = text.size() > 4 * limit;
  const std::string whole = to_utf8(cut_early ? text.substr(0, 4 * limit) : text);
  std::string out;
  for (std::size_t i = 0; i < whole.size();) {
    const std::size_t length = utf8_length(whole, i);
    if (out.size() + length > limit) return out + "...";
    const auto c = static_cast<unsigned char>(whole[i]);
    if (length == 1 && (c < 0x20 || c == 0x7F)) {
      out += '?';
    } else {
      out += whole.substr(i, length);
    }
    i += length;
  }
  return out;
}

std::string to_utf8(std::string_view text) {
  bool valid = true;
  for (std::size_t i = 0; valid && i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    valid = length > 0;
    i += length;
  }
  if (valid) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | (u >> 6));
      out += static_cast<char>(0x80 | (u & 0x3F));
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\v\f\0", 7);
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<double> parse_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Out of range either way leaves `value` alone; strtod says which way.
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string shortest(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string rounded(double value, int digits) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

void require_memory(const std::string& file, double doubles) {
  const double here = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double needed = doubles * sizeof(double);
  if (here > 0 && needed > here) {
    throw Error(ErrorKind::out_of_memory, printable(file, 300) + ": needs " + rounded(needed / 1e9, 3) +
                                              " GB of memory, this machine has " + rounded(here / 1e9, 3) +
                                              "; read fewer channels or a shorter stretch (--channels, --from, --to)");
  }
}

namespace {

void check_rate(const std::string& file, double rate_hz) {
  if (!(rate_hz >= 1e-9 && rate_hz <= 1e15)) {
    bad_argument(
        file, "the rate must be a number of Hz above 0 (1e-9 to 1e15), not " + rounded(rate_hz) + "; correct --rate");
  }
}

}  // namespace

double required_rate(const std::string& file, const ReadOptions& options) {
  if (!options.rate_hz) bad_argument(file, "the file does not carry its sampling rate; give it in Hz with --rate");
  check_rate(file, *options.rate_hz);
  return *options.rate_hz;
}

void check_own_rate(const std::string& file, const std::string& what, double own_rate_hz, const ReadOptions& options) {
  if (!options.rate_hz || options.rate_is_fallback) return;
  check_rate(file, *options.rate_hz);
  if (std::abs(*options.rate_hz - own_rate_hz) > 1e-6 * own_rate_hz) {
    bad_argument(file, what + " has " + rounded(own_rate_hz, 9) + " Hz by the file, but --rate says " +
                           rounded(*options.rate_hz, 9) + " Hz; leave --rate out");
  }
}

std::string normal_unit(std::string_view unit) {
  const std::string_view bare = trimmed(unit);
  // A micro sign written as UTF-8 and read as Latin-1, perhaps twice; and the mu of Shift-JIS.
  for (const char* broken : {"\xC3\x82\xC2\xB5V", "\xC3\x8E\xC2\xBCV", "\x83\xCAV"}) {
    if (bare == broken) return "uV";
  }
  const std::string text = to_utf8(bare);
  for (const char* micro : {"uV", "\u00B5V", "\u03BCV", "uv", "microV", "microvolt", "microvolts", "muV"}) {
    if (text == micro) return "uV";
  }
  return text;
}

}  // namespace envoi::signal
