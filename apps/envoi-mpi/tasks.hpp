// What one rank does at a time, and how tasks and results travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace envoi::command {

// A file, or one of several shares of its parts.
struct Task {
  std::uint64_t file = 0;   // index
  std::uint64_t share = 0;  // of its parts those whose number, divided by `shares`, leaves `share`
  std::uint64_t shares = 1;
};

// What became of it: the result as JSON of a whole file, the parts of a share, or a failure.
struct Report {
  Task task;
  double seconds = 0;
  std::int64_t status = 0;
  std::string failure;  // a line; of a failed task
  std::string json;
  std::map<std::string, std::string> parts;
};

std::string to_bytes(const Task& task);
std::string to_bytes(const Report& report);
Task task_of(const std::string& bytes);      // of what to_bytes made
Report report_of(const std::string& bytes);  // likewise

// Tasks for so many ranks, in the order in which they should begin: large files first. A file with more than its share
// of all bytes is divided, and where there are few files so are those that would leave ranks idle at the end.
std::vector<Task> tasks_of(const std::vector<std::uint64_t>& file_bytes, std::size_t ranks);

}  // namespace envoi::command
