// Declares the Reader, which reads measurement files of every known format: tables by columns, logs of tools by text.
#pragma once

#include <filesystem>
#include <span>
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
  // Reads the table formats NAME.yaml of a folder. Throws sim::ConfigError.
  explicit Reader(const std::filesystem::path& formats);

  void add(TableFormat format) { tables_.push_back(std::move(format)); }
  const std::vector<TableFormat>& tables() const { return tables_; }
  // Returns the format of that name, or null.
  const TableFormat* table(std::string_view name) const;
  // Sets the function that finds the tables which lookups name.
  void set_other_tables(OtherTables others) { others_ = std::move(others); }

  // Reads a log of a known tool or a table. A table has the format of its own name, or else, of the formats whose
  // columns it has, the one that needs most columns, except formats of one machine. If that format has an entry for no
  // row, another format with these columns counts if it reads the rows without faults. Roles come from the list beside
  // the file and the table's column `role`; a prediction by either is a prediction. The list of labels beside the file
  // says what named runs are. The file is opened once and may be gzip-compressed (sim/config/measurement_text.h).
  // Throws sim::ConfigError for a file that is unreadable, of unknown format or larger than memory.
  Reading read(const std::filesystem::path& file, Rows rows = Rows::measured) const;
  // Reads the text of such a file.
  Reading read_text(std::string text, const std::string& name, Rows rows = Rows::measured) const;
  // Reads a table as that format, whatever other formats its columns fit.
  Reading read_as(const TableFormat& format, const std::filesystem::path& file) const;

 private:
  Reading read_rows(const sim::CsvFile& file, Rows rows, const Roles& roles) const;
  [[noreturn]] void refuse(const sim::CsvFile& file, Rows rows) const;

  std::vector<TableFormat> tables_;
  OtherTables others_;
};

// Turns files into faults that only repeat earlier files, such as one log as text and as JSON.
void refuse_repeated_files(std::span<Reading> readings);

}  // namespace c3sim::calibrate
