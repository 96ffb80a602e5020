// How far operations were off their predictions when they ran at once with others: relative standard deviations beyond
// those alone, learnt from measured concurrent runs. No prediction follows from them, only how wide its interval is.
#pragma once

#include "sim/config/config_section.h"

namespace c3sim::models {

struct ConcurrentSpread {
  double kernels_beside_channels = 0.0;  // GEMMs and element-wise kernels beside a collective by kernels
  double kernels_beside_engines = 0.0;   // beside copies by engines
  double channels_beside_kernels = 0.0;
  double engines_beside_kernels = 0.0;

  bool any() const {
    return kernels_beside_channels + kernels_beside_engines + channels_beside_kernels + engines_beside_kernels > 0.0;
  }
  static ConcurrentSpread read(sim::Section section);
};

}  // namespace c3sim::models
