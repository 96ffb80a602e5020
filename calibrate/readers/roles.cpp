#include "calibrate/readers/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/table_format.h"
#include "calibrate/readers/trial_fields.h"
#include "sim/config/nearest_name.h"
#include "study/ask/arguments.h"

namespace c3sim::calibrate {

namespace {

// Returns the name by which a list knows a file, whether it is compressed or not.
std::string_view uncompressed(std::string_view file) {
  constexpr std::string_view suffix = ".gz";
  if (file.ends_with(suffix)) file.remove_suffix(suffix.size());
  return file;
}

// Reads the list of that name in the folder of `file`; returns nothing if there is none. Throws sim::ConfigError for a
// list that cannot be read or lacks one of the columns.
std::optional<sim::CsvFile> list_beside(const std::filesystem::path& file, std::string_view name,
                                        const std::vector<std::string>& columns) {
  const std::filesystem::path path = file.parent_path() / name;
  std::error_code absent;
  if (!std::filesystem::exists(path, absent)) return {};
  sim::CsvFile list = sim::CsvFile::from_file(path);
  list.require(columns);
  list.check();
  return list;
}

constexpr std::array<std::string_view, 5> timed_kinds{"gemm", "collective", "remote", "stream", "copy"};

// Reads fields such as "a=1 b=2".
Fields read_fields(sim::CsvFile& table, std::size_t row, std::string_view kind) {
  Fields fields;
  const std::vector<std::string_view> known = fields_of(kind);
  for (const LogCell& word : words_of({.text = table.text(row, "fields")})) {
    const std::size_t equals = std::min(word.text.find('='), word.text.size());
    const std::string name(word.text.substr(0, equals));
    if (equals == word.text.size()) {
      table.fault(row, "fields", shown(word.text) + " has no value: FIELD=VALUE is accepted");
    } else if (std::ranges::find(known, name) == known.end()) {
      table.fault(
          row, "fields",
          fmt::format("{} is no field of {}{}", shown(name), kind, sim::name_hint(name, known, std::identity())));
    } else if (!fields.emplace(name, word.text.substr(equals + 1)).second) {
      table.fault(row, "fields", shown(name) + " is given twice");
    }
  }
  return fields;
}

std::optional<study::Trial> read_label(sim::CsvFile& table, std::size_t row) {
  const std::string kind(table.text(row, "trial"));
  if (std::ranges::find(timed_kinds, kind) == timed_kinds.end()) {
    table.fault(row, "trial",
                fmt::format("{} is not known: {} are accepted", shown(kind), fmt::join(timed_kinds, ", ")));
    return {};
  }
  const std::size_t before = table.faults().size();
  const Fields fields = read_fields(table, row, kind);
  if (table.faults().size() != before) return {};
  std::vector<sim::Fault> faults;
  study::Trial trial = read_trial(kind, fields, faults);
  for (const sim::Fault& fault : faults) table.fault(row, "fields", fmt::format("{} {}", fault.where, fault.what));
  return trial;
}

}  // namespace

std::optional<Role> role_named(std::string_view name) {
  for (const Role role : {Role::calibrate, Role::predict, Role::probe}) {
    if (name == to_string(role)) return role;
  }
  return {};
}

Roles Roles::beside(const std::filesystem::path& file) {
  Roles roles;
  std::optional<sim::CsvFile> list = list_beside(file, "roles.csv", {"file", "rows", "role", "spread"});
  if (!list) return roles;
  sim::CsvFile& table = *list;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::optional<Role> role = role_named(table.text(row, "role"));
    if (!role) table.fault(row, "role", "calibrate, predict or probe is accepted");
    Line line{.file = std::string(uncompressed(table.text(row, "file"))),
              .role = role.value_or(Role::unlisted),
              .place_of_rows = table.place(row, "rows")};
    const std::string_view rows = table.text(row, "rows");
    const std::size_t equals = rows.find('=');
    if (equals != std::string_view::npos) {
      line.column = rows.substr(0, equals);
      for (const std::string_view word : study::split(rows.substr(equals + 1), '|')) line.words.emplace_back(word);
    }
    if (!rows.empty() && line.column.empty()) table.fault(row, "rows", "COLUMN=WORD is accepted");
    if (!table.text(row, "spread").empty()) line.spread = table.number(row, "spread", 0.0, 100.0);
    roles.lines_.push_back(std::move(line));
  }
  table.check();
  return roles;
}

bool Roles::Line::holds(const Measurement& measurement, const sim::CsvFile* table) const {
  if (file != uncompressed(measurement.file)) return false;
  if (column.empty()) return true;
  const std::optional<std::size_t> row = table == nullptr ? std::nullopt : row_at(*table, measurement.line);
  if (!row || !table->has(column)) return false;
  return std::ranges::any_of(
      words, [cell = table->text(*row, column)](const std::string& word) { return is_word(cell, word); });
}

void Roles::apply(Reading& reading, const sim::CsvFile* table) const {
  constexpr double percent = 1e-2;
  for (const Line& line : lines_) {
    // If a condition on a missing column were ignored, the lines below it would decide about the rows that it marks.
    if (line.file != uncompressed(reading.name) || line.column.empty() || (table != nullptr && table->has(line.column)))
      continue;
    const std::string hint =
        table == nullptr ? ": a role of all of it is accepted" : sim::name_hint(line.column, table->columns());
    reading.faults.push_back(
        {line.place_of_rows, "rows", fmt::format("{} has no column '{}'{}", reading.name, line.column, hint)});
  }
  for (Measurement& measurement : reading.measurements) {
    const auto line = std::ranges::find_if(lines_, [&](const Line& one) { return one.holds(measurement, table); });
    if (line == lines_.end()) continue;
    measurement.role = line->role;
    for (Seen& seen : measurement.seen) {
      if (!line->spread || seen.low || seen.high) continue;
      seen.low = seen.value * (1.0 - *line->spread * percent);
      seen.high = seen.value * (1.0 + *line->spread * percent);
    }
  }
}

std::vector<std::string> Roles::columns_asked_of(const std::string& file) const {
  std::vector<std::string> columns;
  for (const Line& line : lines_) {
    if (line.file == uncompressed(file)) columns.push_back(line.column);
  }
  return columns;
}

Labels Labels::beside(const std::filesystem::path& file) {
  Labels labels;
  std::optional<sim::CsvFile> list = list_beside(file, "labels.csv", {"file", "name", "trial", "fields"});
  if (!list) return labels;
  sim::CsvFile& table = *list;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (std::optional<study::Trial> trial = read_label(table, row)) {
      labels.labels_.push_back({std::string(uncompressed(table.text(row, "file"))),
                                std::string(table.text(row, "name")), std::move(*trial)});
    }
  }
  table.check();
  return labels;
}

const study::Trial* Labels::trial_of(const std::string& file, const std::string& name) const {
  const auto found = std::ranges::find_if(
      labels_, [&](const Label& label) { return label.file == uncompressed(file) && is_word(name, label.name); });
  return found == labels_.end() ? nullptr : &found->trial;
}

}  // namespace c3sim::calibrate
