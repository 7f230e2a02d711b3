// Windows about events: the annotations of a recording that a name or a pattern chooses.
#pragma once

#include <string>
#include <vector>

#include "envoi/export.hpp"
#include "envoi/recording.hpp"

namespace envoi {

struct Events {
  std::string text;  // of the annotations, or a glob of * and ?; "": no events, windows are laid as ever
  double before_s = 0;
  double after_s = 0;  // together the length of a window

  bool empty() const { return text.empty(); }
};

// A window about an event.
struct EventWindow {
  double start_s = 0;
  double event_s = 0;
  std::string event;  // the annotation's text
};

// The windows, by start: one for each annotation of that text. Those that leave the recording (any of its channels) are
// left out, with a warning in it.
// Throws Error (bad_file: no such annotation, with the list of those that are there; or no window inside the recording;
// bad_argument: windows of no length).
ENVOI_API std::vector<EventWindow> event_windows(Recording& recording, const Events& events);

// Where they begin, for PursuitOptions::starts_s with window_s = before_s + after_s. Throws likewise.
ENVOI_API std::vector<double> event_starts(Recording& recording, const Events& events);

}  // namespace envoi
