// The log of runs: key=value pairs, blanks between, values quoted where they need it.
#include "run_log.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "command.hpp"
#include "commit.hpp"
#include "envoi/pursuit.hpp"

namespace envoi::command {
namespace {

std::string quoted(const std::string& value) {
  if (!value.empty() && value.find_first_of(" \"\\\n\t=") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : one_line(value)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

RunLog::RunLog(const std::optional<std::string>& path) {
  if (!path) return;
  file_ = ::open(path->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Error(ErrorKind::bad_file, *path + ": cannot write: " + std::strerror(errno));
}

RunLog::~RunLog() {
  if (file_ >= 0) ::close(file_);
}

void RunLog::add(const std::string& file, int status, double seconds, unsigned threads, const Decomposition* result) {
  if (file_ < 0) return;
  utsname system{};
  ::uname(&system);
  char duration[32];
  std::snprintf(duration, sizeof duration, "%.3f", seconds);
  std::string line = "time=" + now() + " host=" + quoted(system.nodename) + " version=" + version() +
                     " commit=" + kCommit + " isa=" + isa_name() + " threads=" + std::to_string(threads) +
                     " file=" + quoted(file) + " status=" + std::to_string(status) + " seconds=" + duration;
  if (result != nullptr)
    line += " channels=" + std::to_string(result->channels.size()) +
            " segments=" + std::to_string(result->segments.size()) + " atoms=" + std::to_string(result->atoms.size());
  line += '\n';
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) warn("the log cannot be written");
}

}  // namespace envoi::command
