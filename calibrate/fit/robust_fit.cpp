#include "calibrate/fit/robust_fit.h"

#include <ceres/ceres.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/check.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::calibrate {

namespace {

constexpr double difference = 0.02;
constexpr double first_loss_scale = 0.3;
constexpr double least_loss_scale = 0.05;
constexpr int most_iterations = 50;

// The points of a slope lie on both sides of a point, or one of them is that point, whose residuals are known anyway.
enum class Around { both_sides, one_side };

// Returns `at` and, for each unknown, a point below and one above it, `difference` apart and within the box.
std::vector<Point> points_around(const Point& at, Around around) {
  std::vector<Point> points{at};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool has_room = at[i] + difference <= 1.0;
    const double below = around == Around::both_sides ? difference / 2.0 : has_room ? 0.0 : difference;
    const double low = at[i] - below;
    points.resize(points.size() + 2, at);
    points[1 + 2 * i][i] = std::max(low, 0.0);
    points[2 + 2 * i][i] = std::min(low + difference, 1.0);
  }
  return points;
}

// Returns slopes, residuals by unknowns, from the residuals at points that points_around() returned.
Eigen::MatrixXd slopes_between(const std::vector<Point>& points, const std::vector<std::vector<double>>& residuals) {
  const std::size_t unknowns = points.front().size();
  Eigen::MatrixXd slopes(static_cast<Eigen::Index>(residuals.front().size()), static_cast<Eigen::Index>(unknowns));
  for (std::size_t i = 0; i < unknowns; ++i) {
    const double width = points[2 + 2 * i][i] - points[1 + 2 * i][i];
    slopes.col(static_cast<Eigen::Index>(i)) =
        (vector_of(residuals[2 + 2 * i]) - vector_of(residuals[1 + 2 * i])) / width;
  }
  return slopes;
}

// An Evaluation computes residuals and slopes at the solver's point, for all rows at once.
class Evaluation final : public ceres::EvaluationCallback {
 public:
  Evaluation(const Residuals& residuals, std::vector<double>& point) : residuals_(residuals), point_(point) {}

  void PrepareForEvaluation(bool wants_slopes, bool is_new_point) final {
    if (!is_new_point && (!wants_slopes || has_slopes_)) return;
    const std::vector<Point> points =
        wants_slopes ? points_around(point_, Around::one_side) : std::vector<Point>{point_};
    const std::vector<std::vector<double>> all = residuals_(points);
    has_slopes_ = wants_slopes;
    here_ = all.front();
    if (has_slopes_) slopes_ = slopes_between(points, all);
  }

  const std::vector<double>& here() const { return here_; }
  const Eigen::MatrixXd& slopes() const { return slopes_; }

 private:
  const Residuals& residuals_;
  std::vector<double>& point_;  // the solver changes it
  std::vector<double> here_;
  Eigen::MatrixXd slopes_;
  bool has_slopes_ = false;
};

// A Row presents one row of an evaluation to the solver.
class Row final : public ceres::CostFunction {
 public:
  Row(const Evaluation& evaluation, std::size_t row, std::size_t unknowns) : evaluation_(evaluation), row_(row) {
    set_num_residuals(1);
    mutable_parameter_block_sizes()->push_back(static_cast<int>(unknowns));
  }

  bool Evaluate(const double* const* /*point*/, double* residual, double** slopes) const final {
    *residual = evaluation_.here()[row_];
    if (slopes == nullptr || slopes[0] == nullptr) return true;
    const auto row = evaluation_.slopes().row(static_cast<Eigen::Index>(row_));
    std::copy(row.begin(), row.end(), slopes[0]);
    return true;
  }

 private:
  const Evaluation& evaluation_;
  std::size_t row_;
};

