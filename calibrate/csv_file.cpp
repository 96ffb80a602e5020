#include "calibrate/csv_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "sim/check.h"
#include "sim/nearest_name.h"

namespace calibrate {

namespace {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  return "'" + std::string(text.substr(0, most)) + (text.size() > most ? "...'" : "'");
}

// At most a byte more than is accepted, which tells a file that is too large.
std::string read_text(const std::filesystem::path& path) {
  const auto fail = [&path](const std::string& what) { throw sim::ConfigError({{path.string(), "", what}}); };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("it is a folder: a file of measurements is accepted");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::generic_category().message(errno));
  std::string text(sim::max_config_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail("the disk reports an error");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

CsvFile CsvFile::from_file(const std::filesystem::path& path) { return from_text(read_text(path), path.string()); }

CsvFile CsvFile::from_text(std::string_view text, std::string name) {
  CsvFile file(std::move(name));
  if (const auto bad = sim::check_text(text)) {
    file.fault_at(bad->line, bad->column, "", bad->what);
    file.check();
  }
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Row row{number, split(line)};
    if (const std::size_t quote = line.find('"'); quote != std::string_view::npos) {
      file.fault_at(number, static_cast<int>(quote) + 1, "", "quotes are not accepted in a cell");
    } else if (file.header_.cells.empty()) {
      file.header_ = std::move(row);
    } else if (row.cells.size() != file.header_.cells.size()) {
      file.fault_at(number, 1, "",
                    fmt::format("{} cells where the columns are {}", row.cells.size(), file.header_.cells.size()));
    } else {
      file.rows_.push_back(std::move(row));
    }
  }
  if (file.header_.cells.empty()) file.fault_at(number, 1, "", "no line names the columns");
  file.check();
  return file;
}

std::vector<CsvFile::Cell> CsvFile::split(std::string_view line) {
  std::vector<Cell> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back({static_cast<int>(begin) + 1, std::string(sim::trimmed(line.substr(begin, end - begin)))});
    begin = end + 1;
  }
  return cells;
}

std::size_t CsvFile::index(std::string_view column) const {
  std::size_t i = 0;
  while (i < header_.cells.size() && header_.cells[i].text != column) ++i;
  return i;
}

bool CsvFile::has(std::string_view column) const { return index(column) < header_.cells.size(); }

void CsvFile::require(const std::vector<std::string>& columns) {
  std::vector<std::string> known;
  for (const Cell& cell : header_.cells) known.push_back(cell.text);
  for (const std::string& column : columns) {
    if (!has(column)) {
      fault_at(header_.line, 1, column, "this column is missing, unit included" + sim::name_hint(column, known));
    }
  }
}

const std::string& CsvFile::text(std::size_t row, std::string_view column) const {
  SIM_CHECK(has(column));
  return rows_[row].cells[index(column)].text;
}

template <class T>
T CsvFile::within(std::size_t row, std::string_view column, const sim::Parsed<T>& parsed, T low, T high) {
  if (!parsed.error.empty()) {
    fault(row, column, parsed.error);
  } else if (parsed.value < low || parsed.value > high) {
    fault(row, column, fmt::format("{} must lie between {} and {}", in_quotes(text(row, column)), low, high));
  } else {
    return parsed.value;
  }
  return low;
}

double CsvFile::number(std::size_t row, std::string_view column, double low, double high) {
  return within(row, column, sim::parse_number(text(row, column)), low, high);
}

std::int64_t CsvFile::integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) {
  return within(row, column, sim::parse_integer(text(row, column)), low, high);
}

void CsvFile::fault(std::size_t row, std::string_view column, std::string what) {
  fault_at(rows_[row].line, has(column) ? rows_[row].cells[index(column)].column : 1, column, std::move(what));
}

void CsvFile::fault_at(int line, int column, std::string_view path, std::string what) {
  faults_.push_back({fmt::format("{}:{}:{}", name_, line, column), std::string(path), std::move(what)});
}

void CsvFile::check() const {
  if (!faults_.empty()) throw sim::ConfigError(faults_);
}

}  // namespace calibrate
