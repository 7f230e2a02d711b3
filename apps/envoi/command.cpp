// Messages, exit codes, the terminal and signals.
#include "command.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "core/atomic_file.hpp"

namespace envoi::command {
namespace {

std::atomic<int> ending_code{-1};
std::atomic<bool> resumable{false};

bool standard_output_abandoned() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_argument:
      return kUsage;
    case ErrorKind::bad_file:
    case ErrorKind::numerical:
    case ErrorKind::out_of_memory:
      return kInput;
    case ErrorKind::no_device:
      return kDevice;
    case ErrorKind::cancelled:
      return kInterrupted;
  }
  return kFault;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

void say(const std::string& line) {
  const std::string text = one_line(line) + "\n";
  std::fputs(text.c_str(), stderr);
}

void warn(const std::string& what) { say("envoi: warning: " + what); }

int report_current_exception(const std::string& file) {
  const Failure failure = current_failure(file);
  if (!failure.line.empty()) say(failure.line);
  return failure.status;
}

Failure current_failure(const std::string& file) {
  const auto line = [&](const std::string& what) {
    const std::string base = file.substr(file.rfind('/') + 1);
    const bool named = file.empty() || what.rfind(file, 0) == 0 || what.rfind(base, 0) == 0 ||
                       (file == "-" && (what.rfind("standard input", 0) == 0 || what.rfind("stdin", 0) == 0));
    return "envoi: " + (named ? "" : (file == "-" ? "standard input" : file) + ": ") + what;
  };
  try {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bad_file && standard_output_abandoned())
      return {kDone, ""};  // the reader has had enough
    return {exit_code(error.kind()), line(error.what())};
  } catch (const std::bad_alloc&) {
    return {kInput, line("not enough memory for this job; give it less at once (shorter windows, fewer signals), or a "
                         "file instead of standard input")};
  } catch (const std::exception& error) {
    return {kFault, line(std::string("internal fault: ") + error.what())};
  }
}

void usage_error(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

void print(const std::string& text) {
  core::AtomicFile out("-");
  out.write(text);
  out.commit();
}

bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

int standard_output_columns() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const int wanted = std::atoi(columns);
    if (wanted > 0) return wanted;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return ::isatty(STDOUT_FILENO) == 1 ? 80 : 160;
}

void ending(int code) { ending_code = code; }

void say_resumable() { resumable = true; }

void watch_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write past the limit fails then, and is cleaned up after
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&watched, number);  // nohup means it
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  std::thread([watched] {
    int number = 0;
    while (::sigwait(&watched, &number) != 0) continue;
    if (const int code = ending_code; code >= 0) ::_exit(code);
    core::abandon_temporaries();
    const std::string message = std::string(standard_error_is_terminal() ? "\n" : "") +
                                "envoi: interrupted; outputs not yet complete were left as they were" +
                                (resumable ? "; the same line continues from what is done\n" : "\n");
    const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
    (void)written;
    ::_exit(kInterrupted);
  }).detach();
}

}  // namespace envoi::command
