// A table that a tool writes, row by row: the names of its columns first, then cells as they are needed. Of a file of
// any length only a row is held.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "sim/config/csv_lexer.h"

namespace c3sim::calibrate {

class CsvLog {
 public:
  // Text and reading must outlive it.
  CsvLog(std::string_view text, LogReading& reading);
  // Whether the first row of a text names all of these columns: what a reader recognises its tool by.
  static bool has_columns(std::string_view text, std::initializer_list<std::string_view> names);

  bool has(std::string_view column) const;
  // Its place among the columns; where it is missing, a fault that names the nearest and nothing.
  std::optional<std::size_t> column(std::string_view name);
  LogCell heads() const { return {.text = {}, .line = heads_line_}; }

  // Goes on to the next row that is whole; of others it records what is wrong.
  bool next();
  LogCell cell(std::size_t column) const;
  int line() const { return row_.line; }

 private:
  bool is_whole();

  sim::CsvLexer lexer_;
  LogReading& reading_;
  std::vector<std::string> columns_;
  int heads_line_ = 1;
  sim::CsvRow row_;
};

}  // namespace c3sim::calibrate
