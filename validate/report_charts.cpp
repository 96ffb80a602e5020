// Draws the charts of a report.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "validate/cost.h"
#include "validate/report.h"

namespace c3sim::validate {

namespace {

constexpr std::size_t most_series = 8;  // limit of what people can tell apart

std::string id_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

// Returns the cases of a suite that logarithmic axes can show, by the unit of their figures.
std::map<std::string, std::vector<const Case*>> by_unit(const std::vector<Case>& cases, const std::string& suite) {
  std::map<std::string, std::vector<const Case*>> units;
  for (const Case& one : cases) {
    if (one.suite != suite || !one.is_scored() || one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    units[std::string(one.form().unit)].push_back(&one);
  }
  return units;
}

// Gives each of the groups with most cases a series, and all other groups the last one.
template <class PointOf>
std::vector<study::ScatterSeries> scatter(const std::vector<const Case*>& cases, const PointOf& point_of) {
  auto groups = grouped(cases, &Case::group);
  std::ranges::sort(groups, {}, [](const auto& group) { return std::pair(-std::ssize(group.second), group.first); });
  if (groups.size() > most_series) groups.resize(most_series - 1);
  std::vector<study::ScatterSeries> series;
  for (const Case* const one : cases) {
    const bool has_own = std::ranges::count(groups, one->group, [](const auto& group) { return group.first; }) > 0;
    const std::string name = has_own ? one->group : "other groups";
    auto found = std::ranges::find(series, name, &study::ScatterSeries::name);
    if (found == series.end()) found = series.insert(series.end(), {name, {}});
    found->points.push_back(point_of(*one));
  }
  return series;
}

study::Chart predicted_over_measured(const Heading& heading, const std::string& unit,
                                     const std::vector<const Case*>& cases) {
  const double per_unit = cases.front()->form().per_unit;
  study::ScatterChart chart;
  chart.id = id_of(fmt::format("{}_{}", suite_title(heading.name), unit.empty() ? "ratio" : unit));
  chart.title = fmt::format("{}: predicted over measured, {}", heading.title, unit.empty() ? "ratios" : unit);
  chart.caption = heading.question;
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
  std::vector<double> values;
  for (const Case* const one : cases)
    values.insert(values.end(), {one->measured / per_unit, *one->predicted / per_unit});
  const auto [from, to] = std::ranges::minmax(values);
  if (to > from) chart.guides.push_back({"as measured", from, from, to, to});
  return chart;
}

study::Chart error_by_size(const Heading& heading, const std::vector<const Case*>& cases, const std::string& of,
                           const std::string& unit) {
  study::ScatterChart chart;
  chart.id = id_of(fmt::format("{}_error_by_{}", suite_title(heading.name), unit));
  chart.title = fmt::format("{}: error by {}", heading.title, of);
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
  // This line keeps an error of zero in view, whatever is measured.
  chart.guides.push_back({"no error", study::size_of(least->trial), 0.0, study::size_of(most->trial), 0.0});
  chart.caption =
      "An error is predicted over measured less one; of shares it is a difference in points. Bars show how far "
      "repetitions of the measurement lie apart, where that is known.";
  return chart;
}

void add_charts_of(const std::vector<Case>& all, const Heading& heading, std::vector<study::Chart>& charts) {
  std::vector<const Case*> by_bytes;
  std::vector<const Case*> by_operations;
  for (const auto& [unit, cases] : by_unit(all, heading.name)) {
    charts.push_back(predicted_over_measured(heading, unit, cases));
    for (const Case* const one : cases) {
      if (study::size_of(one->trial) <= 0.0) continue;
      (std::holds_alternative<study::GemmTrial>(one->trial) ? by_operations : by_bytes).push_back(one);
    }
  }
  if (!by_bytes.empty()) charts.push_back(error_by_size(heading, by_bytes, "size", "B"));
  if (!by_operations.empty()) charts.push_back(error_by_size(heading, by_operations, "size", "flop"));
}

// Returns a chart of the cost of running at once, run by run, with a series for each suite.
study::Chart cost_chart(const Validation& validation) {
  constexpr double milliseconds = 1e3;
  study::ScatterChart chart;
  chart.id = "cost_over_cost";
  chart.title = "What running at once costs, predicted over measured";
  chart.x = {.label = "cost, measured", .unit = "ms"};
  chart.y = {.label = "cost, predicted", .unit = "ms"};
  double most = 0.0;
  for (const Cost& cost : costs_of(validation.cases)) {
    if (cost.of != Cost::Of::suite || cost.walls() == 0) continue;
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

}  // namespace

void add_charts(const Validation& validation, study::Results& results) {
  const auto charts_of = [&results](std::string_view key) -> std::vector<study::Chart>& {
    return std::ranges::find(results.tables, key, &study::NamedTable::key)->charts;
  };
  if (!results.table("costs")->table.rows().empty()) charts_of("costs").push_back(cost_chart(validation));
  std::set<std::string> told;
  for (Heading heading : validation.suites) {
    if (!told.insert(heading.name).second) continue;
    if (heading.name.empty()) heading = {.name = {}, .title = "Your files", .question = {}, .platform = {}};
    if (!heading.question.empty()) heading.question += " On the platform " + heading.platform + ".";
    add_charts_of(validation.cases, heading, charts_of("groups"));
  }
}

}  // namespace c3sim::validate
