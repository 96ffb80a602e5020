#include "validate/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "validate/deviation.h"

namespace c3sim::validate {

namespace {

constexpr std::size_t most_series = 8;  // that people can tell apart

std::string id_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

// The cases of a suite that can be drawn on logarithmic axes, by the unit that they are measured in.
std::map<std::string, std::vector<const Case*>> by_unit(const Validation& validation, const std::string& suite) {
  std::map<std::string, std::vector<const Case*>> units;
  for (const Case& one : validation.cases) {
    if (suite_title(one.suite) != suite || !one.is_scored() || one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    units[std::string(one.form().unit)].push_back(&one);
  }
  return units;
}

// The groups with most cases have a series each; what is left shares the last.
std::map<std::string, std::string> series_of(const std::vector<const Case*>& cases) {
  std::map<std::string, std::size_t> sizes;
  for (const Case* const one : cases) ++sizes[one->group];
  std::vector<std::pair<std::size_t, std::string>> order;
  order.reserve(sizes.size());
  for (const auto& [group, size] : sizes) order.emplace_back(size, group);
  std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<std::size_t, std::string>::first);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool own = i + 1 < most_series || order.size() <= most_series;
    names[order[i].second] = own ? order[i].second : "other groups";
  }
  return names;
}

template <class PointOf>
std::vector<study::ScatterSeries> scatter(const std::vector<const Case*>& cases, const PointOf& point_of) {
  const std::map<std::string, std::string> names = series_of(cases);
  std::vector<study::ScatterSeries> series;
  for (const Case* const one : cases) {
    const std::string& name = names.at(one->group);
    auto found = std::ranges::find(series, name, &study::ScatterSeries::name);
    if (found == series.end()) found = series.insert(series.end(), {name, {}});
    found->points.push_back(point_of(*one));
  }
  return series;
}

study::Chart predicted_over_measured(const std::string& suite, const std::string& unit,
                                     const std::vector<const Case*>& cases) {
  const double per_unit = cases.front()->form().per_unit;
  double from = cases.front()->measured / per_unit;
  double to = from;
  for (const Case* const one : cases) {
    from = std::min({from, one->measured / per_unit, *one->predicted / per_unit});
    to = std::max({to, one->measured / per_unit, *one->predicted / per_unit});
  }
  study::ScatterChart chart;
  chart.id = id_of(fmt::format("{}_{}", suite, unit.empty() ? "ratio" : unit));
  chart.title = unit.empty() ? "Predicted over measured, ratios" : fmt::format("Predicted over measured, {}", unit);
  chart.x = {.label = "measured", .unit = unit, .logarithmic = true};
  chart.y = {.label = "predicted", .unit = unit, .logarithmic = true};
  chart.series = scatter(cases, [per_unit](const Case& one) {
    study::ScatterPoint point{.x = one.measured / per_unit, .y = *one.predicted / per_unit, .label = one.id};
    if (one.low && one.high && *one.low > 0.0) {
      point.x_low = *one.low / per_unit;
      point.x_high = *one.high / per_unit;
    }
    return point;
  });
  if (to > from) chart.guides.push_back({"as measured", from, from, to, to});
  return chart;
}

study::Chart error_by_size(const std::string& suite, const std::vector<const Case*>& cases, const std::string& of,
                           const std::string& unit) {
  study::ScatterChart chart;
  chart.id = id_of(fmt::format("{}_error_by_{}", suite, unit));
  chart.title = fmt::format("Error by {}", of);
  chart.x = {.label = of, .unit = unit, .logarithmic = true};
  chart.y = {.label = "error", .unit = "%"};
  chart.series = scatter(cases, [](const Case& one) {
    study::ScatterPoint point{.x = study::size_of(one.trial), .y = one.error() * percent, .label = one.id};
    if (const auto noise = one.noise()) {
      point.y_low = point.y - *noise * percent;
      point.y_high = point.y + *noise * percent;
    }
    return point;
  });
  const auto [least, most] = std::ranges::minmax(cases, {}, [](const Case* one) { return study::size_of(one->trial); });
  const double from = study::size_of(least->trial);
  const double to = study::size_of(most->trial);
  chart.guides.push_back({"no error", from, 0.0, to, 0.0});  // which is to be in view, whatever is measured
  chart.caption = "Bars show how far repetitions of the measurement lie apart, where that is known.";
  return chart;
}

void add_charts(const Validation& validation, const std::string& suite, study::Section& section) {
  std::vector<const Case*> by_bytes;
  std::vector<const Case*> by_operations;
  for (const auto& [unit, cases] : by_unit(validation, suite)) {
    section.charts.push_back(predicted_over_measured(suite, unit, cases));
    for (const Case* const one : cases) {
      if (study::size_of(one->trial) <= 0.0) continue;
      (std::holds_alternative<study::GemmTrial>(one->trial) ? by_operations : by_bytes).push_back(one);
    }
  }
  if (!by_bytes.empty()) section.charts.push_back(error_by_size(suite, by_bytes, "size", "B"));
  if (!by_operations.empty()) section.charts.push_back(error_by_size(suite, by_operations, "size", "flop"));
}

// The rows of a table that belong to a suite, by its first column.
study::ResultTable rows_of(const study::ResultTable& table, const std::string& suite) {
  study::ResultTable result(table.columns());
  for (const std::vector<study::Cell>& row : table.rows()) {
    if (row.front() == study::Cell(suite)) result.add_row(row);
  }
  return result;
}

const study::NamedTable* table_of(const study::Results& results, std::string_view key) {
  const auto found = std::ranges::find(results.tables, key, &study::NamedTable::key);
  return found == results.tables.end() ? nullptr : &*found;
}

study::Section section_of(const Validation& validation, const study::Results& results, const Heading& heading,
                          const std::string& name) {
  study::Section section{.id = id_of("suite_" + name), .heading = heading.title};
  section.paragraphs = {fmt::format("{} Platform {}.", heading.question, heading.platform)};
  for (const char* const key : {"groups", "baselines", "choices", "left_out", "left_out_rows"}) {
    const study::NamedTable* const table = table_of(results, key);
    if (table == nullptr) continue;
    study::ResultTable own = rows_of(table->table, name);
    if (own.rows().empty()) continue;
    section.tables.push_back({.id = section.id + "_" + key, .caption = table->title, .table = std::move(own)});
  }
  add_charts(validation, name, section);
  return section;
}

study::Chart claim_chart(const Validation& validation) {
  study::BandChart chart{.id = "claims", .title = "Claims and the bands that count as a match"};
  for (const Claim& claim : validation.claims) {
    for (const double value : claim.predicted) {
      const bool of_two = claim.predicted.size() > 1;
      const char* const end = !of_two ? "" : value == claim.predicted.front() ? ", lowest" : ", highest";
      chart.rows.push_back({.name = claim.id + end, .low = claim.low, .high = claim.high, .predicted = value});
    }
  }
  return chart;
}

void add_table_section(const study::Results& results, const char* key, const char* id, study::Page& page) {
  const study::NamedTable* const table = table_of(results, key);
  if (table == nullptr || table->table.rows().empty()) return;
  page.sections.push_back({.id = id, .heading = table->title});
  page.sections.back().tables.push_back(
      {.id = std::string(id) + "_table", .table = table->table, .every_column = true});
}

// What a reader asks for first stands first; a page holds thousands of rows, so what rules predict is left to the
// files.
study::PageTable case_table(const study::ResultTable& cases) {
  std::vector<study::Column> columns;
  std::vector<std::size_t> places;
  for (const char* const key : {"case", "trial", "figure", "measured", "predicted", "unit", "error_pct", "noise_pct",
                                "band_pct", "verdict", "suite", "group", "role", "command"}) {
    const auto found = std::ranges::find(cases.columns(), key, &study::Column::key);
    columns.push_back(*found);
    places.push_back(static_cast<std::size_t>(found - cases.columns().begin()));
  }
  study::ResultTable table(columns);
  for (const std::vector<study::Cell>& row : cases.rows()) {
    std::vector<study::Cell> cells;
    cells.reserve(places.size());
    for (const std::size_t place : places) cells.push_back(row[place]);
    table.add_row(std::move(cells));
  }
  return {.id = "cases_table",
          .caption = "Every case, with the command that reproduces its prediction",
          .table = std::move(table),
          .filterable = true,
          .every_column = true,
          .choices = {"suite", "group", "role", "figure", "verdict"},
          .first_rows = 50};
}

}  // namespace

