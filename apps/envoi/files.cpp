// Files from the command line and from lists.
#include "files.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "command.hpp"
#include "numbers.hpp"

namespace envoi::command {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  if (status == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == GLOB_NOSPACE) throw std::bad_alloc();
  if (files.empty())
    throw Error(ErrorKind::bad_file,
                one_line(pattern) + ": no file matches this pattern; check the folder and the ending");
  return files;
}

std::vector<std::string> lines_of(const std::string& list) {
  const std::string shown = list == "-" ? "standard input" : one_line(list);
  std::ifstream file;
  if (list != "-") file.open(list, std::ios::binary);
  std::istream& in = list == "-" ? std::cin : file;
  std::error_code ignored;
  if (!in || (list != "-" && std::filesystem::is_directory(list, ignored)))
    throw Error(ErrorKind::bad_file, shown + ": cannot be read; --files-from needs a text file with a path a line");
  std::vector<std::string> files;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find('\0') != std::string::npos)
      throw Error(ErrorKind::bad_file, shown + ": line " + std::to_string(number) +
                                           " is no text; --files-from needs a list of paths, a line each");
    if (line == "-") usage_error(shown + ": line " + std::to_string(number) + ": standard input cannot be in a list");
    if (!line.empty()) files.push_back(line);
  }
  if (in.bad()) throw Error(ErrorKind::bad_file, shown + ": cannot be read to its end");
  if (files.empty()) throw Error(ErrorKind::bad_file, shown + ": names no file; put a path on each line");
  return files;
}

}  // namespace

std::vector<std::string> input_files(const std::vector<std::string>& given, const std::optional<std::string>& list) {
  if (given.empty() && !list) usage_error("FILE is required: which recordings? (or --files-from LIST)");
  std::vector<std::string> files;
  for (const std::string& name : given) {
    if (name == "-" || name.find_first_of("*?[") == std::string::npos || exists(name)) {
      files.push_back(name);
    } else {
      for (std::string& match : matches(name)) files.push_back(std::move(match));
    }
  }
  const bool reads_input = std::find(files.begin(), files.end(), "-") != files.end();
  if (reads_input && list) usage_error("-: standard input goes alone, without --files-from");
  if (list)
    for (std::string& line : lines_of(*list)) files.push_back(std::move(line));

  std::set<std::string> known;
  std::vector<std::string> once;
  for (std::string& name : files) {
    std::error_code failed;
    const std::filesystem::path real =
        name == "-" ? std::filesystem::path(name) : std::filesystem::weakly_canonical(name, failed);
    if (known.insert(failed ? name : real.string()).second) once.push_back(std::move(name));
  }
  if (reads_input && once.size() > 1) usage_error("-: standard input goes alone, without other files");
  return once;
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    usage_error("--shard: '" + one_line(text) +
                "' must be I/N, such as 2/8: the second of eight runs that share the files");
  if (slash == 0 || slash + 1 == text.size())
    usage_error("--shard: '" + one_line(text) + "' has no " + (slash == 0 ? "I, which counts from 1" : "N") +
                "; give I/N, such as 2/8");
  const Shard shard{parse_count(text.substr(0, slash), "--shard"), parse_count(text.substr(slash + 1), "--shard")};
  if (shard.index > shard.count)
    usage_error("--shard: '" + one_line(text) + "' must count from 1 to " + std::to_string(shard.count));
  return shard;
}

std::vector<std::string> shard_of(std::vector<std::string> files, Shard shard) {
  if (shard.count == 1) return files;
  std::sort(files.begin(), files.end());
  std::vector<std::string> own;
  for (std::size_t i = shard.index - 1; i < files.size(); i += shard.count) own.push_back(std::move(files[i]));
  return own;
}

}  // namespace envoi::command
