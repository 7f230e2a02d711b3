// Results in files: the ending chooses what is written, the content what is read.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/foreign.hpp"
#include "results/parse.hpp"

namespace envoi {
namespace {

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

void write_result(const std::string& path, const Decomposition& result) { write_result(path, result, {}); }

void write_result(const std::string& path, const Decomposition& result, std::span<const Channel> signal) {
  const auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  std::string bytes;
  if (ends(".act.json")) {
    bytes = results::act_json_text(result, path);
  } else if (ends(".json") || path == "-") {
    bytes = to_json(result);
  } else if (ends(".ndjson")) {
    bytes = to_ndjson(result);
  } else if (ends(".tsv")) {
    bytes = to_tsv(result);
  } else if (ends(".db") || ends(".book")) {
    bytes = results::book_bytes(result, signal, path);
  } else {
    throw Error(ErrorKind::bad_argument, path + ": results are written as .json, .ndjson, .tsv, .db or .act.json");
  }
  core::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

bool is_result_ending(const std::string& path) {
  if (path == "-") return true;
  for (const char* ending : {".json", ".ndjson", ".tsv", ".db", ".book"})
    if (path.ends_with(ending)) return true;
  return false;
}

Decomposition read_result(const std::string& path) {
  std::string bytes = read_all(path);
  const std::string name = path == "-" ? "standard input" : path;
  if (results::is_book(bytes)) {
    Decomposition result = results::read_book(std::move(bytes), name);
    if (result.source.name == name) result.source.name = name.substr(name.rfind('/') + 1);
    return result;
  }
  if (results::is_act_json(bytes)) return results::read_act_json(bytes, name);
  if (std::string_view(bytes).starts_with("file\tchannel\tsegment\torder\t"))
    throw Error(ErrorKind::bad_file,
                name + ": a table of atoms, which does not hold the windows; read the .json instead");
  return results::parse(bytes, name);
}

}  // namespace envoi
