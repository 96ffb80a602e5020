// How far CUs come apart by the end of a kernel: in closed form, and beside what workgroups of GEMMs wrote down on an
// H200.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "models/dispatcher.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace models {
namespace {

using sim::operator""_us;

constexpr sim::Time workgroup_time = 1000_us;

struct Run {
  int cus = 8;  // of one XCD
  int per_cu = 1;
  int workgroups = 8;
  double time_spread = 0.0;
};

// When each workgroup of a kernel ends that is alone on the GPU, in order, in times of a workgroup.
std::vector<double> ends(const Run& run) {
  sim::Simulator simulator;
  Dispatcher dispatcher(simulator, {}, 1, run.cus, round_cu(), "gpu");
  KernelSpec kernel;
  kernel.name = "gemm";
  kernel.workgroups = run.workgroups;
  kernel.workgroup = part_of_cu(run.per_cu);
  kernel.time_spread = run.time_spread;
  std::vector<double> seen;
  const auto work = [&simulator, &seen](const Cohort& cohort) -> sim::Task<> {
    co_await simulator.delay(sim::to_time((1.0 + cohort.lateness) * sim::to_seconds(workgroup_time)));
    seen.insert(seen.end(), static_cast<std::size_t>(cohort.size()),
                sim::to_seconds(simulator.now()) / sim::to_seconds(workgroup_time));
  };
  CohortBody body = [&work](const Cohort& cohort) { return work(cohort); };
  simulator.spawn("gemm", dispatcher.run(kernel, body));
  simulator.run();
  return seen;
}

double deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const auto add = [mean](double sum, double value) { return sum + (value - mean) * (value - mean); };
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, add) / count);
}

TEST(EndOfAKernel, IsTheSameForAllCusThatAreAlike) {
  EXPECT_EQ(ends({8, 1, 16, 0.0}), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}));
}

// Three waves, of which only the last comes apart: by three times 1 %, times the places of eight equal parts of a
// normal distribution.
TEST(EndOfAKernel, ComesApartInProportionToTheWaves) {
  const std::vector<double> seen = ends({8, 1, 24, 0.01});
  EXPECT_DOUBLE_EQ(seen[15], 2.0);
  const std::vector<double> late{-1.534, -0.887, -0.489, -0.157, 0.157, 0.489, 0.887, 1.534};
  for (std::size_t i = 0; i < late.size(); ++i) EXPECT_NEAR(seen[16 + i], 3.0 + 0.03 * late[i], 1e-9);
}

// After so many waves that CUs end at any moment of a workgroup's time, no more.
TEST(EndOfAKernel, ComesApartByNoMoreThanAWorkgroup) {
  const std::vector<double> seen = ends({8, 1, 8000, 0.01});
  EXPECT_NEAR(seen.back() - seen[7992], 2.0 * 1.534 / std::sqrt(12.0), 1e-9);
}

// Ten workgroups on eight CUs: the first eight are not alone to the end, as two of them are followed by another.
TEST(EndOfAKernel, LeavesAWaveTogetherThatOthersFollow) {
  const std::vector<double> seen = ends({8, 1, 10, 0.01});
  EXPECT_DOUBLE_EQ(seen[0], 1.0);
  EXPECT_DOUBLE_EQ(seen[7], 1.0);
  EXPECT_LT(seen[8], seen[9]);
}

// Two to a CU run apart, so that the last to be placed are a second cohort: what is left then goes to the first.
TEST(EndOfAKernel, SpreadsEveryCohortOfTheLastWave) {
  const std::vector<double> seen = ends({8, 2, 16, 0.01});
  EXPECT_NEAR(seen.front(), 1.0 - 0.01534, 1e-9);
  EXPECT_EQ(std::ranges::count_if(seen, [](double end) { return end < 1.0; }), 8);
}

struct Tile {
  std::string n;  // tiles are 128 x n
  int per_cu;
  double time_spread;
};

// Over the ends of all places for a workgroup, after 1 to 64 waves. Every figure within a factor of three, which the
// measurements of one kernel already differ by; what grows a hundredfold with waves and kernels is followed.
TEST(EndOfAKernel, IsWhatTheH200Shows) {
  const std::vector<GemmKernelSpec> mi300x_kernels = mi300x().gpu.gemm.kernels;
  const std::vector<Tile> tiles{{"256", 1, h200().gpu.gemm.kernels.front().time_spread},
                                {"128", 2, mi300x_kernels[1].time_spread},
                                {"64", 3, mi300x_kernels[0].time_spread}};
  for (const Tile& tile : tiles) {
    std::map<int, std::vector<double>> measured;  // by waves
    for (const auto& cells : reference_cells("workgroup_times.csv", "h200x8")) {
      if (cells[1] == tile.n) measured[std::stoi(cells[2])].push_back(std::stod(cells[10]));
    }
    ASSERT_EQ(measured.size(), 4u);
    for (const auto& [waves, spreads] : measured) {
      constexpr int cus = 132;
      std::vector<double> last = ends({cus, tile.per_cu, cus * tile.per_cu * waves, tile.time_spread});
      last.erase(last.begin(), last.end() - cus * tile.per_cu);
      const double mean = std::accumulate(spreads.begin(), spreads.end(), 0.0) / static_cast<double>(spreads.size());
      EXPECT_GT(deviation(last) / mean, 1.0 / 3.0) << "128x" << tile.n << ", waves " << waves;
      EXPECT_LT(deviation(last) / mean, 3.0) << "128x" << tile.n << ", waves " << waves;
    }
  }
}

}  // namespace
}  // namespace models
