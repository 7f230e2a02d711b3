// An SQLite database in memory, as far as books need it: made here and taken as bytes, or given as bytes and trusted in
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace envoi::results {

class Database {
 public:
  explicit Database(std::string name);            // empty; `name` is for messages
  Database(std::string bytes, std::string name);  // to read from; throws Error (bad_file) unless it is whole
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql);
  bool has_table(const char* table);  // an ordinary one: no view, nothing virtual
  std::vector<std::string> columns(const char* table);
  std::string bytes() const;  // the same statements give the same bytes

  [[noreturn]] void fail(const std::string& what) const;  // throws Error (bad_file): "name: what"
  [[noreturn]] void fail() const;                         // with SQLite's own words

 private:
  friend class Statement;
  void open();

  std::string name_;
  std::string given_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. Texts and blobs must live until the next step().
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind_blob(int parameter, std::string_view bytes);
  void insert();  // runs to the end and is ready for the next values

  bool step();  // false: there is no further row
  // Columns count from 0; nothing where the value is NULL or of another type.
  std::optional<std::int64_t> integer(int column) const;
  std::optional<double> number(int column) const;  // finite
  std::optional<std::string> text(int column) const;
  std::optional<std::string_view> blob(int column) const;  // until the next step()

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace envoi::results
