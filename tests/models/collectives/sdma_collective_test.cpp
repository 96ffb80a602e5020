// These tests check that every collective delivers every byte once, in the commands that its variant is known for.
#include "models/collectives/sdma_collective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/collectives/algorithm.h"
#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/reference_table.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

sim::Time time_on(const CopyPlatform& platform, const CollectiveSpec& spec) { return CopyNode(platform).run(spec); }

struct Counts {
  std::size_t programs = 0;  // submissions and completions
  std::size_t commands = 0;
  std::set<int> engines;
};
void expect_counts(const CollectiveSpec& spec, std::size_t programs, std::size_t commands) {
  SCOPED_TRACE(to_string(spec.variant));
  std::map<int, Counts> by_gpu;
  for (const EngineProgram& program : sdma_programs(spec.kind, spec, CopyPlatform::mi300x().sdma)) {
    Counts& gpu = by_gpu[program.gpu];
    ++gpu.programs;
    gpu.commands += program.transfers.size();
    gpu.engines.insert(program.engine);
  }
  EXPECT_EQ(by_gpu.size(), 8U);
  for (const auto& [gpu, counts] : by_gpu) {
    EXPECT_EQ(counts.programs, programs);
    EXPECT_EQ(counts.engines.size(), programs);
    EXPECT_EQ(counts.commands, commands);
  }
}

// The table of DMA-Latte (arXiv 2511.06605) gives the commands, completions and engines per GPU.
TEST(SdmaProgram, HasTheCommandsOfItsVariantOnTheEnginesAskedFor) {
  expect_counts(all_gather(SdmaVariant::pcpy, 1_MiB), 7, 7);
  expect_counts(all_gather(SdmaVariant::bcst, 1_MiB), 4, 4);
  for (const auto& [engines, programs] : std::map<int, std::size_t>{{1, 1}, {2, 2}, {3, 3}, {7, 7}, {14, 7}}) {
    CollectiveSpec spec = all_gather(SdmaVariant::b2b, 1_MiB);
    spec.engines = engines;
    expect_counts(spec, programs, 7);
  }
}

TEST(SdmaProgram, SwapsEveryPairOnce) {
  std::map<int, std::set<int>> engines;
  const CollectiveSpec swap = sdma_collective(CollectiveKind::all_to_all, SdmaVariant::swap, false, 1_MiB);
  std::size_t swaps = 0;
  for (const EngineProgram& program : sdma_programs(swap.kind, swap, CopyPlatform::mi300x().sdma)) {
    swaps += program.transfers.size();
    EXPECT_EQ(program.transfers.size(), 1U);
    EXPECT_TRUE(engines[program.gpu].insert(program.engine).second) << "each on an engine of its own";
    EXPECT_LE(engines[program.gpu].size(), 4U);
  }
  EXPECT_EQ(swaps, 28U);
}
// run() itself checks that every byte arrives once.
RC_GTEST_PROP(SdmaCollectiveProperty, EveryPossibleCollectiveDeliversEverything, ()) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.sdma.reduction = *rc::gen::arbitrary<bool>();
  platform.sdma.completion = *rc::gen::element(SdmaCompletion::atomic, SdmaCompletion::fence);
  platform.sdma.batched_doorbell = *rc::gen::arbitrary<bool>();
  platform.sdma.submitted_by = *rc::gen::element(Initiator::host, Initiator::gpu);
  platform.sdma.completion_seen_by = *rc::gen::element(Initiator::host, Initiator::gpu);
  platform.sdma.engines = *rc::gen::inRange(3, 33);
  platform.sdma.queues_per_engine = *rc::gen::inRange(1, 9);
  platform.sdma.ring = sim::Bytes(*rc::gen::inRange(64, 8192));
  platform.sdma.broadcast_width = *rc::gen::inRange(1, 4);
  platform.host.threads = *rc::gen::element(HostThreads::one, HostThreads::per_gpu);
  platform.host.wait = *rc::gen::element(HostWait::polling, HostWait::interrupt);
  const SdmaVariant variant{sdma_variants()[*rc::gen::inRange<std::size_t>(0, sdma_variants().size())].name};
  CollectiveSpec spec = sdma_collective(*rc::gen::elementOf(all_kinds), variant, *rc::gen::arbitrary<bool>(),
                                        sim::Bytes(*rc::gen::inRange(8, 1 << 30)));
  spec.gpus = *rc::gen::inRange(2, 9);
  spec.engines = spec.variant == SdmaVariant::b2b ? *rc::gen::inRange(1, 8) : 1;
  RC_PRE(why_impossible_on_sdma(spec, platform.sdma).empty());
  const sim::Time time = time_on(platform, spec);
  // No link exceeds its rate: each carries one chunk each way, or the whole array of a broadcast.
  const double chunk = spec.kind == CollectiveKind::broadcast ? spec.bytes.value() : spec.bytes.value() / spec.gpus;
  RC_ASSERT(sim::to_seconds(time).value() > chunk / platform.fabric.link_rate.value());
}

