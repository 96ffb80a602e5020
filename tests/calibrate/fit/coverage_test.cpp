// These tests ask whether a fit knows how sure it is. Measurements are generated with known parameters and noise; over
// many seeds the true values must lie within the stated intervals as often as these say.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>

#include "calibrate/calibration.h"
#include "calibrate/fit/platform_text.h"
#include "study/play/testbed.h"
#include "tests/calibrate/shipped_files.h"
#include "tests/config_folders.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

constexpr double noise = 0.02;  // a standard deviation
constexpr int seeds = 20;

using Truth = std::map<std::string, std::string>;  // true values by parameter
using Trials = std::vector<study::Trial>;

// Returns what the platform of the truth would have measured, with log-normal noise.
Reading measured_by(study::Testbed& testbed, const Trials& trials, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> scatter(0.0, noise);
  Reading reading;
  reading.name = "simulated.csv";
  for (const study::Trial& trial : trials) {
    Measurement one{.file = reading.name, .line = static_cast<int>(reading.measurements.size()) + 1, .trial = trial};
    const bool is_gemm = std::holds_alternative<study::GemmTrial>(trial);
    const std::set<Figure> asked = is_gemm ? std::set{Figure::time, Figure::power} : std::set{Figure::time};
    for (const auto& [figure, value] : study::observe(testbed, trial, asked)) {
      if (asked.contains(figure)) one.seen.push_back({.figure = figure, .value = value * std::exp(scatter(generator))});
    }
    reading.measurements.push_back(std::move(one));
  }
  return reading;
}

// Counts for each parameter how many of the intervals, one per seed, hold the true value.
std::map<std::string, int> within_intervals(const Truth& truth, const Trials& trials) {
  std::vector<std::string> assignments;
  for (const auto& [path, value] : truth) assignments.push_back(path + "=" + value);
  study::Testbed testbed(PlatformText(h200_file, folders).spec(assignments));
  CalibrationOptions options = with_folders();
  options.jobs = 1;  // a core for each test
  std::map<std::string, int> within;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const Calibration fit = calibrate(h200_file, std::vector{measured_by(testbed, trials, seed)}, options);
    for (const FittedParameter& one : fit.parameters) {
      EXPECT_TRUE(one.identified) << one.path;
      const double value = split_unit(truth.at(one.path)).number;
      within[one.path] += split_unit(one.from).number <= value && value <= split_unit(one.to).number ? 1 : 0;
    }
  }
  EXPECT_EQ(within.size(), truth.size());
  return within;
}

// At a coverage of 95 %, fewer than 15 of 20 trials have a probability of 3e-4. Fewer than `least` over all parameters
// have a probability below 1e-3, were the parameters independent. Returns how many there are over all parameters.
int expect_coverage(const std::map<std::string, int>& within, int least) {
  int all = 0;
  for (const auto& [path, times] : within) {
    std::cout << path << ": " << times << " of " << seeds << "\n";
    EXPECT_GE(times, 15) << path;
    all += times;
  }
  EXPECT_GE(all, least);
  return all;
}

// The measurements of either test tell nothing of the other's parameters: as two tests they can run concurrently.
TEST(FullCoverage, OfLaunchesCopiesAndStreamsIsAsOftenAsTheirIntervalsSay) {
  Trials trials(6, study::EmptyKernelTrial{});
  for (const double bytes : {4.0, 64.0, 1024.0, 2048.0, 16384.0, 131072.0, 524288.0, 1048576.0}) {
    const study::CopyTrial copy{{.bytes = sim::Bytes(bytes * 1024.0)}};
    trials.emplace_back(copy);
    if (bytes > 1024.0) continue;
    for (const int peers : {2, 5, 7}) trials.emplace_back(study::FanOutTrial{peers, copy.spec.bytes});
  }
  for (const double gigabytes : {3.0, 6.0, 12.0}) {
    for (const auto& [read, written] : {std::pair{1, 0}, std::pair{0, 1}, std::pair{2, 1}, std::pair{1, 1}}) {
      trials.emplace_back(study::StreamTrial{read, written, sim::Bytes(gigabytes * 1e9)});
    }
  }
  const Truth truth{{"host.kernel_launch", "9.3 us"},           {"fabric.link_rate", "381 GB/s"},
                    {"gpu.sdma.transfer_latency", "6.1 us"},    {"host.command_write", "3.7 us"},
                    {"gpu.memory.hbm.read_efficiency", "0.79"}, {"gpu.memory.hbm.write_efficiency", "0.84"},
                    {"gpu.memory.hbm.turnaround", "0.31"}};
  // If all 140 held the truth, which has a probability of 0.08 %, the intervals would be too wide.
  EXPECT_LT(expect_coverage(within_intervals(truth, trials), 124), 140);
}

TEST(FullCoverage, OfGemmsAndTheirPowerIsAsOftenAsTheirIntervalsSay) {
  Trials trials;
  for (const std::int64_t side : {4096, 16384}) {
    for (const int cus : {16, 66, 132}) trials.emplace_back(study::GemmTrial{{side, side, 8192}, cus});
  }
  const Truth truth{{"gpu.power.matrix_energy", "0.61 pJ/flop"},
                    {"gpu.power.voltage_exponent", "2.1"},
                    {"gpu.gemm.libraries[0].efficiency", "0.83"}};
  expect_coverage(within_intervals(truth, trials), 51);  // of 60
}

}  // namespace
}  // namespace c3sim::calibrate
