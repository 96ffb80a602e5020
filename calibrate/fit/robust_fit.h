// Bounded robust least squares for functions that cost simulations to evaluate and are smooth only in the large, and
// how sure its solutions are: standard errors and correlations from slopes, likelihood profiles where these mislead,
// and the errors of rows that a fit has not seen. Ceres does the search; where the functions are evaluated, on how many
// cores, is their own affair.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace c3sim::calibrate {

using Point = std::vector<double>;  // of the unit box: an unknown from one end of its range to the other

// Of each point its residuals: predicted over measured, in logarithms, or in points. As many at every point.
using Residuals = std::function<std::vector<std::vector<double>>(std::span<const Point> points)>;

inline Eigen::Map<const Eigen::VectorXd> vector_of(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

// What is known of a residual before the fit.
struct FitRow {
  std::size_t kind = 0;  // rows of a kind are of the same quantity of the same sort of run
  double noise = 0.0;    // its standard deviation if the measurement were made again
};

struct Solution {
  Point point;
  std::vector<double> residuals;
  std::vector<double> weights;  // of rows: what the loss leaves of each, near 0 for outliers, over the rows of its kind
  std::vector<double> spread;   // of kinds: standard deviation of their residuals, outliers aside
  double cost = 0.0;            // half the weighted sum of squares
  bool converged = false;
  std::string report;  // of the solver, one line
};

// The point of the box with the least sum of losses, searched for from `start` by the method of Levenberg and
// Marquardt in a trust region. Every kind weighs the same, however many rows it has. The loss is Cauchy's, log(1 +
// (r/c)^2): from c on, three times the spread of the kind but at least 0.05, a row loses its say. Slopes are
// differences over 1/50 of the box: a clock governor's tolerance makes finer ones noise. Deterministic. At least as
// many rows as unknowns are due.
Solution robust_fit(const Residuals& residuals, std::span<const FitRow> rows, Point start);

// The same again from a solution, whose spread tells the width of the loss: for residuals that changed little.
Solution refined(const Residuals& residuals, std::span<const FitRow> rows, const Solution& solution);

// The same from several points that spread over the box, its middle among them: the best solution of those that start
// from the most promising ones.
Solution robust_fit_of_several(const Residuals& residuals, std::span<const FitRow> rows, std::size_t unknowns,
                               std::size_t solved_starts = 2);

// Of residuals (rows) by unknowns (columns), by differences of the same width around the point.
Eigen::MatrixXd slopes_at(const Point& point, const Residuals& residuals);

// All in shares of the range of the unknown.
struct UnknownError {
  double standard = 0.0;  // error
  double low = 0.0;       // where the interval of 95 % begins ...
  double high = 0.0;      // ... and ends, within the range
  bool by_profile = false;
  bool at_limit = false;  // the best value is where the range ends

  // A range alone, with nothing measured, says as much: a uniform distribution has that standard deviation, and 95 % of
  // it in that share of the range.
  bool says_nothing() const { return standard > 0.288 || high - low > 0.95; }
};

struct FitErrors {
  std::vector<UnknownError> unknowns;
  Eigen::MatrixXd correlation;
  Eigen::MatrixXd slopes;  // at the solution: slopes_at
};

// Tells the errors of a solution by the sandwich of White (Econometrica 48, 1980), in which rows of a kind share one
// variance, that of their residuals and at least their noise. An unknown whose cost, two standard errors away and with
// all others fitted anew, is more than 1.5 times off what slopes promise, or that ended at a limit, gets its interval
// and error from its profile: where the cost has risen as far as it does at the ends of a normal interval of 95 %.
FitErrors errors_of(const Solution& solution, const Residuals& residuals, std::span<const FitRow> rows);

// How far a solution (rows: its unknowns) moves when something else moves its residuals with these slopes (rows:
// residuals), to first order. An unknown at a limit stays there.
Eigen::MatrixXd response_of(const Solution& solution, const FitErrors& errors, const Eigen::MatrixXd& slopes);

// Residuals of each row from parameters that its fifth of the rows had no part in: the solution moved by one step of
// Gauss and Newton over the others. Every fifth row of a kind is in a fold. Empty with fewer than ten rows, or where
// a fold would leave fewer rows than unknowns.
std::vector<double> held_out_residuals(const Solution& solution, const FitErrors& errors, const Residuals& residuals,
                                       std::span<const FitRow> rows);

}  // namespace c3sim::calibrate
