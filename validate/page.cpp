#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "validate/cost.h"
#include "validate/report.h"

namespace c3sim::validate {

namespace {

constexpr std::size_t most_series = 8;  // that people can tell apart

std::string id_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

// What a validation says of one suite.
Validation part_of(const Validation& validation, const std::string& suite) {
  const auto is_own = [&suite](const auto& one) { return one.suite == suite; };
  Validation part;
  std::ranges::copy_if(validation.cases, std::back_inserter(part.cases), is_own);
  std::ranges::copy_if(validation.choices, std::back_inserter(part.choices), is_own);
  std::ranges::copy_if(validation.left_out, std::back_inserter(part.left_out), is_own);
  part.uncertainty = validation.uncertainty;
  return part;
}

// Those that can be drawn on logarithmic axes, by the unit that they are measured in.
std::map<std::string, std::vector<const Case*>> by_unit(const std::vector<Case>& cases) {
  std::map<std::string, std::vector<const Case*>> units;
  for (const Case& one : cases) {
    if (!one.is_scored() || one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    units[std::string(one.form().unit)].push_back(&one);
  }
  return units;
}

// The groups with most cases have a series each; what is left shares the last.
std::vector<std::string> groups_with_series(const std::vector<const Case*>& cases) {
  std::map<std::string, std::size_t> sizes;
  for (const Case* const one : cases) ++sizes[one->group];
  std::vector<std::string> groups;
  for (const auto& [group, size] : sizes) groups.push_back(group);
  std::ranges::stable_sort(groups, std::ranges::greater{}, [&](const std::string& group) { return sizes.at(group); });
  if (groups.size() > most_series) groups.resize(most_series - 1);
  return groups;
}

template <class PointOf>
std::vector<study::ScatterSeries> scatter(const std::vector<const Case*>& cases, const PointOf& point_of) {
  const std::vector<std::string> groups = groups_with_series(cases);
  std::vector<study::ScatterSeries> series;
  for (const Case* const one : cases) {
    const bool has_own = std::ranges::find(groups, one->group) != groups.end();
    const std::string name = has_own ? one->group : "other groups";
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

void add_charts(const std::vector<Case>& of_suite, const std::string& suite, study::Section& section) {
  std::vector<const Case*> by_bytes;
  std::vector<const Case*> by_operations;
  for (const auto& [unit, cases] : by_unit(of_suite)) {
    section.charts.push_back(predicted_over_measured(suite, unit, cases));
    for (const Case* const one : cases) {
      if (study::size_of(one->trial) <= 0.0) continue;
      (std::holds_alternative<study::GemmTrial>(one->trial) ? by_operations : by_bytes).push_back(one);
    }
  }
  if (!by_bytes.empty()) section.charts.push_back(error_by_size(suite, by_bytes, "size", "B"));
  if (!by_operations.empty()) section.charts.push_back(error_by_size(suite, by_operations, "size", "flop"));
}

const study::NamedTable* table_named(const study::Results& results, std::string_view key) {
  const auto found = std::ranges::find(results.tables, key, &study::NamedTable::key);
  return found == results.tables.end() ? nullptr : &*found;
}

study::Section section_of(const Validation& validation, const Heading& heading) {
  const std::string name = suite_title(heading.name);
  const Validation part = part_of(validation, heading.name);
  const study::Results results = report(part);
  study::Section section{.id = id_of("suite_" + name), .heading = heading.title};
  section.paragraphs = {fmt::format("{} Platform {}.", heading.question, heading.platform)};
  for (const char* const key : {"groups", "baselines", "choices", "left_out", "left_out_rows"}) {
    const study::NamedTable* const named = table_named(results, key);
    if (named->table.rows().empty()) continue;
    section.tables.push_back({.id = section.id + "_" + key, .caption = named->title, .table = named->table});
  }
  add_charts(part.cases, name, section);
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

// The cost of running at once, run by run, with a series for each suite.
study::Chart cost_chart(const Validation& validation) {
  constexpr double milliseconds = 1e3;
  study::ScatterChart chart;
  chart.id = "cost_over_cost";
  chart.title = "What running at once costs, predicted over measured";
  chart.x = {.label = "cost, measured", .unit = "ms"};
  chart.y = {.label = "cost, predicted", .unit = "ms"};
  double most = 0.0;
  for (const Cost& cost : costs_of(validation.cases)) {
    if (!cost.is_of_all() || cost.walls() == 0) continue;
    study::ScatterSeries series{fmt::format("{}, {}", suite_title(cost.suite), to_string(cost.role)), {}};
    for (const CostOfRun& run : cost.runs) {
      if (!run.wall) continue;
      const double measured = milliseconds * run.wall->measured;
      const double predicted = milliseconds * run.wall->predicted;
      series.points.push_back({.x = measured, .y = predicted, .label = run.where});
      most = std::max({most, measured, predicted});
    }
    chart.series.push_back(std::move(series));
  }
  chart.guides.push_back({"as measured", 0.0, 0.0, most, most});
  chart.caption = "The cost of a run is what it takes beyond the longer of its two operations alone.";
  return chart;
}

void add_table_section(const study::Results& results, const char* key, const char* id, study::Page& page) {
  const study::NamedTable* const table = table_named(results, key);
  if (table == nullptr || table->table.rows().empty()) return;
  page.sections.push_back({.id = id, .heading = table->title});
  page.sections.back().tables.push_back(
      {.id = std::string(id) + "_table", .table = table->table, .every_column = true});
}

// What a reader asks for first stands first; a page holds thousands of rows, so what rules predict is left to the
// files.
study::PageTable case_table(const Validation& validation) {
  const std::vector<study::Shown<Case>> all = shown_of_cases(validation, Readers::programs);
  std::vector<study::Shown<Case>> shown;
  for (const std::string_view key : {"case", "trial", "figure", "measured", "predicted", "unit", "error_pct",
                                     "noise_pct", "band_pct", "verdict", "suite", "group", "role", "command"}) {
    shown.push_back(*std::ranges::find(all, key, [](const auto& one) { return std::string_view(one.column.key); }));
  }
  return {.id = "cases_table",
          .caption = "Every case, with the command that reproduces its prediction",
          .table = study::table_of(validation.cases, shown),
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
      {.id = "suites_table", .table = table_named(results, "suites")->table, .every_column = true});
  for (const sim::Fault& fault : validation.faults) {
    page.sections.back().paragraphs.push_back(fmt::format("Left out: {}: {}", fault.where, fault.what));
  }
  add_table_section(results, "tables", "tables", page);
  add_table_section(results, "simulators", "simulators", page);
  add_table_section(results, "costs", "costs", page);
  if (page.sections.back().id == "costs") page.sections.back().charts.push_back(cost_chart(validation));
  add_table_section(results, "cost_parts", "cost_parts", page);
  add_table_section(results, "cost_runs", "cost_runs", page);
  add_table_section(results, "moves", "moves", page);
  add_table_section(results, "claims", "claims", page);
  if (page.sections.back().id == "claims") page.sections.back().charts.push_back(claim_chart(validation));
  add_table_section(results, "deviations", "deviations", page);
  std::set<std::string> told;
  for (const Heading& heading : validation.suites) {
    if (!told.insert(heading.name).second) continue;
    study::Section section = section_of(validation, heading);
    if (!section.tables.empty()) page.sections.push_back(std::move(section));
  }
  page.sections.push_back({.id = "cases", .heading = "Cases"});
  page.sections.back().tables.push_back(case_table(validation));
  return page;
}

}  // namespace c3sim::validate
