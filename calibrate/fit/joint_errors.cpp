#include "calibrate/fit/joint_errors.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/fit/step_residuals.h"

namespace c3sim::calibrate {

namespace {

constexpr double least_move = 0.02;      // a clock governor's tolerance makes less noise
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

// Of the task's residuals (rows) by the others: differences over an error, towards the middle of the range.
Eigen::MatrixXd slopes_by(const Others& others, const Task& task, const PlatformText& fitted, int jobs) {
  std::vector<Point> points{others.point};
  std::vector<double> moves;
  for (std::size_t i = 0; i < others.point.size(); ++i) {
    const double size = std::clamp(others.errors[i], least_move, 0.5);
    moves.push_back(others.point[i] < 0.5 ? size : -size);
    points.push_back(others.point);
    points.back()[i] += moves.back();
  }
  StepResiduals simulated(fitted, others.unknowns, task.measurements, jobs);
  const std::vector<std::vector<double>> residuals = simulated.at(points);
  Eigen::MatrixXd slopes(static_cast<Eigen::Index>(residuals.front().size()), static_cast<Eigen::Index>(moves.size()));
  for (Eigen::Index column = 0; column < slopes.cols(); ++column) {
    const auto i = static_cast<std::size_t>(column);
    for (Eigen::Index row = 0; row < slopes.rows(); ++row) {
      const auto place = static_cast<std::size_t>(row);
      slopes(row, column) = (residuals[i + 1][place] - residuals[0][place]) / moves[i];
    }
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
