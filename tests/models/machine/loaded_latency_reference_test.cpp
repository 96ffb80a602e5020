// How well does the law of loaded latency, with the factor of the H200's platform file, describe what was measured
// there?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/loaded_latency.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

struct Point {
  double rate;
  double latency_ns;
};

// By what streamed beside the chain of pointers: reads or copies.
std::map<std::string, std::vector<Point>> measured() {
  std::map<std::string, std::vector<Point>> points;
  for (const auto& cells : reference_cells("loaded_latency.csv", "h200x8")) {
    if (cells[0] == "memory") points[cells[1]].push_back({std::stod(cells[4]), std::stod(cells[5])});
  }
  return points;
}

// Utilisation is of the highest rate that such a stream reaches, as the model's capacities are. At a full memory the
// law is 1 + 0.08 * 18 = 2.4 times the unloaded latency, measured 2.4 beside reads and 3.3 beside copies. Below, it is
// low beside copies, where HBM turns from reads to writes long before it is full, and from 0.94 on 40 % high beside
// reads.
TEST(LoadedLatencyOfTheH200, LiesWithinTwoFifthsOfEveryMeasurement) {
  const MemorySpec memory = h200().gpu.memory;
  const sim::LoadedLatency law{memory.hbm_latency, memory.queueing_factor};
  for (const auto& [traffic, points] : measured()) {
    const double full =
        std::ranges::max_element(points, [](const Point& a, const Point& b) { return a.rate < b.rate; })->rate;
    double sum = 0.0;
    for (const Point& point : points) {
      const double error = law.at(point.rate / full).value() * 1e9 / point.latency_ns - 1.0;
      EXPECT_LT(std::abs(error), 0.42) << traffic << " at " << point.rate << " GB/s: " << point.latency_ns << " ns";
      sum += std::abs(error);
    }
    EXPECT_LT(sum / static_cast<double>(points.size()), 0.17) << traffic;
  }
}

}  // namespace
}  // namespace c3sim::models
