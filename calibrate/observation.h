// One measured quantity beside what the simulator says of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/measurement.h"
#include "models/platform_spec.h"

namespace calibrate {

enum class Quantity { time, power, clock };

struct Observation {
  std::string where;  // of the measurement: file:line
  Subject subject = Subject::idle;
  Quantity quantity = Quantity::time;
  double error = 0.0;  // predicted over measured, less one
};

// Everything that the measurements observe, in their order, predicted for the platform. Throws as predict() does.
std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements);

}  // namespace calibrate
