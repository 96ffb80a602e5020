#include "calibrate/fit/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/step_residuals.h"

namespace c3sim::calibrate {

namespace {

// The libraries whose GEMMs a step's measurements timed, by their place in the platform.
std::vector<std::pair<std::size_t, std::string>> libraries_of(const Task& task, const PlatformText& platform) {
  std::set<std::vector<std::string>> settings;
  for (const Measurement* const measurement : task.measurements) settings.insert(measurement->assignments);
  std::vector<std::pair<std::size_t, std::string>> used;
  for (const std::vector<std::string>& assignments : settings) {
    const models::GemmSpec gemm = platform.spec(assignments).gpu.gemm;
    const auto place = std::ranges::find(gemm.libraries, gemm.library.name);
    used.emplace_back(static_cast<std::size_t>(place - gemm.libraries.begin()), gemm.library.name);
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

// The parameters of a target, each with the library that it is of, if it is of one.
std::vector<std::pair<std::string, std::string>> paths_of(const Target& target, const Task& task,
                                                          const PlatformText& platform) {
  const std::size_t star = target.path.find(".*");
  if (star == std::string_view::npos) return {{std::string(target.path), ""}};
  std::vector<std::pair<std::string, std::string>> paths;
  for (const auto& [place, name] : libraries_of(task, platform)) {
    paths.emplace_back(fmt::format("{}[{}]{}", target.path.substr(0, star), place, target.path.substr(star + 2)), name);
  }
  return paths;
}

void add_unknowns(Task& task, const PlatformText& platform, const std::vector<sim::Parameter>& parameters,
                  std::set<std::string>& claimed) {
  for (const Target& target : task.step->targets) {
    for (const auto& [path, library] : paths_of(target, task, platform)) {
      const auto parameter = std::ranges::find(parameters, path, &sim::Parameter::path);
      if (parameter == parameters.end() || parameter->kind != "fitted" || !claimed.insert(path).second) continue;
      task.unknowns.push_back(Unknown::of(*parameter));
      task.unknowns.back().shown_by = target.shown_by;
      task.unknowns.back().library = library;
    }
  }
}

// Whichever a platform says are to be found that way.
void add_probed(Task& task, const std::vector<sim::Parameter>& parameters) {
  for (const sim::Parameter& parameter : parameters) {
    if (parameter.kind != "probed") continue;
    task.unknowns.push_back(Unknown::of(parameter));
    task.unknowns.back().shown_by = "GEMMs beside collectives and hogs (c3sim-measure --only probes)";
  }
}

Residuals residuals_of(StepResiduals& simulated) {
  return [&simulated](std::span<const Point> points) { return simulated.at(points); };
}

void require_convergence(const Task& task, const Solution& solution) {
  if (solution.converged) return;
  throw sim::ConfigError(
      {{task.measurements.front()->where(), "",
        fmt::format("the fit of {} does not converge ({}): nothing is written", task.step->name, solution.report)}});
}

std::vector<std::size_t> outliers_of(const Solution& solution, std::span<const FitRow> rows) {
  constexpr double far = 8.0;  // standard deviations: of a thousand rows none by chance
  std::vector<std::size_t> outliers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(solution.residuals[i]) > far * solution.spread[rows[i].kind]) outliers.push_back(i);
  }
  return outliers;
}

// It keeps the value that the base has.
void set_aside(Task& task, std::size_t place, PlatformText& platform) {
  const auto at = static_cast<std::ptrdiff_t>(place);
  const sim::Parameter& parameter = task.unknowns[place].parameter;
  platform.replace(std::vector{PlatformText::Replacement{parameter, parameter.value, "", parameter.source}});
  task.vague.push_back(std::move(task.unknowns[place]));
  task.unknowns.erase(task.unknowns.begin() + at);
  if (!task.solution.point.empty()) task.solution.point.erase(task.solution.point.begin() + at);
}

// The unknown of which the measurements say least, if they say nothing.
std::vector<UnknownError>::const_iterator vaguest(const FitErrors& errors) {
  const auto worst = std::ranges::max_element(errors.unknowns, {}, &UnknownError::standard);
  return worst != errors.unknowns.end() && worst->says_nothing() ? worst : errors.unknowns.end();
}

// Whether there is anything to solve; with fewer observations than unknowns all of these are set aside.
bool solve(Task& task, StepResiduals& simulated, PlatformText& platform) {
  if (task.unknowns.empty()) return false;
  if (simulated.rows().size() < task.unknowns.size()) {
    while (!task.unknowns.empty()) set_aside(task, task.unknowns.size() - 1, platform);
    return false;
  }
  task.solution = task.solution.point.empty() ? robust_fit_of_several(residuals_of(simulated), simulated.rows(),
                                                                      task.unknowns.size(), task.step->valleys)
                                              : refined(residuals_of(simulated), simulated.rows(), task.solution);
  require_convergence(task, task.solution);
  return true;
}

}  // namespace

std::string Task::source() const {
  std::set<std::string> files;
  for (const Measurement* const measurement : measurements) files.insert(measurement->file);
  return fmt::format("{}: {}", fmt::join(files, " and "), step->name);
}

std::vector<Task> tasks_for(const PlatformText& platform, std::span<const Reading> files) {
  const std::vector<sim::Parameter> parameters = platform.parameters();
  std::vector<Task> tasks;
  std::set<std::string> claimed;
  for (const Step& step : steps()) {
    Task task;
    task.step = &step;
    for (const Reading& file : files) {
      for (const Measurement& measurement : file.measurements) {
        const bool is_probe = measurement.role == Role::probe;
        if (is_probe == step.is_of_probes && step.takes(measurement)) task.measurements.push_back(&measurement);
      }
    }
    if (task.measurements.empty()) continue;
    if (step.is_of_probes) {
      add_probed(task, parameters);
    } else {
      add_unknowns(task, platform, parameters, claimed);
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void fit(Task& task, PlatformText& platform, int jobs) {
  StepResiduals simulated(platform, task.unknowns, task.measurements, jobs);
  if (solve(task, simulated, platform)) write(task, platform);
}

void fit_with_errors(Task& task, PlatformText& platform, int jobs) {
  while (!task.unknowns.empty()) {
    StepResiduals simulated(platform, task.unknowns, task.measurements, jobs);
    if (!solve(task, simulated, platform)) return;
    task.errors = errors_of(task.solution, residuals_of(simulated), simulated.rows());
    const auto worst = vaguest(task.errors);
    if (worst == task.errors.unknowns.end()) {
      task.outliers = outliers_of(task.solution, simulated.rows());
      task.held_out = held_out_residuals(task.solution, task.errors, residuals_of(simulated), simulated.rows());
      return write(task, platform);
    }
    set_aside(task, static_cast<std::size_t>(worst - task.errors.unknowns.cbegin()), platform);
  }
}

void write(const Task& task, PlatformText& platform, bool with_errors) {
  std::vector<PlatformText::Replacement> replacements;
  for (std::size_t i = 0; i < task.unknowns.size(); ++i) {
    const Unknown& unknown = task.unknowns[i];
    PlatformText::Replacement& one = replacements.emplace_back();
    one.parameter = unknown.parameter;
    one.source = task.source();
    if (with_errors) one.error = unknown.error_text(task.errors.unknowns[i].standard);
    one.value = with_errors ? unknown.at(task.solution.point[i], task.errors.unknowns[i].standard)
                            : unknown.at(task.solution.point[i]);
  }
  platform.replace(replacements);
}

}  // namespace c3sim::calibrate
