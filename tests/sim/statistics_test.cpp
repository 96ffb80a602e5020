#include "sim/statistics.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/check.h"

namespace sim {
namespace {

TEST(Counter, ItSumsWhatIsAdded) {
  Counter counter;
  EXPECT_EQ(counter.total(), 0.0);
  counter.add();
  counter.add(2.5);
  EXPECT_EQ(counter.total(), 3.5);
}

TEST(Accumulator, WithoutValuesEverythingIsZero) {
  const Accumulator values;
  EXPECT_EQ(values.count(), 0u);
  EXPECT_EQ(values.mean(), 0.0);
  EXPECT_EQ(values.smallest(), 0.0);
  EXPECT_EQ(values.largest(), 0.0);
}

TEST(Accumulator, TheFirstValueIsBothSmallestAndLargest) {
  Accumulator values;
  values.add(-4.0);
  EXPECT_EQ(values.smallest(), -4.0);
  EXPECT_EQ(values.largest(), -4.0);
}

TEST(Accumulator, MeanSmallestAndLargestAreThoseOfTheValues) {
  Accumulator values;
  for (const double value : {3.0, -1.0, 7.0}) values.add(value);
  EXPECT_EQ(values.count(), 3u);
  EXPECT_EQ(values.mean(), 3.0);  // (3 - 1 + 7) / 3
  EXPECT_EQ(values.smallest(), -1.0);
  EXPECT_EQ(values.largest(), 7.0);
}

// Zero for 10, then 4 for 20, then 1 for 10: (0*10 + 4*20 + 1*10) / 40 = 2.25.
TEST(TimeWeighted, TheMeanWeighsEachLevelByHowLongItHeld) {
  TimeWeighted level;
  level.set(Time(10), 4.0);
  level.set(Time(30), 1.0);
  EXPECT_EQ(level.mean(Time(40)), 2.25);
  EXPECT_EQ(level.level(), 1.0);
  EXPECT_EQ(level.largest(), 4.0);
}

TEST(TimeWeighted, ALevelThatHoldsForNoTimeCountsForNothingButTheLargest) {
  TimeWeighted level;
  level.set(Time(10), 100.0);
  level.set(Time(10), 1.0);
  EXPECT_EQ(level.mean(Time(20)), 0.5);  // (0*10 + 1*10) / 20
  EXPECT_EQ(level.largest(), 100.0);
}

TEST(TimeWeighted, AtTimeZeroTheMeanIsZero) {
  TimeWeighted level;
  level.set(Time(0), 3.0);
  EXPECT_EQ(level.mean(Time(0)), 0.0);
}

TEST(TimeWeighted, ThePastIsNeitherSetNorRead) {
  TimeWeighted level;
  level.set(Time(10), 1.0);
  EXPECT_THROW(level.set(Time(9), 1.0), InternalError);
  EXPECT_THROW((void)level.mean(Time(9)), InternalError);
}

// As a model declares its statistics.
struct Engine {
  explicit Engine(StatisticsGroup& statistics)
      : packets(statistics.counter("packets", "packet", "Packets that the engine has executed.")),
        latency(statistics.accumulator("latency", "ns", "From doorbell to completion.")),
        queued(statistics.time_weighted("queued", "packet", "Packets that wait.")) {}
  Counter& packets;
  Accumulator& latency;
  TimeWeighted& queued;
};

TEST(StatisticsGroup, RowsAreInOrderOfDeclarationWithTheNamesOfTheirGroups) {
  StatisticsGroup all;
  StatisticsGroup& gpu = all.group("gpu0");
  std::optional<Engine> engine(gpu.group("sdma3"));
  Counter& kernels = gpu.counter("kernels", "kernel", "Kernels launched.");
  all.counter("runs", "run", "Runs so far.").add();
  engine->packets.add(2);
  engine->latency.add(10);
  engine->latency.add(20);
  engine->queued.set(Time(10), 4.0);
  kernels.add();
  engine.reset();  // the figures outlive the model

  const std::vector<StatisticsRow> rows = all.rows(Time(20));
  std::vector<std::string> names;
  std::vector<double> values;
  for (const StatisticsRow& row : rows) {
    names.push_back(row.name);
    values.push_back(row.value);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"gpu0.sdma3.packets", "gpu0.sdma3.latency.count", "gpu0.sdma3.latency.mean",
                                      "gpu0.sdma3.latency.smallest", "gpu0.sdma3.latency.largest",
                                      "gpu0.sdma3.queued.mean", "gpu0.sdma3.queued.largest", "gpu0.kernels", "runs"}));
  EXPECT_EQ(values, (std::vector<double>{2, 2, 15, 10, 20, 2, 4, 1, 1}));
  EXPECT_EQ(rows[0].unit, "packet");
  EXPECT_EQ(rows[0].description, "Packets that the engine has executed.");
  EXPECT_EQ(rows[1].unit, "1");
  EXPECT_EQ(rows[2].unit, "ns");
}

TEST(StatisticsGroup, ANameIsGivenOnceInAGroup) {
  StatisticsGroup group;
  group.counter("packets", "packet", "Packets.");
  EXPECT_THROW(group.accumulator("packets", "packet", "Packets."), InternalError);
  EXPECT_THROW(group.group("packets"), InternalError);
  EXPECT_NO_THROW(group.group("other").counter("packets", "packet", "Packets."));
}

TEST(StatisticsGroup, AnEmptyNameIsRefused) {
  StatisticsGroup group;
  EXPECT_THROW(group.counter("", "packet", "Packets."), InternalError);
}

TEST(StatisticsGroup, ReferencesStayValidAsMoreIsDeclared) {
  StatisticsGroup group;
  Counter& first = group.counter("first", "1", "The first.");
  for (int i = 0; i < 1000; ++i) group.counter("c" + std::to_string(i), "1", "Another.");
  first.add();
  EXPECT_EQ(group.rows(Time(0)).front().value, 1.0);
}

}  // namespace
}  // namespace sim
