// What is done and said about every recording once its reader is through: spans marked as bad, units that are missing
// or absurd.
#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "channel_type.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

bool says_bad(const std::string& text) {
  const std::string start = lower_case(std::string_view(text).substr(0, 4));
  return start == "bad_" || start == "bad ";
}

// Replacement characters, question marks, controls, or no letter at all ("%" and degrees apart).
bool is_garbled(const std::string& unit) {
  if (unit.find("\uFFFD") != std::string::npos || unit.find('?') != std::string::npos) return true;
  for (std::size_t i = 0; i + 1 < unit.size(); ++i) {  // controls of Latin-1, U+0080 to U+009F
    if (unit[i] == '\xC2' && static_cast<unsigned char>(unit[i + 1]) < 0xA0) return true;
  }
  const auto stands_for_something = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80 || c == '%' ||
           c == '1' || c == '-';
  };
  return std::none_of(unit.begin(), unit.end(), stands_for_something);
}

double standard_deviation(const std::vector<double>& samples) {
  double mean = 0, squares = 0, count = 0;
  for (const double x : samples) {
    if (!std::isfinite(x)) continue;
    count += 1;
    const double step = x - mean;
    mean += step / count;
    squares += step * (x - mean);
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

std::string channels_of(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "channel " : std::to_string(names.size()) + " channels: ") + list_of(names);
}

}  // namespace

BadSpans::BadSpans(const std::vector<Annotation>& annotations) {
  for (const Annotation& annotation : annotations) {
    if (!says_bad(annotation.text) || !(annotation.duration_s.value_or(0) > 0)) continue;
    spans_.emplace_back(annotation.onset_s, annotation.onset_s + *annotation.duration_s);
  }
}

void BadSpans::mark(Channel& channel) {
  const std::size_t before = marked_;
  for (const auto& [from_s, to_s] : spans_) {
    // A millionth of a sample: an edge that falls on a sample but for rounding counts as on it.
    const auto index_at = [&](double time_s) {
      const double index = std::ceil((time_s - channel.start_s) * channel.rate_hz - 1e-6);
      return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(channel.samples.size())));
    };
    const std::size_t end = index_at(to_s);
    for (std::size_t i = index_at(from_s); i < end; ++i) {
      marked_ += std::isnan(channel.samples[i]) ? 0 : 1;
      channel.samples[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  channels_ += marked_ > before ? 1 : 0;
}

void BadSpans::say(Recording& recording) const {
  if (marked_ == 0) return;
  recording.warnings.push_back(std::to_string(spans_.size()) +
                               " annotations mark spans as bad: " + std::to_string(marked_) + " samples of " +
                               std::to_string(channels_) + " channels count as missing");
}

void OddUnits::look_at(const Channel& channel) {
  if (channel.kind != DataKind::biosignal) return;
  if (channel.unit.empty()) {
    without_.push_back(channel.name);
    return;
  }
  if (is_garbled(channel.unit)) garbled_.push_back(channel.name + " ('" + channel.unit + "')");
  // Nothing on a scalp or skin moves by a tenth of a volt.
  const bool of_the_body =
      channel.type == "eeg" || channel.type == "eog" || channel.type == "emg" || channel.type == "ecg";
  const double volts = volts_of(channel.unit);
  if (!of_the_body || volts == 0) return;
  const double spread = standard_deviation(channel.samples);
  if (spread * volts > 0.1) {
    absurd_.push_back("channel '" + channel.name + "' varies by " + rounded(spread, 3) + " " + channel.unit +
                      ", which is absurd for " + channel.type + ": its unit or scale is wrong in the file");
  }
}

void OddUnits::say(Recording& recording) const {
  recording.warnings.insert(recording.warnings.end(), absurd_.begin(), absurd_.end());
  if (!without_.empty()) {
    recording.warnings.push_back("the file gives no unit for " + channels_of(without_) + "; taken without one");
  }
  if (!garbled_.empty()) {
    recording.warnings.push_back("the unit cannot be made out of " + channels_of(garbled_) + "; taken as it stands");
  }
}

void mark_bad_spans(Recording& recording) {
  BadSpans spans(recording.annotations);
  for (Channel& channel : recording.channels) spans.mark(channel);
  spans.say(recording);
}

void say_odd_units(Recording& recording) {
  OddUnits units;
  for (const Channel& channel : recording.channels) units.look_at(channel);
  units.say(recording);
}

}  // namespace envoi::signal
