// Offers bounded robust least squares for functions that cost simulations to evaluate and are smooth only at large
// scale, and the uncertainty of solutions: standard errors and correlations from slopes, likelihood profiles where
// slopes mislead, and the residuals of rows held out of a fit. Ceres does the search; callers decide how the functions
// are evaluated.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace c3sim::calibrate {

using Point = std::vector<double>;  // coordinates of unknowns, from 0 to 1: the ends of their ranges

// Returns equally many residuals for each point: logarithms of predicted over measured, or differences of shares.
using Residuals = std::function<std::vector<std::vector<double>>(std::span<const Point> points)>;

inline Eigen::Map<const Eigen::VectorXd> vector_of(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

// A FitRow describes a residual before the fit.
struct FitRow {
  std::size_t kind = 0;  // rows of one kind hold the same quantity of the same sort of run
  double noise = 0.0;    // standard deviation between repetitions of the measurement
};

struct Solution {
  Point point;
  std::vector<double> residuals;
  std::vector<double> weights;  // by row: near 0 for outliers, else about 1 over the number of rows of its kind
  std::vector<double> spread;   // by kind: standard deviation of the residuals, outliers aside
  double cost = 0.0;            // half the weighted sum of squares
  bool converged = false;
  std::string report;  // message of the solver, one line
};

// Returns the point of the box with the least sum of losses that the Levenberg-Marquardt method finds from any of
// `starts`. Every kind weighs the same, however many rows it has. The loss is Cauchy's, log(1 + (r/c)^2): rows with
// residuals beyond c lose influence. c is 0.3 at first, then three times the spread of the kind at the best point so
// far, but at least 0.05; it is the same from every start, as costs could not be compared otherwise. Slopes are
// differences over 1/50 of the box, since a clock governor's tolerance makes finer ones noise. The result is
// deterministic. There must be at least as many rows as unknowns.
Solution robust_fit(const Residuals& residuals, std::span<const FitRow> rows, std::span<const Point> starts);

// Fits again from a solution, whose spread sets the width of the loss; the residuals should have changed little.
Solution refined(const Residuals& residuals, std::span<const FitRow> rows, const Solution& solution);

// Fits from the `solved_starts` most promising of several points, which spread over the box and include its middle.
Solution robust_fit_of_several(const Residuals& residuals, std::span<const FitRow> rows, std::size_t unknowns,
                               std::size_t solved_starts = 2);

// An UnknownError is the uncertainty of a fitted unknown, in shares of its range.
struct UnknownError {
  double standard = 0.0;  // standard error
  double low = 0.0;       // begin of the 95 % interval
  double high = 0.0;      // end of the 95 % interval, within the range
  bool by_profile = false;
  bool at_limit = false;  // the best value is an end of the range
  bool is_open = false;   // all values from the best one to an end of the range are hardly worse
  double height = 0.0;    // how far the cost rises at the ends of the interval

  // A cost is hardly worse that has risen by this share of `height`: what tells values apart is larger.
  static constexpr double hardly = 0.1;

  // Returns whether the measurements say no more than the range alone: a uniform distribution over the range has this
  // standard deviation, and 95 % of it lie in that share of the range.
  bool says_nothing() const { return standard > 0.288 || high - low > 0.95; }
};

struct FitErrors {
  std::vector<UnknownError> unknowns;
  Eigen::MatrixXd correlation;
  Eigen::MatrixXd slopes;  // of residuals (rows) by unknowns (columns), from differences over 1/50 of the box
};

// Returns the errors of a solution by White's sandwich estimator (Econometrica 48, 1980), in which rows of a kind share
// one variance: that of their residuals, but at least their noise. An unknown gets its interval and error from its
// likelihood profile if it ended at a limit, or if its cost two standard errors away, with all others fitted anew, is
// more than a factor of 1.5 off what slopes predict. That interval ends where the cost rises as far as at the ends of a
// normal 95 % interval.
FitErrors errors_of(const Solution& solution, const Residuals& residuals, std::span<const FitRow> rows);

// Returns half the weighted sum of squares.
double cost_of(const std::vector<double>& residuals, const std::vector<double>& weights);

// Returns how far a solution's unknowns (rows) move, to first order, when something else moves its residuals with these
// slopes (rows: residuals). An unknown at a limit stays there.
Eigen::MatrixXd response_of(const Solution& solution, const FitErrors& errors, const Eigen::MatrixXd& slopes);

// Returns the residuals of each row under parameters that its fold, a fifth of the rows, does not influence: one
// Gauss-Newton step from the solution over the other rows. Every fifth row of a kind is in a fold. Returns nothing with
// fewer than ten rows, or where a fold would leave fewer rows than unknowns.
std::vector<double> held_out_residuals(const Solution& solution, const FitErrors& errors, const Residuals& residuals,
                                       std::span<const FitRow> rows);

}  // namespace c3sim::calibrate
