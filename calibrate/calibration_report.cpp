#include "calibrate/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace c3sim::calibrate {

namespace {

double magnitude(const Observation& observation) { return std::abs(observation.error); }

double median_error(std::vector<Observation> observations) {
  std::ranges::sort(observations, {}, magnitude);
  const std::size_t half = observations.size() / 2;
  const double upper = magnitude(observations[half]);
  return observations.size() % 2 == 1 ? upper : (magnitude(observations[half - 1]) + upper) / 2.0;
}

const Observation& worst(const std::vector<Observation>& observations) {
  return *std::ranges::max_element(observations, {}, magnitude);
}

study::ResultTable parameter_table(const Calibration& calibration) {
  study::ResultTable table({{"parameter", "parameter", ""},
                            {"before", "before", ""},
                            {"after", "after", ""},
                            {"low", "from", ""},
                            {"high", "to", ""},
                            {"source", "fitted to", ""}});
  for (const FittedParameter& parameter : calibration.parameters) {
    table.add_row({parameter.path, parameter.before, parameter.after, parameter.low, parameter.high, parameter.source});
  }
  return table;
}

study::ResultTable residual_table(const Calibration& calibration) {
  study::ResultTable table({{"group", "group", ""},
                            {"parameters", "fitted", ""},
                            {"observations", "observed", ""},
                            {"median_before_pct", "median before", "%", 1},
                            {"median_after_pct", "after", "%", 1},
                            {"worst_before_pct", "worst before", "%", 1},
                            {"worst_after_pct", "after", "%", 1},
                            {"worst", "worst at", ""}});
  const auto count = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  for (const FittedStep& step : calibration.steps) {
    if (step.after.empty()) continue;  // measured, but nothing that the model has
    table.add_row({step.name, count(step.parameters), count(step.after.size()), 100.0 * median_error(step.before),
                   100.0 * median_error(step.after), 100.0 * worst(step.before).error, 100.0 * worst(step.after).error,
                   worst(step.after).where});
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
  }
  return table;
}

}  // namespace

study::Results report(const Calibration& calibration, std::span<const Reading> files) {
  study::Results results{calibration.platform,
                         {{"results", "", parameter_table(calibration)},
                          {"residuals", "Predicted against measured", residual_table(calibration)},
                          {"files", "Rows", file_table(files)}},
                         {},
                         {}};
  for (const FittedParameter& parameter : calibration.parameters) {
    if (parameter.at_limit) {
      results.warnings.push_back(parameter.path + " ended where its range ends: " + parameter.after);
    }
  }
  if (!calibration.kept.empty()) {
    results.warnings.push_back(
        fmt::format("of kind fitted, but nothing here measures them: {}", fmt::join(calibration.kept, ", ")));
  }
  return results;
}

}  // namespace c3sim::calibrate
