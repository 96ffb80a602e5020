#include "calibrate/calibration.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/step_residuals.h"
#include "calibrate/fit/task.h"
#include "calibrate/measurement_files.h"
#include "study/report/statistics.h"
#include "study/report/table_of.h"

namespace c3sim::calibrate {

namespace {

constexpr double least_correlation = 0.05;

void require_unknowns(const std::vector<Task>& tasks, const std::filesystem::path& path) {
  std::vector<std::string_view> could;
  for (const Task& task : tasks) {
    if (!task.unknowns.empty()) return;
    for (const Target& target : task.step->targets) could.push_back(target.path);
  }
  const std::string offer = could.empty() ? "" : fmt::format("; these measurements show {}", fmt::join(could, ", "));
  throw sim::ConfigError({{path.string(), "", "there is nothing to fit: no parameter of kind fitted" + offer}});
}

// Throws sim::ConfigError if no unknown is left: the file would equal the base and yet look fitted.
void require_results(const std::vector<Task>& tasks, std::span<const Reading> files,
                     const std::filesystem::path& path) {
  std::vector<sim::Fault> faults;
  for (const Task& task : tasks) {
    if (!task.unknowns.empty()) return;
    const std::size_t count = task.measurements.size();
    const bool are_few = count < task.vague.size();
    for (const Unknown& unknown : task.vague) {
      faults.push_back(
          {path.string(), unknown.parameter.path,
           are_few ? fmt::format("{} measurement{} of its kind cannot tell {} parameters apart: more are needed, among "
                                 "them {}. Nothing is written",
                                 count, count == 1 ? "" : "s", task.vague.size(), unknown.shown_by)
                   : fmt::format("these measurements leave it as uncertain as its range does; {} would show it. "
                                 "Nothing is written",
                                 unknown.shown_by)});
    }
  }
  for (const Reading& file : files) faults.insert(faults.end(), file.faults.begin(), file.faults.end());
  throw sim::ConfigError(std::move(faults));
}

// Moves all unknowns to the middle of their ranges, so that the values of the base do not influence the fit.
void start_in_the_middle(const std::vector<Task>& tasks, PlatformText& platform) {
  std::vector<PlatformText::Replacement> middles;
  for (const Task& task : tasks) {
    for (const Unknown& unknown : task.unknowns) {
      middles.push_back({unknown.parameter, unknown.at(0.5), "", task.source()});
    }
  }
  platform.replace(middles);
}

void list_parameters(const Task& task, const std::vector<sim::Parameter>& fitted, Calibration& calibration) {
  const auto list = [&](const Unknown& unknown, bool identified) -> FittedParameter& {
    const sim::Parameter& after = *std::ranges::find(fitted, unknown.parameter.path, &sim::Parameter::path);
    calibration.parameters.push_back({.path = after.path,
                                      .step = task.name(),
                                      .before = unknown.parameter.value,
                                      .after = after.value,
                                      .low = after.low,
                                      .high = after.high,
                                      .source = after.source,
                                      .shown_by = unknown.shown_by,
                                      .identified = identified});
    return calibration.parameters.back();
  };
  for (std::size_t i = 0; i < task.unknowns.size(); ++i) {
    const Unknown& unknown = task.unknowns[i];
    const UnknownError& error = task.errors.unknowns[i];
    FittedParameter& one = list(unknown, true);
    one.error = unknown.error_text(error.standard);
    one.from = unknown.at(error.low, error.standard);
    one.to = unknown.at(error.high, error.standard);
    one.at_limit = error.at_limit;
    one.by_profile = error.by_profile;
  }
  for (const Unknown& unknown : task.vague) list(unknown, false);
}

// Lists the correlations of at least `least_correlation`, rounded as the file spells them. Shrinks all of them until
// the rounded matrix is positive definite, as one of correlations must be.
void list_correlations(const std::vector<Task>& tasks, Eigen::MatrixXd matrix, Calibration& calibration) {
  std::vector<std::string> paths;
  for (const Task& task : tasks) {
    for (const Unknown& unknown : task.unknowns) paths.push_back(unknown.parameter.path);
  }
  const auto rounded = [](double value) {
    return std::abs(value) >= least_correlation ? std::round(std::clamp(value, -0.99, 0.99) * 100.0) / 100.0 : 0.0;
  };
  const auto listed = [&] {
    Eigen::MatrixXd all = matrix.unaryExpr(rounded);
    all.diagonal().setOnes();
    return all;
  };
  while (listed().llt().info() != Eigen::Success) matrix *= 0.99;
  const Eigen::MatrixXd all = listed();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = i + 1; j < paths.size(); ++j) {
      const double value = all(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      if (value != 0.0) calibration.correlations.push_back({paths[i], paths[j], value});
    }
  }
}

void list_kept(const PlatformText& platform, Calibration& calibration) {
  for (const sim::Parameter& parameter : platform.parameters()) {
    // The file's records of its own fit are written anew.
    const bool is_of_the_fit = parameter.path.starts_with("fitted_to") || parameter.path.starts_with("correlations");
    if ((parameter.kind != "fitted" && parameter.kind != "probed") || is_of_the_fit) continue;
    const auto reached = std::ranges::find(calibration.parameters, parameter.path, &FittedParameter::path);
    if (reached == calibration.parameters.end()) calibration.kept.push_back(parameter.path);
  }
}

// Returns the rows of the list `correlations`. Paths name list entries, so that new entries change none of them.
std::vector<std::string> rows_of(const Calibration& calibration, const PlatformText& platform) {
  std::vector<std::string> rows;
  for (const Correlation& one : calibration.correlations) {
    rows.push_back(fmt::format(
        "  - {{first: \"{}\", second: \"{}\", correlation: {{value: {:.2f}, source: {}, kind: fitted, "
        "range: [-1, 1]}}}}\n",
        platform.by_name(one.first), platform.by_name(one.second), one.value,
        in_double_quotes(std::ranges::find(calibration.parameters, one.first, &FittedParameter::path)->source)));
  }
  return rows;
}

// Returns the largest move of an unknown, as a share of its range; 1 if there was no point before.
double distance(const Point& before, const Point& after) {
  if (before.size() != after.size()) return 1.0;
  double farthest = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) farthest = std::max(farthest, std::abs(after[i] - before[i]));
  return farthest;
}

