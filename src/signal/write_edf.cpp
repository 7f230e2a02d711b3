// EDF+C and BDF+C from channels in memory (Kemp et al. 1992; Kemp and Olivan 2003). Header fields are 8 characters of
// ASCII, which decides what can be held: the duration of a record, from which rates follow, and each channel's range.
#include "write_edf.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "envoi/pursuit.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr double kMostRecordBytes = 61440;  // EDF's own recommendation
constexpr std::size_t kMostSignals = 4095;

// --- Text of fixed width ---------------------------------------------------------------------------------------------

// Printable ASCII of exactly that width; the signs of units in ASCII, what else is not ASCII as '?'.
std::string field(std::string text, std::size_t width) {
  for (const auto& [from, to] : {std::pair{"\xC2\xB5", "u"}, {"\xCE\xBC", "u"}, {"\xC2\xB0", "deg"}})
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, 2, to);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // the rest of a character of several bytes
    out += byte >= 0x20 && byte < 0x7F ? c : '?';
  }
  out.resize(width, ' ');
  return out;
}

// The number in at most 8 characters, rounded down (-1), up (1) or to the nearest (0); empty if it has no place.
std::string number8(double value, int direction) {
  constexpr std::size_t kWidth = 8;
  for (int decimals = 7; decimals >= 0; --decimals) {
    const double scale = std::pow(10.0, decimals), scaled = value * scale;
    const double whole = direction < 0 ? std::floor(scaled) : direction > 0 ? std::ceil(scaled) : std::round(scaled);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, whole / scale);
    std::string digits = text;
    if (digits.find('.') != std::string::npos) {
      digits.erase(digits.find_last_not_of('0') + 1);
      if (digits.back() == '.') digits.pop_back();
    }
    if (digits == "-0") digits = "0";
    if (digits.size() <= kWidth) return digits;
  }
  return "";
}

// --- Ranges ----------------------------------------------------------------------------------------------------------

struct Scaled {
  std::string unit, low_text, high_text;
  double factor = 1;  // samples in the file's unit = factor * samples
  double low = 0, high = 0;
};

// Whether the header can say a range hardly larger (by `slack`) than the samples'.
bool fits(Scaled& range, double low, double high, double slack) {
  range.low_text = number8(low * range.factor, -1);
  range.high_text = number8(high * range.factor, 1);
  const auto from = parse_number(range.low_text), to = parse_number(range.high_text);
  if (!from || !to || !(*from < *to)) return false;
  range.low = *from, range.high = *to;
  return range.high - range.low <= slack * (high - low) * range.factor;
}

// Smallest and largest sample as the header can say them, in the next unit of volts where the channel's own has no
// place for them.
Scaled range_of(const std::string& path, const Channel& channel) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double sample : channel.samples)
    if (!std::isnan(sample)) low = std::min(low, sample), high = std::max(high, sample);
  if (!(low <= high)) low = high = 0;
  if (!std::isfinite(low) || !std::isfinite(high))
    bad_argument(path, "channel '" + channel.name + "' has infinite samples; write .npy");
  if (low == high) {  // one end of the range, which is exact
    low = std::min(low, 0.0), high = std::max(high, 0.0);
    if (low == high) high = 1;
  }
  constexpr std::array<std::pair<const char*, double>, 4> kVolts = {{{"V", 1}, {"mV", 1e3}, {"uV", 1e6}, {"nV", 1e9}}};
  const auto own = std::find_if(kVolts.begin(), kVolts.end(), [&](const auto& v) { return channel.unit == v.first; });
  for (const double slack : {1.001, 2.0}) {
    Scaled range{channel.unit, "", "", 1, 0, 0};
    if (fits(range, low, high, slack)) return range;
    if (own == kVolts.end()) continue;
    for (const auto& [unit, factor] : kVolts) {
      range = {unit, "", "", factor / own->second, 0, 0};
      if (fits(range, low, high, slack)) return range;
    }
  }
  bad_argument(path, "channel '" + channel.name + "' runs from " + rounded(low, 3) + " to " + rounded(high, 3) +
                         (channel.unit.empty() ? "" : " " + channel.unit) +
                         ", which the 8 characters of an EDF header cannot say; write .npy");
}

