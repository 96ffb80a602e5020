#include "calibrate/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/fit_guard.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

constexpr double in_percent = 100.0;

double magnitude(const Observation& observation) { return std::abs(observation.error); }

double median_error(const std::vector<Observation>& observations) {
  std::vector<double> errors;
  std::ranges::transform(observations, std::back_inserter(errors), magnitude);
  return study::quantile(std::move(errors), 0.5);
}

const Observation& worst(const std::vector<Observation>& observations) {
  return *std::ranges::max_element(observations, {}, magnitude);
}

std::string remark_on(const FittedParameter& parameter) {
  if (!parameter.identified) return "not identified, keeps its value: " + parameter.shown_by + " would";
  if (parameter.at_limit) return "where its range ends";
  return parameter.by_profile ? "interval by profile" : "";
}

study::ResultTable parameter_table(const Calibration& calibration) {
  study::ResultTable table({{"parameter", "parameter", ""},
                            {"before", "before", ""},
                            {"after", "after", ""},
                            {"error", "± error", ""},
                            {"from", "95 % from", ""},
                            {"to", "to", ""},
                            {"low", "range from", ""},
                            {"high", "to", ""},
                            {"remark", "remark", ""},
                            {"source", "fitted to", ""}});
  const auto known = [](const std::string& text) { return text.empty() ? study::Cell{} : study::Cell(text); };
  for (const FittedParameter& one : calibration.parameters) {
    table.add_row({one.path, one.before, one.after, known(one.error), known(one.from), known(one.to), one.low, one.high,
                   known(remark_on(one)), one.source});
  }
  return table;
}

study::ResultTable residual_table(const Calibration& calibration) {
  study::ResultTable table({{"group", "group", ""},
                            {"parameters", "fitted", ""},
                            {"observations", "observed", ""},
                            {"median_before_pct", "median before", "%", 1},
                            {"median_after_pct", "after", "%", 1},
                            {"held_out_pct", "held out", "%", 1},
                            {"worst_before_pct", "worst before", "%", 1},
                            {"worst_after_pct", "after", "%", 1},
                            {"worst", "worst at", ""}});
  const auto count = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  for (const FittedStep& step : calibration.steps) {
    if (step.after.empty()) continue;  // measured, but nothing that the model has
    std::vector<double> held_out;
    for (const double residual : step.held_out) held_out.push_back(std::abs(std::expm1(residual)));
    table.add_row(
        {step.name, count(step.parameters), count(step.after.size()), in_percent * median_error(step.before),
         in_percent * median_error(step.after),
         held_out.empty() ? study::Cell{} : study::Cell(in_percent * study::quantile(std::move(held_out), 0.5)),
         in_percent * worst(step.before).error, in_percent * worst(step.after).error, worst(step.after).where});
  }
  return table;
}

study::ResultTable correlation_table(const Calibration& calibration) {
  study::ResultTable table(
      {{"first", "parameter", ""}, {"second", "beside", ""}, {"correlation", "correlation", "", 2}});
  for (const Correlation& one : calibration.correlations) table.add_row({one.first, one.second, one.value});
  return table;
}

study::ResultTable spread_table(const Calibration& calibration) {
  study::ResultTable table({{"work", "work", ""},
                            {"smallest_B", "from", "B", 0},
                            {"largest_B", "to", "B", 0},
                            {"spread_pct", "spread of times", "%", 1},
                            {"source", "fitted to", ""}});
  for (const Spread& one : calibration.spreads) {
    table.add_row({one.work, one.smallest, one.largest,
                   one.deviation > 0.0 ? study::Cell(in_percent * one.deviation) : study::Cell{}, one.source});
  }
  return table;
}

// One row per file, and one more per reason for which rows were left out.
study::ResultTable file_table(std::span<const Reading> files) {
  study::ResultTable table({{"file", "file", ""}, {"rows", "rows", ""}, {"why_left_out", "left out since", ""}});
  for (const Reading& file : files) {
    table.add_row({file.name, static_cast<std::int64_t>(file.measurements.size()), {}});
    std::map<std::string, std::int64_t> reasons;
    for (const Omission& omission : file.left_out) ++reasons[omission.why];
    for (const auto& [why, rows] : reasons) table.add_row({file.name, rows, why});
    if (!file.faults.empty()) {
      table.add_row({file.name, static_cast<std::int64_t>(file.faults.size()), "at fault: a warning tells of each"});
    }
  }
  return table;
}

