// What-ifs obey physics: a machine that is better in one respect is not slower at an isolated collective or copy. Where
// it may be slower, the test says why.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/sweep/point_question.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using Words = std::vector<Assignment>;

const Platforms& machines() {
  static const Platforms platforms(mi300x());
  return platforms;
}

double time_on(const models::PlatformSpec& machine, const Words& words, Ask ask) {
  Testbed testbed(machine);
  const PointQuestion question(ask);
  const PointQuestion::Quantities answer = question.quantities_of(question.answer(testbed, words));
  return std::get<double>(answer.cells.at(place_of(answer.columns, ask == Ask::c3 ? "makespan_us" : "time_us")));
}

double time_us(const Words& machine, const Words& words, Ask ask = Ask::collective) {
  return time_on(machines().with(machine), words, ask);
}

const Platforms& any_platform() {
  static const std::vector<Platforms> platforms = [] {
    std::vector<Platforms> all;
    for (const std::string name : {"mi300x", "h200", "mi355x"}) {
      all.emplace_back(read_platform(std::string(C3SIM_SOURCE_DIR "/configs/platforms/") + name + ".yaml", {}));
    }
    return all;
  }();
  return platforms[static_cast<std::size_t>(*rc::gen::inRange(0, 3))];
}

std::string any_size() { return std::to_string(1 << *rc::gen::inRange(0, 21)) + "KiB"; }

Words engine_collective() {
  return {{"collective", *rc::gen::element<std::string>("all_gather", "all_to_all")},
          {"backend", "sdma"},
          {"bytes", any_size()},
          {"variant", *rc::gen::element<std::string>("pcpy", "b2b")},
          {"prelaunch", *rc::gen::element<std::string>("no", "yes")}};
}

Words any_collective() {
  if (*rc::gen::inRange(0, 2) == 0) return engine_collective();
  return {{"collective", *rc::gen::element<std::string>("all_gather", "all_to_all", "all_reduce", "reduce_scatter")},
          {"backend", "rccl"},
          {"bytes", any_size()}};
}

// Times are whole picoseconds and rates are found to 1e-9, so a smaller difference counts as equal.
void expect_no_slower(double better, double worse) { RC_ASSERT(better <= worse * (1.0 + 1e-6)); }

// Returns two numbers drawn between `low` and `high`, the smaller one first.
std::pair<double, double> two_of(double low, double high) {
  const auto drawn = [&] { return low + (high - low) * 1e-3 * *rc::gen::inRange(0, 1001); };
  return std::minmax({drawn(), drawn()});
}

// Expects `words` to take no longer at the higher of two rates drawn between `low` and `high`, in GB/s.
void expect_that_faster_hurts_nobody(const std::string& part, const Words& words, double low, double high) {
  const auto [slow, fast] = two_of(low, high);
  const auto time = [&](double rate) { return time_us({{part, fmt::format("{:.1f} GB/s", rate)}}, words); };
  expect_no_slower(time(fast), time(slow));
}

RC_GTEST_PROP(FullWhatIf, FasterLinksHurtNoCollective, ()) {
  expect_that_faster_hurts_nobody("fabric.link_rate", any_collective(), 20.0, 200.0);
}

RC_GTEST_PROP(FullWhatIf, FasterEnginesHurtNoCollective, ()) {
  expect_that_faster_hurts_nobody("gpu.sdma.payload_rate", engine_collective(), 10.0, 200.0);
}

RC_GTEST_PROP(FullWhatIf, FasterMemoriesHurtNoCollective, ()) {
  const Words words = any_collective();
  expect_that_faster_hurts_nobody(
      *rc::gen::element<std::string>("gpu.memory.hbm.peak_rate", "gpu.memory.infinity_cache.rate"), words, 500.0,
      12000.0);
}

std::string any_extents() {
  const auto extent = [](int low, int high) { return 1 << *rc::gen::inRange(low, high); };
  return fmt::format("{}x{}x{}", extent(6, 15), extent(0, 14), extent(6, 15));
}

struct WhatIfQuestion {
  Ask ask;
  Words words;
};