TEST(SdmaCollective, ALargerRunCostsNoMoreEventsThanTwiceASmallOne) {
  const auto events = [](SdmaVariant variant, sim::Bytes bytes) {
    CopyNode node(CopyPlatform::mi300x());
    node.run(all_gather(variant, bytes));
    return node.simulator().events_executed();
  };
  for (const SdmaVariant variant : {SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::b2b}) {
    EXPECT_LE(events(variant, 16_GiB), 2 * events(variant, 1_MiB));
  }
}

TEST(SdmaCollective, PrelaunchTakesTheQueueingOutOfTheTimedPart) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  for (const SdmaVariant variant : {SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::b2b}) {
    EXPECT_LT(time_on(platform, all_gather(variant, 64_KiB, true)), time_on(platform, all_gather(variant, 64_KiB)));
  }
}

TEST(SdmaCollective, AllReduceIsReduceScatterAndAllGather) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.sdma.reduction = true;
  const auto time = [&](CollectiveKind kind) {
    return time_on(platform, sdma_collective(kind, SdmaVariant::pcpy, false, 1_GiB));
  };
  EXPECT_EQ(time(CollectiveKind::all_reduce), time(CollectiveKind::reduce_scatter) + time(CollectiveKind::all_gather));
}

// The next tests compare the MI300X's parameters with what DMA-Latte measured. The project set the error bounds itself;
// the SDMA parameters of the platform file are fitted to these two tables.

struct Column {
  SdmaVariant variant;
  bool prelaunch;
};
constexpr std::array<Column, 5> columns{{{SdmaVariant::pcpy, true},
                                         {SdmaVariant::bcst, false},
                                         {SdmaVariant::bcst, true},
                                         {SdmaVariant::b2b, false},
                                         {SdmaVariant::b2b, true}}};

double all_gather_us(const CopyPlatform& platform, SdmaVariant variant, bool prelaunch, double bytes) {
  CopyNode node(platform);
  return sim::to_microseconds(
      node.run(sdma_collective(CollectiveKind::all_gather, variant, prelaunch, sim::Bytes(bytes))));
}
std::array<double, 5> speedups(const CopyPlatform& platform, double bytes) {
  const double baseline = all_gather_us(platform, SdmaVariant::pcpy, false, bytes);
  std::array<double, 5> result{};
  std::transform(columns.begin(), columns.end(), result.begin(), [&](const Column& column) {
    return baseline / all_gather_us(platform, column.variant, column.prelaunch, bytes);
  });
  return result;
}

