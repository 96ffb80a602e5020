#include "calibrate/fit/task.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "sim/config/config_text.h"
#include "sim/units.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::calibrate {

namespace {

// Returns the parameter paths of a target by library: a target of libraries has one path for each library whose kernels
// the task's runs use.
std::map<std::optional<Library>, std::string> paths_of(const Target& target, const Task& task,
                                                       const PlatformText& platform) {
  if (target.list().empty()) return {{std::nullopt, std::string(target.path)}};
  std::map<std::optional<Library>, std::string> paths;
  std::set<std::vector<std::string>> settings;
  for (const Measurement* const measurement : task.measurements) settings.insert(measurement->assignments);
  for (const std::vector<std::string>& assignments : settings) {
    for (const Library& one : libraries_of(platform.spec(assignments).gpu)) {
      if (one.list != target.list()) continue;
      paths[one] = boost::replace_first_copy(std::string(target.path), Target::entry, fmt::format("[{}]", one.place));
    }
  }
  return paths;
}

void add_unknowns(Task& task, const PlatformText& platform, const std::vector<sim::Parameter>& parameters,
                  std::set<std::string>& claimed) {
  for (const Target& target : task.step->targets) {
    for (const auto& [library, path] : paths_of(target, task, platform)) {
      const auto parameter = std::ranges::find(parameters, path, &sim::Parameter::path);
      if (parameter == parameters.end() || parameter->kind != "fitted" || !claimed.insert(path).second) continue;
      task.unknowns.push_back(Unknown::of(*parameter));
      task.unknowns.back().shown_by = target.shown_by;
      task.unknowns.back().library = library;
    }
  }
}

// Makes every parameter of kind `probed` an unknown.
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

std::vector<std::size_t> outliers_of(const Solution& solution, std::span<const FitRow> rows) {
  constexpr double far = 8.0;  // standard deviations: chance puts none of a thousand rows there
  std::vector<std::size_t> outliers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(solution.residuals[i]) > far * solution.spread[rows[i].kind]) outliers.push_back(i);
  }
  return outliers;
}

// Takes an unknown out of the fit and gives it back its value in the base.
void set_aside(Task& task, std::size_t place, PlatformText& platform) {
  const auto at = static_cast<std::ptrdiff_t>(place);
  const sim::Parameter& parameter = task.unknowns[place].parameter;
  platform.replace(std::vector{PlatformText::Replacement{parameter, parameter.value, "", parameter.source}});
  task.vague.push_back(std::move(task.unknowns[place]));
  task.unknowns.erase(task.unknowns.begin() + at);
  if (!task.solution.point.empty()) task.solution.point.erase(task.solution.point.begin() + at);
}

// Returns the most uncertain unknown of those that the measurements say nothing of: they say no more of it than its
// range, or they rule out its lowest or highest values alone, and the base's value is as good as any other.
std::optional<std::size_t> vague_of(const Task& task, StepResiduals& simulated) {
  const Solution& solution = task.solution;
  const auto base_is_as_good = [&](std::size_t i) {
    const UnknownError& error = task.errors.unknowns[i];
    if (!error.is_open || !task.unknowns[i].base) return false;
    Point point = solution.point;
    point[i] = *task.unknowns[i].base;
    const double there = cost_of(simulated.at(std::span(&point, 1)).front(), solution.weights);
    return there - cost_of(solution.residuals, solution.weights) < UnknownError::hardly * error.height;
  };
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < task.unknowns.size(); ++i) {
    const UnknownError& error = task.errors.unknowns[i];
    if (!error.says_nothing() && !base_is_as_good(i)) continue;
    if (!worst || error.standard > task.errors.unknowns[*worst].standard) worst = i;
  }
  return worst;
}

// Solves the task; returns false if there is nothing to solve. Sets all unknowns aside if they outnumber observations.
bool solve(Task& task, StepResiduals& simulated, PlatformText& platform) {
  if (task.unknowns.empty()) return false;
  if (simulated.rows().size() < task.unknowns.size()) {
    while (!task.unknowns.empty()) set_aside(task, task.unknowns.size() - 1, platform);
    return false;
  }
  task.solution = task.solution.point.empty() ? robust_fit_of_several(residuals_of(simulated), simulated.rows(),
                                                                      task.unknowns.size(), task.step->valleys)
                                              : refined(residuals_of(simulated), simulated.rows(), task.solution);
  if (task.solution.converged) return true;
  throw sim::ConfigError(
      {{task.measurements.front()->where(), "",
        fmt::format("the fit of {} does not converge ({}): nothing is written", task.name(), task.solution.report)}});
}

}  // namespace

