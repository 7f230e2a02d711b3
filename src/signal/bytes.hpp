// The bytes of a file or of standard input, and their SHA-256.
#pragma once

#include <string>
#include <string_view>

namespace envoi::signal {

class FileBytes {
 public:
  // "-" is standard input, read to its end. Throws Error (bad_file) if it cannot be read or is empty.
  explicit FileBytes(const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view view() const { return mapped_ ? std::string_view(mapped_, size_) : std::string_view(read_); }
  const std::string& name() const { return name_; }  // without folder; "stdin"

 private:
  void read_all(int descriptor);

  std::string name_;
  std::string read_;
  const char* mapped_ = nullptr;
  std::size_t size_ = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace envoi::signal
