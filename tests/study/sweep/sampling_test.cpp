#include <rapidcheck/gtest.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <set>

#include "study/sweep/sweep_axis.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

SweepAxis list(std::string name, int count) {
  SweepAxis axis{std::move(name), {}, {}, {}};
  for (int i = 0; i < count; ++i) {
    const std::string text = std::to_string(i);
    axis.values.push_back({text, {{axis.name, text}}});
  }
  return axis;
}

SweepAxis between(std::string name, const char* low, const char* high) {
  SweepAxis axis{std::move(name), {}, {}, {}};
  axis.interval = AxisRange{*read_number(low), *read_number(high)};
  axis.dimension = axis.interval->low.dimension;
  return axis;
}

std::vector<std::string> labels(const Point& point) {
  std::vector<std::string> labels;
  for (const AxisValue& value : point.values) labels.push_back(value.label);
  return labels;
}

TEST(PointSequence, AGridHasEveryCombinationWithTheLastAxisFastest) {
  const PointSequence grid({list("a", 2), list("b", 3)}, {});
  ASSERT_EQ(grid.size(), 6u);
  EXPECT_THAT(labels(grid.point(0)), ElementsAre("0", "0"));
  EXPECT_THAT(labels(grid.point(1)), ElementsAre("0", "1"));
  EXPECT_THAT(labels(grid.point(5)), ElementsAre("1", "2"));
}

TEST(PointSequence, TheSizeOfAGridThatNobodyCanCountIsTooMany) {
  // 1000^7 is 1e21, more than 2^64.
  const PointSequence grid(std::vector<SweepAxis>(7, list("a", 1000)), {});
  EXPECT_EQ(grid.size(), PointSequence::too_many);
}

// Each of n slices of each axis has one of n points: of values drawn from 0 to 64 in 64 slices, each whole part once.
RC_GTEST_PROP(PointSequence, ALatinHypercubeHasOnePointInEachSliceOfEachAxis, ()) {
  const auto points = *rc::gen::inRange<std::uint64_t>(1, 300);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const std::string high = std::to_string(points) + ".0";
  const PointSequence cube({between("x", "0.0", high.c_str()), between("y", "0.0", high.c_str())},
                           {Method::latin_hypercube, points, seed});
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::set<int> slices;
    for (std::uint64_t i = 0; i < points; ++i) {
      // Six digits of a value may round up to the next slice, or down into this one: half of the last of them is taken
      // off, which moves a value or two.
      const double value = std::stod(cube.point(i).values[axis].label);
      slices.insert(static_cast<int>(std::floor(value * (1.0 - 1e-6))));
    }
    RC_ASSERT(slices.size() + 2 >= points);
  }
}

TEST(PointSequence, SobolPointsAreThoseOfTheSequence) {
  const PointSequence sequence({between("x", "0.0", "1.0"), between("y", "0.0", "1.0")}, {Method::sobol, 64, 1});
  boost::random::sobol engine(2);
  for (std::uint64_t i = 0; i < 64; ++i) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const double expected = static_cast<double>(engine() >> 11) * 0x1p-53;
      EXPECT_NEAR(std::stod(sequence.point(i).values[axis].label), expected, 1e-6) << i;
    }
  }
}

TEST(PointSequence, SixteenSobolPointsFillSixteenSquares) {
  // A (0, m, 2) net has one point in each of the 4 x 4 squares once the origin, which the sequence leaves out, is
  // counted: points 0 to 14 lie in 15 different ones.
  const PointSequence sequence({list("x", 4), list("y", 4)}, {Method::sobol, 15, 1});
  std::set<std::vector<std::string>> squares;
  for (std::uint64_t i = 0; i < 15; ++i) squares.insert(labels(sequence.point(i)));
  EXPECT_EQ(squares.size(), 15u);
}

TEST(PointSequence, RandomPointsFollowFromTheSeed) {
  const std::vector<SweepAxis> axes{between("x", "0.0", "1.0")};
  const PointSequence one(axes, {Method::random, 100, 7});
  const PointSequence same(axes, {Method::random, 100, 7});
  const PointSequence other(axes, {Method::random, 100, 8});
  double mean = 0.0;
  int differ = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(labels(one.point(i)), labels(same.point(i)));
    differ += labels(one.point(i)) != labels(other.point(i)) ? 1 : 0;
    mean += std::stod(one.point(i).values[0].label) / 100.0;
  }
  EXPECT_GT(differ, 95);
  // The mean of 100 uniform numbers has a standard deviation of 1 / sqrt(12 * 100) = 0.029.
  EXPECT_NEAR(mean, 0.5, 0.1);
}

TEST(PointSequence, ListedValuesGetEqualPartsOfTheCube) {
  const PointSequence cube({list("a", 4)}, {Method::latin_hypercube, 400, 1});
  std::vector<int> counts(4);
  for (std::uint64_t i = 0; i < 400; ++i) ++counts[static_cast<std::size_t>(std::stoi(cube.point(i).values[0].label))];
  EXPECT_THAT(counts, ElementsAre(100, 100, 100, 100));
}

}  // namespace
}  // namespace c3sim::study