std::string Task::source() const {
  std::set<std::string> files;
  for (const Measurement* const measurement : measurements) {
    const std::string& file = measurement->file;
    files.insert(sim::check_characters(file) ? printable(file) : file);
  }
  return fmt::format("{}: {}", fmt::join(files, " and "), name());
}

std::string Task::name() const {
  return library.empty() ? std::string(step->name) : fmt::format("{}, {}", step->name, library);
}

namespace {

// Returns the measurements of a file that a step takes. Of more than `enough`, it takes an even sample of each group:
// more would cost time and hardly move a parameter.
std::vector<const Measurement*> taken(const Step& step, const Reading& file) {
  constexpr std::size_t enough = 200;
  std::vector<const Measurement*> all;
  for (const Measurement& measurement : file.measurements) {
    const bool is_probe = measurement.role == Role::probe;
    if (is_probe == step.is_of_probes && step.takes(measurement)) all.push_back(&measurement);
  }
  if (all.size() <= enough) return all;
  // Rows of a group are taken in order of their sizes, of which a table may have several by turns.
  std::map<std::string_view, std::vector<const Measurement*>> by_size;
  for (const Measurement* const one : all) by_size[one->group].push_back(one);
  const double share = static_cast<double>(enough) / static_cast<double>(all.size());
  std::set<const Measurement*> sample;
  for (auto& [group, rows] : by_size) {
    std::ranges::stable_sort(rows, {}, [](const Measurement* one) { return study::size_of(one->trial); });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto before = static_cast<double>(i);
      if (std::ceil(share * (before + 1.0)) > std::ceil(share * before)) sample.insert(rows[i]);
    }
  }
  std::erase_if(all, [&](const Measurement* one) { return !sample.contains(one); });
  return all;
}

// Returns the list that all targets of a step are in; empty if they are in none or in several.
std::string_view list_of(const Step& step) {
  if (step.targets.empty()) return {};
  const std::string_view first = step.targets.front().list();
  const auto is_of_it = [first](const Target& target) { return target.list() == first; };
  return std::ranges::all_of(step.targets, is_of_it) ? first : std::string_view();
}

// Returns the measurements of all files that a step takes, by the library that ran them if all targets of the step are
// of libraries, since the kernels of one say nothing of those of another; else under "".
std::map<std::string, std::vector<const Measurement*>> shared_out(const Step& step, const PlatformText& platform,
                                                                  std::span<const Reading> files) {
  const std::string_view list = list_of(step);
  std::map<std::vector<std::string>, std::string> library;  // by assignments
  const auto library_of = [&](const Measurement& one) {
    const auto [place, is_new] = library.try_emplace(one.assignments);
    if (is_new && !list.empty()) {
      const std::vector<Library> in_use = libraries_of(platform.spec(one.assignments).gpu);
      const auto found = std::ranges::find(in_use, list, &Library::list);
      if (found != in_use.end()) place->second = found->name;
    }
    return place->second;
  };
  std::map<std::string, std::vector<const Measurement*>> shares;
  for (const Reading& file : files) {
    for (const Measurement* const one : taken(step, file)) shares[library_of(*one)].push_back(one);
  }
  return shares;
}

}  // namespace

std::vector<Task> tasks_for(const PlatformText& platform, std::span<const Reading> files) {
  const std::vector<sim::Parameter> parameters = platform.parameters();
  std::vector<Task> tasks;
  std::set<std::string> claimed;
  for (const Step& step : steps()) {
    for (auto& [library, measurements] : shared_out(step, platform, files)) {
      Task task;
      task.step = &step;
      task.library = library;
      task.measurements = std::move(measurements);
      if (step.is_of_probes) {
        add_probed(task, parameters);
      } else {
        add_unknowns(task, platform, parameters, claimed);
      }
      tasks.push_back(std::move(task));
    }
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
    const std::optional<std::size_t> vague = vague_of(task, simulated);
    if (!vague) {
      task.outliers = outliers_of(task.solution, simulated.rows());
      task.held_out = held_out_residuals(task.solution, task.errors, residuals_of(simulated), simulated.rows());
      return write(task, platform);
    }
    set_aside(task, *vague, platform);
  }
}

