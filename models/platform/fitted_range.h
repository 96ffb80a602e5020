// Which isolated work a platform's parameters were fitted to, and over which sizes: what a prediction can lean on.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

struct FittedRange {
  std::string work;  // "copy", "sdma_all_gather", "rccl_all_reduce"
  sim::Bytes smallest;
  sim::Bytes largest;
  // Relative standard deviation of measured over predicted times of this work: the model's own error, which no
  // parameter explains. 0 where the file does not say.
  double spread = 0.0;

  // The list `fitted_to` of a platform file; empty where there is none.
  static std::vector<FittedRange> read(sim::Section root);
};

}  // namespace c3sim::models
