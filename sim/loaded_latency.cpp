#include "sim/loaded_latency.h"

#include <algorithm>

#include "sim/powers.h"

namespace c3sim::sim {

Seconds LoadedLatency::at(double utilisation) const {
  const double load = std::min(1.0, utilisation / full_at);
  const double queue = power(load, exponent) / (1.0 - std::min(load, ceiling));
  return to_seconds(unloaded) * (1.0 + factor * queue) + load * to_seconds(busy);
}

}  // namespace c3sim::sim
