#include "study/report/result_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "sim/check.h"
#include "sim/config/config_text.h"
#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

// Formats a number; one that rounds to zero has no sign.
std::string text_number(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

std::string text_cell(const Cell& cell, int decimals) {
  if (const auto* const number = std::get_if<double>(&cell)) return text_number(*number, decimals);
  if (const auto* const none = std::get_if<NoNumber>(&cell)) return none->why;
  return word_of(cell);
}

// Returns whether a spreadsheet would take the text for a formula unless a quotation mark stands before it.
bool is_formula(std::string_view value) {
  constexpr std::string_view begins = "=+-@\t\r";
  return !value.empty() && begins.find(value.front()) != std::string_view::npos && !sim::parse_number(value).ok();
}

std::string csv_text(std::string_view text) {
  std::string value = is_formula(text) ? "'" + std::string(text) : std::string(text);
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const Cell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return csv_text(*text);
  if (const auto* const yes = std::get_if<bool>(&cell)) return *yes ? "true" : "false";
  return word_of(cell);
}

nlohmann::ordered_json json_cell(const Cell& cell) {
  return std::visit(sim::Overloaded{[](std::monostate) { return nlohmann::ordered_json(); },
                                    [](const NoNumber&) { return nlohmann::ordered_json(); },
                                    [](const auto& value) { return nlohmann::ordered_json(value); }},
                    cell);
}

constexpr std::string_view breaks = " ,._/|";  // where a text may be broken: at blanks, behind marks
constexpr std::string_view marks = breaks.substr(1);

// Returns whether a text may be broken at the character: the point of a number is no place for that.
bool is_break(std::string_view text, std::size_t at, std::string_view ends) {
  const auto is_digit = [text](std::size_t place) {
    return place < text.size() && text[place] >= '0' && text[place] <= '9';
  };
  const bool in_number = (text[at] == '.' || text[at] == ',') && at > 0 && is_digit(at - 1) && is_digit(at + 1);
  return ends.find(text[at]) != std::string_view::npos && !in_number;
}

// Splits the text into pieces of at most `width` characters, at blanks or else after other punctuation, if possible.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    std::size_t end = text.substr(0, width + 1).find_last_of(' ');
    if (end == std::string_view::npos || end == 0) {
      end = width;
      while (end > 0 && !is_break(text, end - 1, marks)) --end;
      if (end == 0) end = width;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

// Returns the length of the longest piece between characters of `ends`; one that is no blank is part of its piece.
std::size_t longest_word(std::string_view text, std::string_view ends = " ") {
  std::size_t longest = 0;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && !is_break(text, end, ends)) ++end;
    longest = std::max(longest, end + (end < text.size() && text[end] != ' ' ? 1 : 0));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// A TextColumn is a column as text, with its heading first.
struct TextColumn {
  std::vector<std::string> cells;
  bool numbers = false;
  std::size_t width = 0;
  std::size_t least = 0;  // minimum width
};

TextColumn text_column(const Column& column, const std::vector<std::vector<Cell>>& rows, std::size_t place) {
  constexpr std::size_t longest_whole = 24;  // a longer word of a text may be broken
  TextColumn result;
  const ShownUnit shown = shown_unit(column, rows, place);
  result.cells.push_back(shown.unit.empty() ? column.heading : fmt::format("{} [{}]", column.heading, shown.unit));
  result.width = result.cells.front().size();
  result.least = longest_word(result.cells.front());
  for (const auto& row : rows) {
    result.cells.push_back(text_cell(shown.of(row[place]), column.decimals));
    const std::size_t size = result.cells.back().size();
    result.width = std::max(result.width, size);
    result.least =
        std::max(result.least,
                 is_number(row[place]) ? size : std::min(longest_word(result.cells.back(), breaks), longest_whole));
    result.numbers = result.numbers || is_number(row[place]);
  }
  result.least = std::min(result.least, result.width);
  return result;
}

constexpr std::size_t gap = 2;  // blanks between columns

// Narrows the widest columns that can still shrink, one character at a time.
void fit(std::vector<TextColumn>& columns, std::size_t width) {
  std::size_t total = gap * columns.size() - gap;
  for (const TextColumn& column : columns) total += column.width;
  for (; total > width; --total) {
    TextColumn* widest = nullptr;
    for (TextColumn& column : columns) {
      if (column.width > column.least && (widest == nullptr || column.width > widest->width)) widest = &column;
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

// Writes one row, which may take several lines.
void write_row(const std::vector<TextColumn>& columns, std::size_t row, std::ostream& out) {
  std::vector<std::vector<std::string>> cells;
  std::size_t lines = 1;
  for (const TextColumn& column : columns) {
    cells.push_back(wrapped(column.cells[row], column.width));
    lines = std::max(lines, cells.back().size());
  }
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string part = i < cells[c].size() ? cells[c][i] : "";
      if (c > 0) line.append(gap, ' ');
      line += columns[c].numbers ? fmt::format("{:>{}}", part, columns[c].width)
                                 : fmt::format("{:<{}}", part, columns[c].width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

// Returns the first of these columns that tell all rows apart, without those that are the same in all rows, if they
// take up to half of the width; else the first of them. A single row needs none.
std::vector<TextColumn> naming(std::span<const TextColumn> columns, std::size_t width) {
  std::vector<TextColumn> chosen;
  std::vector<std::string> names(columns.front().cells.size());
  std::size_t total = 0;
  for (const TextColumn& column : columns) {
    const std::span cells(column.cells.begin() + 1, column.cells.end());
    if (std::ranges::adjacent_find(cells, std::not_equal_to()) == cells.end()) continue;
    total += column.width + gap;
    if (2 * total > width && !chosen.empty()) break;
    chosen.push_back(column);
    for (std::size_t row = 0; row < names.size(); ++row) names[row] += column.cells[row] + '\n';
    if (std::set(names.begin(), names.end()).size() == names.size()) return chosen;
  }
  chosen.resize(std::min<std::size_t>(chosen.size(), 1));
  return chosen;
}

std::string csv_name(const Column& column) {
  return column.group.empty() ? column.key : column.group + '.' + column.key;
}

// Joins cells that are already in Markdown.
std::string markdown_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

ShownUnit shown_unit(const Column& column, const std::vector<std::vector<Cell>>& rows, std::size_t place) {
  constexpr double from = 1e6;
  if (column.unit != "us") return {column.unit};
  const bool is_long = std::ranges::any_of(rows, [place](const std::vector<Cell>& row) {
    const auto* const number = std::get_if<double>(&row[place]);
    return number != nullptr && std::isfinite(*number) && std::abs(*number) >= from;
  });
  const bool is_text = std::ranges::any_of(
      rows, [place](const std::vector<Cell>& row) { return std::holds_alternative<std::string>(row[place]); });
  return is_long && !is_text ? ShownUnit{"ms", 1e-3} : ShownUnit{column.unit};
}

Cell ShownUnit::of(Cell cell) const {
  if (auto* const number = std::get_if<double>(&cell); number != nullptr && times != 1.0) *number *= times;
  return cell;
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

std::optional<double> number_of(const Cell& cell) {
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  if (const auto* const value = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*value);
  return {};
}

std::string word_of(const Cell& cell) {
  return std::visit(sim::Overloaded{[](const std::string& text) { return text; },
                                    [](bool yes) { return std::string(yes ? "yes" : "no"); },
                                    [](std::int64_t number) { return fmt::format("{}", number); },
                                    [](double number) { return fmt::format("{}", number); },
                                    [](const auto&) { return std::string(); }},
                    cell);
}

std::size_t place_of(const std::vector<Column>& columns, const std::string& key) {
  return static_cast<std::size_t>(std::ranges::find(columns, key, &Column::key) - columns.begin());
}

void ResultTable::add_row(std::vector<Cell> cells) {
  SIM_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void ResultTable::add_column(Column column, std::vector<Cell> cells, std::optional<std::ptrdiff_t> place) {
  SIM_CHECK(cells.size() == rows_.size());
  const std::ptrdiff_t at = place.value_or(std::ssize(columns_));
  columns_.insert(columns_.begin() + at, std::move(column));
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].insert(rows_[i].begin() + at, std::move(cells[i]));
}

void ResultTable::write_text(std::ostream& out, std::size_t width) const {
  std::vector<TextColumn> columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].in_text) columns.push_back(text_column(columns_[c], rows_, c));
  }
  if (width > 0 && !columns.empty()) {
    columns.front().least = columns.front().width;  // the name of a row stays whole, so that it can be copied
    fit(columns, width);
  }
  // A table that is too wide goes on below, behind the columns that tell its rows apart.
  for (std::size_t first = 0; first < columns.size() || first == 0;) {
    std::vector<TextColumn> part;
    if (first > 0) part = naming(std::span(columns).first(first), width);
    std::size_t total = 0;
    for (const TextColumn& column : part) total += column.width + gap;
    const std::size_t least = part.size() + 1;
    for (; first < columns.size(); ++first) {
      total += columns[first].width;
      if (width > 0 && total > width && part.size() >= least) break;
      part.push_back(columns[first]);
      total += gap;
    }
    for (std::size_t row = 0; row <= rows_.size(); ++row) write_row(part, row, out);
    if (first >= columns.size()) break;
    out << '\n';
  }
}

template <class TextOf>
void ResultTable::write_csv_line(std::ostream& out, const TextOf& text_of) const {
  const char* separator = "";
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].in_data) continue;
    out << separator << text_of(c);
    separator = ",";
  }
  out << '\n';
}

void ResultTable::write_csv(std::ostream& out) const {
  write_csv_line(out, [this](std::size_t c) { return csv_text(csv_name(columns_[c])); });
  write_csv_rows(out);
}

void ResultTable::write_csv_rows(std::ostream& out) const {
  for (const auto& row : rows_) write_csv_line(out, [&row](std::size_t c) { return csv_cell(row[c]); });
}

void ResultTable::write_markdown(std::ostream& out) const {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> cells(rows_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (!column.in_text) continue;
    const ShownUnit shown = shown_unit(column, rows_, c);
    headings.push_back(
        markdown_text(shown.unit.empty() ? column.heading : fmt::format("{}, {}", column.heading, shown.unit)));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      cells[r].push_back(markdown_text(text_cell(shown.of(rows_[r][c]), column.decimals)));
    }
  }
  out << markdown_line(headings) << markdown_line(std::vector<std::string>(headings.size(), "---"));
  for (const std::vector<std::string>& row : cells) out << markdown_line(row);
}

nlohmann::ordered_json ResultTable::to_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const Column& column = columns_[c];
      if (!column.in_data) continue;
      nlohmann::ordered_json& holder = column.group.empty() ? object : object[column.group];
      holder[column.key] = json_cell(row[c]);
    }
    array.push_back(std::move(object));
  }
  return array;
}

std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("|<*_`[\\").find(c) != std::string_view::npos) result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

}  // namespace c3sim::study
