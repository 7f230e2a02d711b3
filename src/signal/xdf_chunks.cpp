// The chunks of an XDF file to streams. A chunk is a length, a tag and its content; each may lie.
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <pugixml.hpp>

#include "shared.hpp"
#include "xdf.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kMostChannels = 65536;
constexpr std::string_view kBoundary("\x43\xA5\x46\xDC\xCB\xF5\x41\x0F\xB3\x0E\xD5\x46\x73\x83\xCB\xE4", 16);

// Little-endian numbers out of bytes; `ok` stays false once there were too few.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  std::uint64_t word(std::size_t width) {
    if (rest_.size() < width) return ok_ = false, 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(width);
    return value;
  }
  double real() { return std::bit_cast<double>(word(8)); }
  // A length of lengths (1, 4 or 8 bytes), then the length.
  std::uint64_t length() {
    const std::uint64_t width = word(1);
    if (width != 1 && width != 4 && width != 8) ok_ = false;
    return ok_ ? word(static_cast<std::size_t>(width)) : 0;
  }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) return ok_ = false, std::string_view();
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Format {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array kFormats = {Format{"float32", 4}, Format{"double64", 8}, Format{"int8", 1},  Format{"int16", 2},
                                 Format{"int32", 4},   Format{"int64", 8},    Format{"string", 0}};

double number(Cursor& cursor, const std::string& format) {
  if (format == "float32") return std::bit_cast<float>(static_cast<std::uint32_t>(cursor.word(4)));
  if (format == "double64") return cursor.real();
  if (format == "int8") return static_cast<std::int8_t>(cursor.word(1));
  if (format == "int16") return static_cast<std::int16_t>(cursor.word(2));
  if (format == "int32") return static_cast<std::int32_t>(cursor.word(4));
  return static_cast<double>(static_cast<std::int64_t>(cursor.word(8)));
}

std::string text_of(const pugi::xml_node& node, const char* name) {
  return printable(trimmed(node.child_value(name)), 200);
}

struct Reading {
  const Input& input;
  XdfFile file;
  std::map<std::uint32_t, std::size_t> by_id;
  std::size_t damaged = 0;    // chunks
  std::size_t strangers = 0;  // samples of streams without a header

  XdfStream* find(std::uint32_t id) {
    const auto at = by_id.find(id);
    return at == by_id.end() ? nullptr : &file.streams[at->second];
  }
};

void read_file_header(std::string_view content, Reading& reading) {
  pugi::xml_document document;
  if (!document.load_buffer(content.data(), content.size())) return;
  // "2021-03-04T15:16:17+0100"
  const std::string text = text_of(document.child("info"), "datetime");
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18}) {
    if (text[i] < '0' || text[i] > '9') return;
  }
  reading.file.start = text.substr(0, 19);
}

void read_stream_header(std::string_view content, Reading& reading) {
  Cursor cursor(content);
  const auto id = static_cast<std::uint32_t>(cursor.word(4));
  const std::string& name = reading.input.name;
  const std::string stream_name = "the header of stream " + std::to_string(id);
  if (!cursor.ok()) bad_file(name, "a stream header is too short; the file is damaged");
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(cursor.rest().data(), cursor.rest().size());
  if (!parsed) bad_file(name, stream_name + " is no XML (" + parsed.description() + "); the file is damaged");
  const pugi::xml_node info = document.child("info");
  XdfStream stream;
  stream.id = id;
  stream.name = text_of(info, "name");
  stream.type = text_of(info, "type");
  stream.format = text_of(info, "channel_format");
  bool known = false;
  for (const Format& format : kFormats) known |= format.name == stream.format;
  if (!known) bad_file(name, stream_name + " names the unknown channel_format '" + printable(stream.format) + "'");
  const std::string count_text = text_of(info, "channel_count"), rate_text = text_of(info, "nominal_srate");
  const auto count = parse_integer(count_text);
  if (!count || *count < 1 || static_cast<std::uint64_t>(*count) > kMostChannels) {
    bad_file(name, stream_name + " gives '" + count_text + "' as channel_count; the file is damaged");
  }
  const auto rate = parse_number(rate_text);
  if (!rate || !(*rate == 0 || (*rate >= 1e-9 && *rate <= 1e15))) {
    bad_file(name, stream_name + " gives '" + rate_text + "' as nominal_srate; the file is damaged");
  }
  stream.nominal_hz = *rate;
  stream.channels.resize(static_cast<std::size_t>(*count));
  const pugi::xml_node desc = info.child("desc");
  stream.drops_samples = lower_case(text_of(desc.child("synchronization"), "can_drop_samples")) == "true";
  std::size_t i = 0;
  for (const pugi::xml_node channel : desc.child("channels").children("channel")) {
    if (i == stream.channels.size()) break;
    stream.channels[i++] = {text_of(channel, "label"), text_of(channel, "unit"), text_of(channel, "type")};
  }
  if (!reading.by_id.emplace(id, reading.file.streams.size()).second) {
    bad_file(name, "two streams have the number " + std::to_string(id) + "; the file is damaged");
  }
  reading.file.streams.push_back(std::move(stream));
}

