// What repetitions come to.
#pragma once

#include <cstddef>
#include <vector>

namespace c3sim::measure {

struct Summary {
  double median = 0.0;
  double low = 0.0;   // 10th percentile
  double high = 0.0;  // 90th percentile
  std::size_t count = 0;
};

// Between neighbours percentiles are interpolated. All is 0 where there is no value.
Summary summarize(std::vector<double> values);

}  // namespace c3sim::measure
