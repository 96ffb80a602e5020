// Many runs of the same, summed up: a trace holds thousands of which a comparison wants the middle and the spread.
#pragma once

#include <vector>

namespace c3sim::calibrate {

struct Percentiles {
  double median = 0.0;
  double low = 0.0, high = 0.0;  // 10th and 90th percentile
};

// Of at least one value; study/report/statistics.h says what percentiles are.
Percentiles percentiles_of(std::vector<double> values);

// When work was on a GPU, in seconds since any moment.
struct Stay {
  int gpu = 0;
  double begin = 0.0, end = 0.0;
};
// Of each, whether other work was on its GPU for more than a hundredth of its time: so much of it was not alone. Clocks
// of traces are rounded, so that work that follows may seem to begin too early.
std::vector<bool> is_beside_others(const std::vector<Stay>& stays);

}  // namespace c3sim::calibrate
