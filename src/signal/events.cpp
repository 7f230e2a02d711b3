// Annotations to the starts of windows.
#include "envoi/events.hpp"

#include <algorithm>
#include <cmath>

#include "core/glob.hpp"
#include "envoi/error.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi {
namespace {

// The different texts, in the order of their first, each with how often it is there.
std::string texts_of(const Recording& recording) {
  std::vector<std::pair<std::string, std::size_t>> counted;
  for (const Annotation& annotation : recording.annotations) {
    const auto same =
        std::find_if(counted.begin(), counted.end(), [&](const auto& entry) { return entry.first == annotation.text; });
    if (same == counted.end())
      counted.emplace_back(annotation.text, 1);
    else
      ++same->second;
    if (counted.size() > 1000) break;  // more than a message shows
  }
  std::vector<std::string> shown;
  for (const auto& [text, count] : counted)
    shown.push_back(text + (count > 1 ? " (" + std::to_string(count) + ")" : ""));
  return signal::list_of(shown);
}

bool inside(const Recording& recording, double start_s, double length_s) {
  return std::all_of(recording.channels.begin(), recording.channels.end(), [&](const Channel& channel) {
    // As the pursuit counts: both rounded to samples.
    const double first = std::round((start_s - channel.start_s) * channel.rate_hz);
    const double count = std::round(length_s * channel.rate_hz);
    return first >= 0 && first + count <= static_cast<double>(channel.samples.size());
  });
}

std::vector<double> starts_of(const std::vector<EventWindow>& windows) {
  std::vector<double> starts_s;
  for (const EventWindow& window : windows) starts_s.push_back(window.start_s);
  return starts_s;
}

// How many of the sorted starts fall on the sample of the one before, in the channel where most do.
std::size_t at_one_sample(const Recording& recording, const std::vector<double>& starts_s) {
  std::size_t most = 0;
  for (const Channel& channel : recording.channels) {
    const auto sample = [&](double start_s) { return std::round((start_s - channel.start_s) * channel.rate_hz); };
    std::size_t count = 0;
    for (std::size_t i = 1; i < starts_s.size(); ++i) count += sample(starts_s[i]) == sample(starts_s[i - 1]) ? 1 : 0;
    most = std::max(most, count);
  }
  return most;
}

}  // namespace

std::vector<EventWindow> event_windows(Recording& recording, const Events& events) {
  const double length_s = events.before_s + events.after_s;
  if (!(length_s > 0) || !std::isfinite(length_s))
    signal::bad_argument(recording.name,
                         "windows about events need a length; before and after together must be above 0");
  std::vector<EventWindow> windows;
  std::vector<std::string> outside;  // times of those left out
  std::size_t found = 0;
  for (const Annotation& annotation : recording.annotations) {
    if (annotation.text != events.text && !core::matches_glob(events.text, annotation.text)) continue;
    ++found;
    const double start_s = annotation.onset_s - events.before_s;
    if (inside(recording, start_s, length_s))
      windows.push_back({start_s, annotation.onset_s, annotation.text});
    else if (outside.size() < 6)
      outside.push_back(outside.size() < 5 ? signal::rounded(annotation.onset_s, 10) + " s" : "...");
  }
  const std::string name = "'" + signal::printable(events.text, 100) + "'";
  if (found == 0)
    signal::bad_file(recording.name, "no event " + name + " among its annotations; there are: " + texts_of(recording));
  if (windows.empty())
    signal::bad_file(recording.name, "none of the " + std::to_string(found) + " windows about events " + name +
                                         " lies inside the recording; make --before and --after shorter");
  if (windows.size() < found)
    recording.warnings.push_back(std::to_string(found - windows.size()) + " of " + std::to_string(found) +
                                 " windows about events " + name +
                                 " leave the recording and are left out: " + signal::list_of(outside));
  std::stable_sort(windows.begin(), windows.end(),
                   [](const EventWindow& a, const EventWindow& b) { return a.start_s < b.start_s; });
  const std::vector<double> starts_s = starts_of(windows);
  if (const std::size_t same = at_one_sample(recording, starts_s); same > 0)
    recording.warnings.push_back(std::to_string(same) + " of " + std::to_string(found) + " events " + name +
                                 " lie at the sample of another, and have one window with it");
  return windows;
}

std::vector<double> event_starts(Recording& recording, const Events& events) {
  return starts_of(event_windows(recording, events));
}

}  // namespace envoi
