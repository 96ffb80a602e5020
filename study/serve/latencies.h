// Quantiles of any number of times in little memory: counts of times that lie within 0.1 % of each other.
#pragma once

#include <cstdint>
#include <map>

#include "sim/units.h"

namespace c3sim::study {

class Latencies {
 public:
  static constexpr double largest_error = 0.0005;  // of a quantile, relative

  void add(sim::Time time);  // 0 at least
  std::int64_t count() const { return count_; }
  sim::Time mean() const;                  // exact; 0 of none
  sim::Time quantile(double share) const;  // the least that so many times do not exceed (0 < share <= 1); 0 of none

 private:
  std::map<int, std::int64_t> counts_;  // by place on a logarithmic scale; some 15 thousand for a microsecond to a day
  std::int64_t count_ = 0;
  double sum_ = 0.0;  // seconds
};

}  // namespace c3sim::study