// Returns the relative time that it takes to fit a task, which grows with its rows and unknowns.
double price_of(const Task& task) { return static_cast<double>(task.measurements.size() * (task.unknowns.size() + 1)); }

// Fits all tasks and returns the correlations of their unknowns. Steps depend on each other: the time to write a
// command, which copies to several peers show, is part of the time of one copy. So tasks that still move are fitted
// again in rounds until none does, then all once more for their errors. That may set unknowns aside, whose values then
// change for all tasks: rounds begin again, and what moves gets its errors anew. A task that moves by less than
// `settled`, as a share of ranges, while others move does not depend on them.
Eigen::MatrixXd fit_in_rounds(std::vector<Task>& tasks, PlatformText& fitted, const CalibrationOptions& options) {
  constexpr std::size_t most_rounds = 12;
  constexpr double settled = 1e-3;
  // Progress counts a task's price_of() once per starting point in the first round, about once more in later rounds,
  // and twice for its own errors and those of all tasks together.
  double rounds = 0.0, errors = 0.0, done = 0.0;
  for (const Task& task : tasks) {
    rounds += price_of(task) * static_cast<double>(task.step->valleys + 1);
    errors += price_of(task) * 2.0;
  }
  const auto report = [&](double paid) {
    done += paid;
    const double share = std::min(1.0, done / (rounds + errors));
    if (options.progress) options.progress(static_cast<std::size_t>(99.0 * share), 100);
  };
  std::vector<bool> moves(tasks.size(), true);
  std::vector<bool> has_errors(tasks.size(), false);
  while (std::ranges::find(moves, true) != moves.end()) {
    for (std::size_t round = 0; round < most_rounds && std::ranges::find(moves, true) != moves.end(); ++round) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!moves[i]) continue;
        const Point before = tasks[i].solution.point;
        fit(tasks[i], fitted, options.jobs);
        moves[i] = distance(before, tasks[i].solution.point) > settled;
        if (moves[i]) has_errors[i] = false;
        report(round > 1 ? 0.0 : price_of(tasks[i]) * (round == 0 ? static_cast<double>(tasks[i].step->valleys) : 1.0));
      }
    }
    moves.assign(tasks.size(), false);
    done = std::max(done, rounds);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (has_errors[i]) continue;
      const std::size_t unknowns = tasks[i].unknowns.size();
      fit_with_errors(tasks[i], fitted, options.jobs);
      has_errors[i] = true;
      // An unknown that is set aside has its value in the base again, which other tasks have not seen yet.
      if (tasks[i].unknowns.size() < unknowns) moves.assign(tasks.size(), true);
      report(price_of(tasks[i]));
    }
  }
  Eigen::MatrixXd correlations = join_errors(tasks, fitted, options.jobs);
  for (const Task& task : tasks) write(task, fitted, true);
  if (options.progress) options.progress(100, 100);
  return correlations;
}

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
    if (step.after.empty()) continue;  // the model predicts none of its figures
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

