// Tests what a model is compared with in traces of PyTorch's profiler.
#include "calibrate/readers/profile_reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "tests/calibrate/readers/kineto_trace.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

constexpr std::string_view torch_profiler = "PyTorch profiler";

std::string op(int id, const std::string& name, const std::string& types, const std::string& dims) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"{}","ts":1,"dur":1,"args":{{"External id":{},"Input type":{},"Input Dims":{}}}}},)",
      name, id, types, dims);
}
std::string kernel(int id, double begin, double duration, const std::string& name = "Cijk") {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"{}","ts":{},"dur":{},"args":{{"External id":{},"device":0,"stream":7}}}})",
      name, begin, duration, id);
}
const std::string bf16 = R"(["c10::BFloat16","c10::BFloat16"])";

TEST(TorchTrace, KnowsWhichRankItIsOf) {
  const auto rank_of = [](const std::string& info) {
    return read_as(torch_profiler, "{" + info + "\"traceEvents\": [\n" + kernel(1, 100, 10) + "\n]}").profile->rank;
  };
  EXPECT_EQ(rank_of(R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},)"), 3);
  EXPECT_EQ(rank_of(R"("distributedInfo": {"rank": -1},)"), std::nullopt);
  EXPECT_EQ(rank_of(""), std::nullopt);
}

TEST(TorchTrace, ReadsWhatAnInterruptedWriteLeft) {
  const std::string text = sample("torch/trace.json");
  const Reading reading = read_as(torch_profiler, text.substr(0, text.find("Cijk_Ailk_Bljk_HHS")));
  EXPECT_EQ(reading.measurements.size(), 2u);
  EXPECT_THAT(faults_of(reading), HasSubstr("it was cut off, or damaged"));
}

TEST(TorchTrace, SurvivesDamage) {
  expect_damage_is_survived(
      torch_profiler, "{\"traceEvents\":[" + op(1, "aten::mm", bf16, "[[64,32],[32,16]]") + kernel(1, 100, 10) + "]}");
}

// An all-gather of 1 MiB runs from 0 to 100 us beside two GEMMs, one after the other, and outlasts both: both run
// beside it from its begin on. A third GEMM, during which the all-gather ends, is nothing that one could run alone.
Trace gather_beside_gemms(double begin, double duration) {
  Trace trace;
  for (const int id : {1, 2, 3}) {
    std::string operation = op(id, "aten::mm", bf16, "[[64,32],[32,16]]");
    operation.pop_back();
    trace.other(operation);
  }
  trace.all_gather(9, begin, duration, 0, 1 << 19);
  const auto gemm = [&trace](int id, double from, double length) {
    trace.kernel("Cijk", 7, from, length, 0, fmt::format(R"(,"External id":{})", id));
  };
  gemm(1, 10, 20);
  gemm(2, 40, 22);
  gemm(3, 90, 50);
  return trace;
}

TEST(TracedPairs, AreGemmsThatOneCollectiveOutlasts) {
  const Reading reading = reading_of(gather_beside_gemms(0, 100).read(), "t.json");
  ASSERT_EQ(reading.measurements.size(), 3u);
  EXPECT_EQ(words_of_trial(reading, 0), "c3_sp gemm 16x64x32 with all_gather of 1MiB");
  EXPECT_NEAR(seen_in(reading, 0), 21e-6, 1e-12);  // median of 20 and 22
  EXPECT_EQ(reading.measurements[0].assignments, std::vector<std::string>{"gpus=8"});
  EXPECT_TRUE(reading.measurements[0].holds_waits);
  EXPECT_THAT(left_out_of(reading), HasSubstr("'gemm 16x64x32', 1 of 1 times: ran beside other work on its GPU"));
  EXPECT_NEAR(seen_in(reading, 2), 100e-6, 1e-12);  // the all-gather beside computation
}

// The collective began on rank 1 only when rank 0 had waited 35 us: what ran beside it on rank 1 tells its cost.
TEST(TracedPairs, HoldNoWaitsWhereTheirRankCameLast) {
  std::vector<Reading> readings;
  for (const int rank : {0, 1}) {
    Profile profile = (rank == 0 ? gather_beside_gemms(0, 100) : gather_beside_gemms(35, 65)).read();
    profile.rank = rank;
    readings.push_back(reading_of(std::move(profile), fmt::format("rank{}.json", rank)));
  }
  tell_waits_of_ranks(readings);
  ASSERT_EQ(readings[1].measurements.size(), 4u);  // the first GEMM ran alone there
  EXPECT_EQ(words_of_trial(readings[1], 1), "c3_sp gemm 16x64x32 with all_gather of 1MiB");
  EXPECT_NEAR(seen_in(readings[1], 1), 22e-6, 1e-12);
  EXPECT_NEAR(seen_in(readings[1], 3), 65e-6, 1e-12);
  for (const Measurement& one : readings[1].measurements) EXPECT_FALSE(one.holds_waits) << one.group;
  ASSERT_EQ(readings[0].measurements.size(), 1u);  // the collective as a whole; a third of its time was waiting
  EXPECT_TRUE(readings[0].measurements[0].holds_waits);
  EXPECT_THAT(left_out_of(readings[0]), HasSubstr("its rank waited for another, whose trace tells it"));
}