void write(const Task& task, PlatformText& platform, bool with_errors) {
  std::vector<PlatformText::Replacement> replacements;
  for (std::size_t i = 0; i < task.unknowns.size(); ++i) {
    const Unknown& unknown = task.unknowns[i];
    const std::optional<double> error = with_errors ? std::optional(task.errors.unknowns[i].standard) : std::nullopt;
    replacements.push_back({unknown.parameter, unknown.at(task.solution.point[i], error),
                            error ? unknown.error_text(*error) : "", task.source()});
  }
  platform.replace(replacements);
}

namespace {

constexpr double least_move = 0.02;      // share of a range, above the noise of a clock governor's tolerance
constexpr std::size_t sampled = 16;      // one in this many measurements is sampled
constexpr double uniform_error = 0.289;  // standard deviation of a uniform distribution over the range

Eigen::Index count_of(const Task& task) { return static_cast<Eigen::Index>(task.unknowns.size()); }

// Others holds the unknowns of all tasks except one, with their values and errors as their own tasks found them.
struct Others {
  std::vector<Unknown> unknowns;
  Point point;
  std::vector<double> errors;
  std::vector<Eigen::Index> columns;  // among the unknowns of all tasks
};

Others others_of(std::span<const Task> tasks, const Task& task) {
  Others others;
  Eigen::Index column = 0;
  for (const Task& other : tasks) {
    for (std::size_t i = 0; i < other.unknowns.size(); ++i, ++column) {
      if (&other == &task) continue;
      others.unknowns.push_back(other.unknowns[i]);
      others.point.push_back(other.solution.point[i]);
      others.errors.push_back(other.errors.unknowns[i].standard);
      others.columns.push_back(column);
    }
  }
  return others;
}

// Returns the slopes of the task's residuals (rows) by the others (columns), each of which is moved by its error
// towards the middle of its range.
Eigen::MatrixXd slopes_by(const Others& others, const Task& task, const PlatformText& fitted, int jobs) {
  std::vector<double> moves;
  for (std::size_t i = 0; i < others.point.size(); ++i) {
    moves.push_back(std::copysign(std::clamp(others.errors[i], least_move, 0.5), others.point[i] < 0.5 ? 1.0 : -1.0));
  }
  // Returns the residuals at the best point, then at that point with each unknown of `which` moved.
  const auto residuals_at = [&](std::span<const Measurement* const> measurements, std::span<const std::size_t> which) {
    std::vector<Point> points{others.point};
    for (const std::size_t i : which) points.emplace_back(others.point)[i] += moves[i];
    return StepResiduals(fitted, others.unknowns, measurements, jobs).at(points);
  };
  // Most unknowns do not affect what the task measures: a sample of each group of each file shows which ones do.
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  std::vector<const Measurement*> sample;
  for (const Measurement* const measurement : task.measurements) {
    if (counts[{measurement->file, measurement->group}]++ % sampled == 0) sample.push_back(measurement);
  }
  std::vector<std::size_t> heard(others.point.size());
  std::iota(heard.begin(), heard.end(), 0);
  const auto of_sample = residuals_at(sample, heard);
  std::erase_if(heard, [&of_sample](std::size_t i) { return of_sample[i + 1] == of_sample[0]; });

  const auto residuals = residuals_at(task.measurements, heard);
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(residuals.front().size()),
                                                 static_cast<Eigen::Index>(others.point.size()));
  for (std::size_t k = 0; k < heard.size(); ++k) {
    slopes.col(static_cast<Eigen::Index>(heard[k])) =
        (vector_of(residuals[k + 1]) - vector_of(residuals[0])) / moves[heard[k]];
  }
  return slopes;
}

}  // namespace