// --- Records ---------------------------------------------------------------------------------------------------------

struct Records {
  std::string duration_text;
  double duration_s = 0;
  std::vector<std::size_t> samples;  // of each channel in a record
  std::size_t count = 0;
};

// Records of so many samples of the first channel, if all channels have whole numbers of them and the duration can be
// said to that relative error.
bool try_records(std::span<const Channel> channels, double first_samples, double tolerance, double bytes_each,
                 Records& out) {
  const double exact = first_samples / channels[0].rate_hz;
  out.duration_text = number8(exact, 0);
  const auto said = parse_number(out.duration_text);
  if (!said || !(*said > 0)) return false;
  out.duration_s = *said;
  out.samples.clear();
  double bytes = 0;
  for (const Channel& channel : channels) {
    const double wanted = out.duration_s * channel.rate_hz, whole = std::round(wanted);
    if (whole < 1 || std::abs(wanted - whole) > tolerance * whole || whole > 99999999) return false;
    out.samples.push_back(static_cast<std::size_t>(whole));
    bytes += whole * bytes_each;
  }
  if (bytes > kMostRecordBytes) return false;
  out.count = 0;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const std::size_t length = channels[c].samples.size(), each = out.samples[c];
    out.count = std::max(out.count, length / each + (length % each != 0 ? 1 : 0));
  }
  return out.count < 99999999;
}

// How many samples the last record has to make up, over all channels.
double padding_of(std::span<const Channel> channels, const Records& records) {
  double more = 0;
  for (std::size_t c = 0; c < channels.size(); ++c)
    more += static_cast<double>(records.count * records.samples[c] - channels[c].samples.size());
  return more;
}

// Records that end with the signal where there are such, of a duration as near to 1 s as can be.
Records choose_records(const std::string& path, std::span<const Channel> channels, bool wide) {
  const double bytes_each = wide ? 3 : 2;
  double all = 0;
  for (const Channel& channel : channels) all += static_cast<double>(channel.samples.size());
  for (const double tolerance : {1e-12, 1e-9, 1e-7}) {
    Records best, trial;
    double least = HUGE_VAL;
    for (double samples = 1; samples <= kMostRecordBytes / bytes_each; ++samples) {
      if (!try_records(channels, samples, tolerance, bytes_each, trial)) continue;
      const double distance = std::abs(std::log(trial.duration_s)), padding = padding_of(channels, trial);
      const bool tiny = trial.duration_s < 0.05 && samples < 16;  // more annotations than samples
      const double cost = distance + (padding > 0 ? 100 + padding / all : 0) + (tiny ? 1000 : 0);
      if (cost < least) least = cost, best = trial;
    }
    if (least < HUGE_VAL) return best;
  }
  std::string rates;
  for (const Channel& channel : channels)
    if (rates.find(rounded(channel.rate_hz, 9)) == std::string::npos)
      rates += (rates.empty() ? "" : ", ") + rounded(channel.rate_hz, 9);
  bad_argument(path, "no duration of a data record, said in the 8 characters of an EDF header, fits " +
                         std::to_string(channels.size()) + " channels at " + rates +
                         " Hz; write them apart, resample first, or write .npy");
}

// --- Annotations -----------------------------------------------------------------------------------------------------

