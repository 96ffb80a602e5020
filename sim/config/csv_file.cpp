#include "sim/config/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/check.h"
#include "sim/config/nearest_name.h"

namespace c3sim::sim {

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::size_t most_bytes_of_a_cell = 4096;

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  return "'" + std::string(text.substr(0, most)) + (text.size() > most ? "...'" : "'");
}

}  // namespace

std::string read_measurement_text(const std::filesystem::path& path) {
  const auto fail = [&path](const std::string& what) { throw ConfigError({{path.string(), "", what}}); };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("it is a folder: a file of measurements is accepted");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::generic_category().message(errno));
  std::string text;
  std::string block(std::size_t{1} << 20, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) fail("larger than 64 MiB: a file of measurements is accepted up to that size");
  }
  if (file.bad()) fail("the disk reports an error");
  return text;
}

// Cuts a text into rows of cells.
class CsvFile::Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next row that is no comment and not blank; none at the end.
  std::optional<Row> next() {
    while (at_ < text_.size()) {
      const std::string_view line = rest_of_line();
      if (!line.empty() && line.front() != '#') return row();
      skip_line(line);
    }
    return {};
  }
  int line() const { return line_; }

 private:
  std::string_view rest_of_line() const {
    std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  void skip_line(std::string_view line) {
    at_ += line.size();
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size()) end_line();
  }
  void end_line() {
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  Row row() {
    Row row;
    row.line = line_;
    while (true) {
      row.cells.push_back(cell(row));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      skip_line(rest_of_line());
      return row;
    }
  }

  Cell cell(Row& row) {
    Cell cell;
    cell.line = line_;
    cell.column = column();
    const std::string_view line = rest_of_line();
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    if (blanks < line.size() && line[blanks] == '"') {
      at_ += blanks;
      cell.text = quoted(row);
    } else {
      const std::string_view plain = line.substr(0, line.find(','));
      at_ += plain.size();
      cell.text = trimmed(plain);
    }
    return cell;
  }

  // From an opening quote up to behind the blanks that follow the closing one; where that is missing, all that is left.
  std::string quoted(Row& row) {
    const Row::BadQuote open{line_, column(), row.cells.size(), "the quote that begins here is never closed"};
    std::string text;
    ++at_;
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_ == text_.size() || text_[at_] != '"') {
          skip_behind_quote(row);
          return text;
        }
      }
      text += text_[at_];
      if (text_[at_] == '\n') {
        end_line();
      } else {
        ++at_;
      }
    }
    if (!row.bad_quote) row.bad_quote = open;
    return text;
  }

  void skip_behind_quote(Row& row) {
    std::string_view behind = rest_of_line();
    behind = behind.substr(0, behind.find(','));
    if (!trimmed(behind).empty() && !row.bad_quote) {
      row.bad_quote = {line_, column(), row.cells.size(),
                       "text behind the closing quote: a quote that belongs to the cell is written twice"};
    }
    at_ += behind.size();
  }

  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

CsvFile CsvFile::from_file(const std::filesystem::path& path) {
  return from_text(read_measurement_text(path), path.string());
}

CsvFile CsvFile::from_text(std::string_view text, std::string name) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  CsvFile file(std::move(name));
  if (const auto bad = check_characters(text)) file.fault_at(bad->line, bad->column, "", bad->what);
  file.check();
  Lexer lexer(text);
  while (std::optional<Row> row = lexer.next()) {
    if (file.header_.cells.empty()) {
      file.take_header(std::move(*row));
    } else if (file.is_whole(*row)) {
      file.rows_.push_back(std::move(*row));
    }
  }
  if (file.header_.cells.empty()) {
    file.fault_at(lexer.line(), 1, "", "no line names the columns");
    file.check();
  }
  return file;
}

// Records what is wrong where it is not.
bool CsvFile::is_whole(const Row& row) {
  const std::size_t columns = header_.cells.size();
  if (row.bad_quote) {
    const std::string column = row.bad_quote->cell < columns ? header_.cells[row.bad_quote->cell].text : "";
    fault_at(row.bad_quote->line, row.bad_quote->column, column, std::string(row.bad_quote->what));
    return false;
  }
  if (row.cells.size() != columns) {
    fault_at(row.line, 1, "", fmt::format("{} cells where the columns are {}", row.cells.size(), columns));
    return false;
  }
  return is_short(row);
}

// No cell is longer than any that measurements need: faults quote them.
bool CsvFile::is_short(const Row& row) {
  const auto long_cell =
      std::ranges::find_if(row.cells, [](const Cell& cell) { return cell.text.size() > most_bytes_of_a_cell; });
  if (long_cell == row.cells.end()) return true;
  const std::string& column = header_.cells[static_cast<std::size_t>(long_cell - row.cells.begin())].text;
  fault_at(long_cell->line, long_cell->column, &row == &header_ ? "" : column,
           fmt::format("a cell of {} bytes: up to {} are accepted", long_cell->text.size(), most_bytes_of_a_cell));
  return false;
}

void CsvFile::take_header(Row row) {
  header_ = std::move(row);
  if (header_.bad_quote) {
    fault_at(header_.bad_quote->line, header_.bad_quote->column, "", std::string(header_.bad_quote->what));
  }
  if (!is_short(header_)) check();  // its names would be part of every fault
  for (std::size_t i = 0; i < header_.cells.size(); ++i) {
    const Cell& cell = header_.cells[i];
    if (!index_.emplace(cell.text, i).second && !cell.text.empty()) {
      fault_at(cell.line, cell.column, cell.text, "this column is named twice");
    }
  }
}

std::vector<std::string> CsvFile::columns() const {
  std::vector<std::string> names;
  for (const Cell& cell : header_.cells) names.push_back(cell.text);
  return names;
}

void CsvFile::require(const std::vector<std::string>& columns) {
  const std::vector<std::string> known = this->columns();
  for (const std::string& column : columns) {
    if (!has(column)) {
      fault_at(header_.line, 1, column, "this column is missing, unit included" + name_hint(column, known));
    }
  }
}

const std::string& CsvFile::text(std::size_t row, std::string_view column) const {
  const auto found = index_.find(column);
  SIM_CHECK(found != index_.end());
  return rows_[row].cells[found->second].text;
}

template <class T>
T CsvFile::within(std::size_t row, std::string_view column, const Parsed<T>& parsed, T low, T high) {
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
  return within(row, column, parse_number(text(row, column)), low, high);
}

std::int64_t CsvFile::integer(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) {
  return within(row, column, parse_integer(text(row, column)), low, high);
}

std::string CsvFile::place_at(int line, int column) const { return fmt::format("{}:{}:{}", name_, line, column); }

std::string CsvFile::place(std::size_t row, std::string_view column) const {
  const auto found = index_.find(column);
  if (found == index_.end()) return place_at(rows_[row].line, 1);
  const Cell& cell = rows_[row].cells[found->second];
  return place_at(cell.line, cell.column);
}

void CsvFile::fault(std::size_t row, std::string_view column, std::string what) {
  faults_.push_back({place(row, column), std::string(column), std::move(what)});
}

void CsvFile::fault_at(int line, int column, std::string_view path, std::string what) {
  faults_.push_back({place_at(line, column), std::string(path), std::move(what)});
}

void CsvFile::check() const {
  if (!faults_.empty()) throw ConfigError(faults_);
}

}  // namespace c3sim::sim
