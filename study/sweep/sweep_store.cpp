#include "study/sweep/sweep_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <boost/algorithm/string/replace.hpp>
#include <system_error>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

namespace fs = std::filesystem;

constexpr int application_id = 0x63337377;  // "c3sw", which marks SQLite files made by sweeps
constexpr std::size_t most_columns = 1900;  // SQLite's own limit is 2000

[[noreturn]] void refuse(const std::string& where, std::string what) {
  throw sim::ConfigError({{where, "", std::move(what)}});
}

std::error_code reason_of(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return std::make_error_code(std::errc::no_space_on_device);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return std::make_error_code(std::errc::permission_denied);
    case SQLITE_NOMEM:
      return std::make_error_code(std::errc::not_enough_memory);
    default:
      return system_error != 0 ? std::error_code(system_error, std::generic_category())
                               : std::make_error_code(std::errc::io_error);
  }
}

}  // namespace

// A Statement is an SQL statement of the store that is prepared once and run many times.
class SweepStore::Statement {
 public:
  Statement(const SweepStore& store, const std::string& sql) : store_(store) {
    const int result = sqlite3_prepare_v2(store.database_.get(), sql.c_str(), -1, &statement_, nullptr);
    if (result != SQLITE_OK) store.fail(result);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int place, std::int64_t value) { check(sqlite3_bind_int64(statement_, place, value)); }
  void bind(int place, const Cell& cell) {
    std::visit(sim::Overloaded{[&](std::monostate) { check(sqlite3_bind_null(statement_, place)); },
                               [&](const NoNumber&) { check(sqlite3_bind_null(statement_, place)); },
                               [&](bool flag) { bind(place, std::int64_t{flag}); },
                               [&](std::int64_t number) { bind(place, number); },
                               [&](double number) { check(sqlite3_bind_double(statement_, place, number)); },
                               [&](const std::string& text) {
                                 const int size = static_cast<int>(text.size());
                                 check(sqlite3_bind_text(statement_, place, text.data(), size, SQLITE_TRANSIENT));
                               }},
               cell);
  }
  // Returns whether there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) store_.fail(result);
    return result == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? ""
                            : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  Cell cell(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER:
        return integer(column);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement_, column);
      case SQLITE_TEXT:
        return text(column);
      default:
        return {};
    }
  }

 private:
  void check(int result) const {
    if (result != SQLITE_OK) store_.fail(result);
  }

  const SweepStore& store_;
  sqlite3_stmt* statement_ = nullptr;
};

SweepStore::SweepStore(const fs::path& folder, const StoreKey& key)
    : name_(folder.empty() ? "the file for points" : (folder / file_name).string()),
      database_(nullptr, &sqlite3_close),
      columns_(key.columns.size()) {
  if (columns_ > most_columns) {
    refuse(key.study, fmt::format("{} columns are too many: at most {} are accepted", columns_, most_columns));
  }
  open(folder);
  Statement version(*this, "PRAGMA application_id");
  version.step();
  Statement tables(*this, "SELECT count(*) FROM sqlite_master");
  tables.step();
  if (version.integer(0) == application_id) {
    check_key(key);
  } else if (tables.integer(0) == 0) {
    make_tables(key);
  } else {
    refuse(name_, "is not a file of points that c3sim made: another folder is accepted");
  }
  std::string marks = "?1";
  for (std::size_t c = 0; c <= columns_; ++c) marks += fmt::format(", ?{}", c + 2);
  insertion_ = std::make_unique<Statement>(*this, "INSERT OR IGNORE INTO points VALUES (" + marks + ")");
}

SweepStore::~SweepStore() = default;

void SweepStore::open(const fs::path& folder) {
  if (!folder.empty()) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw std::system_error(failed, "cannot make the folder " + folder.string());
    lock_ = std::make_unique<FolderLock>(folder);
  }
  sqlite3* opened = nullptr;
  const std::string file = folder.empty() ? std::string() : (folder / file_name).string();
  const int result = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK) fail(result);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, 10'000);  // while people read the file
  // A killed program loses nothing. If the machine fails, the last transactions may be missing, but none is torn.
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = NORMAL");
}

