// Bounded non-linear least squares, for functions that cost a simulation to evaluate and are smooth only in the large.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace c3sim::calibrate {

// Of a point in the unit box, as many residuals at every point.
using Residuals = std::function<std::vector<double>(std::span<const double> point)>;

// The point of the box [0, 1]^n with the least sum of squares that the method of Levenberg and Marquardt finds from
// `start`, its steps cut off at the faces. Derivatives are differences over 1/50 of the box: a clock governor's
// tolerance makes finer ones noise. Deterministic. At least as many residuals as unknowns are due.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start);

}  // namespace c3sim::calibrate
