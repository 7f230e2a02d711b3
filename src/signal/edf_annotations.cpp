// Time-stamped annotation lists (TALs) of EDF+ and BDF+: onset [0x15 duration] 0x14 {text 0x14} 0x00.
#include <algorithm>
#include <cmath>

#include "edf.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr char kDurationMark = '\x15';
constexpr char kTextEnd = '\x14';

// One list, without the closing NUL; false if it is damaged. An empty first text is the record's own time.
bool read_list(std::string_view list, std::vector<Annotation>& annotations, double& onset_s, bool& says_time) {
  const std::size_t stamp_end = list.find(kTextEnd);
  if (stamp_end == std::string_view::npos) return false;
  const std::string_view stamp = list.substr(0, stamp_end);
  const std::size_t mark = stamp.find(kDurationMark);
  const auto onset = parse_number(stamp.substr(0, mark));
  if (!onset || !std::isfinite(*onset)) return false;
  onset_s = *onset;

  std::optional<double> duration;
  if (mark != std::string_view::npos && mark + 1 < stamp.size()) {
    duration = parse_number(stamp.substr(mark + 1));
    if (!duration || !std::isfinite(*duration) || *duration < 0) return false;
  }
  std::string_view texts = list.substr(stamp_end + 1);
  says_time = texts.starts_with(kTextEnd);
  while (!texts.empty()) {
    const std::size_t end = texts.find(kTextEnd);
    if (end == std::string_view::npos) return false;
    if (end > 0) annotations.push_back({*onset, duration, to_utf8(texts.substr(0, end))});
    texts.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

EdfAnnotations read_edf_annotations(const Input& input, const EdfHeader& header) {
  EdfAnnotations out;
  const auto is_annotations = [](const EdfSignal& signal) { return signal.is_annotations; };
  if (std::none_of(header.signals.begin(), header.signals.end(), is_annotations)) return out;
  out.record_onset.resize(header.records);
  for (std::size_t record = 0; record < header.records; ++record) {
    bool first_signal = true;
    for (const EdfSignal& signal : header.signals) {
      if (!signal.is_annotations) continue;
      std::string_view bytes = input.bytes.substr(header.header_bytes + record * header.record_bytes + signal.offset,
                                                  signal.samples_per_record * header.sample_bytes());
      bool first_list = first_signal;
      first_signal = false;
      while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\0'), bytes.size());
        if (end > 0) {
          double onset_s = 0;
          bool says_time = false;
          if (!read_list(bytes.substr(0, end), out.annotations, onset_s, says_time)) {
            ++out.damaged;
          } else if (first_list && says_time) {
            out.record_onset[record] = onset_s;
          }
          first_list = false;
        }
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
      }
    }
  }
  return out;
}

}  // namespace envoi::signal
