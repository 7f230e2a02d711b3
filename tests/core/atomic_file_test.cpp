// Whole or not at all: files, links, devices, failures, and a process that ends in the middle.
#include "core/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "envoi/error.hpp"

namespace envoi::core {
namespace {

namespace fs = std::filesystem;

class AtomicFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/envoi_atomic_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }
  static std::string refusal(const std::string& path, const std::string& text = "x") {
    try {
      AtomicFile file(path);
      file.write(text);
      file.commit();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      return error.what();
    }
    return "";
  }

  fs::path folder;
};

TEST_F(AtomicFiles, nothing_is_seen_before_commit_and_all_after) {
  const fs::path path = folder / "a";
  std::string expected;
  {
    AtomicFile file(path);
    for (int i = 0; i < 300000; ++i) {
      const std::string piece = std::to_string(i) + "\n";
      file.write(piece);
      expected += piece;
    }
    file.write(std::string(1000000, 'x'));
    expected += std::string(1000000, 'x');
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(entries(), 1);
    file.commit();
  }
  EXPECT_EQ(content(path), expected);
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFiles, without_commit_the_target_is_untouched_and_the_temporary_gone) {
  std::ofstream(folder / "a") << "old";
  {
    AtomicFile file(folder / "a");
    file.write("new");
  }
  EXPECT_EQ(content(folder / "a"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFiles, mode_and_links_stay) {
  std::ofstream(folder / "real") << "old";
  fs::permissions(folder / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder / "link");
  fs::create_symlink("new", folder / "dangling");
  EXPECT_EQ(refusal(folder / "link", "one"), "");
  EXPECT_EQ(refusal(folder / "dangling", "two"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "real"), "one");
  EXPECT_EQ(content(folder / "new"), "two");
  EXPECT_EQ(fs::status(folder / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFiles, failures_name_the_path_and_the_reason) {
  EXPECT_NE(refusal(folder / "none" / "x").find((folder / "none" / "x").string() + ": cannot write: No such file"),
            std::string::npos);
  EXPECT_NE(refusal(folder).find("Is a directory"), std::string::npos);
  EXPECT_NE(refusal(""), "");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_NE(refusal(folder / "loop").find("symbolic links"), std::string::npos);
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(refusal("/dev/full"), "/dev/full: cannot write: No space left on device");
  }
  EXPECT_EQ(refusal("/dev/null"), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFiles, check_finds_the_same_and_leaves_nothing) {
  EXPECT_THROW(AtomicFile::check(folder / "none" / "x"), Error);
  EXPECT_THROW(AtomicFile::check(folder), Error);
  EXPECT_NO_THROW(AtomicFile::check(folder / "x"));
  EXPECT_NO_THROW(AtomicFile::check("/dev/null"));
  EXPECT_EQ(entries(), 0);
}

TEST_F(AtomicFiles, names_of_any_length_that_the_system_takes) {
  const fs::path path = folder / std::string(255, 'n');
  EXPECT_EQ(refusal(path, "long"), "");
  EXPECT_EQ(content(path), "long");
}

TEST_F(AtomicFiles, a_process_that_abandons_leaves_no_temporary) {
  std::ofstream(folder / "a") << "old";
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile first(folder / "a"), second(folder / "b");
    first.write("new");
    abandon_temporaries();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(content(folder / "a"), "old");
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace envoi::core