// False where the chunk breaks off inside a sample; whole samples before that stay.
bool read_samples(std::string_view content, Reading& reading) {
  Cursor cursor(content);
  XdfStream* const stream = reading.find(static_cast<std::uint32_t>(cursor.word(4)));
  const std::uint64_t count = cursor.length();
  if (!cursor.ok()) return false;
  if (!stream) return ++reading.strangers, true;
  const std::size_t width = stream->channels.size();
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t stamp_bytes = cursor.word(1);
    double time_s = 0;
    if (stamp_bytes == 8) {
      time_s = cursor.real();
    } else if (!stream->times_s.empty()) {
      time_s = stream->times_s.back() + (stream->nominal_hz > 0 ? 1 / stream->nominal_hz : 0);
    }
    if (!cursor.ok() || (stamp_bytes != 0 && stamp_bytes != 8) || !(std::abs(time_s) < 1e12)) return false;
    if (stream->is_text()) {
      std::string text;
      for (std::size_t c = 0; c < width; ++c) {
        const std::string_view word = cursor.take(cursor.length());
        if (!cursor.ok()) return false;
        if (c > 0) text += ", ";
        text += printable(trimmed(word), 4096);
      }
      stream->strings.push_back(std::move(text));
    } else {
      const std::size_t before = stream->values.size();
      for (std::size_t c = 0; c < width; ++c) {
        stream->values.push_back(number(cursor, stream->format));
        if (cursor.ok()) continue;
        stream->values.resize(before);
        return false;
      }
    }
    stream->times_s.push_back(time_s);
  }
  return true;
}

void read_footer(std::string_view content, Reading& reading) {
  Cursor cursor(content);
  XdfStream* const stream = reading.find(static_cast<std::uint32_t>(cursor.word(4)));
  pugi::xml_document document;
  if (!stream || !document.load_buffer(cursor.rest().data(), cursor.rest().size())) return;
  stream->announced_samples = parse_integer(text_of(document.child("info"), "sample_count")).value_or(-1);
}

bool read_content(std::uint64_t tag, std::string_view content, Reading& reading) {
  if (tag == 1) read_file_header(content, reading);
  if (tag == 2) read_stream_header(content, reading);
  if (tag == 3) return read_samples(content, reading);
  if (tag == 6) read_footer(content, reading);
  if (tag != 4) return true;
  Cursor cursor(content);
  XdfStream* const stream = reading.find(static_cast<std::uint32_t>(cursor.word(4)));
  const double time_s = cursor.real(), offset_s = cursor.real();
  if (!cursor.ok() || !(std::abs(time_s) < 1e12) || !(std::abs(offset_s) < 1e12)) return false;
  if (stream) {
    stream->clock_times_s.push_back(time_s);
    stream->clock_offsets_s.push_back(offset_s);
  }
  return true;
}

}  // namespace

XdfFile read_xdf_chunks(const Input& input) {
  if (!input.bytes.starts_with("XDF:")) {
    bad_file(input.name, "is not XDF: it begins with '" + printable(input.bytes.substr(0, 8)) + "'");
  }
  Reading reading{input, {}, {}};
  std::vector<std::string>& warnings = reading.file.warnings;
  std::string_view rest = input.bytes.substr(4);
  while (!rest.empty()) {
    Cursor cursor(rest);
    const std::uint64_t length = cursor.length();
    const bool length_ok = cursor.ok();
    const std::uint64_t tag = cursor.word(2);
    const std::string_view content = length >= 2 ? cursor.take(length - 2) : std::string_view();
    const bool plausible = length_ok && length >= 2 && tag >= 1 && tag <= 6;
    if (plausible && cursor.ok()) {
      if (!read_content(tag, content, reading)) ++reading.damaged;
      rest = cursor.rest();
      continue;
    }
    const auto at = input.bytes.size() - rest.size();
    // Recorders put a mark among the chunks every few seconds; after a fault all goes on at the next one.
    const std::size_t mark = rest.substr(std::min<std::size_t>(rest.size(), 1)).find(kBoundary);
    if (mark != std::string_view::npos) {
      warnings.push_back("damaged at byte " + std::to_string(at) + "; what follows up to the next mark is lost");
      rest.remove_prefix(1 + mark + kBoundary.size());
      continue;
    }
    if (plausible && tag == 3) read_samples(cursor.rest(), reading);
    warnings.push_back("the file is cut off or damaged at byte " + std::to_string(at) + " of " +
                       std::to_string(input.bytes.size()) + "; the rest is lost");
    break;
  }
  if (reading.damaged > 0) {
    warnings.push_back(std::to_string(reading.damaged) + " chunks are damaged; their whole samples are kept");
  }
  if (reading.strangers > 0) {
    warnings.push_back(std::to_string(reading.strangers) + " chunks of samples belong to streams without a header");
  }
  for (const XdfStream& stream : reading.file.streams) {
    const auto there = static_cast<std::int64_t>(stream.times_s.size());
    if (stream.announced_samples < 0 || stream.announced_samples == there) continue;
    warnings.push_back("stream '" + stream.name + "' has " + std::to_string(there) + " samples, its footer announces " +
                       std::to_string(stream.announced_samples));
  }
  return std::move(reading.file);
}

}  // namespace envoi::signal
