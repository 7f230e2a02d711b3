// Names of outputs, checked early; TSV of several inputs in one file.
#include "outputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "core/journal.hpp"
#include "envoi/results.hpp"

namespace envoi::command {
namespace {

constexpr std::string_view kName = "{name}";

// File name without folder and ending.
std::string stem(const std::string& path) {
  if (path == "-") return "stdin";
  const std::string base = path.substr(path.rfind('/') + 1);
  const std::size_t dot = base.rfind('.');
  return dot == std::string::npos || dot == 0 ? base : base.substr(0, dot);
}

std::string expand(std::string pattern, const std::string& input) {
  if (pattern.ends_with('/')) pattern += "{name}.json";
  return with_name(std::move(pattern), input);
}

// A folder that is asked for by its '/' need not be there yet.
void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Error(ErrorKind::bad_file, path + ": cannot be made: " + failed.message());
}

bool is_report(const std::string& path) { return path.ends_with(".html"); }

void require_known_ending(const std::string& path) {
  if (is_report(path)) return require_report_page(path);
  if (!is_result_ending(path)) usage_error(path + ": " + result_endings() + ", reports as .html; the ending chooses");
}

}  // namespace

std::string with_name(std::string pattern, const std::string& input) {
  const std::string name = stem(input);  // may hold {name} itself
  for (std::size_t at = 0; (at = pattern.find(kName, at)) != std::string::npos; at += name.size())
    pattern.replace(at, kName.size(), name);
  return pattern;
}

const char* result_endings() { return "results are written as .json, .ndjson, .tsv, .db, .book or .act.json"; }

void require_different(const std::string& output, const std::string& input) {
  std::error_code ignored;
  if (output != "-" && input != "-" && std::filesystem::is_regular_file(input, ignored) &&
      std::filesystem::equivalent(output, input, ignored))
    usage_error(output + ": is an input; it would be overwritten");
}

Inputs::Inputs(const std::vector<std::string>& paths) {
  struct stat about {};
  for (const std::string& path : paths)
    if (path != "-" && ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode))
      files_.emplace(about.st_dev, about.st_ino);
}

void Inputs::require_other(const std::string& output) const {
  struct stat about {};
  if (output != "-" && ::stat(output.c_str(), &about) == 0 && files_.count({about.st_dev, about.st_ino}) > 0)
    usage_error(output + ": is an input; it would be overwritten");
}

bool OutputPaths::add(const std::string& path) {
  struct stat about {};
  if (path != "-" && ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return true;
  std::error_code failed;
  // Made absolute first: of a relative name whose first part is not there nothing would change.
  const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failed);
  return taken_.insert(path == "-" || failed ? path : real.string()).second;
}

void OutputPaths::require(const std::string& path) {
  if (!add(path)) usage_error(one_line(path) + ": is two outputs of this run; name them apart");
}

bool Outputs::collects(const std::string& pattern) const {
  return several_ && pattern.ends_with(".tsv") && pattern.find(kName) == std::string::npos;
}

Outputs::Outputs(std::vector<std::string> patterns, const std::vector<std::string>& inputs, OutputPaths& taken,
                 const std::vector<std::string>* own)
    : patterns_(std::move(patterns)), several_(inputs.size() > 1) {
  const Inputs read(inputs);
  const std::set<std::string> written(own != nullptr ? own->begin() : inputs.begin(),
                                      own != nullptr ? own->end() : inputs.end());
  for (const std::string& pattern : patterns_) {
    if (pattern.ends_with('/')) make_folder(pattern);
    const bool one_for_all = collects(pattern) || !several_;
    if (!one_for_all && !pattern.ends_with('/') && pattern.find(kName) == std::string::npos)
      usage_error(
          pattern + ": one file for " + std::to_string(inputs.size()) + " inputs; put {name} into it" +
          (is_report(pattern) ? "" : ", or give a folder with a / at its end, or a .tsv, which holds them all"));
    for (const std::string& input : inputs) {
      const std::string path = expand(pattern, input);
      require_known_ending(path);
      read.require_other(path);
      if (!taken.add(path)) usage_error(path + ": is the output of two inputs, or given twice; name them apart");
      if (collects(pattern) || written.count(input) > 0) core::AtomicFile::check(path);
      if (collects(pattern)) break;
    }
  }
}

void Outputs::write(const std::string& input, const Decomposition& result, const Recording& recording) {
  for (const std::string& pattern : patterns_) {
    const std::string path = expand(pattern, input);
    if (is_report(path)) {
      write_report(path, recording, result);
      continue;
    }
    if (!collects(pattern)) {
      write_result(path, result, recording.channels);
      continue;
    }
    std::string text = to_tsv(result);
    const std::lock_guard lock(mutex_);
    collected_[pattern][input] = std::move(text);
  }
}

void Outputs::finish(const std::vector<std::string>& order) {
  for (const auto& [path, texts] : collected_) {
    core::AtomicFile file(path);
    bool headed = false;
    for (const std::string& input : order) {
      const auto text = texts.find(input);
      if (text == texts.end()) continue;
      file.write(std::string_view(text->second).substr(headed ? text->second.find('\n') + 1 : 0));
      headed = true;
    }
    file.commit();
  }
}

std::string Outputs::first(const std::string& input) const {
  const bool reports_alone = std::all_of(patterns_.begin(), patterns_.end(), is_report);
  for (const std::string& pattern : patterns_) {
    if (is_report(pattern) && !reports_alone) continue;
    if (!collects(pattern)) return expand(pattern, input);
    char mark[20];
    std::snprintf(mark, sizeof mark, "-%08x", static_cast<unsigned>(core::checksum(input) >> 32));
    return pattern + "." + stem(input) + mark;
  }
  return "";
}

bool Outputs::needs_samples() const {
  const auto needs = [](const std::string& pattern) {
    return is_report(pattern) || pattern.ends_with(".db") || pattern.ends_with(".book");
  };
  return std::any_of(patterns_.begin(), patterns_.end(), needs);
}

}  // namespace envoi::command
