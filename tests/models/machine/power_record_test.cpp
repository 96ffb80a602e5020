#include "models/machine/power_record.h"

#include <gtest/gtest.h>

namespace c3sim::models {
namespace {

using sim::operator""_us;

// 10 W at rest; 30 W for 2 us, then 60 W for 4 us.
PowerRecord record() {
  PowerRecord record(sim::Watts(10.0));
  record.add(0_us, 2_us, sim::Watts(30.0));
  record.add(2_us, 6_us, sim::Watts(60.0));
  return record;
}

TEST(PowerRecord, MeansCountRestBeforeAndAfter) {
  EXPECT_DOUBLE_EQ(record().mean(0_us, 6_us).value(), (2.0 * 30.0 + 4.0 * 60.0) / 6.0);
  EXPECT_DOUBLE_EQ(record().mean(1_us, 3_us).value(), 45.0);
  EXPECT_DOUBLE_EQ(record().mean(-2_us, 2_us).value(), 20.0);
  EXPECT_DOUBLE_EQ(record().mean(5_us, 10_us).value(), (60.0 + 4.0 * 10.0) / 5.0);
  EXPECT_DOUBLE_EQ(PowerRecord(sim::Watts(10.0)).mean(0_us, 1_us).value(), 10.0);
}

TEST(PowerRecord, TheHighestMeanIsThatOfTheBestPlacedStretch) {
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 4_us).value(), 60.0);
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 5_us).value(), (30.0 + 4.0 * 60.0) / 5.0);
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 9_us).value(), record().mean(0_us, 6_us).value());
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 3_us, 2_us).value(), 45.0);
}

TEST(PowerRecord, WhatIsForgottenLeavesTheRestAsItWas) {
  PowerRecord some = record();
  some.forget_before(3_us);
  EXPECT_DOUBLE_EQ(some.mean(3_us, 8_us).value(), record().mean(3_us, 8_us).value());
}

}  // namespace
}  // namespace c3sim::models