std::vector<std::size_t> sizes_of_kinds(std::span<const FitRow> rows) {
  std::vector<std::size_t> sizes;
  for (const FitRow& row : rows) {
    if (row.kind >= sizes.size()) sizes.resize(row.kind + 1, 0);
    ++sizes[row.kind];
  }
  return sizes;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the standard deviation of each kind from the median of its residuals' magnitudes, of which a normal
// distribution has 1.4826 in a standard deviation, but at least the noise of most of its rows.
std::vector<double> spread_of_kinds(const std::vector<double>& residuals, std::span<const FitRow> rows) {
  std::vector<std::vector<double>> magnitudes(sizes_of_kinds(rows).size());
  std::vector<std::vector<double>> noise(magnitudes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    magnitudes[rows[i].kind].push_back(std::abs(residuals[i]));
    noise[rows[i].kind].push_back(rows[i].noise);
  }
  std::vector<double> spread;
  for (std::size_t kind = 0; kind < magnitudes.size(); ++kind) {
    spread.push_back(std::max(median(noise[kind]), 1.4826 * median(magnitudes[kind])));
  }
  return spread;
}

// Solves from `start`; `scales` are the widths of the loss by kind.
Solution solve(const Residuals& residuals, std::span<const FitRow> rows, Point start,
               const std::vector<double>& scales) {
  Solution solution{.point = std::move(start), .residuals = {}, .weights = {}, .spread = {}, .report = {}};
  Evaluation evaluation(residuals, solution.point);
  ceres::Problem::Options ownership;
  ownership.evaluation_callback = &evaluation;
  ceres::Problem problem(ownership);
  const std::size_t unknowns = solution.point.size();
  const std::vector<std::size_t> sizes = sizes_of_kinds(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t kind = rows[i].kind;
    auto* const loss = new ceres::ScaledLoss(new ceres::CauchyLoss(scales[kind]),
                                             1.0 / static_cast<double>(sizes[kind]), ceres::TAKE_OWNERSHIP);
    problem.AddResidualBlock(new Row(evaluation, i, unknowns), loss, solution.point.data());
  }
  for (std::size_t i = 0; i < unknowns; ++i) {
    problem.SetParameterLowerBound(solution.point.data(), static_cast<int>(i), 0.0);
    problem.SetParameterUpperBound(solution.point.data(), static_cast<int>(i), 1.0);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = most_iterations;
  options.function_tolerance = 1e-5;
  options.parameter_tolerance = 1e-4;
  options.gradient_tolerance = 1e-12;
  // The line search shortens steps that the box cuts off by costs alone: slopes at every try would cost a simulation
  // for each unknown.
  options.line_search_interpolation_type = ceres::QUADRATIC;
  options.max_num_line_search_step_size_iterations = 5;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  solution.converged = summary.termination_type == ceres::CONVERGENCE;
  solution.report = summary.message;
  solution.cost = summary.final_cost;
  solution.residuals = residuals(std::span(&solution.point, 1)).front();
  solution.weights.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double over = solution.residuals[i] / scales[rows[i].kind];
    solution.weights[i] = 1.0 / (1.0 + over * over) / static_cast<double>(sizes[rows[i].kind]);
  }
  return solution;
}

std::vector<double> loss_scales(std::vector<double> spread) {
  for (double& one : spread) one = std::max(3.0 * one, least_loss_scale);
  return spread;
}

double wide_cost(const std::vector<double>& residuals, std::span<const FitRow> rows,
                 const std::vector<std::size_t>& sizes) {
  double cost = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double over = residuals[i] / first_loss_scale;
    cost += std::log1p(over * over) / static_cast<double>(sizes[rows[i].kind]);
  }
  return cost;
}

}  // namespace

Solution refined(const Residuals& residuals, std::span<const FitRow> rows, const Solution& solution) {
  SIM_CHECK(rows.size() >= solution.point.size());
  Solution refined = solve(residuals, rows, solution.point, loss_scales(solution.spread));
  refined.spread = spread_of_kinds(refined.residuals, rows);
  return refined;
}

