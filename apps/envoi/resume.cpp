// What a journal of parts belongs to, and how its parts are named.
#include "resume.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "commit.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/results.hpp"

namespace envoi::command {
namespace {

// What a part depends on, beside the samples.
std::string identity_of(const std::string& sha256, const AnalyzeOptions& options) {
  Decomposition asked;
  asked.input = options.input;
  asked.conditioning = options.conditioning;
  asked.events = options.events;
  asked.options = options.pursuit;
  std::string parameters = to_json(asked);
  std::replace(parameters.begin(), parameters.end(), '\n', ' ');
  return "input file: SHA-256 " + sha256.substr(0, 16) + "\nversion of the program: " + version() + ", " + kCommit +
         "\ninstruction set: " + isa_name() + "\nset of options: " + parameters + "\nSHA-256: " + sha256 + "\n";
}

// Paths of FILE.partial and FILE.I.partial that are there.
std::vector<std::string> partial_files(const std::string& output) {
  if (output.empty()) return {};
  const std::filesystem::path path(output);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string base = path.filename().string() + ".", ending = "partial";
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(base) || !name.ends_with(ending)) continue;
    std::string_view share = std::string_view(name).substr(base.size());
    share.remove_suffix(ending.size());
    if (share.ends_with('.'))
      share.remove_suffix(1);
    else if (!share.empty())
      continue;
    if (share.find_first_not_of("0123456789") != std::string_view::npos) continue;
    found.push_back((path.has_parent_path() ? path.parent_path() / name : std::filesystem::path(name)).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t mix(std::uint64_t sum, const std::vector<double>& numbers) {
  return core::checksum({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)}, sum);
}

}  // namespace

Resume::Resume(const PartialFile& file, const std::string& sha256, const AnalyzeOptions& options)
    : journal_(file.path(), identity_of(sha256, options)) {
  for (const std::string& other : partial_files(file.output))
    if (other != std::filesystem::path(file.path()).string())
      others_.push_back(
          std::make_unique<core::Journal>(other, identity_of(sha256, options), core::Journal::For::reading));
}

std::size_t Resume::parts_done() const {
  std::size_t count = journal_.size();
  for (const auto& other : others_) count += other->size();
  return count;
}

Parts Resume::parts(const Recording& recording, const std::vector<double>& starts_s) {
  std::uint64_t sum = mix(core::checksum(""), starts_s);
  for (const Channel& channel : recording.channels) {
    sum = mix(core::checksum(channel.name + "\n" + channel.unit, sum), {channel.rate_hz, channel.start_s});
    sum = mix(sum, channel.samples);
  }
  char prefix[24];
  std::snprintf(prefix, sizeof prefix, "%016llx ", static_cast<unsigned long long>(sum));
  Parts parts;
  parts.recall = [this, text = std::string(prefix)](const std::string& name) {
    std::optional<std::string> bytes = journal_.find(text + name);
    for (std::size_t i = 0; !bytes && i < others_.size(); ++i) bytes = others_[i]->find(text + name);
    return bytes;
  };
  parts.keep = [this, text = std::string(prefix)](const std::string& name, const std::string& bytes) {
    journal_.append(text + name, bytes);
  };
  return parts;
}

void remove_partial_files(const std::string& output) {
  for (const std::string& path : partial_files(output)) core::Journal::remove(path);
}

}  // namespace envoi::command
