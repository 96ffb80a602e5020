// What a fit knows of pairs of its parameters: those found from the same runs err together.
//
//   correlations:
//     - {first: gpu.power.matrix_energy, second: gpu.power.voltage_exponent,
//        correlation: {value: -0.83, source: power_steady.csv, kind: fitted, range: [-1, 1]}}
#pragma once

#include <string>
#include <vector>

#include "sim/config/config.h"

namespace c3sim::models {

// Parameters that pairs link to one another, directly or through others. Pairs that the file leaves out have none.
struct CorrelationGroup {
  std::vector<std::string> parameters;      // paths
  std::vector<std::vector<double>> matrix;  // symmetric, 1 on the diagonal, positive definite

  // The list `correlations` of a platform file; empty where there is none. Call it when all else was read: each path is
  // that of a parameter. A pair is left out of which one has no error, as a value that was replaced has none: with a
  // warning, but where that was an assignment.
  static std::vector<CorrelationGroup> read(sim::Config& config);
};

}  // namespace c3sim::models
