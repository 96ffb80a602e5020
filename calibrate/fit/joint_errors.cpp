#include "calibrate/fit/joint_errors.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/fit/step_residuals.h"

namespace c3sim::calibrate {

namespace {

constexpr double least_move = 0.02;      // a clock governor's tolerance makes less noise
constexpr std::size_t sampled = 16;      // one row in so many
constexpr double uniform_error = 0.289;  // of what is known to lie within its range, and no more

Eigen::Index count_of(const Task& task) { return static_cast<Eigen::Index>(task.unknowns.size()); }

// Unknowns of all tasks but one, each where it was found, and how sure its task is of it.
struct Others {
  std::vector<Unknown> unknowns;
  Point point;
  std::vector<double> errors;
  std::vector<Eigen::Index> columns;  // among the unknowns of all
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

// Towards the middle of its range, by its error.
double move_of(const Others& others, std::size_t i) {
  const double size = std::clamp(others.errors[i], least_move, 0.5);
  return others.point[i] < 0.5 ? size : -size;
}

// The best point, and then for each of these unknowns that point with it moved.
std::vector<Point> moved(const Others& others, std::span<const std::size_t> which) {
  std::vector<Point> points{others.point};
  for (const std::size_t i : which) points.emplace_back(others.point)[i] += move_of(others, i);
  return points;
}

// Some measurements of each sort of every file.
std::vector<const Measurement*> sample_of(const Task& task) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  std::vector<const Measurement*> sample;
  for (const Measurement* const measurement : task.measurements) {
    if (counts[{measurement->file, measurement->group}]++ % sampled == 0) sample.push_back(measurement);
  }
  return sample;
}

// Those that have a say in what the task measures: most have none, which a sample of its rows tells.
std::vector<std::size_t> heard(const Others& others, const Task& task, const PlatformText& fitted, int jobs) {
  std::vector<std::size_t> all(others.point.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<const Measurement*> sample = sample_of(task);
  const auto residuals = StepResiduals(fitted, others.unknowns, sample, jobs).at(moved(others, all));
  std::erase_if(all, [&residuals](std::size_t i) { return residuals[i + 1] == residuals[0]; });
  return all;
}

// Of the task's residuals (rows) by the others.
Eigen::MatrixXd slopes_by(const Others& others, const Task& task, const PlatformText& fitted, int jobs) {
  const std::vector<std::size_t> which = heard(others, task, fitted, jobs);
  const auto residuals = StepResiduals(fitted, others.unknowns, task.measurements, jobs).at(moved(others, which));
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(residuals.front().size()),
                                                 static_cast<Eigen::Index>(others.point.size()));
  for (std::size_t k = 0; k < which.size(); ++k) {
    slopes.col(static_cast<Eigen::Index>(which[k])) =
        (vector_of(residuals[k + 1]) - vector_of(residuals[0])) / move_of(others, which[k]);
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
  if (!covariance.allFinite()) covariance = alone;  // unknowns that follow each other alike: no step tells them apart
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

}  // namespace c3sim::calibrate
