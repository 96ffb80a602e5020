// Comma-separated values whose cells know where they stand, so that every fault names file, line and column: cut into
// rows one at a time, of a text of any length, and as a file that is held as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"

namespace c3sim::sim {

struct CsvCell {
  std::string_view text;  // without the blanks or quotes around it
  int line = 1;           // of its first byte, from 1
  int column = 1;
};

struct CsvRow {
  int line = 0;  // of its first byte, from 1
  std::vector<CsvCell> cells;
  bool is_ended = true;  // whether an end of line follows: without one, it may have been cut off
  // The first quote that is not as it should be: where, the cell that it is in, what is wrong.
  struct BadQuote {
    int line, column;
    std::size_t cell;
    std::string_view what;
  };
  std::optional<BadQuote> bad_quote{};
};

// A cell in double quotes may hold commas, line ends and doubled quotes (RFC 4180). Lines that begin with '#' are
// comments, and like blank ones no rows.
class CsvLexer {
 public:
  // The text must outlive the lexer; a byte order mark before it is no part of it.
  explicit CsvLexer(std::string_view text);

  // Goes on to the next row; false where none is left. Cells are good until the next call.
  bool next(CsvRow& row);
  // How many lines have been begun.
  int line() const { return line_; }

 private:
  void begin_line();
  CsvCell cell(CsvRow& row);
  std::string_view quoted(CsvRow& row);
  void skip_behind_quote(CsvRow& row);
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::size_t line_end_ = 0;  // of its last byte that is no line end, plus 1
  std::size_t next_line_ = 0;
  int line_ = 0;
  std::deque<std::string> rewritten_;  // cells of the row that held doubled quotes
};

// The first line that is no comment names the columns; every line after it is a row with as many cells, as
// CsvLexer cuts it. UTF-8.
//
// What is wrong with a row is recorded, and its other rows stay readable: check() throws all of it at once. A reader of
// cells returns something harmless then (an empty text, the low limit).
class CsvFile {
 public:
  // Throw ConfigError for a file that cannot be read, is no text or has no columns; a row of another length than
  // these, with a wrong quote or a cell of more than 4 KiB, is recorded and left out. `name` stands for the file in
  // positions.
  static CsvFile from_file(const std::filesystem::path& path);
  static CsvFile from_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  std::size_t rows() const { return lines_.size(); }
  int line(std::size_t row) const { return lines_[row]; }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const { return index_.contains(column); }
  // "file:line:column" of the name of a column that the file has.
  std::string place_of_name(std::string_view column) const;
  // Records a fault for each of these columns that the file lacks, with the nearest one that it has.
  void require(const std::vector<std::string>& columns);

  // The cell of a column that the file has.
  std::string_view text(std::size_t row, std::string_view column) const;
  // Numbers between the limits, both ends included.
  double number(std::size_t row, std::string_view column, double low, double high);
  std::int64_t integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high);

  // "file:line:column" of a cell, or, where the file has no such column, of the row.
  std::string place(std::size_t row, std::string_view column) const;
  // Records what is wrong with the columns as a whole.
  void fault(std::string what) { fault_at(header_line_, 1, "", std::move(what)); }
  // Records what is wrong with a cell, or, where the file has no such column, with a row.
  void fault(std::size_t row, std::string_view column, std::string what);
  const std::vector<Fault>& faults() const { return faults_; }
  // Throws ConfigError with the faults recorded so far, if there are any.
  void check() const;

 private:
  // Of a cell; its text goes on to where that of the next one begins.
  struct Place {
    std::size_t text = 0;  // in texts_
    int line = 1;          // of its first byte, from 1
    int column = 1;
  };

  explicit CsvFile(std::string name) : name_(std::move(name)) {}
  void take_header(const CsvRow& row);
  void take_row(const CsvRow& row);
  bool is_whole(const CsvRow& row);
  bool is_short(const CsvRow& row, bool is_header);
  std::string_view cell(std::size_t row, std::size_t column) const;
  std::string place_at(int line, int column) const;
  void fault_at(int line, int column, std::string_view path, std::string what);
  // What was read of a cell; a fault, and the low limit, if it could not be read or lies outside the limits.
  template <class T>
  T within(std::size_t row, std::string_view column, const Parsed<T>& parsed, T low, T high);

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<int> name_columns_;  // where the names of columns begin in their line
  int header_line_ = 1;
  std::map<std::string, std::size_t, std::less<>> index_;  // of columns
  // All rows have as many cells, one behind the other: millions of rows must not cost an allocation each.
  std::string texts_;
  std::vector<Place> places_;
  std::vector<int> lines_;  // of rows
  std::vector<Fault> faults_;
};

}  // namespace c3sim::sim