// The paper says that copying takes 46 % at 64 KiB, 36 and 51 % at the neighbouring sizes: deviation 46.
TEST(DmaLatte, PhasesOfOneCopyAreWithinFourPointsButOne) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const auto rows = reference_numbers("sdma_p2p_phase_pct_mi300x_dmalatte.csv");
  ASSERT_EQ(rows.size(), 17U);
  for (const auto& row : rows) {
    CopyNode node(platform);
    const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(row[0]), {}});
    const std::array<sim::Time, 4> times{phases.control, phases.schedule, phases.copy, phases.completion};
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double percent = 100.0 * sim::to_microseconds(times[i]) / sim::to_microseconds(phases.total());
      const bool is_steep = i == 2 && row[0] == 65536.0;
      EXPECT_NEAR(percent, row[i + 1], is_steep ? 5.0 : 4.0) << "phase " << i << " at " << row[0] << " bytes";
    }
  }
}

// The errors leave one cell out: 1.58 for prelaunched b2b at 512 KiB lies between 3.58 and 1.84, below plain b2b.
TEST(DmaLatte, AllGatherVariantsComeOutWithinSixPercentAndInOrder) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const auto rows = reference_numbers("sdma_allgather_speedup_mi300x_dmalatte.csv");
  ASSERT_EQ(rows.size(), 22U);
  std::vector<double> errors;
  int best_right = 0;
  for (const auto& row : rows) {
    const std::array<double, 5> predicted = speedups(platform, row[0]);
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (row[0] != 524288 || i != 4) errors.push_back(std::abs(predicted[i] / row[i + 1] - 1.0));
    }
    const auto predicted_best = std::max_element(predicted.begin(), predicted.end()) - predicted.begin();
    const auto measured_best = std::max_element(row.begin() + 1, row.end()) - (row.begin() + 1);
    best_right += predicted_best == measured_best ? 1 : 0;
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<long>(errors.size() / 2), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 0.06);
  EXPECT_GE(best_right, 20);
}

TEST(DmaLatte, LargeVariantsMeetTheirAsymptotes) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const double bytes = 2147483648.0;
  const std::array<double, 5> large = speedups(platform, bytes);
  EXPECT_NEAR(large[1], 0.43, 0.03);
  EXPECT_NEAR(large[3], 0.15, 0.03);
  // For all-to-all, swap reaches 0.51 to 0.53 of pcpy's speed, plus the rounding of both times.
  const auto all_to_all_us = [&](SdmaVariant variant) {
    CopyNode node(platform);
    return sim::to_microseconds(
        node.run(sdma_collective(CollectiveKind::all_to_all, variant, false, sim::Bytes(bytes))));
  };
  EXPECT_NEAR(all_to_all_us(SdmaVariant::pcpy) / all_to_all_us(SdmaVariant::swap), 0.52, 0.015);
}

// A known gap: from 128 KiB to 1 MiB every variant's measured gain over pcpy exceeds the prediction, by up to a third,
// as if only baseline pcpy took 53 us there and 43 at 1 KiB. No cost per command or completion explains it: bcst gains
// 2.05 at 128 KiB with 56 / 32 = 1.75 times fewer commands. Nor does a cost of engines or links: prelaunched pcpy uses
// the same and does not slow. No published time tells more. Closing the gap fails this test.
TEST(DmaLatte, MiddleSizesAreStillUnderestimated) {
  const auto rows = reference_numbers("sdma_allgather_speedup_mi300x_dmalatte.csv");
  const auto row = std::find_if(rows.begin(), rows.end(), [](const auto& cells) { return cells[0] == 262144; });
  ASSERT_NE(row, rows.end());
  const double predicted = speedups(CopyPlatform::mi300x(), 262144)[0];
  EXPECT_LT(predicted, 0.9 * (*row)[1]);
}

// Row T2 of transferbench_examples_mi300x.csv gives 48.349 GB/s for 64 MiB.
TEST(DmaLatte, ALargeCopyRunsAtTheMeasuredRate) {
  CopyNode node(CopyPlatform::mi300x());
  const double us = sim::to_microseconds(node.run(SdmaCopySpec{0, 1, sim::Bytes(67108864), {}}).copy);
  EXPECT_NEAR(67.108864e3 / us, 48.349, 0.25);
}

}  // namespace
}  // namespace c3sim::models
