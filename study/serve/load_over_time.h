// What waited, ran and lay in the cache over the time of a whole run, in little memory: means over intervals of equal
// length, which doubles as often as there would be more of them than can be shown.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.h"

namespace c3sim::study {

struct LoadSample {
  double waiting = 0.0;  // requests
  double running = 0.0;
  double cache = 0.0;  // share of the blocks

  auto operator<=>(const LoadSample&) const = default;
};

class LoadOverTime {
 public:
  static constexpr std::size_t most = 256;  // intervals

  // For so long there was that, beside what else is added for the same time.
  void add(sim::Time from, sim::Time to, const LoadSample& load);
  sim::Time interval() const { return interval_; }
  // The means over the intervals from the start, the last of which the run may have left half empty.
  std::vector<LoadSample> samples() const;

 private:
  sim::Time interval_ = std::chrono::milliseconds(1);
  std::vector<LoadSample> sums_;  // times seconds
};

}  // namespace c3sim::study
