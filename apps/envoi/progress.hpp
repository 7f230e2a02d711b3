// One line on a terminal that tells how far an analysis is, how fast it goes and how long it will take.
#pragma once

#include <chrono>
#include <string>

#include "envoi/options.hpp"

namespace envoi::command {

class ProgressLine {
 public:
  ProgressLine(std::string label, bool wanted);  // nothing is shown unless stderr is a terminal
  ~ProgressLine();                               // takes the line away
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return shown_; }
  void update(const Progress& progress);
  void update(double share_done);

 private:
  bool due();
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void draw(const std::string& line);

  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool shown_;
  Clock::time_point start_ = Clock::now(), last_ = {};
  std::size_t width_ = 0;
};

}  // namespace envoi::command
