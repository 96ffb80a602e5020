// A file of comma-separated values whose cells know where they stand, so that every fault names file, line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"

namespace c3sim::sim {

// The text of a file of measurements. Throws ConfigError where it cannot be read, is a folder or larger than 64
// MiB.
std::string read_measurement_text(const std::filesystem::path& path);

// Lines that begin with '#' are comments; the first other line names the columns; every line after it is a row with as
// many cells. A cell in double quotes may hold commas, line ends and doubled quotes (RFC 4180). UTF-8.
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
  std::size_t rows() const { return rows_.size(); }
  int line(std::size_t row) const { return rows_[row].line; }
  std::vector<std::string> columns() const;
  bool has(std::string_view column) const { return index_.contains(column); }
  // Records a fault for each of these columns that the file lacks, with the nearest one that it has.
  void require(const std::vector<std::string>& columns);

  // The cell of a column that the file has.
  const std::string& text(std::size_t row, std::string_view column) const;
  // Numbers between the limits, both ends included.
  double number(std::size_t row, std::string_view column, double low, double high);
  std::int64_t integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high);

  // "file:line:column" of a cell, or, where the file has no such column, of the row.
  std::string place(std::size_t row, std::string_view column) const;
  // Records what is wrong with the columns as a whole.
  void fault(std::string what) { fault_at(header_.line, 1, "", std::move(what)); }
  // Records what is wrong with a cell, or, where the file has no such column, with a row.
  void fault(std::size_t row, std::string_view column, std::string what);
  const std::vector<Fault>& faults() const { return faults_; }
  // Throws ConfigError with the faults recorded so far, if there are any.
  void check() const;

 private:
  struct Cell {
    int line = 1;  // of its first byte, from 1
    int column = 1;
    std::string text;
  };
  struct Row {
    int line = 0;  // of its first byte, from 1
    std::vector<Cell> cells;
    // The first quote that is not as it should be: where, the cell that it is in, what is wrong.
    struct BadQuote {
      int line, column;
      std::size_t cell;
      std::string_view what;
    };
    std::optional<BadQuote> bad_quote{};
  };
  class Lexer;

  explicit CsvFile(std::string name) : name_(std::move(name)) {}
  void take_header(Row row);
  bool is_whole(const Row& row);
  bool is_short(const Row& row);
  std::string place_at(int line, int column) const;
  void fault_at(int line, int column, std::string_view path, std::string what);
  // What was read of a cell; a fault, and the low limit, if it could not be read or lies outside the limits.
  template <class T>
  T within(std::size_t row, std::string_view column, const Parsed<T>& parsed, T low, T high);

  std::string name_;
  Row header_;
  std::map<std::string, std::size_t, std::less<>> index_;  // of columns
  std::vector<Row> rows_;
  std::vector<Fault> faults_;
};

}  // namespace c3sim::sim