study::Page page_of(const Validation& validation, const study::Results& results, const std::string& version) {
  study::Page page;
  page.title = "c3sim beside measurements";
  page.lead = {verdict(validation),
               fmt::format("c3sim {}, platform {}. Errors are predicted over measured less one; of shares they are "
                           "differences in points. Rows with role calibrate may have been fitted to, rows with role "
                           "predict never were.",
                           version, results.platform)};
  page.sections.push_back({.id = "suites", .heading = "Errors by suite"});
  page.sections.back().tables.push_back(
      {.id = "suites_table", .table = table_of(results, "suites")->table, .every_column = true});
  for (const sim::Fault& fault : validation.faults) {
    page.sections.back().paragraphs.push_back(fmt::format("Left out: {}: {}", fault.where, fault.what));
  }
  add_table_section(results, "moves", "moves", page);
  add_table_section(results, "claims", "claims", page);
  if (page.sections.back().id == "claims") page.sections.back().charts.push_back(claim_chart(validation));
  add_table_section(results, "deviations", "deviations", page);
  std::set<std::string> told;
  for (const Heading& heading : validation.suites) {
    const std::string name = suite_title(heading.name);
    if (!told.insert(name).second) continue;
    study::Section section = section_of(validation, results, heading, name);
    if (!section.tables.empty()) page.sections.push_back(std::move(section));
  }
  page.sections.push_back({.id = "cases", .heading = "Cases"});
  page.sections.back().tables.push_back(case_table(table_of(results, "cases")->table));
  return page;
}

}  // namespace c3sim::validate
