// Annotations as EDF+, TSV and label tracks.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/rules.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

// Name and channel in one text.
std::string label(const Decomposition& result, const AtomAnnotation& found, const char* between) {
  return found.annotation.text + (result.channels.size() > 1 ? between + found.channel : "");
}

// Without tabs and line ends, which part columns and rows.
std::string cell(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

std::string to_table_text(const Decomposition&, std::span<const AtomAnnotation> annotations) {
  std::string out = "onset\tduration\tdescription\tchannel\n";
  for (const AtomAnnotation& found : annotations)
    out += signal::shortest(found.annotation.onset_s) + "\t" +
           signal::shortest(found.annotation.duration_s.value_or(0)) + "\t" + cell(found.annotation.text) + "\t" +
           cell(found.channel) + "\n";
  return out;
}

std::string to_labels(const Decomposition& result, std::span<const AtomAnnotation> annotations) {
  std::string out;
  for (const AtomAnnotation& found : annotations) {
    const double onset_s = found.annotation.onset_s;
    char times[700];
    std::snprintf(times, sizeof times, "%.7f\t%.7f\t", onset_s, onset_s + found.annotation.duration_s.value_or(0));
    out += times + cell(label(result, found, " ")) + "\n";
  }
  return out;
}

// --- EDF+ ---

std::string field(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

// A time-stamped list: onset, duration and one text.
std::string stamped(double onset_s, std::optional<double> duration_s, const std::string& text) {
  const auto decimal = [](const char* form, double value) {
    char number[400];
    std::snprintf(number, sizeof number, form, value);
    std::string digits = number;
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
  };
  std::string out = decimal("%+.7f", onset_s);
  if (duration_s) out += '\x15' + decimal("%.7f", *duration_s);
  return out + '\x14' + text + '\x14' + '\0';
}

// Date and time of the header, and the fraction of a second that it cannot hold.
struct Start {
  std::string date = "01.01.85", time = "00.00.00", recording = "Startdate X X X X";
  double fraction_s = 0;
};

Start start_of(const std::string& iso) {
  static constexpr const char* kMonths[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                            "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
  Start start;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(iso.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf", &year, &month, &day, &hour, &minute, &second) != 6 ||
      month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      !(second >= 0 && second < 60) || year < 1 || year > 9999)
    return start;
  const int whole = static_cast<int>(second);
  start.fraction_s = std::round((second - whole) * 1e7) / 1e7;
  char text[64];
  if (year >= 1985 && year <= 2084)
    std::snprintf(text, sizeof text, "%02d.%02d.%02d", day, month, year % 100);
  else
    std::snprintf(text, sizeof text, "%02d.%02d.yy", day, month);
  start.date = text;
  std::snprintf(text, sizeof text, "%02d.%02d.%02d", hour, minute, whole);
  start.time = text;
  std::snprintf(text, sizeof text, "Startdate %02d-%s-%04d X X X", day, kMonths[month - 1], year);
  start.recording = text;
  return start;
}

// EDF+C with one signal, "EDF Annotations": records of no duration, as many as it takes at 4 kB each.
std::string to_edf(const Decomposition& result, std::span<const AtomAnnotation> annotations) {
  const Start start = start_of(result.source.start);
  const std::string time_keeping = stamped(start.fraction_s, std::nullopt, "");
  std::size_t record_bytes = 4096;
  std::vector<std::string> records = {time_keeping};
  for (const AtomAnnotation& found : annotations) {
    const std::string list = stamped(found.annotation.onset_s + start.fraction_s, found.annotation.duration_s,
                                     cell(label(result, found, "@@")));
    record_bytes = std::max(record_bytes, (time_keeping.size() + list.size() + 1) / 2 * 2);
    if (records.back().size() + list.size() > record_bytes) records.push_back(time_keeping);
    records.back() += list;
  }
  std::string out = field("0", 8) + field("X X X X", 80) + field(start.recording, 80) + start.date + start.time +
                    field("512", 8) + field("EDF+C", 44) + field(std::to_string(records.size()), 8) + field("0", 8) +
                    field("1", 4);
  out += field("EDF Annotations", 16) + field("", 80) + field("", 8) + field("-1", 8) + field("1", 8) +
         field("-32768", 8) + field("32767", 8) + field("", 80) + field(std::to_string(record_bytes / 2), 8) +
         field("", 32);
  for (std::string& record : records) {
    record.resize(record_bytes, '\0');
    out += record;
  }
  return out;
}

struct Format {
  std::string_view ending;
  std::string (*text)(const Decomposition&, std::span<const AtomAnnotation>);
};
constexpr Format kFormats[] = {{".edf", to_edf}, {".tsv", to_table_text}, {".txt", to_labels}};

const Format* format_of(std::string_view path) {
  for (const Format& format : kFormats)
    if (path.ends_with(format.ending)) return &format;
  return path == "-" ? &kFormats[1] : nullptr;
}

}  // namespace

bool is_annotation_ending(std::string_view path) { return format_of(path) != nullptr; }

void write_annotations(const std::string& path, const Decomposition& result,
                       std::span<const AtomAnnotation> annotations) {
  const Format* format = format_of(path);
  if (format == nullptr) throw Error(ErrorKind::bad_argument, path + ": annotations are written as .edf, .tsv or .txt");
  core::AtomicFile file(path);
  file.write(format->text(result, annotations));
  file.commit();
}

}  // namespace envoi
