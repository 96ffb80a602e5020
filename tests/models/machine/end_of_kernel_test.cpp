// How far CUs come apart by the end of a kernel: in closed form, and beside what workgroups of GEMMs wrote down on an
// H200.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "models/machine/dispatcher.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

constexpr sim::Time workgroup_time = 1000_us;

struct Run {
  int cus = 8;  // of one XCD
  int per_cu = 1;
  int workgroups = 8;
  double time_spread = 0.0;
};

// Runs a kernel that has the GPU to itself, and shows every cohort and, in times of a workgroup, when it ended.
template <class See>
void each_cohort(const Run& run, See see) {
  sim::Simulator simulator;
  Dispatcher dispatcher(simulator, {}, 1, run.cus, round_cu(), "gpu");
  KernelSpec kernel;
  kernel.name = "gemm";
  kernel.workgroups = run.workgroups;
  kernel.workgroup = part_of_cu(run.per_cu);
  kernel.time_spread = run.time_spread;
  const auto work = [&simulator, &see](const Cohort& cohort) -> sim::Task<> {
    co_await simulator.delay(sim::to_time((1.0 + cohort.lateness) * sim::to_seconds(workgroup_time)));
    see(cohort, sim::to_seconds(simulator.now()) / sim::to_seconds(workgroup_time));
  };
  CohortBody body = [&work](const Cohort& cohort) { return work(cohort); };
  simulator.spawn("gemm", dispatcher.run(kernel, body));
  simulator.run();
}

// When each workgroup ends, in order.
std::vector<double> ends(const Run& run) {
  std::vector<double> seen;
  each_cohort(run, [&seen](const Cohort& cohort, double end) {
    seen.insert(seen.end(), static_cast<std::size_t>(cohort.size()), end);
  });
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

// Three waves, of which only the last comes apart, by three times 1 %: as many CUs are early as late.
TEST(EndOfAKernel, ComesApartInProportionToTheWaves) {
  const std::vector<double> seen = ends({8, 1, 24, 0.01});
  EXPECT_DOUBLE_EQ(seen[15], 2.0);
  const std::vector<double> last(seen.end() - 8, seen.end());
  EXPECT_NEAR(std::accumulate(last.begin(), last.end(), 0.0) / 8.0, 3.0, 1e-9);
  EXPECT_NEAR(deviation(last), 0.03, 1e-4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(3.0 - last[i], last[7 - i] - 3.0, 1e-9);
}

// After so many waves that CUs end at any moment of a workgroup's time, no more.
TEST(EndOfAKernel, ComesApartByNoMoreThanAWorkgroup) {
  const std::vector<double> seen = ends({8, 1, 8000, 0.01});
  EXPECT_NEAR(deviation({seen.end() - 8, seen.end()}), 1.0 / std::sqrt(12.0), 1e-4);
}

// Ten workgroups on eight CUs: the first eight are not alone to the end, as two of them are followed by another.
TEST(EndOfAKernel, LeavesAWaveTogetherThatOthersFollow) {
  const std::vector<double> seen = ends({8, 1, 10, 0.01});
  EXPECT_DOUBLE_EQ(seen[0], 1.0);
  EXPECT_DOUBLE_EQ(seen[7], 1.0);
  EXPECT_LT(seen[8], 2.0);
  EXPECT_NEAR(seen[8] + seen[9], 4.0, 1e-9);
}

// Two to a CU are two cohorts, and both have nothing behind them.
TEST(EndOfAKernel, SpreadsEveryCohortOfTheLastWave) {
  const std::vector<double> seen = ends({8, 2, 16, 0.01});
  EXPECT_NEAR(deviation(seen), 0.01, 1e-4);
  EXPECT_DOUBLE_EQ(seen[0], seen[1]);
}

RC_GTEST_PROP(EndOfAKernel, ComesNoEarlierForMoreWork, ()) {
  Run run;
  run.cus = *rc::gen::inRange(1, 50);
  run.workgroups = *rc::gen::inRange(1, 400);
  run.time_spread = *rc::gen::inRange(0, 200) / 1000.0;
  const double end = ends(run).back();
  run.workgroups += 1;
  RC_ASSERT(ends(run).back() >= end - 1e-9);
}

RC_GTEST_PROP(EndOfAKernel, TakesNothingFromTheWork, ()) {
  Run run;
  run.cus = *rc::gen::inRange(1, 50);
  run.per_cu = *rc::gen::inRange(1, 4);
  run.workgroups = *rc::gen::inRange(1, 400);
  const auto work_of = [](const Run& one) {
    double work = 0.0;
    each_cohort(one, [&work](const Cohort& cohort, double) { work += cohort.size() * (1.0 + cohort.lateness); });
    return work;
  };
  const double alike = work_of(run);
  run.time_spread = *rc::gen::inRange(1, 1000) / 1000.0;
  RC_ASSERT(std::abs(work_of(run) / alike - 1.0) < 1e-9);
}

struct Tile {
  std::string n;  // tiles are 128 x n
  int per_cu;
  double time_spread;
};

// Over the ends of all places for a workgroup. The spread of one wave is what the platform files took; what becomes of
// it after more is the law's. Up to 16 waves within a factor of three, where it grows eightfold or to its limit. With
// one workgroup to an SM it then grows more slowly than the law: after 64 waves that is five times high.
TEST(EndOfAKernel, IsWhatTheH200Shows) {
  const std::vector<Tile> tiles{{"256", 1, h200().gpu.gemm.library.time_spread},
                                {"128", 2, mi300x().gpu.gemm.library.time_spread}};
  for (const Tile& tile : tiles) {
    std::map<int, std::vector<double>> measured;  // by waves
    for (const auto& cells : reference_cells("workgroup_times.csv", "h200x8")) {
      if (cells[1] == tile.n) measured[std::stoi(cells[2])].push_back(std::stod(cells[10]));
    }
    ASSERT_EQ(measured.size(), 4u);
    for (const auto& [waves, spreads] : measured) {
      constexpr int cus = 132;
      const std::vector<double> seen = ends({cus, tile.per_cu, cus * tile.per_cu * waves, tile.time_spread});
      const double predicted = deviation({seen.end() - cus * tile.per_cu, seen.end()});
      const double mean = std::accumulate(spreads.begin(), spreads.end(), 0.0) / static_cast<double>(spreads.size());
      EXPECT_GT(predicted / mean, 1.0 / 3.0) << "128x" << tile.n << ", waves " << waves;
      EXPECT_LT(predicted / mean, waves <= 16 ? 3.0 : 5.5) << "128x" << tile.n << ", waves " << waves;
    }
  }
}

}  // namespace
}  // namespace c3sim::models
