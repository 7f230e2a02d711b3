// Many files of one analysis: results in the order of the files, whichever is finished first; failures at the end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analysis.hpp"
#include "annotation_outputs.hpp"
#include "outputs.hpp"
#include "progress.hpp"
#include "run_log.hpp"

namespace envoi::command {

// An analysis as it was asked for, checked.
struct Job {
  AnalyzeOptions options;  // threads: of one file
  std::vector<std::string> files;
  unsigned at_once = 1;  // files
  bool json = false, quiet = false, verbose = false, resume = false;
  std::unique_ptr<Outputs> outputs;
  std::unique_ptr<AnnotationOutputs> annotations;
  std::unique_ptr<RunLog> log;

  FileAnalysis file(std::size_t i) const;
};

// What became of each file. Any order, any thread. Throws Error (bad_file) if standard output cannot be written.
class Batch {
 public:
  explicit Batch(Job& job);

  void succeeded(std::size_t i, const Analysed& analysed, double seconds);
  void failed(std::size_t i, int status, const std::string& message, double seconds);  // "": nothing to say
  void failed(std::size_t i, double seconds);  // with the exception being handled
  int finish();                                // once, last: collected outputs, the list of what failed; the exit code

 private:
  void done(std::size_t i, int status, std::string text);

  Job& job_;
  std::mutex mutex_;
  std::vector<int> status_;  // of each file, -1 while it is not done
  std::vector<std::string> texts_;
  std::size_t done_ = 0, printed_ = 0;
  ProgressLine line_;
};

// The worse of two exit codes.
int worse(int a, int b);

// Here, job.at_once files at a time.
int run_batch(Job& job);

}  // namespace envoi::command