study::ResultTable spread_table(const Calibration& calibration) {
  const auto spread = [](const Spread& one) {
    return one.deviation > 0.0 ? study::Cell(in_percent * one.deviation) : study::Cell{};
  };
  return study::table_of<Spread>(calibration.spreads, {{{"work", "work", ""}, &Spread::work},
                                                       {{"smallest_B", "from", "B", 0}, &Spread::smallest},
                                                       {{"largest_B", "to", "B", 0}, &Spread::largest},
                                                       {{"spread_pct", "spread of times", "%", 1}, spread},
                                                       {{"source", "fitted to", ""}, &Spread::source}});
}

// Returns a table with one row per file, and one more per reason for which rows were left out.
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

// Returns a chart of a step's errors over the size of the work; work without a size is not shown.
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
  chart.guides.push_back({"no error", from, 0.0, to, 0.0});  // keeps zero in view, whatever is measured
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
      warnings.push_back(
          fmt::format("{} keeps {}: these measurements leave it as uncertain as its range does; {} would show it",
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
  for (const Reading& file : files) {
    if (file.measurements.empty() && file.faults.empty()) {
      warnings.push_back(fmt::format("{}: nothing in it can be fitted to: {}", file.name, why_nothing_is_left(file)));
    }
    for (const std::string& line : sim::by_cause(file.faults)) warnings.push_back("rejected: " + line);
  }
  for (const FittedStep& step : calibration.steps) {
    for (const Observation& one : step.outliers) {
      warnings.push_back(
          fmt::format("{}: predicted {:+.0f} % off, far from all others: the fit gives it almost no weight", one.where,
                      in_percent * one.error));
    }
  }
}

}  // namespace

Calibration calibrate(const std::filesystem::path& path, std::span<const Reading> files,
                      const CalibrationOptions& options) {
  const PlatformText base(path, options.config_folders, options.assignments);
  PlatformText fitted = base;
  std::vector<Task> tasks = tasks_for(base, files);
  require_unknowns(tasks, path);
  start_in_the_middle(tasks, fitted);
  const Eigen::MatrixXd correlations = fit_in_rounds(tasks, fitted, options);
  require_results(tasks, files, path);

  Calibration calibration;
  calibration.platform = base.spec().name;
  const std::vector<sim::Parameter> after = fitted.parameters();
  for (Task& task : tasks) {
    list_parameters(task, after, calibration);
    const auto observed = [&](const PlatformText& platform) {
      return StepResiduals(platform, {}, task.measurements, options.jobs).observations({});
    };
    FittedStep& step = calibration.steps.emplace_back(
        FittedStep{task.name(), task.unknowns.size(), observed(base), observed(fitted), task.held_out, {}});
    for (const std::size_t row : task.outliers) step.outliers.push_back(step.after[row]);
    if (!task.unknowns.empty())
      std::ranges::move(spreads_of(task, fitted, step.outliers, options.jobs), std::back_inserter(calibration.spreads));
  }
  list_correlations(tasks, correlations, calibration);
  list_kept(base, calibration);
  std::vector<std::string> spread_rows;
  for (const Spread& spread : calibration.spreads) spread_rows.push_back(spread.row());
  fitted.replace_list("fitted_to", spread_rows);
  fitted.replace_list("correlations", rows_of(calibration, fitted));
  calibration.text = fitted.text();
  return calibration;
}

study::Results report(const Calibration& calibration, std::span<const Reading> files) {
  study::Results results;
  results.platform = calibration.platform;
  results.title = "A fit of " + calibration.platform;
  results.tables = {{"results", "", parameter_table(calibration)},
                    {"residuals", "Predicted against measured", residual_table(calibration)},
                    {"correlations", "Parameters that only show together",
                     study::table_of<Correlation>(calibration.correlations,
                                                  {{{"first", "parameter", ""}, &Correlation::first},
                                                   {{"second", "beside", ""}, &Correlation::second},
                                                   {{"correlation", "correlation", "", 2}, &Correlation::value}})},
                    {"spreads", "What the model leaves unexplained", spread_table(calibration)},
                    {"files", "Rows", file_table(files)}};
  results.tables[1].charts = charts_of(calibration);
  results.tables[2].in_text = false;
  warn_of_parameters(calibration, results.warnings);
  warn_of_rows(calibration, files, results.warnings);
  return results;
}

}  // namespace c3sim::calibrate
