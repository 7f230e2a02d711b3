// The header of EDF, EDF+, BDF and BDF+ files. Every field is text that may lie, so each is checked against the
// file's size before anything is made from it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "edf.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kBlock = 256;

// Cuts the header into fields, in order.
class Fields {
 public:
  Fields(const Input& input, std::size_t at) : input_(input), at_(at) {}

  std::string_view text(std::size_t width) {
    const std::string_view field = input_.bytes.substr(at_, width);
    at_ += width;
    return trimmed(field);
  }

  std::int64_t integer(std::size_t width, const std::string& what) {
    const std::size_t begin = at_;
    const std::string_view field = text(width);
    const auto value = parse_integer(field);
    if (!value) bad(what, field, begin);
    return *value;
  }

  double number(std::size_t width, const std::string& what) {
    const std::size_t begin = at_;
    const std::string_view field = text(width);
    const auto value = lenient_number(field);
    if (!value) bad(what, field, begin);
    return *value;
  }

  // Some writers follow their country and put a comma.
  static std::optional<double> lenient_number(std::string_view field) {
    std::string text(field);
    std::replace(text.begin(), text.end(), ',', '.');
    const auto value = parse_number(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
  }

  [[noreturn]] void bad(const std::string& what, std::string_view field, std::size_t begin) const {
    bad_file(input_.name, what + " in the EDF header is '" + printable(field) + "' (byte " + std::to_string(begin) +
                              "); the file is damaged");
  }

 private:
  const Input& input_;
  std::size_t at_;
};

// "dd.mm.yy" and "hh.mm.ss" to ISO 8601; the year of "Startdate 02-MAR-2002" wins where it is given.
std::string iso_start(std::string_view date, std::string_view time, std::string_view recording_field) {
  const auto three = [](std::string_view text, std::array<std::int64_t, 3>& out) {
    if (text.size() != 8) return false;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto value = parse_integer(trimmed(text.substr(3 * i, 2)));
      if (!value || *value < 0) return false;
      out[i] = *value;
    }
    return true;
  };
  std::array<std::int64_t, 3> day{}, clock{};
  if (!three(time, clock) || clock[0] > 23 || clock[1] > 59 || clock[2] > 59) return {};
  // EDF+'s words for a start that is not known.
  if (recording_field.starts_with("Startdate X") && date == "01.01.85" && time == "00.00.00") return {};
  const bool have_day = three(date, day);
  day[2] += day[2] >= 85 ? 1900 : 2000;

  if (recording_field.starts_with("Startdate ")) {
    constexpr std::array kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
    const std::string_view full = recording_field.substr(10, 11);
    const auto full_day = full.size() == 11 ? parse_integer(full.substr(0, 2)) : std::nullopt;
    const auto full_year = full.size() == 11 ? parse_integer(full.substr(7, 4)) : std::nullopt;
    const std::string month = full.size() == 11 ? lower_case(full.substr(3, 3)) : "";
    for (std::size_t m = 0; m < kMonths.size(); ++m) {
      if (!full_day || !full_year || month != lower_case(kMonths[m]) || *full_year < 1 || *full_year > 9999) continue;
      // After 2084 the short date says "yy" and only the long one is right.
      day = {*full_day, static_cast<std::int64_t>(m + 1), *full_year};
    }
  } else if (!have_day) {
    return {};
  }
  if (day[0] < 1 || day[0] > 31 || day[1] < 1 || day[1] > 12) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", static_cast<int>(day[2]), static_cast<int>(day[1]),
                static_cast<int>(day[0]), static_cast<int>(clock[0]), static_cast<int>(clock[1]),
                static_cast<int>(clock[2]));
  return text;
}

struct Scale {
  std::string_view physical_low, physical_high, digital_low, digital_high;
};

void set_scale(EdfSignal& signal, const Scale& scale) {
  const auto physical_low = Fields::lenient_number(scale.physical_low);
  const auto physical_high = Fields::lenient_number(scale.physical_high);
  const auto digital_low = Fields::lenient_number(scale.digital_low);
  const auto digital_high = Fields::lenient_number(scale.digital_high);
  if (!physical_low || !physical_high || !digital_low || !digital_high) {
    signal.fault = "a scaling field is no number";
  } else if (*digital_low == *digital_high) {
    signal.fault = "digital minimum and maximum are equal";
  } else if (*physical_low == *physical_high) {
    signal.fault = "physical minimum and maximum are equal";
  } else {
    signal.gain = (*physical_high - *physical_low) / (*digital_high - *digital_low);
    signal.digital_low = *digital_low;
    signal.physical_low = *physical_low;
    if (*digital_low > *digital_high) {
      signal.remark = "digital minimum above maximum; scaled as they stand";
    }
  }
}