Solution robust_fit(const Residuals& residuals, std::span<const FitRow> rows, std::span<const Point> starts) {
  SIM_CHECK(!starts.empty() && rows.size() >= starts.front().size());
  const auto is_better = [](const Solution& one, const Solution& other) {
    return one.converged != other.converged ? one.converged : one.cost < other.cost;
  };
  std::vector<double> scales(sizes_of_kinds(rows).size(), first_loss_scale);
  std::vector<Solution> valleys;
  for (const Point& start : starts) valleys.push_back(solve(residuals, rows, start, scales));
  // One width for all valleys: under a narrower loss of its own, one with many outliers would seem cheap.
  scales = loss_scales(spread_of_kinds(std::ranges::min_element(valleys, is_better)->residuals, rows));
  for (Solution& valley : valleys) valley = solve(residuals, rows, std::move(valley.point), scales);
  Solution best = *std::ranges::min_element(valleys, is_better);
  best.spread = spread_of_kinds(best.residuals, rows);
  return best;
}

Solution robust_fit_of_several(const Residuals& residuals, std::span<const FitRow> rows, std::size_t unknowns,
                               std::size_t solved_starts) {
  SIM_CHECK(rows.size() >= unknowns && unknowns > 0);
  const std::size_t drawn = std::max(2 * unknowns + 2, solved_starts);
  const study::LatinHypercube hypercube(drawn, 1);
  std::vector<Point> starts(1 + drawn, Point(unknowns, 0.5));
  for (std::size_t unknown = 0; unknown < unknowns; ++unknown) {
    const std::vector<double> numbers = hypercube.dimension(std::to_string(unknown));
    for (std::size_t start = 0; start < drawn; ++start) starts[1 + start][unknown] = numbers[start];
  }
  const std::vector<std::vector<double>> at = residuals(starts);
  const std::vector<std::size_t> sizes = sizes_of_kinds(rows);
  std::vector<double> costs;
  for (const std::vector<double>& one : at) costs.push_back(wide_cost(one, rows, sizes));
  std::vector<std::size_t> order(starts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&costs](std::size_t start) { return costs[start]; });
  std::vector<Point> promising;
  for (std::size_t i = 0; i < std::min(order.size(), solved_starts); ++i) promising.push_back(starts[order[i]]);
  return robust_fit(residuals, rows, promising);
}

double cost_of(const std::vector<double>& residuals, const std::vector<double>& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < residuals.size(); ++i) sum += weights[i] * residuals[i] * residuals[i];
  return sum / 2.0;
}

namespace {

constexpr double normal_95 = 1.96;
constexpr double most_misled = 1.5;
constexpr double regularisation = 1e-9;  // share of a matrix's trace that is added to its diagonal
constexpr double at_face = 1e-3;
constexpr std::size_t folds = 5;

// Returns the information matrix, regularised so that it can be inverted even if all slopes are 0.
Eigen::MatrixXd information(const Eigen::MatrixXd& slopes, const Eigen::VectorXd& weights) {
  Eigen::MatrixXd matrix = slopes.transpose() * weights.asDiagonal() * slopes;
  matrix.diagonal().array() += 1e-12 + regularisation * matrix.trace();
  return matrix;
}

// Returns the point after a Gauss-Newton step, clamped to the box.
Point stepped(Point point, const Eigen::MatrixXd& slopes, const Eigen::VectorXd& weights,
              const std::vector<double>& residuals) {
  const Eigen::VectorXd downhill = -slopes.transpose() * weights.cwiseProduct(vector_of(residuals));
  const Eigen::VectorXd step = information(slopes, weights).ldlt().solve(downhill);
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] = std::clamp(point[i] + step[static_cast<Eigen::Index>(i)], 0.0, 1.0);
  }
  return point;
}