// Errors of one step over the size of the work, where it has one.
study::Chart residuals_by_size(const FittedStep& step, std::size_t index) {
  study::ScatterChart chart;
  chart.id = fmt::format("residuals_{}", index);
  chart.title = step.name;
  const bool are_gemms = step.after.front().kind == "gemm";
  chart.x = {.label = "size", .unit = are_gemms ? "flop" : "B", .logarithmic = true};
  chart.y = {.label = "error", .unit = "%"};
  double from = 0.0;
  double to = 0.0;
  for (const Observation& one : step.after) {
    if (one.size <= 0.0) continue;
    from = from == 0.0 ? one.size : std::min(from, one.size);
    to = std::max(to, one.size);
    const std::string name(study::form_of(one.figure).heading);
    auto series = std::ranges::find(chart.series, name, &study::ScatterSeries::name);
    if (series == chart.series.end()) series = chart.series.insert(chart.series.end(), {name, {}});
    series->points.push_back({.x = one.size,
                              .y = in_percent * one.error,
                              .label = one.where,
                              .y_low = in_percent * (one.error - one.noise),
                              .y_high = in_percent * (one.error + one.noise)});
  }
  chart.guides.push_back({"no error", from, 0.0, to, 0.0});  // which is to be in view, whatever is measured
  chart.caption = "Predicted over measured, less one. Bars: one standard deviation of repetitions, 2 % where unknown.";
  return chart;
}

std::vector<study::Chart> charts_of(const Calibration& calibration) {
  std::vector<study::Chart> charts;
  for (std::size_t i = 0; i < calibration.steps.size(); ++i) {
    const std::vector<Observation>& after = calibration.steps[i].after;
    const bool has_sizes = std::ranges::any_of(after, [](const Observation& one) { return one.size > 0.0; });
    if (has_sizes) charts.push_back(residuals_by_size(calibration.steps[i], i));
  }
  return charts;
}

void warn_of_parameters(const Calibration& calibration, std::vector<std::string>& warnings) {
  for (const FittedParameter& one : calibration.parameters) {
    if (!one.identified) {
      warnings.push_back(fmt::format("{} keeps {}: these measurements say no more of it than its range does; {} would",
                                     one.path, one.after, one.shown_by));
    } else if (one.at_limit) {
      warnings.push_back(one.path + " ended where its range ends: " + one.after);
    }
  }
  if (!calibration.kept.empty()) {
    warnings.push_back(
        fmt::format("of kind fitted or probed, but nothing here measures them: {}", fmt::join(calibration.kept, ", ")));
  }
}

void warn_of_rows(const Calibration& calibration, std::span<const Reading> files, std::vector<std::string>& warnings) {
  constexpr std::size_t most = sim::ConfigError::max_lines;
  for (const Reading& file : files) {
    if (file.measurements.empty() && file.faults.empty()) {
      warnings.push_back(fmt::format("{}: nothing in it can be fitted to: {}", file.name, why_nothing_is_left(file)));
    }
    for (std::size_t i = 0; i < std::min(file.faults.size(), most); ++i) {
      warnings.push_back("rejected: " + sim::in_words(file.faults[i]));
    }
    if (file.faults.size() > most) {
      warnings.push_back(fmt::format("{}: {} more rows are at fault", file.name, file.faults.size() - most));
    }
  }
  for (const FittedStep& step : calibration.steps) {
    for (const Observation& one : step.outliers) {
      warnings.push_back(fmt::format("{}: predicted {:+.0f} % off, far from all others: left next to no say", one.where,
                                     in_percent * one.error));
    }
  }
}

}  // namespace

study::Results report(const Calibration& calibration, std::span<const Reading> files) {
  study::Results results;
  results.platform = calibration.platform;
  results.title = "A fit of " + calibration.platform;
  results.tables = {{"results", "", parameter_table(calibration)},
                    {"residuals", "Predicted against measured", residual_table(calibration)},
                    {"correlations", "Parameters that only show together", correlation_table(calibration)},
                    {"spreads", "What the model leaves unexplained", spread_table(calibration)},
                    {"files", "Rows", file_table(files)}};
  results.tables[1].charts = charts_of(calibration);
  results.tables[2].in_text = false;
  warn_of_parameters(calibration, results.warnings);
  warn_of_rows(calibration, files, results.warnings);
  return results;
}

}  // namespace c3sim::calibrate
