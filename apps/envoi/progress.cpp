// Progress on a terminal.
#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "command.hpp"

namespace envoi::command {
namespace {

std::string clock_text(double seconds) {
  char text[64];
  const auto whole = static_cast<long>(std::min(seconds, 3.6e8));
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld h", whole / 3600, whole / 60 % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

}  // namespace

ProgressLine::ProgressLine(std::string label, bool wanted)
    : label_(one_line(std::move(label))), shown_(wanted && standard_error_is_terminal()) {
  if (label_.size() > 30) label_ = "..." + label_.substr(label_.size() - 27);
}

ProgressLine::~ProgressLine() {
  if (width_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
}

bool ProgressLine::due() {
  const auto now = Clock::now();
  if (!shown_ || seconds() < 0.5 || now - last_ < std::chrono::milliseconds(200)) return false;
  last_ = now;
  return true;
}

void ProgressLine::draw(const std::string& line) {
  const std::size_t blanks = width_ > line.size() ? width_ - line.size() : 0;
  std::fprintf(stderr, "\r%s%*s", line.c_str(), static_cast<int>(blanks), "");
  width_ = line.size() + blanks;
}

void ProgressLine::update(const Progress& progress) {
  if (!due()) return;
  const double share =
      progress.seconds_of_signal > 0 ? progress.seconds_of_signal_done / progress.seconds_of_signal : 0;
  char text[160];
  if (share > 0)
    std::snprintf(text, sizeof text, "%s  %3.0f %%  %.3g x real time  %s left", label_.c_str(), 100 * share,
                  progress.seconds_of_signal_done / seconds(), clock_text(seconds() * (1 - share) / share).c_str());
  else
    std::snprintf(text, sizeof text, "%s  %s", label_.c_str(), clock_text(seconds()).c_str());
  draw(text);
}

void ProgressLine::update(double share_done) {
  if (!due() || !(share_done > 0)) return;
  char text[160];
  std::snprintf(text, sizeof text, "%s  %3.0f %%  %s left", label_.c_str(), 100 * share_done,
                clock_text(seconds() * (1 - share_done) / share_done).c_str());
  draw(text);
}

}  // namespace envoi::command
