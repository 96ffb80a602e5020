#include "study/sweep/sweep_axis.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/random/sobol.hpp>
#include <set>

#include "study/sweep/sweep_results.h"
#include "tests/config_fault.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

SweepAxis axis(const std::string& text) {
  sim::Config config = sim::Config::from_text("axes:\n  - " + text + "\n", "study.yaml");
  SweepAxis read = read_axis(config.root().list("axes").front());
  config.finish();
  return read;
}

std::vector<std::string> labels(const std::vector<AxisValue>& values) {
  std::vector<std::string> labels;
  for (const AxisValue& value : values) labels.push_back(value.label);
  return labels;
}

TEST(SweepAxis, ItsValuesLieBetweenBothEndsByStepsFactorsOrTheirNumber) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows{
      {"{of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, step: 40 GB/s}", {"48 GB/s", "88 GB/s", "128 GB/s"}},
      {"{of: bytes, from: 1MiB, to: 5MiB, times: 2}", {"1MiB", "2MiB", "4MiB"}},
      {"{of: host.doorbell, from: 0.1us, to: 0.4us, step: 100ns}", {"0.1 us", "0.2 us", "0.3 us", "0.4 us"}},
      {"{of: x.y, from: 2, to: 6, steps: 3}", {"2", "4", "6"}},
      {"{of: x.y, from: 1 us, to: 100 us, steps: 3, scale: log}", {"1 us", "10 us", "100 us"}},
      // Whole ends give whole numbers: 1, 1.5 and 2 are two of these.
      {"{of: x.y, from: 1, to: 2, steps: 3}", {"1", "2"}},
      // Sizes stay whole bytes: 1 MiB * 1.5 is 1536 KiB; then follow 2304 KiB and 3456 KiB; 5184 KiB is beyond.
      {"{of: bytes, from: 1MiB, to: 4MiB, times: 1.5}", {"1MiB", "1.5MiB", "2.25MiB", "3456KiB"}}};
  for (const auto& [text, values] : rows) EXPECT_EQ(labels(axis(text).values), values) << text;
}

TEST(SweepAxis, AnIntervalIsDrawnFromWithinItsEnds) {
  const SweepAxis whole = axis("{of: gpu.sdma.engines, from: 4, to: 6}");
  EXPECT_EQ(whole.at(0.0).label, "4");
  EXPECT_EQ(whole.at(0.34).label, "5");  // each of three has a third
  EXPECT_EQ(whole.at(0.99).label, "6");
  const SweepAxis rates = axis("{of: fabric.link_rate, from: 10 GB/s, to: 1000 GB/s, scale: log}");
  EXPECT_EQ(rates.at(0.5).label, "100 GB/s");
  EXPECT_THAT(rates.at(0.5).assignments, ElementsAre(Assignment{"fabric.link_rate", "100 GB/s"}));
}

TEST(SweepAxis, CasesAssignSeveralThingsOrNothing) {
  const SweepAxis cases = axis(
      "{name: commands, cases: [{name: today}, {name: batched, set: [\"gpu.sdma.batched_doorbell=true\", a.b=2]}]}");
  EXPECT_TRUE(cases.values[0].assignments.empty());
  EXPECT_THAT(cases.values[1].assignments,
              ElementsAre(Assignment{"gpu.sdma.batched_doorbell", "true"}, Assignment{"a.b", "2"}));
  EXPECT_EQ(cases.column().key, "commands");
  EXPECT_EQ(cases.cell(cases.values[1]), Cell("batched"));
}

TEST(SweepAxis, FactorsScaleWhatThereIsTodayInItsUnit) {
  const SweepAxis shares = axis("{name: share, of: [host.doorbell, host.word_check], times: [1, 0.5, 0]}");
  EXPECT_EQ(shares.name, "share");
  ASSERT_EQ(shares.values.size(), 3u);
  EXPECT_THAT(shares.values[0].assignments, testing::IsEmpty()) << "once today's value is the machine as it is";
  EXPECT_THAT(shares.values[1].assignments,
              ElementsAre(Assignment{"host.doorbell", "0.5", true}, Assignment{"host.word_check", "0.5", true}));
  EXPECT_EQ(shares.column().heading, "share, times today");
  EXPECT_EQ(shares.told("0.5"), "0.5 x today");
  EXPECT_EQ(axis("{of: gpu.sdma.payload_rate, times: [0.5, 2]}").name, "gpu.sdma.payload_rate");
  const SweepAxis cases = axis("{name: doorbell, cases: [{name: slow, set: ['host.doorbell *= 2']}]}");
  EXPECT_THAT(cases.values[0].assignments, ElementsAre(Assignment{"host.doorbell", "2", true}));
  EXPECT_EQ(cases.told("slow"), "slow");
  EXPECT_EQ(scaled_text("48.4 GB/s", 0.5), "24.2 GB/s");
  EXPECT_EQ(scaled_text("0.12 us", 0.0), "0 us");
  EXPECT_EQ(scaled_text("128 KiB", 2.0), "262144 B");
  EXPECT_EQ(scaled_text("16", 0.75), "12");
  EXPECT_EQ(scaled_text("oldest_first", 2.0), std::nullopt);
}

