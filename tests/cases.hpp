// Where the recordings for tests lie; they are no part of the project, and a test without its file is skipped by name.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace envoi_test {

// The path of a case, or "" where it is absent.
inline std::string find_case(const std::string& name) {
  const char* const set = std::getenv("ENVOI_CASES");
  const std::filesystem::path folder =
      set ? std::filesystem::path(set) : std::filesystem::path(__FILE__).parent_path() / "../../shared/cases";
  std::error_code ignored;
  const std::filesystem::path path = folder / name;
  return std::filesystem::exists(path, ignored) ? path.string() : std::string();
}

}  // namespace envoi_test

#define ENVOI_CASE(variable, name)                            \
  const std::string variable = ::envoi_test::find_case(name); \
  if (variable.empty()) GTEST_SKIP() << name << " is not here, set ENVOI_CASES"
