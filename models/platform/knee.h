// How sharply a roofline bends, as platform files have it: see models::Bend.
#pragma once

#include <string_view>

#include "sim/config/config_section.h"

namespace c3sim::models {

// 0, the slower of two counts alone, unless the file says otherwise; no bend is wider than of one behind the other.
inline double read_knee(sim::Section& section, std::string_view key) {
  const double knee = section.number(key, 0.0, 100.0, 0.0);
  if (knee > 0.0 && knee < 1.0) {
    section.fault(key, "lies between 0 and 1: 0, a roofline without a bend, is accepted, or numbers from 1");
  }
  return knee;
}

}  // namespace c3sim::models