void SweepStore::check_key(const StoreKey& key) {
  Statement made_for(*this, "SELECT digest, study FROM study");
  if (!made_for.step() || made_for.text(0) != key.digest) {
    refuse(name_, fmt::format("holds points of the study '{}' with another file, platform or version of c3sim (digest "
                              "{:.12}, not {:.12}): another folder is accepted",
                              made_for.text(1), made_for.text(0), key.digest));
  }
}

void SweepStore::make_tables(const StoreKey& key) {
  std::string columns = "point INTEGER PRIMARY KEY";
  for (const Column& column : key.columns) columns += ", \"" + boost::replace_all_copy(column.key, "\"", "\"\"") + '"';
  execute("BEGIN");
  execute(fmt::format("PRAGMA application_id = {}", application_id));
  execute("CREATE TABLE study (digest TEXT, study TEXT)");
  execute("CREATE TABLE points (" + columns + ", fault TEXT)");
  {
    Statement row(*this, "INSERT INTO study VALUES (?1, ?2)");
    row.bind(1, Cell(key.digest));
    row.bind(2, Cell(key.study));
    row.step();
  }
  execute("COMMIT");
}

void SweepStore::execute(const std::string& sql) const {
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result);
}

void SweepStore::fail(int result) const {
  if ((result & 0xff) == SQLITE_NOTADB || (result & 0xff) == SQLITE_CORRUPT) {
    // .recover of Debian 12's sqlite3 fails. A dump skips what it cannot read, but ends with a ROLLBACK.
    refuse(name_,
           fmt::format("is not a file of points that c3sim made, or is damaged: another folder is accepted. Most of a "
                       "damaged one is saved by sqlite3 {} .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 saved.sqlite",
                       name_));
  }
  throw std::system_error(reason_of(result, sqlite3_system_errno(database_.get())), "cannot use " + name_);
}

std::uint64_t SweepStore::size() const {
  Statement found(*this, "SELECT count(*) FROM points");
  found.step();
  return static_cast<std::uint64_t>(found.integer(0));
}

void SweepStore::add(std::span<const PointAnswer> answers) {
  execute("BEGIN IMMEDIATE");
  try {
    for (const PointAnswer& answer : answers) {
      insertion_->bind(1, static_cast<std::int64_t>(answer.index));
      for (std::size_t c = 0; c < columns_; ++c) insertion_->bind(static_cast<int>(c) + 2, answer.cells[c]);
      insertion_->bind(static_cast<int>(columns_) + 2, answer.fault.empty() ? Cell() : Cell(answer.fault));
      insertion_->step();
      insertion_->reset();
    }
    execute("COMMIT");
  } catch (...) {
    insertion_->reset();
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);  // the first error is the one to report
    throw;
  }
}

std::vector<std::uint64_t> SweepStore::indices(std::uint64_t first, std::size_t most) const {
  Statement found(*this, "SELECT point FROM points WHERE point >= ?1 ORDER BY point LIMIT ?2");
  found.bind(1, static_cast<std::int64_t>(first));
  found.bind(2, static_cast<std::int64_t>(most));
  std::vector<std::uint64_t> indices;
  while (found.step()) indices.push_back(static_cast<std::uint64_t>(found.integer(0)));
  return indices;
}

void SweepStore::for_each(const std::function<void(const PointAnswer& answer)>& visit) const {
  Statement row(*this, "SELECT * FROM points ORDER BY point");
  PointAnswer answer;
  answer.cells.resize(columns_);
  while (row.step()) {
    answer.index = static_cast<std::uint64_t>(row.integer(0));
    for (std::size_t c = 0; c < columns_; ++c) answer.cells[c] = row.cell(static_cast<int>(c) + 1);
    answer.fault = row.text(static_cast<int>(columns_) + 1);
    visit(answer);
  }
}

}  // namespace c3sim::study
