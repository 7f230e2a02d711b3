// What the subcommands share: how they enter the command line, exit codes and the voice they speak in.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "envoi/error.hpp"

namespace envoi::command {

enum Exit : int { kDone = 0, kFault = 1, kUsage = 2, kInput = 3, kDevice = 4, kInterrupted = 130 };

// A subcommand declares its options and sets `run`, which returns the exit code or throws.
using Run = std::function<int()>;
void add_analyze(CLI::App& app, Run& run);
void add_reconstruct(CLI::App& app, Run& run);
void add_convert(CLI::App& app, Run& run);
void add_plot(CLI::App& app, Run& run);
void add_search(CLI::App& app, Run& run);
void add_synth(CLI::App& app, Run& run);
void add_demo(CLI::App& app, Run& run);
void add_devices(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);

int exit_code(ErrorKind kind);

// The one line of the exception being handled on stderr, and its exit code. `file`, if any, is named where the message
// does not name it. Says nothing where standard output is a pipe that nobody reads any more.
int report_current_exception(const std::string& file = "");

// The same, not said yet.
struct Failure {
  int status = 0;
  std::string line;  // "": nothing to say
};
Failure current_failure(const std::string& file = "");

[[noreturn]] void usage_error(const std::string& what);  // throws Error (bad_argument)

void warn(const std::string& what);
void say(const std::string& line);  // a line on stderr
std::string one_line(std::string text);

// Writes to standard output; throws Error (bad_file) if that fails.
void print(const std::string& text);

bool standard_error_is_terminal();
int standard_output_columns();

// From here on SIGINT, SIGTERM and SIGHUP end the process with exit code 130 and no temporary file left, whatever the
// threads are doing; SIGPIPE becomes an ordinary write error. Call it before any thread is started.
void watch_signals();

// From now on an interruption is told with the way to continue.
void say_resumable();

// The work is done: from here on those signals end the process with this exit code, and nothing is said.
void ending(int code);

}  // namespace envoi::command