std::string stamp(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%+.9f", seconds);
  std::string digits = text;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

std::string list_of(const Annotation& annotation, double origin_s) {
  std::string text = stamp(annotation.onset_s - origin_s);
  if (annotation.duration_s) text += '\x15' + stamp(*annotation.duration_s).substr(1);
  text += '\x14';
  for (const char c : annotation.text) text += c == '\0' || c == '\x14' || c == '\x15' ? ' ' : c;
  return text + '\x14' + '\0';
}

// Spans without samples: EDF has no word for them, so that they are annotated as bad, which readers leave out. They
// begin and end between samples, so that no rounding moves one in or out.
void note_missing(std::span<const Channel> channels, const Records& records, std::vector<Annotation>& out) {
  std::vector<std::pair<double, double>> spans;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const std::vector<double>& samples = channels[c].samples;
    const std::size_t end = records.count * records.samples[c];
    const auto missing = [&](std::size_t i) { return i >= samples.size() || std::isnan(samples[i]); };
    for (std::size_t i = 0; i < end;) {
      std::size_t j = i;
      while (j < end && missing(j)) ++j;
      const double from = i == 0 ? 0 : static_cast<double>(i) - 0.5;
      if (j > i) spans.emplace_back(from / channels[c].rate_hz, (static_cast<double>(j) - 0.5) / channels[c].rate_hz);
      i = std::max(i + 1, j);
    }
  }
  std::sort(spans.begin(), spans.end());
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  for (const auto& [from, to] : spans) out.push_back({channels[0].start_s + from, to - from, "BAD_missing"});
}

// The text of each record's annotation signal, all of one length.
std::vector<std::string> annotation_records(std::vector<Annotation> annotations, const Records& records,
                                            double origin_s, double fraction_s, std::size_t sample_bytes) {
  std::stable_sort(annotations.begin(), annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset_s < b.onset_s; });
  const std::size_t each = (annotations.size() + records.count - 1) / records.count;
  std::vector<std::string> out(records.count);
  std::size_t longest = 0, next = 0;
  for (std::size_t k = 0; k < records.count; ++k) {
    out[k] = stamp(fraction_s + static_cast<double>(k) * records.duration_s) + "\x14\x14" + '\0';
    for (std::size_t i = 0; i < each && next < annotations.size(); ++i, ++next)
      out[k] += list_of(annotations[next], origin_s - fraction_s);
    longest = std::max(longest, out[k].size());
  }
  longest += (sample_bytes - longest % sample_bytes) % sample_bytes;
  for (std::string& text : out) text.resize(longest, '\0');
  return out;
}

// --- Header ----------------------------------------------------------------------------------------------------------

struct Start {
  std::string date = "01.01.85", time = "00.00.00", long_date = "X";  // EDF+'s words for unknown
  double fraction_s = 0;
};

// The start of the file's first sample: the recording's start, moved to where the channels begin.
Start start_of(const std::string& iso, double start_s) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  Start out;
  if (std::sscanf(iso.c_str(), "%d-%d-%dT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6) return out;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || !(std::abs(start_s) < 1e9)) return out;
  const double within = hour * 3600.0 + minute * 60.0 + second + start_s;
  const double whole = std::floor(within + 1e-9);  // a microsecond before the second is the second
  out.fraction_s = std::max(0.0, within - whole);
  if (out.fraction_s < 1e-6) out.fraction_s = 0;
  const auto days = static_cast<int>(std::floor(whole / 86400));
  const auto left = static_cast<int>(whole - 86400.0 * days);
  const std::chrono::year_month_day on{std::chrono::sys_days(date) + std::chrono::days(days)};
  constexpr std::array kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
  const unsigned m = static_cast<unsigned>(on.month()), d = static_cast<unsigned>(on.day());
  const int y = static_cast<int>(on.year());
  char text[64];
  std::snprintf(text, sizeof text, "%02u-%s-%04d", d, kMonths[(m - 1) % 12], y);
  out.long_date = text;
  if (y >= 1985 && y <= 2084)
    std::snprintf(text, sizeof text, "%02u.%02u.%02d", d, m, y % 100);
  else
    std::snprintf(text, sizeof text, "%02u.%02u.yy", d, m);
  out.date = text;
  std::snprintf(text, sizeof text, "%02d.%02d.%02d", left / 3600, left / 60 % 60, left % 60);
  out.time = text;
  return out;
}

std::string header_of(std::span<const Channel> channels, const std::vector<Scaled>& ranges, const Records& records,
                      const Start& start, std::size_t annotation_samples, bool wide) {
  const std::size_t count = channels.size() + 1;
  std::string out = wide ? std::string("\xFF") + "BIOSEMI" : field("0", 8);
  out += field("X X X X", 80) + field("Startdate " + start.long_date + " X envoi_" + version() + " X", 80);
  out += field(start.date, 8) + field(start.time, 8) + field(std::to_string(256 * (count + 1)), 8);
  out += field(wide ? "BDF+C" : "EDF+C", 44) + field(std::to_string(records.count), 8);
  out += field(records.duration_text, 8) + field(std::to_string(count), 4);
  const auto each = [&](std::size_t width, auto&& text, const std::string& last) {
    for (std::size_t c = 0; c < channels.size(); ++c) out += field(text(c), width);
    out += field(last, width);
  };
  const std::string low = wide ? "-8388608" : "-32768", high = wide ? "8388607" : "32767";
  each(
      16, [&](std::size_t c) { return channels[c].name; }, wide ? "BDF Annotations" : "EDF Annotations");
  each(
      80, [](std::size_t) { return std::string(); }, "");
  each(
      8, [&](std::size_t c) { return ranges[c].unit; }, "");
  each(
      8, [&](std::size_t c) { return ranges[c].low_text; }, "-1");
  each(
      8, [&](std::size_t c) { return ranges[c].high_text; }, "1");
  each(
      8, [&](std::size_t) { return low; }, low);
  each(
      8, [&](std::size_t) { return high; }, high);
  each(
      80, [](std::size_t) { return std::string(); }, "");
  each(
      8, [&](std::size_t c) { return std::to_string(records.samples[c]); }, std::to_string(annotation_samples));
  each(
      32, [](std::size_t) { return std::string(); }, "");
  return out;
}

}  // namespace

