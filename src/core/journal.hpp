// A file that grows by records and outlives a crash: what was appended before a kill is read back, a torn end is
// dropped. One process at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "envoi/export.hpp"

namespace envoi::core {

// Every failure throws Error (bad_file) with the path and what to do.
//
// On the disk: "envoi.journal.1\n", then frames. A frame is the number of bytes of its name and of its value (64 bits
// each, in the machine's byte order), name, value, and a checksum of all these. The first frame's value is the
// identity.
class ENVOI_API Journal {
 public:
  enum class For { appending, reading };

  // Opens or creates. An existing journal must have this identity: lines "what: value", of which the first that differs
  // is named in the message. Throws also if another process has it open, or if it is some other file.
  // For::reading takes no lock, changes nothing, and finds nothing where there is no journal.
  Journal(const std::string& path, const std::string& identity, For access = For::appending);
  ~Journal();  // a journal without records is removed
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  std::optional<std::string> find(const std::string& name) const;  // the value appended last under that name
  void append(const std::string& name, std::string_view value);
  std::size_t size() const { return records_.size(); }

  // Removes a journal that nobody has open; nothing happens where there is none.
  static void remove(const std::string& path);

 private:
  struct Place {
    std::uint64_t offset = 0, bytes = 0;
  };
  bool read_only() const { return access_ == For::reading; }
  void open_locked();
  void load(const std::string& identity);
  void put(const std::string& frame);
  [[noreturn]] void fail(const char* what, int reason) const;

  std::string path_;
  For access_;
  int file_ = -1;
  std::uint64_t end_ = 0;  // of the last whole frame
  std::int64_t synced_ms_ = 0;
  std::map<std::string, Place> records_;
};

// FNV-1a over words of eight bytes, for finding damage, not for security.
ENVOI_API std::uint64_t checksum(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325u);

}  // namespace envoi::core
