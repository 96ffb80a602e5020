// What may be fitted to which measurements: the lists roles.csv that stand beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// A list has columns file, rows, role and spread; the last two lines below are an example. The first line that names
// the file and whose condition a row meets tells its role; `rows` is empty for all, or COLUMN=WORD, where a word may
// end in * and several are separated by |. `spread` is how far repetitions of such a row lie from it, in percent, where
// it is known; it may be empty.
//
//   power.csv,phase=c3_*,predict,
//   power.csv,,calibrate,2
class Roles {
 public:
  // Of the folder that the file is in; without a list there, all is unlisted. Throws sim::ConfigError for a list that
  // cannot be read.
  static Roles beside(const std::filesystem::path& file);

  // Sets role and, where a figure has none, the spread of every measurement of a file. A condition on a column that the
  // file has not is a fault of the reading; a log, which is no table, has none.
  void apply(Reading& reading, const sim::CsvFile* table) const;
  // The columns of the file that the list looks at.
  std::vector<std::string> columns_asked_of(const std::string& file) const;

 private:
  void tell_conditions_never_met(Reading& reading, const sim::CsvFile* table) const;
  bool holds(std::size_t line, const Measurement& measurement, const sim::CsvFile* table) const;

  std::optional<sim::CsvFile> list_;
};

}  // namespace c3sim::calibrate
