// The line of `analyze`, and who runs it: this process alone, or several.
#pragma once

#include <functional>

#include "batch.hpp"
#include "command.hpp"

namespace envoi::command {

// As typed.
struct AnalyzeLine {
  std::vector<std::string> files;
  std::optional<std::string> files_from, shard, jobs;
  AnalyzeArguments options;
  std::vector<std::string> outputs, reports;
  std::vector<std::string> rules, annotations;
  std::optional<std::string> log;
  bool json = false, plan = false, quiet = false, verbose = false, resume = false;
};

// Throws Error (bad_argument, bad_file). Outputs are known to be writable then. A job without files has nothing to do.
Job make_job(const AnalyzeLine& line);

int analyze_here(const AnalyzeLine& line);
void add_analyze(CLI::App& app, Run& run, std::function<int(const AnalyzeLine&)> how);

}  // namespace envoi::command
