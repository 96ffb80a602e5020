// Reads how the errors of fitted parameters correlate, as parameters that were fitted to the same runs err together.
//
//   correlations:
//     - {first: gpu.power.matrix_energy, second: gpu.power.voltage_exponent,
//        correlation: {value: -0.83, source: power_steady.csv, kind: fitted, range: [-1, 1]}}
#pragma once

#include <string>
#include <vector>

#include "sim/config/config.h"

namespace c3sim::models {

// A group holds parameters that pairs link directly or through others. Pairs that the file omits are uncorrelated.
struct CorrelationGroup {
  std::vector<std::string> parameters;      // paths of the parameters
  std::vector<std::vector<double>> matrix;  // symmetric, 1 on the diagonal, positive definite

  // Reads the list `correlations` of a platform file, which may be absent, after everything else was read. Each path
  // must name a parameter. A pair is left out if one of its parameters has no error or its list has no such row; a
  // warning tells so unless an assignment or a file that extends the pair's file replaced the value or list.
  static std::vector<CorrelationGroup> read(sim::Config& config);
};

}  // namespace c3sim::models
