// Which isolated measurements identify which parameters, on any machine.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

struct Step {
  std::string_view name;  // of its group of measurements: what the `source` of its parameters will say
  std::vector<std::string_view> parameters;
  bool (*takes)(const Measurement&);
};

// In the order in which they are fitted: what is launched after its launch, collectives after the links they use.
std::span<const Step> steps();

}  // namespace c3sim::calibrate