// Returns variances of rows: that of their kind, corrected for the unknowns' degrees of freedom, but at least the
// noise.
Eigen::VectorXd variances(const Solution& solution, std::span<const FitRow> rows) {
  const double all = static_cast<double>(rows.size());
  const double left = all - static_cast<double>(solution.point.size());
  std::vector<double> squares(solution.spread.size(), 0.0);
  std::vector<double> weights(solution.spread.size(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    squares[rows[i].kind] += solution.weights[i] * solution.residuals[i] * solution.residuals[i];
    weights[rows[i].kind] += solution.weights[i];
  }
  Eigen::VectorXd of(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t kind = rows[i].kind;
    const double seen = left > 0.0 && weights[kind] > 0.0 ? squares[kind] / weights[kind] * all / left : 0.0;
    of[static_cast<Eigen::Index>(i)] = std::max(seen, rows[i].noise * rows[i].noise);
  }
  return of;
}

// A Rise returns how far the cost rises above the solution's if one unknown has a given value and all others are fitted
// to it: they follow the ridge that slopes predict, then take Gauss-Newton steps with the slopes of the solution as
// long as these help.
using Rise = std::function<double(double value)>;

Rise profile_of(const Solution& solution, const Residuals& residuals, std::size_t unknown,
                const Eigen::MatrixXd& slopes, const Eigen::MatrixXd& inverse) {
  return [&, unknown](double value) {
    constexpr int most_steps = 3;
    const auto evaluate = [&](const Point& point) { return residuals(std::span(&point, 1)).front(); };
    const auto at = static_cast<Eigen::Index>(unknown);
    Eigen::MatrixXd slopes_of_others = slopes;
    slopes_of_others.col(at).setZero();
    Point point = solution.point;
    const double moved = value - point[unknown];
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double share = inverse(static_cast<Eigen::Index>(i), at) / inverse(at, at);
      point[i] = i == unknown ? value : std::clamp(point[i] + share * moved, 0.0, 1.0);
    }
    std::vector<double> here = evaluate(point);
    double cost = cost_of(here, solution.weights);
    for (int step = 0; step < most_steps && point.size() > 1; ++step) {
      Point next = stepped(point, slopes_of_others, vector_of(solution.weights), here);
      next[unknown] = point[unknown];
      std::vector<double> there = evaluate(next);
      const double new_cost = cost_of(there, solution.weights);
      if (new_cost > cost * (1.0 - 1e-3)) break;
      point = std::move(next);
      here = std::move(there);
      cost = new_cost;
    }
    return cost - cost_of(solution.residuals, solution.weights);
  };
}

// Returns how far from `best`, towards `end`, the profile rises to `height`, or the whole way if it does not. The
// search begins at `first` and doubles the distance, then interpolates: the root of the rise is nearly a line.
double distance_to(const Rise& rise_at, double best, double end, double height, double first) {
  constexpr double close = 0.02;  // of the height, which is 1 % of the distance
  constexpr int most_looks = 5;
  const double way = std::abs(end - best);
  const double side = end > best ? 1.0 : -1.0;
  const double goal = std::sqrt(height);
  const auto root_of_rise = [&](double distance) { return std::sqrt(std::max(rise_at(best + side * distance), 0.0)); };
  double low = 0.0;
  double at_low = 0.0;
  double high = std::min(std::max(first, 1e-4), way);
  double at_high = high > 0.0 ? root_of_rise(high) : goal;
  while (at_high < goal) {
    if (high >= way) return way;
    low = high;
    at_low = at_high;
    high = std::min(2.0 * high, way);
    at_high = root_of_rise(high);
  }
  for (int look = 0; look < most_looks; ++look) {
    // The clamp keeps off both ends, from which a line would creep where the profile is bent.
    const double share = std::clamp((goal - at_low) / std::max(at_high - at_low, 1e-30), 0.1, 0.9);
    const double between = low + share * (high - low);
    const double there = root_of_rise(between);
    if (std::abs(there / goal - 1.0) < close / 2.0) return between;
    (there < goal ? low : high) = between;
    (there < goal ? at_low : at_high) = there;
  }
  return (low + high) / 2.0;
}

// Returns whether the cost's rise on either side, within the range, is off what slopes predict by over `most_misled`.
bool slopes_mislead(const Rise& rise_at, double best, double standard, double variance) {
  for (const double side : {-1.0, 1.0}) {
    const double value = std::clamp(best + side * 2.0 * standard, 0.0, 1.0);
    const double moved = std::abs(value - best);
    if (moved < standard / 2.0) continue;
    const double promised = moved * moved / variance / 2.0;
    const double rise = rise_at(value);
    if (rise < promised / most_misled || rise > promised * most_misled) return true;
  }
  return false;
}

}  // namespace

