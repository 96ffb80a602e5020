// Reads files of measurements in every format that is known: tables by their columns, logs of tools by their text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/roles.h"
#include "calibrate/readers/table_format.h"

namespace c3sim::calibrate {

class Reader {
 public:
  Reader() = default;
  // With the tables whose forms stand in this folder, one to a file NAME.yaml. Throws sim::ConfigError.
  explicit Reader(const std::filesystem::path& formats);

  void add(TableFormat format) { tables_.push_back(std::move(format)); }
  const std::vector<TableFormat>& tables() const { return tables_; }
  // The form of that name, or null.
  const TableFormat* table(std::string_view name) const;
  // Where lookups of other tables are resolved.
  void set_other_tables(OtherTables others) { others_ = std::move(others); }

  // Of a table the form that it is named after, or else the one that needs most columns, of those whose columns it has,
  // but for forms of one machine; where that has no entry for any row, the one of its columns as which all can be read,
  // if there is any. Roles are those of the list beside the file and of the table's own column `role`;
  // what either calls a prediction is one. Throws sim::ConfigError for a file that cannot be read at all or is of no
  // known format, or that the memory there is does not hold. The file is opened once, and may be compressed by gzip
  // (sim/config/measurement_text.h). Runs that a log tells by name alone are those that the list of labels beside it
  // says.
  Reading read(const std::filesystem::path& file, Rows rows = Rows::measured) const;
  // The same of the text of such a file.
  Reading read_text(std::string text, const std::string& name, Rows rows = Rows::measured) const;
  // A table of that form, whatever other forms its columns would suit.
  Reading read_as(const TableFormat& format, const std::filesystem::path& file) const;

 private:
  const TableFormat& form_of(const sim::CsvFile& file, Rows rows, std::vector<std::string>& alike) const;
  const TableFormat& form_by_words(const sim::CsvFile& file, Rows rows, const TableFormat& by_columns,
                                   Reading& reading) const;
  Reading read_rows(const sim::CsvFile& file, Rows rows, const Roles& roles) const;
  [[noreturn]] void refuse(const sim::CsvFile& file, Rows rows) const;

  std::vector<TableFormat> tables_;
  OtherTables others_;
};

}  // namespace c3sim::calibrate