Eigen::MatrixXd join_errors(std::span<Task> tasks, const PlatformText& fitted, int jobs) {
  Eigen::Index all = 0;
  for (const Task& task : tasks) all += count_of(task);
  if (all == 0) return {};
  Eigen::MatrixXd alone = Eigen::MatrixXd::Zero(all, all);
  Eigen::MatrixXd follows = Eigen::MatrixXd::Zero(all, all);
  Eigen::Index first = 0;
  for (const Task& task : tasks) {
    const Eigen::Index count = count_of(task);
    if (count == 0) continue;
    Eigen::VectorXd errors(count);
    for (Eigen::Index i = 0; i < count; ++i) errors[i] = task.errors.unknowns[static_cast<std::size_t>(i)].standard;
    alone.block(first, first, count, count) = errors.asDiagonal() * task.errors.correlation * errors.asDiagonal();
    if (count < all) {
      const Others others = others_of(tasks, task);
      const Eigen::MatrixXd response = response_of(task.solution, task.errors, slopes_by(others, task, fitted, jobs));
      for (std::size_t i = 0; i < others.columns.size(); ++i) {
        follows.col(others.columns[i]).segment(first, count) = response.col(static_cast<Eigen::Index>(i));
      }
    }
    first += count;
  }
  const Eigen::MatrixXd passed_on = (Eigen::MatrixXd::Identity(all, all) - follows).fullPivLu().inverse();
  Eigen::MatrixXd covariance = passed_on * alone * passed_on.transpose();
  if (!covariance.allFinite()) covariance = alone;  // no step tells apart unknowns that follow each other
  const Eigen::VectorXd joint = covariance.diagonal().cwiseMax(1e-18).cwiseSqrt();

  Eigen::Index place = 0;
  for (Task& task : tasks) {
    for (std::size_t i = 0; i < task.unknowns.size(); ++i, ++place) {
      UnknownError& error = task.errors.unknowns[i];
      const double best = task.solution.point[i];
      const double wider = std::min(joint[place], uniform_error) / error.standard;
      error.low = std::max(best - wider * (best - error.low), 0.0);
      error.high = std::min(best + wider * (error.high - best), 1.0);
      error.standard *= wider;
    }
  }
  return joint.cwiseInverse().asDiagonal() * covariance * joint.cwiseInverse().asDiagonal();
}

namespace {

constexpr double normal_90 = 1.645;  // standard deviations on either side that hold 90 %
constexpr double least = 0.005;      // the least deviation to report: no measurement is more exact

std::string bytes_text(double bytes) {
  for (auto unit = sim::binary_units.rbegin(); unit != sim::binary_units.rend(); ++unit) {
    if (bytes >= unit->factor && std::fmod(bytes, unit->factor) == 0.0) {
      return fmt::format("{:.0f} {}", bytes / unit->factor, unit->name);
    }
  }
  return fmt::format("{:.0f} B", bytes);
}

struct Sized {
  std::string work;
  double smallest = 0.0;
  double largest = 0.0;
  const Measurement* measurement = nullptr;
};

// Returns the work of a trial with its sizes, without the measurement. The name of the work is empty if no spread
// applies to it: with other engines, a set number of channels, or fewer CUs or GPUs.
Sized extent_of(const study::Trial& trial, const models::PlatformSpec& platform) {
  if (const auto* const copy = std::get_if<study::CopyTrial>(&trial)) {
    const double bytes = copy->spec.bytes.value();
    return {study::fitted_name_of(copy->spec, platform), bytes, bytes};
  }
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&trial)) {
    const models::CollectiveSpec spec = study::on_gpus_of(platform, collective->spec);
    const double bytes = spec.bytes.value();
    return {spec.channels ? "" : study::fitted_name_of(spec, platform), bytes, bytes};
  }
  const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
  if (gemm == nullptr || gemm->cus.value_or(platform.gpu.cus()) != platform.gpu.cus()) return {};
  const std::array elements{gemm->shape.m * gemm->shape.k, gemm->shape.k * gemm->shape.n,
                            gemm->shape.m * gemm->shape.n};
  const auto [low, high] = std::ranges::minmax(elements);
  return {"gemm", static_cast<double>(low) * models::GemmShape::element_bytes,
          static_cast<double>(high) * models::GemmShape::element_bytes};
}

bool is_duration(study::Figure figure) {
  using study::Figure;
  static constexpr std::array figures{
      Figure::time,          Figure::kernel_time,         Figure::rate, Figure::link_rate, Figure::flop_rate,
      Figure::bus_bandwidth, Figure::over_parallel_copies};
  return std::ranges::find(figures, figure) != figures.end();
}

// Returns whether a measurement saw a duration or shares of one.
bool is_timed(const Measurement& measurement) {
  return std::ranges::any_of(measurement.seen, [](const Seen& seen) {
    return is_duration(seen.figure) || study::form_of(seen.figure).error == study::ErrorKind::points;
  });
}

