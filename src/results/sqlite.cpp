// SQLite behind two small classes. Databases are read from memory, so that no journal beside a file is ever touched.
#include "results/sqlite.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>

#include "envoi/error.hpp"
#include "signal/shared.hpp"

namespace envoi::results {

void Database::fail(const std::string& what) const { throw Error(ErrorKind::bad_file, name_ + ": " + what); }

void Database::fail() const {
  const int code = sqlite3_errcode(handle_) & 0xFF;
  if (code == SQLITE_NOMEM) throw Error(ErrorKind::out_of_memory, name_ + ": does not fit into memory");
  fail("the SQLite database is damaged or cut off: " + signal::printable(sqlite3_errmsg(handle_), 120));
}

void Database::open() {
  if (sqlite3_open_v2(":memory:", &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) fail();
}

Database::Database(std::string name) : name_(std::move(name)) { open(); }

Database::Database(std::string bytes, std::string name) : name_(std::move(name)), given_(std::move(bytes)) {
  constexpr std::size_t kHeader = 100, kWriteVersion = 18, kReadVersion = 19;
  if (given_.size() < kHeader) fail("the SQLite database is cut off within its header");
  // A database last used with a write-ahead log says so here, and would be looked for on a disk.
  for (const std::size_t at : {kWriteVersion, kReadVersion})
    if (given_[at] == 2) given_[at] = 1;
  try {
    open();
    // Tables alone: what a hostile schema could run is off, and no value may be larger than the file pays for.
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    const std::size_t most = std::min<std::size_t>(given_.size() + (std::size_t{1} << 20), 1000000000);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, static_cast<int>(most));
    const auto size = static_cast<sqlite3_int64>(given_.size());
    if (sqlite3_deserialize(handle_, "main", reinterpret_cast<unsigned char*>(given_.data()), size, size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
      fail();
    // Visits each page once and refuses pages used twice, without which a crafted tree could be walked for ever.
    Statement check(*this, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) != "ok")
      fail("the SQLite database is damaged or cut off: " + signal::printable(check.text(0).value_or("?"), 120));
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

bool Database::has_table(const char* table) {
  Statement found(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1");
  found.bind(1, std::string_view(table));
  return found.step();
}

std::vector<std::string> Database::columns(const char* table) {
  Statement info(*this, "SELECT name FROM pragma_table_info(?1)");
  info.bind(1, std::string_view(table));
  std::vector<std::string> names;
  while (info.step()) names.push_back(info.text(0).value_or(""));
  return names;
}

std::string Database::bytes() const {
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(handle_, "main", &size, 0);
  if (bytes == nullptr) throw Error(ErrorKind::out_of_memory, name_ + ": does not fit into memory");
  struct Free {
    unsigned char* bytes;
    ~Free() { sqlite3_free(bytes); }
  } const owner{bytes};
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  if (sqlite3_prepare_v2(database.handle_, sql.c_str(), static_cast<int>(sql.size()), &handle_, nullptr) != SQLITE_OK)
    database.fail();
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int parameter, std::int64_t value) {
  if (sqlite3_bind_int64(handle_, parameter, value) != SQLITE_OK) database_.fail();
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  if (sqlite3_bind_double(handle_, parameter, value) != SQLITE_OK) database_.fail();
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  if (sqlite3_bind_text64(handle_, parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
    database_.fail();
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  if (sqlite3_bind_blob64(handle_, parameter, bytes.data(), bytes.size(), SQLITE_STATIC) != SQLITE_OK) database_.fail();
  return *this;
}

void Statement::insert() {
  if (sqlite3_step(handle_) != SQLITE_DONE || sqlite3_reset(handle_) != SQLITE_OK) database_.fail();
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
  return code == SQLITE_ROW;
}

std::optional<std::int64_t> Statement::integer(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(handle_, column);
}

std::optional<double> Statement::number(int column) const {
  const int type = sqlite3_column_type(handle_, column);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return std::nullopt;
  const double value = sqlite3_column_double(handle_, column);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::string> Statement::text(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* const text = sqlite3_column_text(handle_, column);
  if (text == nullptr) database_.fail();
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

std::optional<std::string_view> Statement::blob(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_BLOB) return std::nullopt;
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  return std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

}  // namespace envoi::results
