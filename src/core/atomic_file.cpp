// Temporary file, fsync, rename: the POSIX way to all or nothing.
#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "envoi/error.hpp"

namespace envoi::core {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

// Held while a temporary is created, renamed or removed; never destroyed, since a thread may hold it at exit.
std::mutex& registry_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::set<std::string>& registry() {
  static auto* names = new std::set<std::string>;
  return *names;
}

[[noreturn]] void fail(const std::string& path, const char* what, int reason) {
  throw Error(ErrorKind::bad_file, path + ": cannot " + what + ": " + std::strerror(reason) +
                                       (reason == EISDIR ? "; name a file in it" : ""));
}

bool is_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

struct Target {
  std::string path;  // links resolved
  bool exists = false;
  bool replaceable = true;  // false: a device, a pipe, a socket
  struct stat status = {};
};

// Follows symbolic links, dangling ones too; refuses folders and files that may not be written.
Target resolve(const std::string& path) {
  if (path.empty()) fail("''", "write", ENOENT);
  Target target;
  target.path = path;
  for (int hops = 0;; ++hops) {
    char link[PATH_MAX];
    const ssize_t length = ::readlink(target.path.c_str(), link, sizeof link - 1);
    if (length < 0) break;
    if (hops == 40) fail(path, "write", ELOOP);
    const std::string to(link, static_cast<std::size_t>(length));
    // Links of /proc name no file ("pipe:[7]"): what they stand for is opened through them.
    struct stat status;
    if (::stat(target.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) break;
    const std::size_t slash = target.path.rfind('/');
    target.path = to[0] == '/' || slash == std::string::npos ? to : target.path.substr(0, slash + 1) + to;
  }
  target.exists = ::stat(target.path.c_str(), &target.status) == 0;
  if (!target.exists && errno != ENOENT) fail(path, "write", errno);
  if (!target.exists && target.path.back() == '/') fail(path, "write", EISDIR);
  if (target.exists && S_ISDIR(target.status.st_mode)) fail(path, "write", EISDIR);
  if (target.exists && ::access(target.path.c_str(), W_OK) != 0) fail(path, "write", errno);
  target.replaceable = !target.exists || S_ISREG(target.status.st_mode);
  return target;
}

// Creates an empty file of a name of its own in the target's folder and enters it in the registry.
int create_temporary(const Target& target, const std::string& shown, std::string& name) {
  static std::atomic<unsigned> counter{0};
  const std::size_t slash = target.path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.path.substr(0, slash + 1);
  const std::string base = target.path.substr(folder.size(), 200);
  const std::lock_guard lock(registry_mutex());
  for (int attempt = 0; attempt < 1000; ++attempt) {
    name = folder + "." + base + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      registry().insert(name);
      return file;
    }
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int reason = errno;
  name.clear();
  fail(shown, "write", reason);
}

void remove_temporary(const std::string& name) {
  const std::lock_guard lock(registry_mutex());
  if (registry().erase(name) > 0) ::unlink(name.c_str());
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : shown_(path) {
  if (is_standard_output(path)) {
    shown_ = "standard output";
    file_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (file_ < 0) fail(shown_, "write", errno);
    return;
  }
  const Target target = resolve(path);
  target_ = target.path;
  if (!target.replaceable) {
    do file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    while (file_ < 0 && errno == EINTR);
    if (file_ < 0) fail(shown_, "write", errno);
    return;
  }
  file_ = create_temporary(target, shown_, temporary_);
  if (target.exists) {
    // The owner can be kept by root alone; for everybody else the file becomes theirs, as with any editor.
    const bool moved = ::fchown(file_, target.status.st_uid, target.status.st_gid) == 0;
    (void)moved;
    ::fchmod(file_, target.status.st_mode & 0777);
  }
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) remove_temporary(temporary_);
}

void AtomicFile::flush(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(file_, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(shown_, "write", errno);
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBuffer) {
    flush(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  if (bytes >= kBuffer)
    flush(from, bytes);
  else
    buffer_.append(from, bytes);
}

void AtomicFile::commit() {
  flush(buffer_.data(), buffer_.size());
  buffer_.clear();
  if (!temporary_.empty() && ::fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fail(shown_, "write", errno);
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0 && errno != EINTR) fail(shown_, "write", errno);
  if (temporary_.empty()) return;
  const std::lock_guard lock(registry_mutex());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(shown_, "replace", errno);
  registry().erase(temporary_);
  temporary_.clear();
}

void AtomicFile::check(const std::string& path) {
  if (is_standard_output(path)) {
    if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) fail("standard output", "write", errno);
    return;
  }
  const Target target = resolve(path);
  if (!target.replaceable) return;
  std::string name;
  ::close(create_temporary(target, path, name));
  remove_temporary(name);
}

void abandon_temporaries() {
  registry_mutex().lock();  // and never let go
  for (const std::string& name : registry()) ::unlink(name.c_str());
}

}  // namespace envoi::core
