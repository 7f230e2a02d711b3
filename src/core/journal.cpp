// Append, lock, and read back what is whole.
#include "core/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "envoi/error.hpp"

namespace envoi::core {
namespace {

constexpr std::string_view kMagic = "envoi.journal.1\n";
constexpr std::size_t kLengths = 2 * sizeof(std::uint64_t), kSum = sizeof(std::uint64_t);
constexpr std::int64_t kSyncEvery_ms = 5000;  // what a loss of power may cost; a kill costs nothing

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string bytes_of(std::uint64_t number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string frame_of(const std::string& name, std::string_view value) {
  std::string frame = bytes_of(name.size()) + bytes_of(value.size()) + name;
  frame += value;
  return frame + bytes_of(checksum(frame));
}

bool read_at(int file, std::uint64_t offset, std::uint64_t bytes, std::string& to) {
  to.resize(bytes);
  for (std::size_t filled = 0; filled < bytes;) {
    const ssize_t got = ::pread(file, to.data() + filled, bytes - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    filled += static_cast<std::size_t>(got);
  }
  return true;
}

// The first line of `own` that `other` says otherwise: "what", or "what (its value)" where that is short.
std::string difference(const std::string& own, const std::string& other) {
  const auto line = [](const std::string& text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string out = at < text.size() ? text.substr(at, end - at) : "";
    at = end + 1;
    return out;
  };
  for (std::size_t a = 0, b = 0; a < own.size();) {
    const std::string mine = line(own, a), theirs = line(other, b);
    if (mine == theirs) continue;
    const std::size_t colon = theirs.find(": ");
    const bool shown = colon != std::string::npos && theirs.size() - colon < 60;
    return mine.substr(0, mine.find(": ")) + (shown ? " (" + theirs.substr(colon + 2) + ")" : "");
  }
  return "identity";
}

}  // namespace

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed) {
  constexpr std::uint64_t kPrime = 0x100000001b3u;
  std::uint64_t sum = (seed ^ bytes.size()) * kPrime;
  const auto mix = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;  // high bits reach low ones too
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (i < bytes.size()) std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  mix(rest);
  return sum;
}

void Journal::fail(const char* what, int reason) const {
  const char* advice = reason == ENOSPC || reason == EDQUOT || reason == EFBIG
                           ? "; what was finished is kept: make room and run the same again with --resume"
                           : "";
  throw Error(ErrorKind::bad_file, path_ + ": cannot " + what + ": " + std::strerror(reason) + advice);
}

Journal::Journal(const std::string& path, const std::string& identity, For access)
    : path_(path), access_(access), synced_ms_(now_ms()) {
  if (read_only()) {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0 && errno == ENOENT) return;
    if (file_ < 0) fail("open", errno);
  } else {
    open_locked();
  }
  try {
    load(identity);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (records_.empty() && !read_only()) ::unlink(path_.c_str());  // still locked
  if (file_ >= 0) ::close(file_);
}

void Journal::open_locked() {
  for (;;) {
    do file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    while (file_ < 0 && errno == EINTR);
    if (file_ < 0) fail("open", errno);
    struct stat own {
    }, there{};
    const bool known = ::fstat(file_, &own) == 0;
    int reason = 0;
    if (!known || !S_ISREG(own.st_mode)) {
      reason = EEXIST;
    } else if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      reason = errno;
    }
    if (reason != 0) {
      ::close(file_);
      if (reason == EEXIST) throw Error(ErrorKind::bad_file, path_ + ": is no file; give another -o");
      if (reason == EWOULDBLOCK)
        throw Error(ErrorKind::bad_file,
                    path_ + ": another process is writing it; wait until that run ends, or give another -o");
      fail("lock", reason);
    }
    // Whoever had it before may have removed it between open and lock.
    if (::stat(path_.c_str(), &there) == 0 && there.st_ino == own.st_ino && there.st_dev == own.st_dev) return;
    ::close(file_);
  }
}

void Journal::load(const std::string& identity) {
  struct stat about {};
  if (::fstat(file_, &about) != 0) fail("read", errno);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  std::string bytes;
  if (!read_at(file_, 0, std::min<std::uint64_t>(size, kMagic.size()), bytes)) fail("read", EIO);
  if (bytes != kMagic.substr(0, bytes.size()))
    throw Error(ErrorKind::bad_file,
                path_ +
                    ": is in the way; --resume keeps finished parts in a file of that name, and this is none "
                    "(move it away)");
  end_ = kMagic.size();
  const auto damaged = [this] {
    throw Error(ErrorKind::bad_file,
                path_ + ": is damaged at byte " + std::to_string(end_) + "; remove the file to begin the run anew");
  };
  std::string found, body;
  for (std::size_t count = 0; end_ + kLengths + kSum <= size; ++count) {
    if (!read_at(file_, end_, kLengths, bytes)) fail("read", EIO);
    const std::uint64_t name = number_at(bytes, 0), value = number_at(bytes, 8);
    const std::uint64_t room = size - end_ - kLengths - kSum;
    if (name > room || value > room - name) {
      // Whoever was ended while writing the first frame left less than it.
      if (count == 0 && size > kMagic.size() + frame_of("identity", identity).size()) damaged();
      break;
    }
    if (!read_at(file_, end_ + kLengths, name + value + kSum, body)) fail("read", EIO);
    const std::uint64_t sum = number_at(body, name + value);
    body.resize(name + value);
    if (checksum(bytes + body) != sum) {
      if (count > 0) break;
      damaged();
    }
    if (count == 0)
      found = body.substr(name);
    else
      records_[body.substr(0, name)] = {end_ + kLengths + name, value};
    if (count == 0 && found != identity)
      throw Error(ErrorKind::bad_file, path_ + ": holds parts of another run, with another " +
                                           difference(identity, found) +
                                           "; repeat that run, or remove the file to begin anew");
    end_ += kLengths + name + value + kSum;
  }
  if (read_only()) return;
  if (::ftruncate(file_, static_cast<off_t>(end_ > kMagic.size() ? end_ : 0)) != 0) fail("write", errno);
  if (end_ > kMagic.size()) return;
  end_ = 0;
  try {
    put(std::string(kMagic) + frame_of("identity", identity));
  } catch (...) {
    ::unlink(path_.c_str());  // still locked; nothing was kept in it
    throw;
  }
}

void Journal::put(const std::string& frame) {
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t written = ::pwrite(file_, frame.data() + done, frame.size() - done, static_cast<off_t>(end_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    done += static_cast<std::size_t>(written);
  }
  end_ += frame.size();
  if (const std::int64_t now = now_ms(); now - synced_ms_ > kSyncEvery_ms) {
    synced_ms_ = now;
    if (::fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fail("write", errno);
  }
}

void Journal::append(const std::string& name, std::string_view value) {
  const std::uint64_t at = end_ + kLengths + name.size();
  put(frame_of(name, value));
  records_[name] = {at, value.size()};
}

std::optional<std::string> Journal::find(const std::string& name) const {
  const auto known = records_.find(name);
  if (known == records_.end()) return std::nullopt;
  std::string value;
  if (!read_at(file_, known->second.offset, known->second.bytes, value)) fail("read", EIO);
  return value;
}

void Journal::remove(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(file);
}

}  // namespace envoi::core
