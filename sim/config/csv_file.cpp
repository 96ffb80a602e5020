#include "sim/config/csv_file.h"

#include <fmt/format.h>

#include <utility>

#include "sim/check.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "sim/interruption.h"

namespace c3sim::sim {

CsvLexer::CsvLexer(std::string_view text) : text_(without_byte_order_mark(text)) {}

// Begins the line after the current one.
void CsvLexer::begin_line() {
  at_ = line_start_ = next_line_;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  next_line_ = std::min(end + 1, text_.size());
  line_end_ = end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
  ++line_;
}

bool CsvLexer::next(CsvRow& row) {
  row.cells.clear();
  row.bad_quote.reset();
  rewritten_.clear();
  while (next_line_ < text_.size()) {
    begin_line();
    const std::size_t first = text_.find_first_not_of(' ', at_);
    if (first >= line_end_ || text_[first] == '#') continue;
    row.line = line_;
    while (true) {
      row.cells.push_back(cell(row));
      if (at_ >= line_end_ || text_[at_] != ',') break;
      ++at_;
    }
    row.is_ended = text_[next_line_ - 1] == '\n';
    return true;
  }
  line_ = std::max(line_, 1);
  return false;
}

CsvCell CsvLexer::cell(CsvRow& row) {
  CsvCell cell{.text = {}, .line = line_, .column = column()};
  const std::string_view rest = text_.substr(at_, line_end_ - at_);
  const std::size_t blanks = std::min(rest.find_first_not_of(' '), rest.size());
  if (blanks < rest.size() && rest[blanks] == '"') {
    at_ += blanks;
    cell.text = quoted(row);
  } else {
    const std::string_view plain = rest.substr(0, rest.find(','));
    at_ += plain.size();
    cell.text = trimmed(plain);
  }
  return cell;
}

// Reads a cell from its opening quote to past the blanks after the closing one, or to the end if the quote is open.
std::string_view CsvLexer::quoted(CsvRow& row) {
  const CsvRow::BadQuote open{line_, column(), row.cells.size(), "the quote that begins here is never closed"};
  const std::size_t begin = ++at_;
  bool has_doubled = false;
  std::size_t end = text_.find('"', at_);
  while (end < text_.size() && text_.substr(end + 1).starts_with('"')) {
    has_doubled = true;
    end = text_.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    end = text_.size();
    if (!row.bad_quote) row.bad_quote = open;
  }
  while (next_line_ <= end && next_line_ < text_.size()) begin_line();
  at_ = std::min(end + 1, text_.size());
  line_end_ = std::max(line_end_, at_);
  if (end < text_.size()) skip_behind_quote(row);
  const std::string_view inside = text_.substr(begin, end - begin);
  if (!has_doubled) return inside;
  std::string& plain = rewritten_.emplace_back();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return plain;
}

void CsvLexer::skip_behind_quote(CsvRow& row) {
  std::string_view behind = text_.substr(at_, line_end_ - at_);
  behind = behind.substr(0, behind.find(','));
  if (!trimmed(behind).empty() && !row.bad_quote) {
    row.bad_quote = {line_, column(), row.cells.size(),
                     "text behind the closing quote: a quote that belongs to the cell is written twice"};
  }
  at_ += behind.size();
}

namespace {

constexpr std::size_t most_bytes_of_a_cell = 4096;

}  // namespace

CsvFile CsvFile::from_file(const std::filesystem::path& path) {
  return from_text(read_measurement_text(path), path.string());
}

CsvFile CsvFile::from_text(std::string_view text, std::string name) {
  CsvFile file(std::move(name));
  text = without_byte_order_mark(text);
  if (const auto bad = check_characters(text, ": commas separate the cells of a table"))
    file.fault_at(bad->line, bad->column, "", bad->what);
  file.check();
  CsvLexer lexer(text);
  CsvRow row;
  if (!lexer.next(row)) {
    file.fault_at(lexer.line(), 1, "", "no line names the columns");
    file.check();
  }
  file.take_header(row);
  ShortSteps steps;
  while (lexer.next(row)) {
    steps.note();
    if (!row.is_empty() && file.is_whole(row)) file.take_row(row);
  }
  return file;
}

// Returns whether the row can be read; otherwise records what is wrong.
bool CsvFile::is_whole(const CsvRow& row) {
  if (row.bad_quote) {
    const std::string column = row.bad_quote->cell < columns_.size() ? columns_[row.bad_quote->cell] : "";
    fault_at(row.bad_quote->line, row.bad_quote->column, column, std::string(row.bad_quote->what));
    return false;
  }
  if (row.cells.size() != columns_.size()) {
    fault_at(row.line, 1, "", fmt::format("{} cells where the columns are {}", row.cells.size(), columns_.size()));
    return false;
  }
  return is_short(row, false);
}

// Returns whether all cells are short enough to be quoted in faults; otherwise records a fault.
bool CsvFile::is_short(const CsvRow& row, bool is_header) {
  const auto long_cell =
      std::ranges::find_if(row.cells, [](const CsvCell& cell) { return cell.text.size() > most_bytes_of_a_cell; });
  if (long_cell == row.cells.end()) return true;
  const auto column = static_cast<std::size_t>(long_cell - row.cells.begin());
  fault_at(long_cell->line, long_cell->column, is_header ? "" : columns_[column],
           fmt::format("a cell of {} bytes: up to {} are accepted", long_cell->text.size(), most_bytes_of_a_cell));
  return false;
}

void CsvFile::take_header(const CsvRow& row) {
  header_line_ = row.line;
  if (row.bad_quote) fault_at(row.bad_quote->line, row.bad_quote->column, "", std::string(row.bad_quote->what));
  if (!is_short(row, true)) check();  // every later fault would quote the long name
  bool is_clear = true;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const CsvCell& cell = row.cells[i];
    columns_.emplace_back(cell.text);
    name_columns_.push_back(cell.column);
    if (!index_.emplace(columns_.back(), i).second && !cell.text.empty()) {
      fault_at(cell.line, cell.column, cell.text, "this column is named twice: one of both is accepted");
      is_clear = false;
    }
  }
  if (!is_clear) check();
}