// These tests read traces of several ranks of one run.

// Returns a trace of all-gathers of 1 MiB that run alone.
Reading trace(std::optional<int> rank, const std::vector<double>& durations, const std::string& gpu = "H200") {
  Trace trace;
  trace.gpu = gpu;
  double begin = 0.0;
  for (const double duration : durations) {
    trace.all_gather(2, begin, duration, 0, 1 << 19);
    begin += 1000.0;
  }
  Profile profile = trace.read();
  profile.rank = rank;
  return reading_of(std::move(profile), "t.json");
}

// Rank 1 came last to the first and the third, rank 0 to the second, rank 2 to none.
TEST(Ranks, TheLastToComeTellsEachRun) {
  std::vector<Reading> readings{trace(0, {80, 20, 70}), trace(1, {20, 90, 30}), trace(2, {50, 50, 50})};
  tell_waits_of_ranks(readings);
  ASSERT_THAT(readings[0].measurements, SizeIs(1));
  ASSERT_THAT(readings[1].measurements, SizeIs(1));
  EXPECT_THAT(readings[2].measurements, SizeIs(0));
  EXPECT_NEAR(readings[0].measurements[0].seen[0].value, 20e-6, 1e-12);
  EXPECT_NEAR(readings[1].measurements[0].seen[0].value, 25e-6, 1e-12);  // the median of 20 and 30
  EXPECT_FALSE(readings[1].measurements[0].holds_waits);
  EXPECT_EQ(readings[1].measurements[0].group, "profiler: collective by kernels, last to come");
  ASSERT_THAT(readings[2].left_out, SizeIs(1));
  EXPECT_EQ(readings[2].left_out[0].why, "its rank waited for another, whose trace tells it");
}

TEST(Ranks, OneRankOrOthersMachinesTellNothingOfWaits) {
  for (const Reading& other : {trace(0, {20}), trace({}, {20}), trace(1, {20}, "A100"), trace(1, {20, 30})}) {
    std::vector<Reading> readings{trace(0, {80}), other};
    tell_waits_of_ranks(readings);
    for (const Reading& reading : readings) {
      ASSERT_THAT(reading.measurements, SizeIs(1));
      EXPECT_TRUE(reading.measurements[0].holds_waits);
    }
  }
}

// These tests sum many runs up, and tell which of them ran alone.

// Percentiles of 1 to 10 lie nine tenths of the way from 1 to 2, halfway from 5 to 6, a tenth of the way from 9 to 10.
TEST(RepeatedRuns, PercentilesLieBetweenTheNearestTwo) {
  const Percentiles spread = percentiles_of({10, 1, 9, 2, 8, 3, 7, 4, 6, 5});
  EXPECT_DOUBLE_EQ(spread.median, 5.5);
  EXPECT_DOUBLE_EQ(spread.low, 1.9);
  EXPECT_DOUBLE_EQ(spread.high, 9.1);
  EXPECT_EQ(percentiles_of({3.0}).low, 3.0);
  EXPECT_DOUBLE_EQ(percentiles_of({2937.68, 2860.88}).median, (2860.88 + 2937.68) / 2.0);
}

RC_GTEST_PROP(RepeatedRuns, SpreadIsInOrder, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<double>>();
  const Percentiles spread = percentiles_of(values);
  RC_ASSERT(spread.low <= spread.median && spread.median <= spread.high);
}

std::vector<bool> is_beside_others(const std::vector<Stay>& stays) {
  std::vector<bool> beside;
  for (const Company& company : company_of(stays)) beside.push_back(company.is_there);
  return beside;
}

TEST(RepeatedRuns, LongOneIsBesideTheShortOnesWithinIt) {
  EXPECT_EQ(is_beside_others({{0, 0.0, 10.0}, {0, 1.0, 2.0}, {0, 3.0, 4.0}, {0, 11.0, 12.0}, {1, 1.0, 2.0}}),
            (std::vector{true, true, true, false, false}));
}

// A clock of microseconds lets a kernel begin before the one before it ends.
TEST(RepeatedRuns, AHundredthIsNothing) {
  EXPECT_EQ(is_beside_others({{0, 0.0, 1.0}, {0, 0.995, 2.0}}), (std::vector{false, false}));
  EXPECT_EQ(is_beside_others({{0, 0.0, 1.0}, {0, 0.98, 2.0}}), (std::vector{true, true}));
}

// The result equals a comparison of each stay with each other, where stays have one length.
RC_GTEST_PROP(RepeatedRuns, FindsWhatAComparisonOfAllPairsFinds, ()) {
  const auto begins = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200));
  std::vector<Stay> stays;
  for (const int begin : begins) stays.push_back({begin % 2, begin * 1.0, begin + 5.0});
  const std::vector<bool> found = is_beside_others(stays);
  for (std::size_t i = 0; i < stays.size(); ++i) {
    bool beside = false;
    for (std::size_t j = 0; j < stays.size(); ++j) {
      const double both = std::min(stays[i].end, stays[j].end) - std::max(stays[i].begin, stays[j].begin);
      beside |= i != j && stays[i].gpu == stays[j].gpu && both > 0.05;
    }
    RC_ASSERT(found[i] == beside);
  }
}

}  // namespace
}  // namespace c3sim::calibrate
