// Reads tables by forms of a few lines.
#pragma once

#include <string>

#include "calibrate/readers/table_format.h"
#include "sim/config/config.h"

namespace c3sim::calibrate {

inline TableFormat format_from(const std::string& text) {
  sim::Config config = sim::Config::from_text(text, "f.yaml");
  TableFormat format = TableFormat::read(config.root(), "f");
  config.finish();
  return format;
}

// Returns a form of rows at rest whose group is `group`, with `lines` before its rows.
inline std::string grouped(const std::string& group, const std::string& lines = "") {
  return lines + "rows: [{trial: rest, see: {power: 5W}, group: '" + group + "'}]\n";
}

inline Reading read(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  return read_table(sim::CsvFile::from_text(table, "runs/f.csv"), format_from(format), others);
}

inline std::string faults_of(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  const Reading reading = read(format, table, others);
  return reading.faults.empty() ? "" : sim::ConfigError(reading.faults).what();
}

}  // namespace c3sim::calibrate
