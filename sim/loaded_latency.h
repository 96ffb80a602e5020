// How long a request takes through a resource that others load.
#pragma once

#include "sim/units.h"

namespace c3sim::sim {

// Latency at utilisation u, counted as u / full_at, at most 1: unloaded * (1 + factor * u^exponent / (1 - min(u,
// ceiling))) + busy * u. The first part is the mean wait of a queue (Kleinrock, Queueing Systems I, section 5.7: u / (1
// - u) of a service time, up to a factor), cut off where finite buffers hold requests back at their source: increasing,
// continuous, finite at u = 1. The second part is what a request waits on average that comes at any moment, where a
// share u of the time goes to requests that came together and take 2 busy to serve. Where a resource is full, requests
// wait besides for what others keep under way there: that is no function of its load, and LoadedFairShare finds it.
struct LoadedLatency {
  Time unloaded{0};
  double factor = 0.0;    // >= 0; 0: latency does not depend on load
  double exponent = 2.0;  // >= 1
  double ceiling = 0.95;  // in [0, 1)
  Time busy{0};           // >= 0
  double full_at = 1.0;   // in (0, 1]; below 1: a capacity wider than what latency follows
  bool backlog = false;   // whether requests wait behind what is under way once the resource is full

  bool depends_on_load() const { return (unloaded > Time(0) && factor > 0.0) || busy > Time(0) || backlog; }
  // `utilisation` is in [0, 1].
  Seconds at(double utilisation) const;
};

}  // namespace c3sim::sim
