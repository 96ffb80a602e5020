#include "calibrate/fit/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config_error.h"
#include "study/run/platform_file.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;
using ::testing::HasSubstr;

models::PlatformSpec h200() { return study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", {}).spec; }

Measurement measurement(study::Trial trial, std::map<Figure, double> seen) {
  Measurement row;
  row.file = "f.csv";
  row.line = 7;
  row.trial = std::move(trial);
  for (const auto& [figure, value] : seen) row.seen.push_back({.figure = figure, .value = value});
  return row;
}

TEST(Observation, IsPredictedOverMeasuredLessOne) {
  study::Testbed testbed(h200());
  const study::CopyTrial copy{{0, 1, sim::Bytes(1e6), {}}};
  const double time = study::observe(testbed, copy, {Figure::time}).at(Figure::time);
  // Measured half as long: the prediction is 100 % too long. Twice as long: 50 % too short.
  const Measurement half = measurement(copy, {{Figure::time, time / 2.0}});
  const Measurement twice = measurement(copy, {{Figure::time, time * 2.0}});
  const std::vector<const Measurement*> both{&half, &twice};
  const std::vector<Observation> observations = observe(h200(), both);
  ASSERT_EQ(observations.size(), 2u);
  EXPECT_DOUBLE_EQ(observations[0].error, 1.0);
  EXPECT_DOUBLE_EQ(observations[1].error, -0.5);
  EXPECT_EQ(observations[0].where, "f.csv:7");
  EXPECT_EQ(observations[0].kind, "copy");
}

TEST(Observation, LeavesOutFiguresThatTheModelHasNot) {
  const Measurement rest = measurement(study::RestTrial{}, {{Figure::power, 100.0}, {Figure::flop_rate, 1.0}});
  const std::vector<const Measurement*> one{&rest};
  const std::vector<Observation> observations = observe(h200(), one);
  ASSERT_EQ(observations.size(), 1u);
  EXPECT_EQ(observations[0].figure, Figure::power);
}

TEST(Observation, OfASharesIsTheDifferenceInPoints) {
  study::Testbed testbed(h200());
  const study::CopyTrial copy{{0, 1, sim::Bytes(1e6), {}}};
  const double share = study::observe(testbed, copy, {Figure::copy_share}).at(Figure::copy_share);
  const Measurement row = measurement(copy, {{Figure::copy_share, share - 0.1}});
  const std::vector<const Measurement*> one{&row};
  const std::vector<Observation> observations = observe(h200(), one);
  ASSERT_EQ(observations.size(), 1u);
  EXPECT_NEAR(observations[0].error, 0.1, 1e-12);
  EXPECT_NEAR(observations[0].residual(), 0.1, 1e-12);
}

// A normal distribution has 2.563 deviations between its 10th and 90th percentile.
TEST(Observation, HasTheNoiseOfItsRepetitions) {
  Measurement row = measurement(study::CopyTrial{{0, 1, sim::Bytes(1e6), {}}}, {{Figure::time, 1e-5}});
  const std::vector<const Measurement*> one{&row};
  EXPECT_DOUBLE_EQ(observe(h200(), one)[0].noise, usual_noise);
  row.seen[0].low = 0.9e-5;
  row.seen[0].high = 1.1e-5;
  EXPECT_NEAR(observe(h200(), one)[0].noise, 0.2 / 2.563, 1e-9);
}

TEST(Observation, NamesTheRowThatThePlatformCannotRun) {
  const Measurement gemm = measurement(study::GemmTrial{.shape = {64, 64, 64}, .cus = 133},  // of 132 SMs
                                       {{Figure::time, 1.0}});
  const std::vector<const Measurement*> one{&gemm};
  try {
    observe(h200(), one);
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("f.csv:7: "));
    EXPECT_THAT(error.what(), HasSubstr("1 to 132"));
  }
}

}  // namespace
}  // namespace c3sim::calibrate