// Returns the magnitudes of the residuals of durations, without outliers where these are the minority.
std::vector<double> magnitudes_of(std::span<const Observation> observed, std::span<const Observation> outliers) {
  const auto is_outlier = [&](const Observation& one) {
    return std::ranges::any_of(
        outliers, [&](const Observation& other) { return other.of == one.of && other.figure == one.figure; });
  };
  std::vector<double> all;
  std::vector<double> others;
  for (const Observation& one : observed) {
    if (!is_duration(one.figure)) continue;
    all.push_back(std::abs(one.residual()));
    if (!is_outlier(one)) others.push_back(all.back());
  }
  return 2 * others.size() > all.size() ? others : all;
}

double deviation_of(std::vector<double> magnitudes) {
  if (magnitudes.empty()) return 0.0;
  std::ranges::sort(magnitudes);
  const auto place = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(magnitudes.size()))) - 1;
  return std::max(magnitudes[place] / normal_90, least);
}

// Returns the timed work of a task by name, sorted by size. Runs by another library than the platform's are ignored.
std::map<std::string, std::vector<Sized>> by_work(const Task& task, const PlatformText& fitted) {
  const models::PlatformSpec platform = fitted.spec();
  std::map<std::vector<std::string>, bool> is_by_its_library;  // by assignments
  std::map<std::string, std::vector<Sized>> by_work;
  for (const Measurement* const measurement : task.measurements) {
    const auto [same, is_new] = is_by_its_library.try_emplace(measurement->assignments);
    if (is_new) {
      same->second = fitted.spec(measurement->assignments).gpu.gemm.library.name == platform.gpu.gemm.library.name;
    }
    if (!same->second || !is_timed(*measurement)) continue;
    Sized one = extent_of(measurement->trial, platform);
    one.measurement = measurement;
    if (!one.work.empty()) by_work[one.work].push_back(std::move(one));
  }
  for (auto& [work, sized] : by_work) std::ranges::stable_sort(sized, {}, &Sized::smallest);
  return by_work;
}

// Splits work, sorted by size, into bins of a decade each, from the smallest size on. Each bin has enough measurements
// to show how far they lie off, and equal sizes stay together. The size of a GEMM is that of its smallest matrix:
// products of few rows are farther off than square ones.
std::vector<std::span<const Sized>> bins_of(const std::vector<Sized>& sized) {
  constexpr std::size_t enough = 5;
  constexpr double decade = 10.0;
  const std::span<const Sized> all(sized);
  std::vector<std::span<const Sized>> bins;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < sized.size(); ++i) {
    const bool is_beyond = sized[i].smallest >= decade * sized[begin].smallest;
    if (!is_beyond || i - begin < enough || sized.size() - i < enough || sized[i].smallest == sized[i - 1].smallest) {
      continue;
    }
    bins.push_back(all.subspan(begin, i - begin));
    begin = i;
  }
  bins.push_back(all.subspan(begin));
  return bins;
}

}  // namespace

std::string Spread::row() const {
  const auto size = [this](double bytes) {
    return fmt::format("{{value: {}, source: {}, kind: measured}}", bytes_text(bytes), in_double_quotes(source));
  };
  std::string text =
      fmt::format("  - name: {}\n    smallest: {}\n    largest: {}\n", work, size(smallest), size(largest));
  if (deviation > 0.0) {
    text += fmt::format("    spread: {{value: {:.2g}, source: {}, kind: fitted, range: [0, 1]}}\n",
                        std::min(deviation, 1.0), in_double_quotes(source));
  }
  return text;
}

std::vector<Spread> spreads_of(const Task& task, const PlatformText& fitted, std::span<const Observation> outliers,
                               int jobs) {
  std::vector<Spread> spreads;
  for (const auto& [work, sized] : by_work(task, fitted)) {
    for (const std::span<const Sized> bin : bins_of(sized)) {
      std::vector<const Measurement*> measurements;
      for (const Sized& one : bin) measurements.push_back(one.measurement);
      const std::vector<Observation> observed = StepResiduals(fitted, {}, measurements, jobs).observations({});
      // The bins of one work adjoin: sizes between two of them were measured on either side.
      const bool is_last = &bin.back() == &sized.back();
      const double largest =
          is_last ? std::ranges::max_element(sized, {}, &Sized::largest)->largest : (&bin.back() + 1)->smallest;
      spreads.push_back(
          {work, bin.front().smallest, largest, deviation_of(magnitudes_of(observed, outliers)), task.source()});
    }
  }
  return spreads;
}

}  // namespace c3sim::calibrate
