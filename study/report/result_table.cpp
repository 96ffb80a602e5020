#include "study/report/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/check.h"
#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

// What rounds to zero has no sign.
std::string text_number(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

std::string text_cell(const Cell& cell, int decimals) {
  return std::visit(
      sim::Overloaded{[](std::monostate) { return std::string(); },
                      [](bool value) { return std::string(value ? "yes" : "no"); },
                      [](std::int64_t value) { return fmt::format("{}", value); },
                      [decimals](double value) { return text_number(value, decimals); },
                      [](const std::string& value) { return value; }, [](const NoNumber& none) { return none.why; }},
      cell);
}

std::string csv_text(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const Cell& cell) {
  return std::visit(sim::Overloaded{[](std::monostate) { return std::string(); },
                                    [](bool value) { return std::string(value ? "true" : "false"); },
                                    [](std::int64_t value) { return fmt::format("{}", value); },
                                    [](double value) { return fmt::format("{}", value); },
                                    [](const std::string& value) { return csv_text(value); },
                                    [](const NoNumber&) { return std::string(); }},
                    cell);
}

nlohmann::ordered_json json_cell(const Cell& cell) {
  return std::visit(sim::Overloaded{[](std::monostate) { return nlohmann::ordered_json(); },
                                    [](const NoNumber&) { return nlohmann::ordered_json(); },
                                    [](const auto& value) { return nlohmann::ordered_json(value); }},
                    cell);
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

}  // namespace

void ResultTable::add_row(std::vector<Cell> cells) {
  SIM_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void ResultTable::add_column(Column column, std::vector<Cell> cells) {
  SIM_CHECK(cells.size() == rows_.size());
  columns_.push_back(std::move(column));
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].push_back(std::move(cells[i]));
}

void ResultTable::write_text(std::ostream& out) const {
  std::vector<std::string> lines(rows_.size() + 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].in_text) append_column(lines, c);
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

// Adds the heading and the cells of column `c` to the lines, all equally wide.
void ResultTable::append_column(std::vector<std::string>& lines, std::size_t c) const {
  const Column& column = columns_[c];
  std::vector<std::string> cells{column.unit.empty() ? column.heading
                                                     : fmt::format("{} [{}]", column.heading, column.unit)};
  bool numbers = false;
  for (const auto& row : rows_) {
    cells.push_back(text_cell(row[c], column.decimals));
    numbers = numbers || is_number(row[c]);
  }
  std::size_t width = 0;
  for (const std::string& cell : cells) width = std::max(width, cell.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].empty()) lines[i] += "  ";
    lines[i] += numbers ? fmt::format("{:>{}}", cells[i], width) : fmt::format("{:<{}}", cells[i], width);
  }
}

void ResultTable::write_csv(std::ostream& out) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) out << (c > 0 ? "," : "") << csv_text(columns_[c].key);
  out << '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) out << (c > 0 ? "," : "") << csv_cell(row[c]);
    out << '\n';
  }
}

nlohmann::ordered_json ResultTable::to_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c) object[columns_[c].key] = json_cell(row[c]);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace c3sim::study
