// Facts of a run that a result must not hold: when, where, how long. One line a file, appended.
#pragma once

#include <optional>
#include <string>

#include "envoi/decomposition.hpp"

namespace envoi::command {

class RunLog {
 public:
  explicit RunLog(const std::optional<std::string>& path);  // throws Error (bad_file)
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // time=... host=... file=... status=... seconds=... and, of a success, what came out.
  void add(const std::string& file, int status, double seconds, unsigned threads, const Decomposition* result);

 private:
  int file_ = -1;
};

}  // namespace envoi::command
