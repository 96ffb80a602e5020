#include "sim/loaded_latency.h"

#include <algorithm>
#include <cmath>

namespace c3sim::sim {

namespace {
// Whole exponents, the usual ones, by multiplication: cheaper, and the same on every machine to the last bit.
double power(double base, double exponent) {
  if (exponent != std::floor(exponent) || exponent > 8.0) return std::pow(base, exponent);
  double product = 1.0;
  for (double factors = 0.0; factors < exponent; ++factors) product *= base;
  return product;
}
}  // namespace

Seconds LoadedLatency::at(double utilisation) const {
  const double load = std::min(1.0, utilisation / full_at);
  const double queue = power(load, exponent) / (1.0 - std::min(load, ceiling));
  return to_seconds(unloaded) * (1.0 + factor * queue) + load * to_seconds(busy);
}

}  // namespace c3sim::sim
