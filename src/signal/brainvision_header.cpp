// The texts of a BrainVision set: sections of KEY=VALUE lines, with ; before comments. Every value may lie.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "brainvision.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kMostChannels = 65536;

struct Value {
  std::string text;  // UTF-8
  std::size_t line = 0;
};

using Section = std::map<std::string, Value>;  // by lower-case key

// The sections by lower-case name. Free text of [Comment] is left out.
std::map<std::string, Section> sections_of(std::string_view text) {
  std::map<std::string, Section> sections;
  std::string current;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      current = lower_case(line.substr(1, line.size() - 2));
      continue;
    }
    const std::size_t equals = line.find('=');
    if (current.empty() || current == "comment" || equals == std::string_view::npos) continue;
    // A line is UTF-8 or, whatever Codepage says, of Windows and so nearly Latin-1.
    sections[current].try_emplace(lower_case(trimmed(line.substr(0, equals))),
                                  Value{to_utf8(trimmed(line.substr(equals + 1))), number});
  }
  return sections;
}

// Cells between commas; "\1" in a cell is a comma.
std::vector<std::string> cells_of(const std::string& text) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string cell(trimmed(std::string_view(text).substr(at, end - at)));
    for (std::size_t mark = cell.find("\\1"); mark != std::string::npos; mark = cell.find("\\1", mark + 1)) {
      cell.replace(mark, 2, ",");
    }
    cells.push_back(std::move(cell));
    at = end + 1;
  }
  return cells;
}

class Reader {
 public:
  explicit Reader(const Input& input) : input_(input), sections_(sections_of(input.bytes)) {}

  const Value* find(const char* section, const std::string& key) const {
    const auto in = sections_.find(section);
    if (in == sections_.end()) return nullptr;
    const auto at = in->second.find(key);
    return at == in->second.end() || at->second.text.empty() ? nullptr : &at->second;
  }
  const Value& at(const char* section, const char* key, const char* shown) const {
    const Value* value = find(section, key);
    if (!value) bad_file(input_.name, std::string("the BrainVision header has no line ") + shown + "; it is damaged");
    return *value;
  }
  [[noreturn]] void bad(const Value& value, const std::string& what) const {
    bad_file(input_.name, "line " + std::to_string(value.line) + ": " + what);
  }
  // One of two words; the first where the key is absent.
  bool is_second(const char* section, const char* key, const char* first, const char* second) const {
    const Value* value = find(section, key);
    const std::string word = value ? lower_case(value->text) : lower_case(first);
    if (word != lower_case(first) && word != lower_case(second)) {
      bad(*value, "'" + printable(value->text) + "' is not read; " + first + " and " + second + " are");
    }
    return word == lower_case(second);
  }

 private:
  const Input& input_;
  std::map<std::string, Section> sections_;
};

std::string file_name_of(const Value& value, const Input& input) {
  std::string name = value.text;
  name = name.substr(name.find_last_of("/\\") + 1);  // sets are moved, and folders named on other machines
  std::string stem = input.name.substr(0, input.name.rfind('.'));
  if (const std::size_t mark = name.find("$b"); mark != std::string::npos) name.replace(mark, 2, stem);
  return name;
}

BrainVisionChannel read_channel(const Value& value, std::size_t index, bool& unit_left_out) {
  const std::vector<std::string> cells = cells_of(value.text);
  const auto cell = [&](std::size_t i) { return i < cells.size() ? cells[i] : std::string(); };
  BrainVisionChannel channel;
  channel.name = printable(cell(0).empty() ? std::to_string(index) : cell(0), 64);
  if (!cell(2).empty()) {
    std::string text = cell(2);
    std::replace(text.begin(), text.end(), ',', '.');
    const auto resolution = parse_number(text);
    if (!resolution || !std::isfinite(*resolution) || *resolution == 0) {
      channel.fault = "its resolution is '" + printable(cell(2)) + "' (line " + std::to_string(value.line) + ")";
    } else {
      channel.resolution = *resolution;
    }
  }
  unit_left_out = cell(3).empty();
  channel.unit = unit_left_out ? "uV" : printable(normal_unit(cell(3)), 16);
  return channel;
}

void read_channels(const Reader& reader, std::size_t count, BrainVisionHeader& header) {
  std::vector<std::string> without_unit;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string key = "ch" + std::to_string(i);
    const Value& value = reader.at("channel infos", key.c_str(), ("Ch" + std::to_string(i) + "=").c_str());
    bool unit_left_out = false;
    header.channels.push_back(read_channel(value, i, unit_left_out));
    if (unit_left_out) without_unit.push_back(header.channels.back().name);
  }
  if (!without_unit.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(without_unit.size(), 8); ++i) {
      names += (i ? ", " : "") + without_unit[i];
    }
    header.warnings.push_back("the header gives no unit for " + std::to_string(without_unit.size()) + " channels (" +
                              names + (without_unit.size() > 8 ? ", ..." : "") + "); uV, which the format says then");
  }
}

// "20131113161403794232": year to microsecond.
std::string iso_date(std::string_view digits) {
  if (digits.size() < 14 || digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const auto part = [&](std::size_t at, std::size_t width) { return std::string(digits.substr(at, width)); };
  const std::string month = part(4, 2), day = part(6, 2), hour = part(8, 2), minute = part(10, 2), second = part(12, 2);
  if (part(0, 4) < "1000" || month < "01" || month > "12" || day < "01" || day > "31" || hour > "23" || minute > "59" ||
      second > "59") {
    return {};
  }
  std::string fraction(digits.substr(14, 6));
  while (fraction.ends_with('0')) fraction.pop_back();
  return part(0, 4) + "-" + month + "-" + day + "T" + hour + ":" + minute + ":" + second +
         (fraction.empty() ? "" : "." + fraction);
}

}  // namespace

