// A parameter that a fit looks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/robust_fit.h"

namespace c3sim::calibrate {

struct Unknown {
  sim::Parameter parameter;  // as the base has it
  std::string unit;          // of its range
  double low = 0.0;
  double high = 0.0;
  std::string shown_by;  // the measurements that tell it from others
  std::string library;   // whose GEMMs alone depend on it; empty: all work may

  // Throws sim::ConfigError where the range has not the unit of the value; of bytes it may have another.
  static Unknown of(const sim::Parameter& parameter);

  double number_at(double share) const { return low + share * (high - low); }
  // "396.1 GB/s", with as many digits as a simulation tells apart, or as the error, in shares of the range, leaves.
  // Bytes are whole.
  std::string at(double share) const;
  std::string at(double share, double error) const;
  std::string error_text(double error) const;
};

}  // namespace c3sim::calibrate
