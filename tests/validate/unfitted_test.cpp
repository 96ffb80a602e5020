#include "validate/unfitted.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/validate/cases.h"

namespace c3sim::validate {
namespace {

Case predicted_as(double factor, study::Trial trial = all_gather(1e6)) {
  Case one = measured(1e-3, factor * 1e-3);
  one.role = calibrate::Role::predict;
  one.machine.platform = "p";
  one.trial = std::move(trial);
  return one;
}

// Factors of 1.01 to 1.20, half of them too short, beside a power, a fitted row and another GPU, which do not count:
// the median of their logarithms lies between those of 1.10 and 1.11, at 0.09983. A normal distribution has half within
// 0.6745 and nine in ten within 1.6449 standard deviations: 0.24346.
TEST(UnfittedErrors, NineInTenStayWithinTheFactor) {
  std::vector<Case> cases;
  for (int i = 1; i <= 20; ++i) cases.push_back(predicted_as(i % 2 == 0 ? 1.0 + 0.01 * i : 1.0 / (1.0 + 0.01 * i)));
  Case fitted = predicted_as(9.0);
  fitted.role = calibrate::Role::calibrate;
  cases.push_back(fitted);
  Case power = predicted_as(9.0);
  power.figure = study::Figure::power;
  cases.push_back(power);
  Case other = predicted_as(9.0);
  other.machine.assignments = {"gpus=2", "gpu.memory.hbm.capacity=80 GB"};
  cases.push_back(other);
  cases.front().machine.assignments = {"gpus=2", "gpu.gemm.library=l", "host.protocol=rounds"};
  const std::vector<UnfittedError> errors = unfitted_errors(cases);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].work, study::Unfitted::alone);
  EXPECT_EQ(errors[0].cases, 20u);
  EXPECT_NEAR(errors[0].nine_in_ten, std::expm1(0.24346), 1e-4);
  EXPECT_FALSE(errors[0].of_all);
  EXPECT_EQ(errors[1].work, study::Unfitted::beside);
  EXPECT_TRUE(errors[1].of_all) << "none is of that work: all of the platform tell";
  EXPECT_EQ(errors[1].nine_in_ten, errors[0].nine_in_ten);
}

TEST(UnfittedErrors, AreNoneOfFewCases) {
  EXPECT_TRUE(unfitted_errors(std::vector<Case>(9, predicted_as(1.1))).empty());
  EXPECT_EQ(unfitted_errors(std::vector<Case>(10, predicted_as(1.1))).size(), 3u);
}

}  // namespace
}  // namespace c3sim::validate
