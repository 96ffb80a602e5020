#include "calibrate/readers/csv_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

constexpr std::size_t most_columns = 256;  // no tool that is read has more than some thirty

}  // namespace

CsvLog::CsvLog(std::string_view text, LogReading& reading) : lexer_(text), reading_(reading) {
  if (!lexer_.next(row_)) return;
  heads_line_ = row_.line;
  for (const sim::CsvCell& cell : row_.cells) {
    if (columns_.size() < most_columns) columns_.push_back(printable(cell.text));
  }
}

bool CsvLog::has_columns(std::string_view text, std::initializer_list<std::string_view> names) {
  sim::CsvLexer lexer(text);
  sim::CsvRow heads;
  if (!lexer.next(heads)) return false;
  return std::ranges::all_of(names, [&heads](std::string_view name) {
    return std::ranges::find(heads.cells, name, &sim::CsvCell::text) != heads.cells.end();
  });
}

bool CsvLog::has(std::string_view column) const { return std::ranges::find(columns_, column) != columns_.end(); }

std::optional<std::size_t> CsvLog::column(std::string_view name) {
  const auto found = std::ranges::find(columns_, name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  reading_.fault(heads(), name, "this column is missing" + sim::name_hint(name, columns_));
  return {};
}

bool CsvLog::next() {
  while (lexer_.next(row_)) {
    if (is_whole()) return true;
  }
  return false;
}

bool CsvLog::is_whole() {
  const LogCell place{.text = {}, .line = row_.line};
  if (row_.bad_quote) {
    reading_.fault({.text = {}, .line = row_.bad_quote->line, .column = row_.bad_quote->column}, "",
                   std::string(row_.bad_quote->what));
  } else if (row_.cells.size() != columns_.size()) {
    reading_.fault(place, "", fmt::format("{} cells where the columns are {}", row_.cells.size(), columns_.size()));
  } else if (!row_.is_ended) {
    reading_.fault(place, "", "the row is cut off: an end of line is accepted behind it");
  } else {
    return true;
  }
  return false;
}

LogCell CsvLog::cell(std::size_t column) const {
  const sim::CsvCell& cell = row_.cells[column];
  return {cell.text, cell.line, cell.column};
}

}  // namespace c3sim::calibrate
