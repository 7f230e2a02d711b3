// The bytes of a file or of standard input, and their SHA-256. Regular files are mapped, so that a short stretch of a
// long recording costs little memory; pipes are read whole.
#include "bytes.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "envoi/error.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

std::string reason() { return std::generic_category().message(errno); }

struct Descriptor {
  int number;
  bool owned;
  ~Descriptor() {
    if (owned && number >= 0) ::close(number);
  }
};

}  // namespace

FileBytes::FileBytes(const std::string& path) {
  const bool standard_input = path == "-";
  name_ = standard_input ? "stdin" : std::filesystem::path(path).filename().string();
  if (name_.empty()) name_ = path;
  const std::string shown = standard_input ? name_ : path;
  if (path.find('\0') != std::string::npos || path.empty()) bad_file(shown, "not the name of a file");

  const Descriptor file{standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC), !standard_input};
  if (file.number < 0) {
    if (errno == ENOENT) bad_file(shown, "no such file; check the path");
    bad_file(shown, "cannot be opened: " + reason());
  }
  struct stat about {};
  if (::fstat(file.number, &about) != 0) bad_file(shown, "cannot be read: " + reason());
  if (S_ISDIR(about.st_mode)) bad_file(shown, "is a folder; give the files in it");

  if (!standard_input && S_ISREG(about.st_mode) && about.st_size > 0) {
    void* const map = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (map != MAP_FAILED) {
      mapped_ = static_cast<const char*>(map);
      size_ = static_cast<std::size_t>(about.st_size);
      return;
    }
  }
  read_all(file.number);
  if (read_.empty()) bad_file(shown, "is empty");
}

FileBytes::~FileBytes() {
  if (mapped_) ::munmap(const_cast<char*>(mapped_), size_);
}

void FileBytes::read_all(int descriptor) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::size_t filled = 0;
  for (;;) {
    if (read_.size() < filled + kBlock) read_.resize(std::max(filled + kBlock, 2 * read_.size()));
    const ssize_t got = ::read(descriptor, read_.data() + filled, read_.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) bad_file(name_, "cannot be read: " + reason());
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  read_.resize(filled);
}

std::string sha256_hex(std::string_view bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest, &length) != 1) {
    throw Error(ErrorKind::out_of_memory, "SHA-256 is not available from OpenSSL");
  }
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

}  // namespace envoi::signal
