#include "models/platform/concurrent_spread.h"

namespace c3sim::models {

ConcurrentSpread ConcurrentSpread::read(sim::Section section) {
  ConcurrentSpread spread;
  spread.kernels_beside_channels = section.number("kernels_beside_channels", 0.0, 1.0);
  spread.kernels_beside_engines = section.number("kernels_beside_engines", 0.0, 1.0);
  spread.channels_beside_kernels = section.number("channels_beside_kernels", 0.0, 1.0);
  spread.engines_beside_kernels = section.number("engines_beside_kernels", 0.0, 1.0);
  return spread;
}

}  // namespace c3sim::models