BrainVisionHeader read_brainvision_header(const Input& input) {
  const std::string_view first = trimmed(input.bytes.substr(0, std::min(input.bytes.find('\n'), input.bytes.size())));
  if (lower_case(first.substr(0, 100)).find("header file") == std::string::npos) {
    bad_file(input.name, "is no BrainVision header: its first line is '" + printable(first) + "'");
  }
  const Reader reader(input);
  BrainVisionHeader header;
  const Value& data_file = reader.at("common infos", "datafile", "DataFile=");
  header.data_file = file_name_of(data_file, input);
  header.data_file_line = data_file.line;
  if (const Value* markers = reader.find("common infos", "markerfile"))
    header.marker_file = file_name_of(*markers, input);
  if (reader.is_second("common infos", "dataformat", "BINARY", "ASCII")) {
    bad_file(input.name, "its data are text (DataFormat=ASCII), which is not read; export them as BINARY");
  }
  if (reader.is_second("common infos", "datatype", "TIMEDOMAIN", "FREQUENCYDOMAIN")) {
    bad_file(input.name, "holds spectra (DataType=FREQUENCYDOMAIN), not signals");
  }
  header.vectorized = reader.is_second("common infos", "dataorientation", "MULTIPLEXED", "VECTORIZED");
  header.big_endian = reader.is_second("binary infos", "usebigendianorder", "NO", "YES");

  const Value& count_text = reader.at("common infos", "numberofchannels", "NumberOfChannels=");
  const auto count = parse_integer(count_text.text);
  if (!count || *count < 1 || static_cast<std::uint64_t>(*count) > kMostChannels) {
    reader.bad(count_text, "the number of channels is '" + printable(count_text.text) + "'; the header is damaged");
  }
  const Value& interval_text = reader.at("common infos", "samplinginterval", "SamplingInterval=");
  std::string pointed = interval_text.text;
  std::replace(pointed.begin(), pointed.end(), ',', '.');
  const auto interval_us = parse_number(pointed);
  if (!interval_us || !(*interval_us >= 1e-6 && *interval_us <= 1e12)) {
    reader.bad(interval_text,
               "the sampling interval is '" + printable(interval_text.text) + "' microseconds; the header is damaged");
  }
  header.rate_hz = 1e6 / *interval_us;
  // The interval is rounded: 1953.125 is 512 Hz to the bit, 3333.33 is no rate but a third of a kilohertz.
  const double whole = std::round(header.rate_hz);
  if (whole > 0 && std::abs(1e6 / whole - *interval_us) <= 1e-6 * *interval_us &&
      std::abs(header.rate_hz / whole - 1) < 2e-6) {
    header.rate_hz = whole;
  }

  constexpr std::array<std::pair<std::string_view, BrainVisionNumber>, 4> kNumbers = {
      {{"int_16", BrainVisionNumber::int_16},
       {"uint_16", BrainVisionNumber::uint_16},
       {"int_32", BrainVisionNumber::int_32},
       {"ieee_float_32", BrainVisionNumber::float_32}}};
  const Value& number = reader.at("binary infos", "binaryformat", "BinaryFormat=");
  const std::string word = lower_case(number.text);
  const auto known =
      std::find_if(kNumbers.begin(), kNumbers.end(), [&](const auto& pair) { return pair.first == word; });
  if (known == kNumbers.end()) {
    reader.bad(number,
               "BinaryFormat '" + printable(number.text) + "' is not read; INT_16, INT_32 and IEEE_FLOAT_32 are");
  }
  header.number = known->second;
  read_channels(reader, static_cast<std::size_t>(*count), header);
  return header;
}

BrainVisionMarkers read_brainvision_markers(std::string_view text, double rate_hz) {
  BrainVisionMarkers out;
  auto sections = sections_of(text);
  std::map<std::int64_t, const Value*> lines;  // in the order of their numbers
  for (const auto& [key, value] : sections["marker infos"]) {
    const auto number = key.starts_with("mk") ? parse_integer(std::string_view(key).substr(2)) : std::nullopt;
    if (number) lines[*number] = &value;
  }
  for (const auto& [number, value] : lines) {
    const std::vector<std::string> cells = cells_of(value->text);
    const auto position = cells.size() > 2 ? parse_integer(cells[2]) : std::nullopt;
    if (!position || *position < 1 || *position > std::int64_t{1} << 52) {
      ++out.damaged;
      continue;
    }
    const bool segment = cells[0] == "New Segment";
    const std::string date = segment && cells.size() > 5 ? iso_date(cells[5]) : "";
    if (segment && *position == 1) {
      out.start = date;
      continue;
    }
    out.later_segments += segment ? 1 : 0;
    Annotation annotation;
    annotation.onset_s = static_cast<double>(*position - 1) / rate_hz;
    const auto size = cells.size() > 3 ? parse_integer(cells[3]) : std::nullopt;
    if (size && *size > 1) annotation.duration_s = static_cast<double>(*size) / rate_hz;
    annotation.text = printable(cells[0] + "/" + cells[1], 4096);
    out.annotations.push_back(std::move(annotation));
  }
  std::stable_sort(out.annotations.begin(), out.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset_s < b.onset_s; });
  return out;
}

}  // namespace envoi::signal
