// Tasks from sizes of files; bytes of tasks, between programs of one build.
#include "tasks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

namespace envoi::command {
namespace {

constexpr std::size_t kFewFiles = 4;  // times the ranks

template <class T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& bytes, const std::string& text) {
  put(bytes, std::uint64_t{text.size()});
  bytes += text;
}

template <class T>
void get(const std::string& bytes, std::size_t& at, T& value) {
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
}
void get(const std::string& bytes, std::size_t& at, std::string& text) {
  std::uint64_t size = 0;
  get(bytes, at, size);
  text = bytes.substr(at, size);
  at += size;
}

}  // namespace

std::string to_bytes(const Task& task) {
  std::string bytes;
  put(bytes, task);
  return bytes;
}

Task task_of(const std::string& bytes) {
  Task task;
  std::size_t at = 0;
  get(bytes, at, task);
  return task;
}

std::string to_bytes(const Report& report) {
  std::string bytes;
  put(bytes, report.task), put(bytes, report.seconds), put(bytes, report.status);
  put(bytes, report.failure), put(bytes, report.json);
  put(bytes, std::uint64_t{report.parts.size()});
  for (const auto& [name, value] : report.parts) put(bytes, name), put(bytes, value);
  return bytes;
}

Report report_of(const std::string& bytes) {
  Report report;
  std::size_t at = 0;
  get(bytes, at, report.task), get(bytes, at, report.seconds), get(bytes, at, report.status);
  get(bytes, at, report.failure), get(bytes, at, report.json);
  std::uint64_t count = 0;
  get(bytes, at, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name;
    get(bytes, at, name);
    get(bytes, at, report.parts[name]);
  }
  return report;
}

std::vector<Task> tasks_of(const std::vector<std::uint64_t>& file_bytes, std::size_t ranks) {
  std::vector<std::size_t> order(file_bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return file_bytes[a] > file_bytes[b]; });
  const double all = std::accumulate(file_bytes.begin(), file_bytes.end(), 0.0);
  const auto large = [&](std::size_t file) {
    return static_cast<double>(file_bytes[file]) * static_cast<double>(ranks) > all;
  };
  const auto first_small = std::find_if_not(order.begin(), order.end(), large);
  const auto small = static_cast<std::size_t>(order.end() - first_small);
  const std::size_t left_over = small < kFewFiles * ranks ? small % ranks : 0;
  std::vector<Task> tasks;
  for (auto file = order.begin(); file != order.end(); ++file) {
    const bool divided = file < first_small || file >= order.end() - static_cast<std::ptrdiff_t>(left_over);
    const std::size_t shares = divided ? ranks : 1;
    for (std::size_t share = 0; share < shares; ++share) tasks.push_back({*file, share, shares});
  }
  return tasks;
}

}  // namespace envoi::command
