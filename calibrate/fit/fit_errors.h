// How sure a fit is: standard errors and correlations from its slopes, likelihood profiles where these mislead, and the
// errors of rows that a fit has not seen.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "calibrate/fit/robust_fit.h"

namespace c3sim::calibrate {

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

// Of a solution: the sandwich of White (Econometrica 48, 1980), in which rows of a kind share one variance, that of
// their residuals and at least their noise. An unknown whose cost, two standard errors away and with all others fitted
// anew, is more than 1.5 times off what slopes promise, or that ended at a limit, gets its interval and error from
// its profile: where the cost has risen as far as it does at the ends of a normal interval of 95 %.
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
