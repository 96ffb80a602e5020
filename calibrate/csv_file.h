// A file of comma-separated values whose cells know where they stand, so that every fault names file, line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config_error.h"
#include "sim/config_text.h"

namespace calibrate {

// Lines that begin with '#' are comments; the first other line names the columns; every line after it is a row with as
// many cells, none quoted. UTF-8 of at most sim::max_config_bytes.
//
// A reader of cells never throws: it records what is wrong and returns something harmless (an empty text, the low
// limit), so that check() tells all faults of a file at once.
class CsvFile {
 public:
  // Throw sim::ConfigError for a file that cannot be read, has no columns, or has a row of another length. `name`
  // stands for the file in positions.
  static CsvFile from_file(const std::filesystem::path& path);
  static CsvFile from_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  std::size_t rows() const { return rows_.size(); }
  int line(std::size_t row) const { return rows_[row].line; }
  bool has(std::string_view column) const;
  // Records a fault for each of these columns that the file lacks, with the nearest one that it has.
  void require(const std::vector<std::string>& columns);

  // The cell of a column that the file has.
  const std::string& text(std::size_t row, std::string_view column) const;
  // Numbers between the limits, both ends included.
  double number(std::size_t row, std::string_view column, double low, double high);
  std::int64_t integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high);

  // Records what is wrong with a cell.
  void fault(std::size_t row, std::string_view column, std::string what);
  // Throws sim::ConfigError with the faults recorded so far, if there are any.
  void check() const;

 private:
  struct Cell {
    int column;  // of its first byte, from 1
    std::string text;
  };
  struct Row {
    int line;  // from 1
    std::vector<Cell> cells;
  };

  explicit CsvFile(std::string name) : name_(std::move(name)) {}
  static std::vector<Cell> split(std::string_view line);
  std::size_t index(std::string_view column) const;  // the number of columns where there is no such one
  void fault_at(int line, int column, std::string_view path, std::string what);
  // What was read of a cell; a fault, and the low limit, if it could not be read or lies outside the limits.
  template <class T>
  T within(std::size_t row, std::string_view column, const sim::Parsed<T>& parsed, T low, T high);

  std::string name_;
  Row header_;
  std::vector<Row> rows_;
  std::vector<sim::Fault> faults_;
};

}  // namespace calibrate
