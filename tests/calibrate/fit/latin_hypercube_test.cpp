#include "calibrate/fit/latin_hypercube.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace c3sim::calibrate {
namespace {

TEST(LatinHypercube, HasEachCoordinateOnceInEveryStratum) {
  const auto points = latin_hypercube(7, 3);
  for (std::size_t dimension = 0; dimension < 3; ++dimension) {
    std::vector<double> coordinates;
    for (const std::vector<double>& point : points) coordinates.push_back(point[dimension]);
    std::ranges::sort(coordinates);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_DOUBLE_EQ(coordinates[i], (static_cast<double>(i) + 0.5) / 7.0);
  }
}

TEST(LatinHypercube, DependsOnItsSeedAlone) {
  EXPECT_EQ(latin_hypercube(9, 2, 5), latin_hypercube(9, 2, 5));
  EXPECT_NE(latin_hypercube(9, 2, 5), latin_hypercube(9, 2, 6));
}

}  // namespace
}  // namespace c3sim::calibrate
