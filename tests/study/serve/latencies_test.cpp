#include "study/serve/latencies.h"

#include <gtest/gtest.h>

#include <cmath>

namespace c3sim::study {
namespace {

using sim::operator""_us;

TEST(Latencies, OfNoneAreNothing) {
  EXPECT_EQ(Latencies{}.mean(), 0_us);
  EXPECT_EQ(Latencies{}.quantile(0.5), 0_us);
}

// The least that half of 1 to 999 us do not exceed is the 500th; the mean is exact.
TEST(Latencies, QuantilesLieWithinTheErrorThatTheyState) {
  Latencies latencies;
  for (int us = 999; us > 0; --us) latencies.add(us * 1_us);
  EXPECT_EQ(latencies.count(), 999);
  EXPECT_NEAR(sim::to_microseconds(latencies.mean()), 500.0, 1e-6);
  for (const double share : {0.5, 0.9, 0.99}) {
    const double exact = std::ceil(share * 999.0);
    EXPECT_NEAR(sim::to_microseconds(latencies.quantile(share)), exact, 1.01 * Latencies::largest_error * exact)
        << share;
  }
}

TEST(Latencies, CountTimesOfNothing) {
  Latencies latencies;
  latencies.add(0_us);
  latencies.add(0_us);
  latencies.add(8_us);
  EXPECT_EQ(latencies.quantile(0.5), 0_us);
  EXPECT_GT(latencies.quantile(0.99), 7_us);
}

}  // namespace
}  // namespace c3sim::study