void CsvFile::take_row(const CsvRow& row) {
  lines_.push_back(row.line);
  for (const CsvCell& cell : row.cells) {
    places_.push_back({texts_.size(), cell.line, cell.column});
    texts_ += cell.text;
  }
}

std::string_view CsvFile::cell(std::size_t row, std::size_t column) const {
  const std::size_t at = row * columns_.size() + column;
  const std::size_t begin = places_[at].text;
  const std::size_t end = at + 1 < places_.size() ? places_[at + 1].text : texts_.size();
  return std::string_view(texts_).substr(begin, end - begin);
}

void CsvFile::require(const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    if (has(column)) continue;
    const auto bare = std::ranges::find_if(
        columns_, [&column](const std::string& own) { return !own.empty() && column.starts_with(own + '_'); });
    fault_at(header_line_, 1, column,
             "this column is missing, unit included" +
                 (bare == columns_.end() ? nearest_hint(column, columns_)
                                         : fmt::format(": if '{}' is meant by it, name it {}", *bare, column)));
  }
}

std::string_view CsvFile::text(std::size_t row, std::string_view column) const {
  const auto found = index_.find(column);
  SIM_CHECK(found != index_.end());
  return cell(row, found->second);
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
  if (found == index_.end()) return place_at(lines_[row], 1);
  const Place& place = places_[row * columns_.size() + found->second];
  return place_at(place.line, place.column);
}

std::string CsvFile::place_of_name(std::string_view column) const {
  const auto found = index_.find(column);
  SIM_CHECK(found != index_.end());
  return place_at(header_line_, name_columns_[found->second]);
}

}  // namespace c3sim::sim
