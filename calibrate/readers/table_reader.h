// Reads the rows of a CSV file as measurements, by the form of its table.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "calibrate/readers/table_format.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// A table that a lookup names, or null where there is none.
using OtherTables = std::function<const sim::CsvFile*(const std::string& file)>;

// What tables write where they have nothing to say: "", "-", "nan", "NaN", "unset", "null" or "N/A".
bool says_nothing(std::string_view cell);

// What a table is called, by which forms know it: its file's name without folders, `.gz` and what it ends in.
std::string table_name(const std::string& file);

// The row that begins on this line; nothing where none does.
std::optional<std::size_t> row_at(const sim::CsvFile& table, int line);

// The list of that name in the folder that the file is in; nothing where none stands there. Throws sim::ConfigError for
// one that cannot be read or lacks one of the columns.
std::optional<sim::CsvFile> list_beside(const std::filesystem::path& file, std::string_view name,
                                        const std::vector<std::string>& columns);

// Every row becomes a measurement, or is left out with a reason, or a fault tells where and why it cannot be read. The
// file has the columns that the form needs. Roles are unlisted.
Reading read_table(const sim::CsvFile& file, const TableFormat& format, const OtherTables& others = {},
                   Rows rows = Rows::measured);

// Whether a cell is what the word of a condition asks for.
bool is_met(std::string_view cell, std::string_view word);

}  // namespace c3sim::calibrate
