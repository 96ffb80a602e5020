// The model's own error, by work and size.
#include "calibrate/fit/spread.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/config_folders.h"

namespace c3sim::calibrate {
namespace {

// All-gathers by RCCL from 128 KiB on, in a bin of their own, each measured as much longer than predicted.
class SpreadOfGathers : public testing::Test {
 protected:
  double deviation(const std::vector<double>& longer, const std::vector<std::size_t>& outliers) {
    std::vector<Measurement> measurements;
    for (std::size_t i = 0; i < longer.size(); ++i) {
      study::CollectiveTrial trial;
      trial.spec.bytes = sim::Bytes(131072.0 * static_cast<double>(i + 1));
      trial.spec.gpus = 8;
      study::Testbed testbed(fitted_.spec());
      Measurement& one = measurements.emplace_back();
      one.trial = trial;
      one.file = "gathers.csv";
      one.line = static_cast<int>(i) + 2;
      const double predicted = study::observe(testbed, trial, {study::Figure::time}).at(study::Figure::time);
      one.seen.push_back({.figure = study::Figure::time, .value = predicted * longer[i]});
    }
    Task task;
    for (const Measurement& one : measurements) task.measurements.push_back(&one);
    task.step = &steps().front();
    std::vector<Observation> left_out;
    for (const std::size_t row : outliers)
      left_out.push_back({.where = measurements[row].where(), .group = "", .kind = ""});
    const std::vector<Spread> spreads = spreads_of(task, fitted_, left_out, 1);
    EXPECT_EQ(spreads.size(), 1U);
    return spreads.front().deviation;
  }
  PlatformText fitted_{C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", folders};
};

// Nine tenths of a normal distribution lie within 1.645 standard deviations: of six rows the sixth counts.
TEST_F(SpreadOfGathers, IsOfRowsThatTheFitListenedTo) {
  const std::vector<double> longer{1.02, 0.98, 1.01, 1.02, 3.0, 1.01};
  EXPECT_NEAR(deviation(longer, {}), std::log(3.0) / 1.645, 1e-6);
  EXPECT_NEAR(deviation(longer, {4}), std::log(1.0 / 0.98) / 1.645, 1e-6) << "-ln 0.98 is more than ln 1.02";
}

TEST_F(SpreadOfGathers, IsOfAllRowsWhereMostAreOutliers) {
  EXPECT_NEAR(deviation({3.0, 3.0, 1.0}, {0, 1}), std::log(3.0) / 1.645, 1e-6);
}

}  // namespace
}  // namespace c3sim::calibrate
