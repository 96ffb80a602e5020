#include "calibrate/readers/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/readers/lookup_rows.h"
#include "calibrate/readers/table_reader.h"
#include "sim/config/nearest_name.h"
#include "study/ask/arguments.h"

namespace c3sim::calibrate {

namespace {

constexpr double percent = 1e-2;

// Of COLUMN=WORD|WORD; empty where it is none.
std::string column_of(std::string_view condition) {
  const std::size_t equals = condition.find('=');
  return equals == std::string_view::npos ? "" : std::string(condition.substr(0, equals));
}

std::optional<Role> role_named(std::string_view name) {
  for (const Role role : {Role::calibrate, Role::predict, Role::probe}) {
    if (name == to_string(role)) return role;
  }
  return {};
}

bool meets(std::string_view condition, const sim::CsvFile& table, std::size_t row) {
  const std::string column = column_of(condition);
  if (!table.has(column)) return false;
  const std::vector<std::string_view> words = study::split(condition.substr(column.size() + 1), '|');
  return std::ranges::any_of(words,
                             [cell = table.text(row, column)](std::string_view word) { return is_word(cell, word); });
}

}  // namespace

Roles Roles::beside(const std::filesystem::path& file) {
  Roles roles;
  std::optional<sim::CsvFile> list = list_beside(file, "roles.csv", {"file", "rows", "role", "spread"});
  if (!list) return roles;
  sim::CsvFile& table = *list;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view role = table.text(row, "role");
    if (!role_named(role)) table.fault(row, "role", "calibrate, predict or probe is accepted");
    const std::string_view rows = table.text(row, "rows");
    if (!rows.empty() && column_of(rows).empty()) table.fault(row, "rows", "COLUMN=WORD is accepted");
    if (!table.text(row, "spread").empty()) table.number(row, "spread", 0.0, 100.0);
  }
  table.check();
  roles.list_ = std::move(list);
  return roles;
}

bool Roles::holds(std::size_t line, const Measurement& measurement, const sim::CsvFile* table) const {
  if (list_->text(line, "file") != measurement.file) return false;
  const std::string_view condition = list_->text(line, "rows");
  if (condition.empty()) return true;
  const std::optional<std::size_t> row = table == nullptr ? std::nullopt : row_at(*table, measurement.line);
  return row && meets(condition, *table, *row);
}

// Left alone, such a line would leave the rows that it marks to those below it.
void Roles::tell_conditions_never_met(Reading& reading, const sim::CsvFile* table) const {
  for (std::size_t line = 0; list_ && line < list_->rows(); ++line) {
    const std::string column = column_of(list_->text(line, "rows"));
    if (list_->text(line, "file") != reading.name || column.empty()) continue;
    if (table != nullptr && table->has(column)) continue;
    const std::vector<std::string> known = table == nullptr ? std::vector<std::string>() : table->columns();
    reading.faults.push_back(
        {list_->place(line, "rows"), "rows",
         fmt::format("{} has no column '{}'{}", reading.name, column,
                     table == nullptr ? ": a role of all of it is accepted" : sim::name_hint(column, known))});
  }
}

void Roles::apply(Reading& reading, const sim::CsvFile* table) const {
  tell_conditions_never_met(reading, table);
  for (Measurement& measurement : reading.measurements) {
    for (std::size_t line = 0; list_ && line < list_->rows(); ++line) {
      if (!holds(line, measurement, table)) continue;
      measurement.role = role_named(list_->text(line, "role")).value();
      const sim::Parsed<double> spread = sim::parse_number(list_->text(line, "spread"));
      for (Seen& seen : measurement.seen) {
        if (!spread.error.empty() || seen.low || seen.high) continue;
        seen.low = seen.value * (1.0 - spread.value * percent);
        seen.high = seen.value * (1.0 + spread.value * percent);
      }
      break;
    }
  }
}

std::vector<std::string> Roles::columns_asked_of(const std::string& file) const {
  std::vector<std::string> columns;
  for (std::size_t line = 0; list_ && line < list_->rows(); ++line) {
    if (list_->text(line, "file") == file) columns.push_back(column_of(list_->text(line, "rows")));
  }
  return columns;
}

}  // namespace c3sim::calibrate