FitErrors errors_of(const Solution& solution, const Residuals& residuals, std::span<const FitRow> rows) {
  FitErrors errors;
  const std::vector<Point> around = points_around(solution.point, Around::both_sides);
  errors.slopes = slopes_between(around, residuals(around));
  const Eigen::MatrixXd& slopes = errors.slopes;
  const Eigen::VectorXd weights = vector_of(solution.weights);
  const Eigen::MatrixXd inverse =
      information(slopes, weights).ldlt().solve(Eigen::MatrixXd::Identity(slopes.cols(), slopes.cols()));
  const Eigen::VectorXd middle = weights.cwiseProduct(weights).cwiseProduct(variances(solution, rows));
  Eigen::MatrixXd scatter = slopes.transpose() * middle.asDiagonal() * slopes;
  // An unknown that no row shows is as vague as the regularisation of its information, not known exactly.
  scatter.diagonal().array() += regularisation * std::max(scatter.trace(), 1e-30);
  const Eigen::MatrixXd covariance = inverse * scatter * inverse;

  const Eigen::VectorXd deviations = covariance.diagonal().cwiseMax(1e-18).cwiseSqrt();
  errors.correlation = deviations.cwiseInverse().asDiagonal() * covariance * deviations.cwiseInverse().asDiagonal();
  for (std::size_t i = 0; i < solution.point.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double best = solution.point[i];
    UnknownError error;
    error.standard = deviations[at];
    error.at_limit = best < at_face || best > 1.0 - at_face;
    error.low = std::max(best - normal_95 * error.standard, 0.0);
    error.high = std::min(best + normal_95 * error.standard, 1.0);
    const Rise profile = profile_of(solution, residuals, i, slopes, inverse);
    const bool known = inverse(at, at) > 0.0 && error.standard < 1.0;
    error.by_profile = known && (error.at_limit || slopes_mislead(profile, best, error.standard, inverse(at, at)));
    if (error.by_profile) {
      const double reach = normal_95 * error.standard;
      const double height = reach * reach / inverse(at, at) / 2.0;
      error.low = best - distance_to(profile, best, 0.0, height, reach);
      error.high = best + distance_to(profile, best, 1.0, height, reach);
      error.standard = std::max((error.high - error.low) / 2.0 / normal_95, 1e-9);
      const auto is_flat_to = [&](double end) {
        return std::abs(end - best) > at_face && profile(end) < UnknownError::hardly * height;
      };
      error.is_open = (error.low <= 0.0 && is_flat_to(0.0)) || (error.high >= 1.0 && is_flat_to(1.0));
      error.height = height;
    }
    errors.unknowns.push_back(error);
  }
  return errors;
}

Eigen::MatrixXd response_of(const Solution& solution, const FitErrors& errors, const Eigen::MatrixXd& slopes) {
  Eigen::MatrixXd own = errors.slopes;
  for (std::size_t i = 0; i < errors.unknowns.size(); ++i) {
    if (errors.unknowns[i].at_limit) own.col(static_cast<Eigen::Index>(i)).setZero();
  }
  const Eigen::VectorXd weights = vector_of(solution.weights);
  return -information(own, weights).ldlt().solve(own.transpose() * weights.asDiagonal() * slopes);
}

std::vector<double> held_out_residuals(const Solution& solution, const FitErrors& errors, const Residuals& residuals,
                                       std::span<const FitRow> rows) {
  const auto unknowns = solution.point.size();
  if (rows.size() < 2 * folds || rows.size() - (rows.size() + folds - 1) / folds < unknowns) return {};
  std::vector<std::size_t> fold(rows.size());
  std::vector<std::size_t> seen(solution.spread.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) fold[i] = seen[rows[i].kind]++ % folds;

  std::vector<Point> points;
  for (std::size_t one = 0; one < folds; ++one) {
    Eigen::VectorXd weights = vector_of(solution.weights);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (fold[i] == one) weights[static_cast<Eigen::Index>(i)] = 0.0;
    }
    points.push_back(stepped(solution.point, errors.slopes, weights, solution.residuals));
  }
  const std::vector<std::vector<double>> all = residuals(points);
  std::vector<double> held_out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) held_out[i] = all[fold[i]][i];
  return held_out;
}

}  // namespace c3sim::calibrate
