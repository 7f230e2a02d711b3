// Results in files: the ending chooses what is written, the content what is read.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"

namespace envoi {
namespace {

struct Format {
  std::string_view ending;
  std::string (*text)(const Decomposition&);
};

constexpr Format kFormats[] = {{".json", to_json}, {".ndjson", to_ndjson}, {".tsv", to_tsv}};

std::string read_all(const std::string& path) {
  const bool standard = path == "-";
  const std::string shown = standard ? "standard input" : path;
  const auto fail = [&] { throw Error(ErrorKind::bad_file, shown + ": cannot read: " + std::strerror(errno)); };
  const int file = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail();
  struct Close {
    int file;
    ~Close() {
      if (file != STDIN_FILENO) ::close(file);
    }
  } const close{file};
  std::string text;
  for (;;) {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const ssize_t got = ::read(file, text.data() + before, kBlock);
    text.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) fail();
  }
}

}  // namespace

void write_result(const std::string& path, const Decomposition& result) {
  std::string (*write)(const Decomposition&) = to_json;
  bool known = path == "-";
  for (const Format& format : kFormats)
    if (path.ends_with(format.ending)) write = format.text, known = true;
  if (!known) throw Error(ErrorKind::bad_argument, path + ": results are written as .json, .ndjson or .tsv");
  core::AtomicFile file(path);
  file.write(write(result));
  file.commit();
}

Decomposition read_result(const std::string& path) {
  return results::parse(read_all(path), path == "-" ? "standard input" : path);
}

}  // namespace envoi
