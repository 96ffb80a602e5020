// One measured figure beside what the simulator says of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "models/platform/platform_spec.h"

namespace c3sim::calibrate {

struct Observation {
  std::string where;      // of the measurement: file:line
  std::string_view kind;  // of its trial: "gemm", "collective by kernels"
  study::Figure figure = study::Figure::time;
  double error = 0.0;  // predicted over measured, less one
};

// Everything that the measurements observe and the model has, but for shares, in their order, predicted for the
// platform. Throws sim::ConfigError, with the measurement's place, where the platform cannot run one.
std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements);

}  // namespace c3sim::calibrate