void write_edf(core::AtomicFile& file, const std::string& path, std::span<const Channel> channels,
               const SignalNotes& notes, bool wide) {
  if (channels.size() > kMostSignals)
    bad_argument(path, std::to_string(channels.size()) + " channels are too many for EDF; write .npy");
  for (const Channel& channel : channels) {
    if (!(channel.rate_hz > 0) || channel.samples.empty())
      bad_argument(path, "channel '" + channel.name + "' has no rate or no samples, which EDF needs");
    if (channel.start_s != channels[0].start_s)
      bad_argument(path, "channels '" + channels[0].name + "' and '" + channel.name + "' do not begin together");
  }
  const Records records = choose_records(path, channels, wide);
  std::vector<Scaled> ranges;
  for (const Channel& channel : channels) ranges.push_back(range_of(path, channel));
  const std::size_t sample_bytes = wide ? 3 : 2;
  const Start start = start_of(notes.start, channels[0].start_s);
  std::vector<Annotation> annotations = notes.annotations;
  note_missing(channels, records, annotations);
  const std::vector<std::string> lists =
      annotation_records(std::move(annotations), records, channels[0].start_s, start.fraction_s, sample_bytes);
  file.write(header_of(channels, ranges, records, start, lists.front().size() / sample_bytes, wide));

  const double low = wide ? -8388608 : -32768, high = wide ? 8388607 : 32767;
  std::string out;
  for (std::size_t k = 0; k < records.count; ++k) {
    out.clear();
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const std::vector<double>& samples = channels[c].samples;
      const Scaled& range = ranges[c];
      const double gain = (range.high - range.low) / (high - low);
      for (std::size_t i = k * records.samples[c]; i < (k + 1) * records.samples[c]; ++i) {
        const double sample = i < samples.size() && !std::isnan(samples[i]) ? samples[i] * range.factor : 0;
        const double digital = std::clamp(std::round((sample - range.low) / gain) + low, low, high);
        const auto word = static_cast<std::uint32_t>(static_cast<std::int32_t>(digital));
        for (std::size_t byte = 0; byte < sample_bytes; ++byte) out += static_cast<char>(word >> (8 * byte) & 0xFF);
      }
    }
    file.write(out + lists[k]);
  }
}

}  // namespace envoi::signal
