#include "study/sweep/sweep_axis.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/random/sobol.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "study/sweep/sweep_results.h"
#include "tests/config_fault.h"
#include "tests/samples.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::vector<std::string> labels(const std::vector<AxisValue>& values) {
  std::vector<std::string> labels;
  for (const AxisValue& value : values) labels.push_back(value.label);
  return labels;
}

SweepAxis axis(const std::string& text) {
  sim::Config config = sim::Config::from_text("axes:\n  - " + text, "study.yaml");
  SweepAxis read = read_axis(config.root().list("axes").front());
  config.finish();
  return read;
}

// Returns the label of a value, its assignments and its cell of a table.
std::string words_of(const SweepAxis& axis, const AxisValue& value) {
  std::string words = value.label + " (" + axis.told(value.label) + ")";
  for (const Assignment& one : value.assignments)
    words += (one.scales ? ", scales " : ", sets ") + one.name + " " + one.value;
  ResultTable table({axis.column()});
  table.add_row({axis.cell(value)});
  return words + ": " + table.to_json().dump() + "\n";
}

// A sample shows an axis and its values or, for an interval, the values at 0, 0.34, 0.5 and 0.99 of it.
TEST(SweepAxis, IsReadAsItIsWritten) {
  expect_samples("axes.samples", [](const Sample& sample) {
    std::string words;
    const std::string fault = config_fault([&] {
      const SweepAxis read = axis(sample.inputs.front().second);
      words = read.name + ", in tables " + read.column().heading + ":\n";
      for (const AxisValue& value : read.values) words += words_of(read, value);
      for (const double share : {0.0, 0.34, 0.5, 0.99})
        if (read.interval) words += words_of(read, read.at(share));
    });
    return fault.empty() ? words : fault + "\n";
  });
}

TEST(SweepAxis, FactorsKeepTheUnitOfWhatThereIsToday) {
  EXPECT_EQ(scaled_text("48.4 GB/s", 0.5), "24.2 GB/s");
  EXPECT_EQ(scaled_text("0.12 us", 0.0), "0 us");
  EXPECT_EQ(scaled_text("128 KiB", 2.0), "262144 B");
  EXPECT_EQ(scaled_text("16", 0.75), "12");
  EXPECT_EQ(scaled_text("oldest_first", 2.0), std::nullopt);
}

bool beats(const std::vector<int>& one, const std::vector<int>& other) {
  bool better = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    better = better || one[i] < other[i];
  }
  return better;
}

RC_GTEST_PROP(ParetoFront, HoldsEveryCostThatNoPointBeatsAndNoOther, ()) {
  const auto points = *rc::gen::container<std::vector<std::vector<int>>>(
      rc::gen::container<std::vector<int>>(3, rc::gen::inRange(0, 6)));
  ParetoFront front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<Cost> costs;
    for (const int value : points[i]) costs.push_back({static_cast<double>(value)});
    front.add(std::move(costs), i);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool beaten = std::ranges::any_of(points, [&](const auto& other) { return beats(other, points[i]); });
    const auto here = points.begin() + static_cast<std::ptrdiff_t>(i);
    const bool seen_before = std::find(points.begin(), here, points[i]) != here;
    const bool held = std::ranges::count(front.members(), i, &ParetoFront::Member::index) == 1;
    RC_ASSERT(held == (!beaten && !seen_before));
  }
}

// The tests below check which points a study has.

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

// 1000^7 is 1e21, which is more than 2^64.
TEST(PointSequence, AGridHasEveryCombinationWithTheLastAxisFastestUnlessNobodyCanCountThem) {
  const PointSequence grid({list("a", 2), list("b", 3)}, {});
  ASSERT_EQ(grid.size(), 6u);
  EXPECT_THAT(labels(grid.point(0).values), ElementsAre("0", "0"));
  EXPECT_THAT(labels(grid.point(1).values), ElementsAre("0", "1"));
  EXPECT_THAT(labels(grid.point(5).values), ElementsAre("1", "2"));
  EXPECT_EQ(PointSequence(std::vector<SweepAxis>(7, list("a", 1000)), {}).size(), PointSequence::too_many);
}

TEST(PointSequence, SobolPointsAreThoseOfTheSequence) {
  const PointSequence sequence({between("x", "0.0", "1.0"), between("y", "0.0", "1.0")}, 64);
  boost::random::sobol engine(2);
  for (std::uint64_t i = 0; i < 64; ++i) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const double expected = static_cast<double>(engine() >> 11) * 0x1p-53;
      EXPECT_NEAR(std::stod(sequence.point(i).values[axis].label), expected, 1e-6) << i;
    }
  }
}

TEST(PointSequence, SixteenSobolPointsFillSixteenSquares) {
  // A (0, m, 2) net has one point in each of the 4 x 4 squares, counting the origin, which the sequence leaves out:
  // points 0 to 14 lie in 15 different squares.
  const PointSequence sequence({list("x", 4), list("y", 4)}, 15);
  std::set<std::vector<std::string>> squares;
  for (std::uint64_t i = 0; i < 15; ++i) squares.insert(labels(sequence.point(i).values));
  EXPECT_EQ(squares.size(), 15u);
}

TEST(PointSequence, ListedValuesGetEqualPartsOfTheCube) {
  // Of 64 points in a row each quarter has 16. The sequence leaves the origin out, so that the first quarter lacks one.
  const PointSequence cube({list("a", 4)}, 63);
  std::vector<int> counts(4);
  for (std::uint64_t i = 0; i < 63; ++i) ++counts[static_cast<std::size_t>(std::stoi(cube.point(i).values[0].label))];
  EXPECT_THAT(counts, ElementsAre(15, 16, 16, 16));
}

}  // namespace
}  // namespace c3sim::study