TEST(SweepAxis, ColumnsHaveTheUnitsOfOtherTables) {
  const SweepAxis rate = axis("{of: fabric.link_rate, values: [48 GB/s, 0.1 TB/s]}");
  EXPECT_EQ(rate.column().key, "fabric.link_rate_GBps");
  EXPECT_EQ(rate.cell(rate.values[1]), Cell(100.0));
  const SweepAxis bytes = axis("{of: bytes, values: [64KiB, 1 KB]}");
  EXPECT_EQ(bytes.column().key, "bytes");
  EXPECT_EQ(bytes.cell(bytes.values[0]), Cell(std::int64_t{65536}));
  // A value without number makes all of them texts.
  const SweepAxis mixed = axis("{of: cus, values: [8, all]}");
  EXPECT_EQ(mixed.cell(mixed.values[0]), Cell("8"));
}

TEST(SweepAxis, FaultsSayWhatIsAccepted) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"{of: a.b, values: []}", "at least one value is needed"},
      {"{of: a.b, values: [1, 2, 1]}", "'1' is there twice"},
      {"{of: a.b, from: 1 us, to: 2 GB/s, times: 2}", "both ends are of one dimension"},
      {"{of: a.b, from: 2, to: 1, step: 1}", "the upper end lies above the lower one"},
      {"{of: a.b, from: 0 us, to: 1 us, scale: log}", "begins above 0"},
      {"{of: a.b, from: one, to: 2}", "'one' is no number with a unit"},
      {"{of: a.b, from: 1, to: 2, step: 1, steps: 2}", "one of step, times and steps"},
      {"{of: a.b, from: 1, to: 2, step: 1 us}", "of the dimension of both ends"},
      {"{of: a.b, from: 1, to: 2, times: 1}", "a factor above 1"},
      {"{of: a.b, from: 1, to: 1e9, step: 1}", "more than 10000 values are too many"},
      {"{name: a, cases: [{name: b, set: [c]}]}", "'c' is no assignment, which reads name=value"},
      {"{name: a, cases: []}", "at least one case is needed"},
      {"{of: host.doorbell, times: [2us]}", "'2us' is no factor"},
      {"{of: [host.doorbell, host.word_check], times: [2]}", "name"},
      {"{name: a, cases: [{name: b, set: ['host.doorbell*=x']}]}", "is no scale"}};
  for (const auto& [text, fault] : rows) {
    const std::string said = config_fault([&text = text] { axis(text); });
    EXPECT_THAT(said, AllOf(HasSubstr(fault), Not(HasSubstr("unknown key")))) << text;
  }
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

// Which points a study has.

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

// 1000^7 is 1e21, more than 2^64.
TEST(PointSequence, AGridHasEveryCombinationWithTheLastAxisFastestUnlessNobodyCanCountThem) {
  const PointSequence grid({list("a", 2), list("b", 3)}, {});
  ASSERT_EQ(grid.size(), 6u);
  EXPECT_THAT(labels(grid.point(0).values), ElementsAre("0", "0"));
  EXPECT_THAT(labels(grid.point(1).values), ElementsAre("0", "1"));
  EXPECT_THAT(labels(grid.point(5).values), ElementsAre("1", "2"));
  EXPECT_EQ(PointSequence(std::vector<SweepAxis>(7, list("a", 1000)), {}).size(), PointSequence::too_many);
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
  for (std::uint64_t i = 0; i < 15; ++i) squares.insert(labels(sequence.point(i).values));
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
    EXPECT_EQ(labels(one.point(i).values), labels(same.point(i).values));
    differ += labels(one.point(i).values) != labels(other.point(i).values) ? 1 : 0;
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
