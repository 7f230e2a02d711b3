// A file that appears whole or not at all: bytes go to a temporary name beside the target, which takes the target's
// place when all of them are on the disk. Not for reading, and not for files that grow.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "envoi/export.hpp"

namespace envoi::core {

// Every failure throws Error (bad_file) with the path and the system's reason.
// "-" is standard output. Devices, pipes and "-" are written to directly, since they cannot be replaced.
// An existing target keeps its permissions; a symbolic link stays and the file it points to is replaced.
class ENVOI_API AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // not committed: the temporary goes, the target is as it was
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();  // once, last

  // Throws as the constructor would, and leaves nothing behind; for finding out before a long computation.
  static void check(const std::string& path);

 private:
  void flush(const char* data, std::size_t bytes);

  std::string shown_;      // for messages
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // empty when written to directly
  std::string buffer_;
  int file_ = -1;
};

// For a program that is about to end on a signal: removes the temporaries of all AtomicFiles alive and lets none be
// created or take its target's place from then on (they wait for ever), so that the process must end next.
// Call it from an ordinary thread (sigwait), not from a signal handler.
ENVOI_API void abandon_temporaries();

}  // namespace envoi::core
