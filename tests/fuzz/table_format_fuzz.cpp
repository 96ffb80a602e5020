// Reads arbitrary bytes as the form of a table, and tables of that form, without endless recursion and with every fault
// placed; or there is a ConfigError.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/table_format.h"
#include "sim/config/config.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

namespace {

std::optional<calibrate::TableFormat> read(std::string_view text) {
  try {
    sim::Config config = sim::Config::from_text(text, "f.yaml");
    calibrate::TableFormat format = calibrate::TableFormat::read(config.root(), "f");
    config.finish();
    return format;
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
    return std::nullopt;
  }
}

std::string in_quotes(const std::string& cell) {
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Returns a table with the columns that the form needs. Each cell holds one of the words that conditions ask for.
std::string table_of(const calibrate::TableFormat& format, const std::vector<std::string>& columns) {
  std::vector<std::string> words{"1", "", "-1e999", "gemm"};
  for (const calibrate::RowFormat& row : format.rows) {
    for (const calibrate::Condition& condition : row.where) {
      for (const calibrate::Template& word : condition.words) words.push_back(word.text());
    }
    if (words.size() > 16) break;
  }
  const auto row_of = [&columns](const auto& cell_of) {
    std::string row;
    for (const std::string& column : columns) row += (row.empty() ? "" : ",") + in_quotes(cell_of(column));
    return row + "\n";
  };
  std::string text = row_of([](const std::string& column) { return column; });
  for (const std::string& word : words) text += row_of([&word](const std::string&) { return word; });
  return text;
}

}  // namespace

void fuzz(std::string_view text) {
  const std::optional<calibrate::TableFormat> format = read(text);
  if (!format) return;
  require(!format->rows.empty());
  const std::vector<std::string> columns = format->needed_columns();
  if (columns.empty()) return;
  try {
    const sim::CsvFile file = sim::CsvFile::from_text(table_of(*format, columns), "f.csv");
    for (const std::string& column : columns) require(file.has(column));
    const calibrate::OtherTables others = [&file](const std::string& name) {
      return name == "absent" ? nullptr : &file;
    };
    const calibrate::Reading reading = calibrate::read_table(file, *format, others);
    for (const sim::Fault& fault : reading.faults) require(fault.where.starts_with("f.csv:") && !fault.what.empty());
  } catch (const sim::ConfigError&) {  // a name of more than 4 KiB
  }
}
