#include "study/sweep/sweep_axis.h"

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/config/config.h"
#include "study/sweep/sweep_results.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

SweepAxis axis(const std::string& text) {
  sim::Config config = sim::Config::from_text("axes:\n  - " + text + "\n", "study.yaml");
  SweepAxis read = read_axis(config.root().list("axes").front());
  config.finish();
  return read;
}

std::vector<std::string> labels(const std::string& text) {
  std::vector<std::string> labels;
  for (const AxisValue& value : axis(text).values) labels.push_back(value.label);
  return labels;
}

std::string fault_of_axis(const std::string& text) {
  try {
    axis(text);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepAxis, StepsAreAddedAndFactorsMultiplied) {
  EXPECT_THAT(labels("{of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, step: 40 GB/s}"),
              ElementsAre("48 GB/s", "88 GB/s", "128 GB/s"));
  EXPECT_THAT(labels("{of: bytes, from: 1MiB, to: 5MiB, times: 2}"), ElementsAre("1MiB", "2MiB", "4MiB"));
  EXPECT_THAT(labels("{of: host.doorbell, from: 0.1us, to: 0.4us, step: 100ns}"),
              ElementsAre("0.1 us", "0.2 us", "0.3 us", "0.4 us"));
}

TEST(SweepAxis, SoManyStepsHaveBothEndsOnALineOrALogarithmicOne) {
  EXPECT_THAT(labels("{of: x.y, from: 2, to: 6, steps: 3}"), ElementsAre("2", "4", "6"));
  EXPECT_THAT(labels("{of: x.y, from: 1 us, to: 100 us, steps: 3, scale: log}"),
              ElementsAre("1 us", "10 us", "100 us"));
  // Whole ends give whole numbers: 1, 1.5 and 2 are two of these.
  EXPECT_THAT(labels("{of: x.y, from: 1, to: 2, steps: 3}"), ElementsAre("1", "2"));
}

TEST(SweepAxis, SizesStayWholeBytes) {
  // 1 MiB * 1.5 is 1536 KiB; times 1.5 again is 2304 KiB; 3456 KiB; 5184 KiB is beyond.
  EXPECT_THAT(labels("{of: bytes, from: 1MiB, to: 4MiB, times: 1.5}"),
              ElementsAre("1MiB", "1.5MiB", "2.25MiB", "3456KiB"));
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

TEST(SweepAxis, FactorsScaleWhatThereIsToday) {
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
  EXPECT_THAT(fault_of_axis("{of: host.doorbell, times: [2us]}"), HasSubstr("'2us' is no factor"));
  EXPECT_THAT(fault_of_axis("{of: [host.doorbell, host.word_check], times: [2]}"), HasSubstr("name"));
  EXPECT_THAT(fault_of_axis("{name: a, cases: [{name: b, set: ['host.doorbell*=x']}]}"), HasSubstr("is no scale"));
}

TEST(SweepAxis, ScaledTextsKeepTheirUnit) {
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
  EXPECT_THAT(fault_of_axis("{of: a.b, values: []}"), HasSubstr("at least one value is needed"));
  EXPECT_THAT(fault_of_axis("{of: a.b, values: [1, 2, 1]}"), HasSubstr("'1' is there twice"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 1 us, to: 2 GB/s, times: 2}"),
              AllOf(HasSubstr("both ends are of one dimension"), Not(HasSubstr("unknown key"))));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 2, to: 1, step: 1}"), HasSubstr("the upper end lies above the lower one"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 0 us, to: 1 us, scale: log}"), HasSubstr("begins above 0"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: one, to: 2}"), HasSubstr("'one' is no number with a unit"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 1, to: 2, step: 1, steps: 2}"), HasSubstr("one of step, times and steps"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 1, to: 2, step: 1 us}"), HasSubstr("of the dimension of both ends"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 1, to: 2, times: 1}"), HasSubstr("a factor above 1"));
  EXPECT_THAT(fault_of_axis("{of: a.b, from: 1, to: 1e9, step: 1}"), HasSubstr("more than 10000 values are too many"));
  EXPECT_THAT(fault_of_axis("{name: a, cases: [{name: b, set: [c]}]}"),
              HasSubstr("'c' is no assignment, which reads name=value"));
  EXPECT_THAT(fault_of_axis("{name: a, cases: []}"), HasSubstr("at least one case is needed"));
}

bool beats(const std::vector<int>& one, const std::vector<int>& other) {
  bool better = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    better = better || one[i] < other[i];
  }
  return better;
}

TEST(ParetoFront, PointsThatOthersBeatLeave) {
  ParetoFront front;
  front.add({{3.0}, {3.0}}, 0);
  front.add({{1.0}, {5.0}}, 1);
  front.add({{2.0}, {2.0}}, 2);  // beats 0, not 1
  front.add({{2.0}, {2.0}}, 3);  // as good as 2, which was first
  ASSERT_EQ(front.members().size(), 2u);
  EXPECT_EQ(front.members()[0].index, 1u);
  EXPECT_EQ(front.members()[1].index, 2u);
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
    const bool seen_before = std::find(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(i), points[i]) !=
                             points.begin() + static_cast<std::ptrdiff_t>(i);
    const bool held = std::ranges::count(front.members(), i, &ParetoFront::Member::index) == 1;
    RC_ASSERT(held == (!beaten && !seen_before));
  }
}

}  // namespace
}  // namespace c3sim::study
