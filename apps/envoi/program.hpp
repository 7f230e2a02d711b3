// The command as a whole, for programs that run it in different ways.
#pragma once

#include <functional>
#include <string>

#include "analyze.hpp"

namespace envoi::command {

struct Program {
  std::string name = "envoi";
  std::function<int(const AnalyzeLine&)> analyze = analyze_here;
  bool speaks = true;  // false: one of several processes of a run that says nothing itself and only analyzes
};

// Call watch_signals first. Returns the exit code.
int run_program(int argc, char** argv, const Program& program);

}  // namespace envoi::command
