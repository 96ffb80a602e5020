// Reads comma-separated values whose cells know their positions, so that every fault names file, line and column.
// CsvLexer cuts a text of any length into rows one at a time; CsvFile holds a whole file.
#pragma once

#include <algorithm>
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
  int line = 1;           // line of its first byte, from 1
  int column = 1;
};

struct CsvRow {
  int line = 0;  // line of its first byte, from 1
  std::vector<CsvCell> cells;
  bool is_ended = true;  // whether a line end follows; a row without one may have been cut off
  // `bad_quote` is the first faulty quote of the row: its position, the index of its cell and what is wrong.
  struct BadQuote {
    int line, column;
    std::size_t cell;
    std::string_view what;
  };
  std::optional<BadQuote> bad_quote{};

  // in all cells
  bool is_empty() const {
    return std::ranges::all_of(cells, [](const CsvCell& cell) { return cell.text.empty(); });
  }
};

// A cell in double quotes may hold commas, line ends and doubled quotes (RFC 4180). Blank lines and lines that begin
// with '#', perhaps behind blanks, are not rows.
class CsvLexer {
 public:
  // The text must outlive the lexer. A byte order mark at its start is skipped.
  explicit CsvLexer(std::string_view text);

  // Reads the next row; returns false if none is left. The cells are valid until the next call.
  bool next(CsvRow& row);
  // Returns the number of lines begun so far.
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
  std::size_t line_end_ = 0;  // one past the last byte of the line, without its line end
  std::size_t next_line_ = 0;
  int line_ = 0;
  std::deque<std::string> rewritten_;  // unescaped cells of the row that held doubled quotes
};

// The first line that is not a comment names the columns; every later row has that number of cells. Rows whose cells
// are all empty, as spreadsheets write them, do not count. The text is UTF-8.
//
// Faults in a row are recorded and check() throws all of them at once. Until then, a faulty cell reads as something
// harmless (an empty text, the low limit).
class CsvFile {
 public:
  // Throw ConfigError if the file cannot be read, is not text, has no columns or names one twice. A row with the wrong
  // number of cells, a bad quote or a cell of more than 4 KiB is recorded as a fault and left out. `name` stands for
  // the file in positions.
  static CsvFile from_file(const std::filesystem::path& path);
  static CsvFile from_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  std::size_t rows() const { return lines_.size(); }
  int line(std::size_t row) const { return lines_[row]; }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const { return index_.contains(column); }
  // Returns "file:line:column" of the name of a column, which the file must have.
  std::string place_of_name(std::string_view column) const;
  // Records a fault for each of these columns that the file lacks, with the nearest name that it has.
  void require(const std::vector<std::string>& columns);

  // Returns the cell of a column, which the file must have.
  std::string_view text(std::size_t row, std::string_view column) const;
  // Return a number between the limits, both ends included; any other cell is recorded as a fault.
  double number(std::size_t row, std::string_view column, double low, double high);
  std::int64_t integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high);

  // Returns "file:line:column" of a cell, or of the row if the file has no such column.
  std::string place(std::size_t row, std::string_view column) const;
  // Records what is wrong with the columns as a whole.
  void fault(std::string what) { fault_at(header_line_, 1, "", std::move(what)); }
  // Records what is wrong with a cell, or with the row if the file has no such column.
  void fault(std::size_t row, std::string_view column, std::string what) {
    faults_.push_back({place(row, column), std::string(column), std::move(what)});
  }
  const std::vector<Fault>& faults() const { return faults_; }
  // Throws ConfigError with the faults recorded so far, if there are any.
  void check() const {
    if (!faults_.empty()) throw ConfigError(faults_);
  }

 private:
  // A Place locates a cell. Its text ends where the text of the next cell begins.
  struct Place {
    std::size_t text = 0;  // offset in texts_
    int line = 1;          // line of its first byte, from 1
    int column = 1;
  };

  explicit CsvFile(std::string name) : name_(std::move(name)) {}
  void take_header(const CsvRow& row);
  void take_row(const CsvRow& row);
  bool is_whole(const CsvRow& row);
  bool is_short(const CsvRow& row, bool is_header);
  std::string_view cell(std::size_t row, std::size_t column) const;
  std::string place_at(int line, int column) const;
  void fault_at(int line, int column, std::string_view path, std::string what) {
    faults_.push_back({place_at(line, column), std::string(path), std::move(what)});
  }
  // Returns the parsed value of a cell. If it is invalid or outside the limits, records a fault and returns the low
  // limit.
  template <class T>
  T within(std::size_t row, std::string_view column, const Parsed<T>& parsed, T low, T high);

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<int> name_columns_;  // column at which each name begins in the header line
  int header_line_ = 1;
  std::map<std::string, std::size_t, std::less<>> index_;  // index of each column by name
  // The texts of all cells lie consecutively, since an allocation for each of millions of rows would cost too much.
  std::string texts_;
  std::vector<Place> places_;
  std::vector<int> lines_;  // line of each row
  std::vector<Fault> faults_;
};

}  // namespace c3sim::sim
