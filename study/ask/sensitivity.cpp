#include "study/ask/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/nearest_name.h"
#include "study/c3/variation.h"

namespace c3sim::study {

namespace {

std::optional<double> number_in(const Cell& cell) {
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  return {};
}

// The place of the quantity's column.
std::size_t place_in(const ResultTable& table, const std::string& quantity) {
  std::vector<std::string> known;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const bool is_number =
        std::ranges::all_of(table.rows(), [c](const std::vector<Cell>& row) { return number_in(row[c]).has_value(); });
    if (!is_number) continue;
    known.push_back(table.columns()[c].key);
    if (known.back() == quantity) return c;
  }
  throw sim::ConfigError(
      {{"--sensitivity", "",
        fmt::format("the answer has no number '{}' in all its rows{}", quantity, sim::name_hint(quantity, known))}});
}

std::vector<double> column_of(const ResultTable& table, std::size_t place) {
  std::vector<double> values;
  for (const std::vector<Cell>& row : table.rows()) values.push_back(*number_in(row[place]));
  return values;
}

std::string text_of(const Cell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* const flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  return "";
}

// What tells the rows apart, before what they measure.
std::vector<std::string> names_of(const ResultTable& table, const std::string& quantity) {
  const auto& rows = table.rows();
  if (rows.size() == 1) return {quantity};
  std::vector<std::string> names(rows.size());
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (std::holds_alternative<double>(rows.front()[c])) break;
    const bool is_same = std::ranges::all_of(rows, [&](const auto& row) { return row[c] == rows.front()[c]; });
    for (std::size_t r = 0; r < rows.size() && !is_same; ++r) {
      if (const std::string text = text_of(rows[r][c]); !text.empty()) names[r] += (names[r].empty() ? "" : "_") + text;
    }
  }
  return names;
}

}  // namespace

NamedTable sensitivity_of(const std::string& quantity, const Platform& platform,
                          const std::function<Results(Testbed& testbed)>& ask, const Progress& progress) {
  Testbed own(platform.spec);
  const ResultTable table = ask(own).tables.front().table;
  const std::size_t place = place_in(table, quantity);
  const auto question = [&](Testbed& testbed) { return column_of(ask(testbed).tables.front().table, place); };
  return sensitivity_table(names_of(table, quantity), table.columns()[place].heading,
                           vary_parameters(platform, question, progress));
}

}  // namespace c3sim::study
