// Journals: what was appended is found again, whatever the end of the file looks like; other runs are refused.
#include "core/journal.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "envoi/error.hpp"

namespace envoi::core {
namespace {

namespace fs = std::filesystem;

const std::string kIdentity = "file: 1234\nversion: 0.1\noptions: {}\n";

class Journals : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/envoi_journal_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "x.json.partial";
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string refusal(const std::string& identity) const {
    try {
      Journal journal(path, identity);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(std::string(error.what()).rfind(path.string(), 0), 0u) << error.what();
      return error.what();
    }
    return "";
  }
  // Names and values of a small run, one of them empty, one with any bytes.
  static const std::vector<std::pair<std::string, std::string>>& parts() {
    static const std::vector<std::pair<std::string, std::string>> all = {
        {"window 0 0", "abc"}, {"window 0 1", ""}, {"window 0 2", std::string("\0\xff\n", 3)}, {"w", "1234567890"}};
    return all;
  }

  fs::path folder, path;
};

TEST_F(Journals, what_was_appended_is_found_again) {
  {
    Journal journal(path, kIdentity);
    for (const auto& [name, value] : parts()) {
      journal.append(name, value);
      EXPECT_EQ(journal.find(name), value);
    }
    journal.append("w", "later");
  }
  Journal journal(path, kIdentity);
  EXPECT_EQ(journal.size(), 4u);
  EXPECT_EQ(journal.find("window 0 1"), "");
  EXPECT_EQ(journal.find("window 0 2"), parts()[2].second);
  EXPECT_EQ(journal.find("w"), "later");
  EXPECT_EQ(journal.find("nothing"), std::nullopt);
}

TEST_F(Journals, one_cut_off_at_any_byte_keeps_its_whole_records_and_goes_on) {
  std::vector<std::size_t> ends;  // of the file after each record
  {
    Journal journal(path, kIdentity);
    for (const auto& [name, value] : parts()) {
      ends.push_back(fs::file_size(path));
      journal.append(name, value);
    }
    ends.push_back(fs::file_size(path));
  }
  const std::string whole = content();
  ASSERT_EQ(ends.back(), whole.size());
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    SCOPED_TRACE(cut);
    write(whole.substr(0, cut));
    const std::size_t kept =
        static_cast<std::size_t>(std::upper_bound(ends.begin() + 1, ends.end(), cut) - ends.begin() - 1);
    {
      Journal journal(path, kIdentity);
      ASSERT_EQ(journal.size(), kept);
      for (std::size_t i = 0; i < parts().size(); ++i) {
        EXPECT_EQ(journal.find(parts()[i].first), i < kept ? std::optional(parts()[i].second) : std::nullopt);
        if (i >= kept) journal.append(parts()[i].first, parts()[i].second);
      }
    }
    EXPECT_EQ(content(), whole);
  }
}

TEST_F(Journals, a_changed_byte_is_never_read_as_what_was_kept) {
  {
    Journal journal(path, kIdentity);
    for (const auto& [name, value] : parts()) journal.append(name, value);
  }
  const std::string whole = content();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    write(damaged);
    try {
      const Journal journal(path, kIdentity);
      EXPECT_LT(journal.size(), parts().size());
      for (const auto& [name, value] : parts()) EXPECT_EQ(journal.find(name).value_or(value), value);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(content(), damaged);  // nothing is thrown away unasked
    }
  }
}

TEST_F(Journals, another_run_is_refused_and_says_in_what_it_differs) {
  { Journal(path, kIdentity).append("a", "b"); }
  const std::string before = content();
  EXPECT_NE(refusal("file: 99\nversion: 0.1\noptions: {}\n").find("another file (1234)"), std::string::npos);
  EXPECT_NE(refusal("file: 1234\nversion: 0.2\noptions: {}\n").find("another version (0.1)"), std::string::npos);
  EXPECT_NE(refusal("file: 1234\nversion: 0.1\noptions: {1}\n").find("remove the file"), std::string::npos);
  EXPECT_EQ(content(), before);
}

TEST_F(Journals, overwritten_lengths_of_the_first_frame_are_no_beginning) {
  { Journal(path, kIdentity).append("a", std::string(300, 'b')); }
  std::string damaged = content();
  damaged.replace(16, 8, 8, '\xff');
  write(damaged);
  EXPECT_NE(refusal(kIdentity).find("remove the file"), std::string::npos);
  EXPECT_EQ(content(), damaged);
}

TEST_F(Journals, other_files_are_left_alone) {
  for (const std::string& text : {std::string("e\n"), std::string("{\"a\": 1}"), std::string(5000, '\0')}) {
    write(text);
    EXPECT_NE(refusal(kIdentity).find("move it away"), std::string::npos);
    EXPECT_EQ(content(), text);
  }
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_NE(refusal(kIdentity), "");
  EXPECT_TRUE(fs::is_directory(path));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(refusal(kIdentity), "");
  path = folder / "none" / "x.partial";
  EXPECT_NE(refusal(kIdentity).find("No such file"), std::string::npos);
}

TEST_F(Journals, one_that_is_open_is_refused) {
  Journal journal(path, kIdentity);
  journal.append("a", "b");
  EXPECT_NE(refusal(kIdentity).find("another process"), std::string::npos);
  Journal::remove(path);
  EXPECT_TRUE(fs::exists(path));
  // Reading is free, of what is there so far and in no other run's name.
  const Journal reader(path, kIdentity, Journal::For::reading);
  EXPECT_EQ(reader.find("a"), "b");
  EXPECT_EQ(Journal(folder / "none", kIdentity, Journal::For::reading).size(), 0u);
  EXPECT_FALSE(fs::exists(folder / "none"));
  EXPECT_THROW(Journal(path, "file: 2\n", Journal::For::reading), Error);
}

TEST_F(Journals, go_when_they_hold_nothing_or_are_done_with) {
  { Journal journal(path, kIdentity); }
  EXPECT_FALSE(fs::exists(path));
  { Journal(path, kIdentity).append("a", "b"); }
  EXPECT_TRUE(fs::exists(path));
  Journal::remove(path);
  EXPECT_FALSE(fs::exists(path));
  Journal::remove(path);  // nothing there
}

TEST_F(Journals, a_full_disk_is_said_and_what_was_whole_stays) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Journal journal(path, kIdentity);
      journal.append("a", "first");
      journal.append("b", std::string(2000, 'x'));
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("make room") != std::string::npos ? 7 : 8);
    }
    ::_exit(9);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  Journal journal(path, kIdentity);
  EXPECT_EQ(journal.size(), 1u);
  EXPECT_EQ(journal.find("a"), "first");
}

}  // namespace
}  // namespace envoi::core
