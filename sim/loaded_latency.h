// LoadedLatency tells how long a request takes through a resource that other requests load.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/units.h"

namespace c3sim::sim {

// power() and root() compute usual powers and roots cheaper than std::pow, with the same bits on every machine: whole
// exponents up to 8 are multiplied out, the second and the fourth root are square roots.
inline double power(double base, double exponent) {
  if (exponent > 8.0 || exponent < 0.0) return std::pow(base, exponent);
  const int factors = static_cast<int>(exponent);
  if (exponent != factors) return std::pow(base, exponent);
  double product = 1.0;
  for (int i = 0; i < factors; ++i) product *= base;
  return product;
}

inline double root(double value, double degree) {
  if (degree == 2.0) return std::sqrt(value);
  if (degree == 4.0) return std::sqrt(std::sqrt(value));
  return std::pow(value, 1.0 / degree);
}

// The latency is unloaded * (1 + factor * u^exponent / (1 - min(u, ceiling))) + busy * u, where u is utilisation /
// full_at, at most 1. The first part is the mean wait of a queue (Kleinrock, Queueing Systems I, section 5.7: u / (1 -
// u) of a service time, up to a factor), cut off where finite buffers hold requests back at their source; it is
// increasing, continuous and finite at u = 1. The second part is the mean wait of a request that arrives at a random
// moment, while batches, each taking 2 busy to serve, occupy a share u of the time. A full resource adds a wait that
// depends on what others keep in flight rather than on its load: LoadedFairShare computes it.
struct LoadedLatency {
  Time unloaded{0};
  double factor = 0.0;    // >= 0; 0: no queueing term
  double exponent = 2.0;  // >= 1
  double ceiling = 0.95;  // in [0, 1)
  Time busy{0};           // >= 0
  double full_at = 1.0;   // in (0, 1]; below 1: latency reaches its maximum before the capacity is reached
  bool backlog = false;   // whether requests queue behind those in flight once the resource is full

  bool depends_on_load() const { return (unloaded > Time(0) && factor > 0.0) || busy > Time(0) || backlog; }
  // Returns the latency at a `utilisation` in [0, 1].
  Seconds at(double utilisation) const {
    const double load = std::min(1.0, utilisation / full_at);
    const double queue = power(load, exponent) / (1.0 - std::min(load, ceiling));
    return to_seconds(unloaded) * (1.0 + factor * queue) + load * to_seconds(busy);
  }
};

}  // namespace c3sim::sim
