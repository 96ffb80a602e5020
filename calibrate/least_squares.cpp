#include "calibrate/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "sim/check.h"

namespace c3sim::calibrate {

namespace {

constexpr double difference = 0.02;
constexpr int most_iterations = 30;
constexpr double least_gain = 1e-4;  // of the sum of squares, to go on
constexpr double most_damping = 1e6;
constexpr double first_damping = 1e-3;

Eigen::VectorXd evaluate(const Residuals& residuals, const Eigen::VectorXd& point) {
  const std::vector<double> values = residuals({point.data(), static_cast<std::size_t>(point.size())});
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

Eigen::MatrixXd jacobian(const Residuals& residuals, const Eigen::VectorXd& point, const Eigen::VectorXd& here) {
  Eigen::MatrixXd slopes(here.size(), point.size());
  for (Eigen::Index i = 0; i < point.size(); ++i) {
    Eigen::VectorXd beside = point;
    const double step = point[i] + difference <= 1.0 ? difference : -difference;
    beside[i] += step;
    slopes.col(i) = (evaluate(residuals, beside) - here) / step;
  }
  return slopes;
}

// Rows and columns of unknowns that sit at a face and would leave the box are taken out of the step.
Eigen::VectorXd damped_step(const Eigen::MatrixXd& slopes, const Eigen::VectorXd& here, const Eigen::VectorXd& point,
                            double damping) {
  const Eigen::VectorXd downhill = -slopes.transpose() * here;
  Eigen::MatrixXd normal = slopes.transpose() * slopes;
  normal.diagonal() *= 1.0 + damping;
  Eigen::VectorXd target = downhill;
  for (Eigen::Index i = 0; i < point.size(); ++i) {
    const bool held = (point[i] <= 0.0 && downhill[i] < 0.0) || (point[i] >= 1.0 && downhill[i] > 0.0);
    if (!held && normal(i, i) > 0.0) continue;
    normal.row(i).setZero();
    normal.col(i).setZero();
    normal(i, i) = 1.0;
    target[i] = 0.0;
  }
  return normal.ldlt().solve(target);
}

}  // namespace

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start) {
  Eigen::VectorXd point = Eigen::Map<Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
  Eigen::VectorXd here = evaluate(residuals, point);
  SIM_CHECK(here.size() >= point.size());
  double damping = first_damping;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    const Eigen::MatrixXd slopes = jacobian(residuals, point, here);
    const double before = here.squaredNorm();
    for (; damping <= most_damping; damping *= 10.0) {
      const Eigen::VectorXd next = (point + damped_step(slopes, here, point, damping)).cwiseMax(0.0).cwiseMin(1.0);
      const Eigen::VectorXd there = evaluate(residuals, next);
      if (there.squaredNorm() >= before) continue;
      point = next;
      here = there;
      break;
    }
    if (here.squaredNorm() > (1.0 - least_gain) * before) break;
    damping = std::max(damping / 10.0, 1e-9);
  }
  return {point.data(), point.data() + point.size()};
}

}  // namespace c3sim::calibrate
