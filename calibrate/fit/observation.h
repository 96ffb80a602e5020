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
  std::string group;      // of its table, for people
  std::string_view kind;  // of its trial: "gemm", "collective by kernels"
  study::Figure figure = study::Figure::time;
  double size = 0.0;   // of the trial: bytes, or operations of a GEMM; 0 where it has none
  double error = 0.0;  // predicted over measured, less one; of shares the difference
  double noise = 0.0;  // how far a repetition may lie off: a standard deviation, in the same terms

  // What fits make small: the logarithm of predicted over measured; of shares the difference.
  double residual() const;
};

// Noise of measurements that do not say how far their repetitions lie apart: as collectives do on the H200s that were
// measured several times (repeatability.csv).
inline constexpr double usual_noise = 0.02;

// Everything that the measurements observe and the model has, in their order, predicted for the platform. Equal trials
// run once. Throws sim::ConfigError, with the measurement's place, where the platform cannot run one.
std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements);

}  // namespace c3sim::calibrate