WhatIfQuestion step_of(int tokens) {
  const std::string model = *rc::gen::element<std::string>("llama3-8b", "llama3-70b", "mixtral-8x7b");
  return {Ask::step,
          {{"model", model}, {"phase", "prefill"}, {"layers", "1"}, {"tp", "8"}, {"tokens", std::to_string(tokens)}}};
}

WhatIfQuestion anything() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return {Ask::gemm, {{"gemm", any_extents()}}};
    case 1:
      return {Ask::collective, any_collective()};
    case 2:
      return step_of(*rc::gen::inRange(1, 4097));
    default:
      return {Ask::c3,
              {{"gemm", any_extents()},
               {"collective", *rc::gen::element<std::string>("all_gather", "all_to_all")},
               {"bytes", any_size()},
               {"strategy", *rc::gen::element<std::string>("c3_base", "c3_sp", "conccl")}}};
  }
}

// Rates that follow the clock are stated per cycle, so L2s, pipes and copy loops keep pace with any highest clock. A
// faster clock between products takes more power, and a governor that holds a mean slows the products a little.
RC_GTEST_PROP(FullWhatIf, AHigherClockHurtsNobody, ()) {
  const Platforms& platforms = any_platform();
  const WhatIfQuestion asked = anything();
  const double today = platforms.base().spec.gpu.power.highest_clock.value() / 1e6;
  const auto [low, high] = two_of(0.6 * today, 2.5 * today);
  const auto at = [&](double megahertz) {
    const Words machine{{"gpu.power.highest_clock", fmt::format("{:.0f} MHz", megahertz)}};
    return time_on(platforms.with(machine), asked.words, asked.ask);
  };
  RC_ASSERT(at(high) <= at(low) * 1.01);
}

// The test draws more tokens than the few for which cuBLAS was seen to split products without any gain.
RC_GTEST_PROP(FullWhatIf, MoreTokensTakeNoLess, ()) {
  const Platforms& platforms = any_platform();
  const int fewest = platforms.base().spec.gpu.gemm.library.undivided_columns;
  const int few = *rc::gen::inRange(fewest + 1, 1025);
  const WhatIfQuestion asked = step_of(few);
  Words more = asked.words;
  more.back().value = std::to_string(few + *rc::gen::inRange(1, few + 2));
  const models::PlatformSpec& machine = platforms.base().spec;
  const double slack = machine.gpu.memory.has_cache() ? 1.05 : 1.15;  // as for products: kernel_bounds_test.cpp
  RC_ASSERT(time_on(machine, asked.words, asked.ask) <= slack * time_on(machine, more, asked.ask));
}

// 16 tokens need no wider a tile than 17 tokens, and get a tile of another shape where it is faster.
TEST(WhatIf, SeventeenTokensTakeNoLessThanSixteen) {
  const auto step_us = [](const std::string& tokens) {
    return time_on(machines().base().spec,
                   {{"model", "llama3-70b"}, {"phase", "prefill"}, {"layers", "1"}, {"tp", "8"}, {"tokens", tokens}},
                   Ask::step);
  };
  EXPECT_LE(step_us("16"), step_us("17"));
}

double time_with_engines(int engines, const Words& words) {
  return time_us({{"gpu.sdma.engines", std::to_string(engines)}}, words);
}

// From 9 engines on no two links share an engine (two are the host's); 16 and more follow the map of today.
RC_GTEST_PROP(FullWhatIf, MoreEnginesHurtNoCollectiveWithEnginesOfItsOwn, ()) {
  const Words words = engine_collective();
  const int few = *rc::gen::inRange(16, 65);
  expect_no_slower(time_with_engines(*rc::gen::inRange(few, 66), words), time_with_engines(few, words));
}

// Back-to-back copies all run on one engine. Where each link has its own engine, this one is a stranger to six of seven
// links and pays gpu.sdma.affinity_penalty; where links share engines, it is a stranger to fewer links.
RC_GTEST_PROP(FullWhatIf, AnEngineForEachLinkBeatsEnginesThatLinksShare, ()) {
  const Words words = engine_collective();
  const bool one_engine = std::ranges::count(words, Assignment{"variant", "b2b"}) > 0;
  const double penalty = one_engine ? machines().base().spec.gpu.sdma.affinity_penalty : 1.0;
  expect_no_slower(time_with_engines(9, words), penalty * time_with_engines(*rc::gen::inRange(3, 9), words));
}

