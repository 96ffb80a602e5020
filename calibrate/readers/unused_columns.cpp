#include "calibrate/readers/unused_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/lookup_rows.h"
#include "calibrate/readers/table_reader.h"
#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

bool is_free(std::string_view column) {
  constexpr std::array<std::string_view, 8> free{"note",    "notes", "remark",   "remarks",
                                                 "comment", "host",  "comments", "hostname"};
  return column.empty() || std::ranges::find(free, column) != free.end();
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// All that the form and its lists may ask for: what says what was run, and the rest.
struct KnownColumns {
  std::vector<std::string> of_runs;
  std::vector<std::string> all;

  KnownColumns(const TableFormat& form, const Roles& roles, const std::string& file)
      : of_runs(form.named_columns(Rows::all)), all(form.named_columns()) {
    for (const char* const own : {"platform", "role"}) {
      of_runs.emplace_back(own);
      all.emplace_back(own);
    }
    std::ranges::copy(roles.columns_asked_of(file), std::back_inserter(all));
  }
};

// Rows in which the column says something, with the reason.
void leave_out_rows(Reading& reading, const sim::CsvFile& table, const std::string& column, const std::string& why) {
  int last = 0;  // a wide row has several measurements
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const std::optional<std::size_t> row = row_at(table, one.line);
    if (!row || says_nothing(table.text(*row, column))) return false;
    if (last != one.line) reading.left_out.push_back({one.where(), why});
    last = one.line;
    return true;
  });
}

}  // namespace

void tell_unused_columns(Reading& reading, const sim::CsvFile& table, const TableFormat& form, const Roles& roles) {
  const bool is_its_own = form.is_of_one_table && table_name(table.name()) == form.name;
  if (is_its_own) return;
  const KnownColumns known(form, roles, reading.name);
  std::vector<std::string> lacking = known.all;
  std::erase_if(lacking, [&table](const std::string& column) { return table.has(column); });
  for (const std::string& column : table.columns()) {
    const bool is_ignored =
        std::ranges::any_of(form.ignored, [&column](const std::string& word) { return is_met(column, word); });
    if (is_free(column) || is_ignored || holds(known.all, column)) continue;
    const std::string where = table.place_of_name(column);
    const std::string shown_name = printable(column);
    const std::string nearest = sim::nearest_name(column, lacking);
    if (nearest.empty() || !holds(known.of_runs, nearest)) {
      const std::string hint = nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
      reading.remarks.push_back({where, shown_name, fmt::format("this column is not used{}", hint)});
      continue;
    }
    reading.faults.push_back({where, shown_name,
                              fmt::format("this column is not used; did you mean '{}'? Rows in which it says something "
                                          "are left out: a column 'note' may say anything",
                                          nearest)});
    leave_out_rows(reading, table, column, fmt::format("its column '{}' is not known; '{}' is", shown_name, nearest));
  }
}

}  // namespace c3sim::calibrate
