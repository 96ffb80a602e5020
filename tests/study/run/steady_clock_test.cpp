#include "study/run/steady_clock.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::study {
namespace {

// A run that draws 120 W and so much at 1 GHz, growing with this power of its clock, up to 1.5 GHz.
struct Load {
  double watts = 0.0;
  double exponent = 3.0;

  SteadyRun at(sim::Hertz ceiling) const {
    const double clock = std::min(ceiling.value(), 1.5e9);
    return {sim::Watts(120.0 + watts * std::pow(clock * 1e-9, exponent)), sim::Hertz(clock)};
  }
};

models::PowerSpec spec() {
  models::PowerSpec spec = models::round_power();
  spec.cap = sim::Watts(320.0);
  return spec;
}

std::vector<double> tried(const Load& load) {
  std::vector<double> ceilings;
  settle_clock(spec(), [&](sim::Hertz ceiling) {
    ceilings.push_back(ceiling.value());
    return load.at(ceiling);
  });
  return ceilings;
}

TEST(SteadyClock, TakesOneRunWhereNothingComesNearTheCap) {
  EXPECT_EQ(tried({50.0}), std::vector{spec().highest_clock.value()});
}

// 200 W above rest at 1 GHz: the law of the loop is that of the load.
TEST(SteadyClock, TakesTwoRunsWherePowerGrowsWithTheCubeOfTheClock) {
  const std::vector<double> ceilings = tried({200.0});
  EXPECT_EQ(ceilings.size(), 2u);
  EXPECT_NEAR(ceilings.back(), 1e9, 1e6);
}

RC_GTEST_PROP(SteadyClock, MeetsTheCapInAFewRunsWhateverPowerGrowsWith, ()) {
  const Load load{1.0 * *rc::gen::inRange(100, 2000), 0.5 * *rc::gen::inRange(1, 9)};
  RC_PRE(load.at(spec().highest_clock).power > spec().cap && load.at(spec().lowest_clock).power < spec().cap);
  const std::vector<double> ceilings = tried(load);
  RC_ASSERT(ceilings.size() <= 8u);
  RC_ASSERT(std::abs(load.at(sim::Hertz(ceilings.back())).power / spec().cap - 1.0) < 1e-3);
}

// Board power of 0.1 % over the cap at any clock: each step is a small one, and sixteen of them neither meet the cap
// nor come to the lowest clock.
TEST(SteadyClock, SaysThatItDidNotSettle) {
  const auto settles = [](const Load& load) {
    return settle_clock(spec(), [&](sim::Hertz ceiling) { return load.at(ceiling); });
  };
  EXPECT_FALSE(settles({200.32, 0.0}));
  EXPECT_TRUE(settles({200.0}));
  EXPECT_TRUE(settles({1e9, 0.0})) << "known: at the lowest clock";
}

TEST(SteadyClock, GivesUpWhereNoClockKeepsTheCap) {
  const std::vector<double> ceilings = tried({1e9, 0.0});
  EXPECT_LE(ceilings.size(), 16u);
  EXPECT_LT(ceilings.back(), 1.01 * spec().lowest_clock.value());
}

}  // namespace
}  // namespace c3sim::study