void read_signals(Fields& fields, std::size_t count, EdfHeader& header) {
  std::vector<EdfSignal>& signals = header.signals;
  signals.resize(count);
  for (EdfSignal& signal : signals) {
    signal.label = printable(fields.text(16), 64);
    signal.is_annotations = signal.label == (header.wide ? "BDF Annotations" : "EDF Annotations");
    signal.is_status = header.wide && signal.label == "Status";
  }
  for (std::size_t i = 0; i < count; ++i) fields.text(80);  // transducer
  for (EdfSignal& signal : signals) signal.unit = printable(normal_unit(fields.text(8)), 16);
  std::vector<Scale> scales(count);
  for (Scale& scale : scales) scale.physical_low = fields.text(8);
  for (Scale& scale : scales) scale.physical_high = fields.text(8);
  for (Scale& scale : scales) scale.digital_low = fields.text(8);
  for (Scale& scale : scales) scale.digital_high = fields.text(8);
  for (std::size_t i = 0; i < count; ++i) fields.text(80);  // filters
  for (std::size_t i = 0; i < count; ++i) {
    const std::string what = "the number of samples of signal " + std::to_string(i + 1);
    const std::int64_t samples = fields.integer(8, what);
    if (samples < 0) fields.bad(what, std::to_string(samples), kBlock + count * 216 + 8 * i);
    signals[i].samples_per_record = static_cast<std::size_t>(samples);
    signals[i].offset = header.record_bytes;
    header.record_bytes += signals[i].samples_per_record * header.sample_bytes();
    if (signals[i].is_annotations) continue;
    set_scale(signals[i], scales[i]);
    if (samples == 0) signals[i].fault = "it has no samples";
  }
}

void count_records(const Input& input, std::int64_t announced, EdfHeader& header) {
  const std::size_t data_bytes = input.bytes.size() - header.header_bytes;
  if (header.record_bytes == 0) bad_file(input.name, "the EDF header announces no samples at all");
  const std::size_t there = data_bytes / header.record_bytes;
  if (announced < -1) {
    bad_file(input.name,
             "the EDF header announces " + std::to_string(announced) + " data records (byte 236); the file is damaged");
  }
  if (announced == 0) bad_file(input.name, "the EDF header announces 0 data records; nothing was recorded");
  if (there == 0) {
    bad_file(input.name, "is cut off: a data record has " + std::to_string(header.record_bytes) +
                             " bytes by its header, but only " + std::to_string(data_bytes) + " follow it");
  }
  const auto wanted = announced == -1 ? there : static_cast<std::size_t>(announced);
  header.records = std::min(there, wanted);
  if (announced == -1) {
    header.warnings.push_back("the number of data records is left open in the header; " + std::to_string(there) +
                              " by the file's size");
  }
  if (wanted > there) {
    header.warnings.push_back("the file is cut off: " + std::to_string(there) + " of " + std::to_string(wanted) +
                              " data records are whole, the rest is lost");
  } else if (data_bytes > wanted * header.record_bytes) {
    header.warnings.push_back("the file goes on after the " + std::to_string(wanted) +
                              " data records that its header announces; the rest is left out");
  }
}

}  // namespace

EdfHeader read_edf_header(const Input& input) {
  EdfHeader header;
  header.wide = input.bytes.starts_with(
      "\xFF"
      "BIOSEMI");
  if (!header.wide && !input.bytes.starts_with("0       ")) {
    bad_file(input.name, "is not EDF or BDF: it begins with '" + printable(input.bytes.substr(0, 8)) + "'");
  }
  if (input.bytes.size() < kBlock) {
    bad_file(input.name, "is cut off: " + std::to_string(input.bytes.size()) + " bytes, an EDF header has " +
                             std::to_string(kBlock) + " and more");
  }
  Fields fields(input, 88);
  const std::string_view recording_field = fields.text(80);
  const std::string_view date = fields.text(8);
  const std::string_view time = fields.text(8);
  const std::int64_t header_bytes = fields.integer(8, "the header's length");
  const std::string_view reserved = fields.text(44);
  const std::int64_t records = fields.integer(8, "the number of data records");
  header.record_s = fields.number(8, "the duration of a data record");
  const std::int64_t count = fields.integer(4, "the number of signals");

  header.plus = reserved.starts_with("EDF+") || reserved.starts_with("BDF+");
  header.discontinuous = header.plus && reserved.substr(4).starts_with("D");
  header.start = iso_start(date, time, header.plus ? recording_field : std::string_view());
  const bool unknown = date == "01.01.85" && time == "00.00.00";  // EDF+'s words for it, and ours
  if (header.start.empty() && !unknown) {
    header.warnings.push_back("the start '" + printable(date) + " " + printable(time) + "' is no date and time");
  }
  if (header.record_s < 0) fields.bad("the duration of a data record", rounded(header.record_s), 244);
  if (count < 1) fields.bad("the number of signals", std::to_string(count), 252);
  header.header_bytes = kBlock * (static_cast<std::size_t>(count) + 1);
  if (header.header_bytes > input.bytes.size()) {
    bad_file(input.name, "is cut off: a header of " + std::to_string(count) + " signals has " +
                             std::to_string(header.header_bytes) + " bytes, the file " +
                             std::to_string(input.bytes.size()));
  }
  if (header_bytes != static_cast<std::int64_t>(header.header_bytes)) {
    bad_file(input.name, "the EDF header says that it is " + std::to_string(header_bytes) +
                             " bytes long (byte 184), but with " + std::to_string(count) + " signals it has " +
                             std::to_string(header.header_bytes) + "; the file is damaged");
  }
  Fields signal_fields(input, kBlock);
  read_signals(signal_fields, static_cast<std::size_t>(count), header);
  count_records(input, records, header);
  return header;
}

}  // namespace envoi::signal