RC_GTEST_PROP(FullWhatIf, LessLatencyHurtsNoCollectiveOnEngines, ()) {
  const Words words = engine_collective();
  const std::string latency = *rc::gen::element<std::string>(
      "gpu.sdma.doorbell_latency", "gpu.sdma.host_read_latency", "gpu.sdma.transfer_setup", "gpu.sdma.transfer_latency",
      "gpu.sdma.atomic_latency", "host.command_write", "host.doorbell", "host.doorbell_interval", "host.word_check",
      "fabric.latency");
  const auto [less, more] = two_of(0.0, 2.0);
  const auto time = [&](double us) { return time_us({{latency, fmt::format("{:.4f}us", us)}}, words); };
  // A polled word is read every poll_interval plus the time of a read: a shorter period may look just before the word
  // changes where a longer one looks just after. That costs at most one period.
  const double one_look = 2.0 + 0.1;
  RC_ASSERT(time(less) <= time(more) + one_look);
}

RC_GTEST_PROP(FullWhatIf, ReductionThatCostsLessIsNoSlower, ()) {
  const Words words{{"collective", *rc::gen::element<std::string>("all_reduce", "reduce_scatter")},
                    {"backend", "sdma"},
                    {"bytes", any_size()}};
  const auto [cheap, dear] = two_of(1.0, 4.0);
  const auto time = [&words](double cost) {
    return time_us({{"gpu.sdma.reduction", "true"}, {"gpu.sdma.reduce_cost", fmt::format("{:.4f}", cost)}}, words);
  };
  expect_no_slower(time(cheap), time(dear));
}

// A reduction that costs what a copy costs moves an all-reduce's bytes twice, as reduce-scatter and all-gather do, so
// it cannot be faster than the links: twice 7/8 of the array over seven links.
RC_GTEST_PROP(FullWhatIf, ReducingEnginesDoNotBeatTheLinks, ()) {
  const double kibibytes = std::pow(2.0, *rc::gen::inRange(3, 21));
  const double links = 7.0 * 48.5e9 * (1.0 + 1e-6);
  const double least_us = 2.0 * 7.0 / 8.0 * kibibytes * 1024.0 / links * 1e6;
  const Words words{{"collective", "all_reduce"}, {"backend", "sdma"}, {"bytes", fmt::format("{:.0f}KiB", kibibytes)}};
  RC_ASSERT(time_us({{"gpu.sdma.reduction", "true"}, {"gpu.sdma.reduce_cost", "1"}}, words) >= least_us);
}

// Each command from the GPU has fewer or shorter steps than a command from the host.
RC_GTEST_PROP(FullWhatIf, CommandsFromTheGpuHurtNoCollective, ()) {
  const Words words = engine_collective();
  const Words by_gpu{{"gpu.sdma.submitted_by", "gpu"}, {"gpu.sdma.completion_seen_by", "gpu"}};
  RC_ASSERT(time_us(by_gpu, words) <= time_us({}, words));
}

// A single copy shares no doorbell: batching has none to save, and nothing to delay.
TEST(FullWhatIf, OneCopyIsTheSameWithBatchedDoorbells) {
  const Words words{{"from", "gpu0"}, {"to", "gpu1"}, {"bytes", "1MiB"}};
  EXPECT_EQ(time_us({{"gpu.sdma.batched_doorbell", "true"}}, words, Ask::copy), time_us({}, words, Ask::copy));
}

// Memories that serve collectives first change nothing for a collective that has the memory to itself.
RC_GTEST_PROP(FullWhatIf, PriorityInMemoryIsNothingToALoneCollective, ()) {
  const Words words = any_collective();
  RC_ASSERT(time_us({{"gpu.memory.collectives_first", "true"}}, words) == time_us({}, words));
}

}  // namespace
}  // namespace c3sim::study
