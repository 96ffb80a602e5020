#include "calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/least_squares.h"
#include "calibrate/platform_text.h"
#include "calibrate/step.h"

namespace c3sim::calibrate {

namespace {

// A parameter to be fitted, as a place between the ends of its range.
struct Unknown {
  sim::Parameter parameter;  // as the base has it
  std::string unit;
  double low = 0.0;
  double high = 0.0;

  std::string at(double share) const { return spell(low + share * (high - low), unit); }
};

// A step as far as this platform and these measurements go.
struct Task {
  const Step* step;
  std::vector<Unknown> unknowns;
  std::vector<const Measurement*> measurements;

  std::string source() const {
    std::set<std::string> files;
    for (const Measurement* measurement : measurements) files.insert(measurement->file);
    return fmt::format("{}: {}", fmt::join(files, " and "), step->name);
  }
};

Unknown unknown_of(const sim::Parameter& parameter) {
  const SpelledNumber value = split_unit(parameter.value);
  const SpelledNumber low = split_unit(parameter.low);
  const SpelledNumber high = split_unit(parameter.high);
  if (low.unit != value.unit || high.unit != value.unit) {
    throw sim::ConfigError({{PlatformText::place(parameter), parameter.path,
                             "the range of a parameter that is fitted has the unit of its value"}});
  }
  return {parameter, value.unit, low.number, high.number};
}

std::vector<Task> tasks_for(const PlatformText& platform, std::span<const Reading> files) {
  const std::vector<sim::Parameter> parameters = platform.parameters();
  std::vector<Task> tasks;
  for (const Step& step : steps()) {
    Task task{&step, {}, {}};
    for (const Reading& file : files) {
      for (const Measurement& measurement : file.measurements) {
        if (step.takes(measurement)) task.measurements.push_back(&measurement);
      }
    }
    if (task.measurements.empty()) continue;
    for (const sim::Parameter& parameter : parameters) {
      const bool belongs = std::ranges::find(step.parameters, parameter.path) != step.parameters.end();
      if (belongs && parameter.kind == "fitted") task.unknowns.push_back(unknown_of(parameter));
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void require_unknowns(const std::vector<Task>& tasks, const PlatformText& platform, const std::filesystem::path& path) {
  std::vector<std::string_view> could;
  for (const Task& task : tasks) {
    if (!task.unknowns.empty()) return;
    could.insert(could.end(), task.step->parameters.begin(), task.step->parameters.end());
  }
  const std::vector<sim::Parameter> parameters = platform.parameters();
  const bool has_base = !parameters.empty() && parameters.front().path == "base";
  const std::string of_base =
      has_base ? "; those of its base are not fitted unless their lines are copied into it" : "";
  const std::string offer = could.empty() ? "" : fmt::format("; these measurements show {}", fmt::join(could, ", "));
  throw sim::ConfigError(
      {{path.string(), "", "there is nothing to fit: no parameter of kind fitted" + offer + of_base}});
}

// What the squares are summed of.
std::vector<double> residuals(const std::vector<Observation>& observations) {
  std::vector<double> residuals;
  for (const Observation& observation : observations) {
    const auto alike = std::ranges::count_if(observations, [&observation](const Observation& other) {
      return other.kind == observation.kind && other.figure == observation.figure;
    });
    residuals.push_back(std::log1p(observation.error) / std::sqrt(static_cast<double>(alike)));
  }
  return residuals;
}

// Each on the platform that it was made on: this one, with what was assigned to it and with what its table says of it.
std::vector<Observation> observe(const PlatformText& platform, const Task& task,
                                 const std::vector<std::string>& assigned = {}) {
  const std::span<const Measurement* const> all = task.measurements;
  std::vector<Observation> observations;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end]->assignments == all[begin]->assignments) ++end;
    std::vector<std::string> assignments = assigned;
    assignments.insert(assignments.end(), all[begin]->assignments.begin(), all[begin]->assignments.end());
    const std::vector<Observation> alike = observe(platform.spec(assignments), all.subspan(begin, end - begin));
    observations.insert(observations.end(), alike.begin(), alike.end());
  }
  return observations;
}

void require_observations(const Task& task, const PlatformText& platform) {
  const std::size_t observations = observe(platform, task).size();
  if (observations >= task.unknowns.size()) return;
  throw sim::ConfigError({{task.measurements.front()->where(), "",
                           fmt::format("{} observed of {} cannot fit {} parameters", observations, task.step->name,
                                       task.unknowns.size())}});
}

// Finds the step's parameters and writes them into the platform.
void fit(const Task& task, PlatformText& platform) {
  require_observations(task, platform);
  const auto at = [&](std::span<const double> point) {
    std::vector<std::string> assignments;
    for (std::size_t i = 0; i < point.size(); ++i) {
      const Unknown& unknown = task.unknowns[i];
      assignments.push_back(unknown.parameter.path + "=" + unknown.at(point[i]));
    }
    return residuals(observe(platform, task, assignments));
  };
  const std::vector<double> found = least_squares(at, std::vector<double>(task.unknowns.size(), 0.5));
  std::vector<PlatformText::Replacement> replacements;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Unknown& unknown = task.unknowns[i];
    replacements.push_back({unknown.parameter, unknown.at(found[i]), task.source()});
  }
  platform.replace(replacements);
}

// The parameters of kind fitted, as they are after the fit: those that a step found, and those that none reached.
void list_parameters(const std::vector<Task>& tasks, const PlatformText& fitted, Calibration& calibration) {
  for (const sim::Parameter& after : fitted.parameters()) {
    if (after.kind != "fitted") continue;
    bool reached = false;
    for (const Task& task : tasks) {
      for (const Unknown& unknown : task.unknowns) {
        if (unknown.parameter.path != after.path) continue;
        const double value = split_unit(after.value).number;
        calibration.parameters.push_back({after.path, unknown.parameter.value, after.value, after.low, after.high,
                                          after.source, value <= unknown.low || value >= unknown.high});
        reached = true;
      }
    }
    if (!reached) calibration.kept.push_back(after.path);
  }
}

}  // namespace

Calibration calibrate(const std::filesystem::path& path, std::span<const Reading> files,
                      const std::function<void(std::size_t done, std::size_t of)>& progress,
                      std::span<const std::filesystem::path> config_folders) {
  const PlatformText base(path, config_folders);
  const std::vector<Task> tasks = tasks_for(base, files);
  require_unknowns(tasks, base, path);

  PlatformText fitted = base;
  std::vector<PlatformText::Replacement> middles;
  for (const Task& task : tasks) {
    for (const Unknown& unknown : task.unknowns) middles.push_back({unknown.parameter, unknown.at(0.5), task.source()});
  }
  fitted.replace(middles);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].unknowns.empty()) fit(tasks[i], fitted);
    if (progress) progress(i + 1, tasks.size());
  }

  Calibration calibration;
  calibration.platform = base.spec().name;
  calibration.text = fitted.text();
  list_parameters(tasks, fitted, calibration);
  for (const Task& task : tasks) {
    calibration.steps.push_back(
        {std::string(task.step->name), task.unknowns.size(), observe(base, task), observe(fitted, task)});
  }
  return calibration;
}

}  // namespace c3sim::calibrate
