// Which files an analysis takes: names, patterns, lists, and a share of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace envoi::command {

// Names as they are given, patterns (*, ?, [...]) that name no file themselves as what they match, sorted, and the
// lines of `list` ("-": standard input), as they are. Each file once, where it comes first. Throws Error: bad_argument
// (no file at all, standard input beside others or twice), bad_file (a pattern without match, a list that cannot be
// read or is empty).
std::vector<std::string> input_files(const std::vector<std::string>& given, const std::optional<std::string>& list);

// One of several runs that share the files: of the sorted list, every `count`-th from `index` (from 1) on.
struct Shard {
  std::size_t index = 1, count = 1;
};
Shard parse_shard(const std::string& text);  // "2/8"; throws Error (bad_argument)
std::vector<std::string> shard_of(std::vector<std::string> files, Shard shard);

}  // namespace envoi::command
