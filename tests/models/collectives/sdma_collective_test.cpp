// Does every collective deliver everything once, in the commands its variant is known by?
#include "models/collectives/sdma_collective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "models/collectives/algorithm.h"
#include "tests/models/collectives/collective_kinds.h"
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
std::map<int, Counts> counts_by_gpu(CollectiveKind kind, const CollectiveSpec& spec) {
  std::map<int, Counts> counts;
  for (const EngineProgram& program : sdma_programs(kind, spec, CopyPlatform::mi300x().sdma)) {
    Counts& gpu = counts[program.gpu];
    ++gpu.programs;
    gpu.commands += program.transfers.size();
    gpu.engines.insert(program.engine);
  }
  return counts;
}

// The table of DMA-Latte (arXiv 2511.06605): commands, completions and engines per GPU.
TEST(SdmaProgram, HasTheCommandsOfItsVariant) {
  for (const auto& [gpu, counts] : counts_by_gpu(CollectiveKind::all_gather, all_gather(SdmaVariant::pcpy, 1_MiB))) {
    EXPECT_EQ(counts.commands, 7U);
    EXPECT_EQ(counts.programs, 7U);
    EXPECT_EQ(counts.engines.size(), 7U);
  }
  for (const auto& [gpu, counts] : counts_by_gpu(CollectiveKind::all_gather, all_gather(SdmaVariant::bcst, 1_MiB))) {
    EXPECT_EQ(counts.commands, 4U);
    EXPECT_EQ(counts.programs, 4U);
    EXPECT_EQ(counts.engines.size(), 4U);
  }
  for (const auto& [gpu, counts] : counts_by_gpu(CollectiveKind::all_gather, all_gather(SdmaVariant::b2b, 1_MiB))) {
    EXPECT_EQ(counts.commands, 7U);
    EXPECT_EQ(counts.programs, 1U);
    EXPECT_EQ(counts.engines.size(), 1U);
  }
  std::size_t swaps = 0;
  const CollectiveSpec swap = sdma_collective(CollectiveKind::all_to_all, SdmaVariant::swap, false, 1_MiB);
  for (const auto& [gpu, counts] : counts_by_gpu(CollectiveKind::all_to_all, swap)) {
    EXPECT_LE(counts.commands, 4U);
    EXPECT_EQ(counts.engines.size(), counts.commands);
    swaps += counts.commands;
  }
  EXPECT_EQ(swaps, 28U);
}

TEST(SdmaProgram, DealsBackToBackCopiesToTheEnginesAskedFor) {
  for (int engines : {2, 3, 7, 14}) {
    CollectiveSpec spec = all_gather(SdmaVariant::b2b, 1_MiB);
    spec.engines = engines;
    for (const auto& [gpu, counts] : counts_by_gpu(CollectiveKind::all_gather, spec)) {
      EXPECT_EQ(counts.commands, 7U);
      EXPECT_EQ(counts.programs, static_cast<std::size_t>(std::min(engines, 7)));
    }
  }
}

// run() itself checks that every byte has arrived once.
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
  CollectiveSpec spec = sdma_collective(*rc::gen::elementOf(all_kinds), *rc::gen::elementOf(all_variants),
                                        *rc::gen::arbitrary<bool>(), sim::Bytes(*rc::gen::inRange(8, 1 << 30)));
  spec.gpus = *rc::gen::inRange(2, 9);
  spec.engines = spec.variant == SdmaVariant::b2b ? *rc::gen::inRange(1, 8) : 1;
  RC_PRE(why_impossible_on_sdma(spec, platform.sdma, platform.gpus).empty());
  const sim::Time time = time_on(platform, spec);
  // No link carries more than its rate: one chunk each way over every link, in a broadcast the whole array.
  const double chunk = spec.kind == CollectiveKind::broadcast ? spec.bytes.value() : spec.bytes.value() / spec.gpus;
  RC_ASSERT(sim::to_seconds(time).value() > chunk / platform.fabric.link_rate.value());
}

TEST(SdmaCollective, LargeCollectivesRunAtTheLinksRate) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const sim::Bytes bytes = 16_GiB;
  // All 56 links busy: each also carries the acknowledgements of its opposite.
  const sim::BytesPerSecond link = platform.fabric.link_rate / (1.0 + platform.fabric.reverse_share);
  const double floor = (bytes / 8.0 / link).value();
  const double time = sim::to_seconds(time_on(platform, all_gather(SdmaVariant::pcpy, bytes, true))).value();
  EXPECT_GE(time, floor * 0.9999);
  EXPECT_LE(time, floor * 1.002);
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

TEST(SdmaCollective, SaysWhyItIsImpossible) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const auto why = [&](CollectiveKind kind, SdmaVariant variant, auto change) {
    CollectiveSpec spec = sdma_collective(kind, variant, false, 1_MiB);
    change(spec);
    return why_impossible_on_sdma(spec, platform.sdma, platform.gpus);
  };
  const auto as_is = [](CollectiveSpec&) {};
  EXPECT_EQ(why(CollectiveKind::all_gather, SdmaVariant::pcpy, as_is), "");
  EXPECT_EQ(why(CollectiveKind::all_gather, SdmaVariant::swap, as_is),
            "variant swap does not exist for all_gather; use pcpy, bcst or b2b");
  EXPECT_EQ(why(CollectiveKind::all_to_all, SdmaVariant::bcst, as_is),
            "variant bcst does not exist for all_to_all; use pcpy, swap or b2b");
  EXPECT_EQ(why(CollectiveKind::all_reduce, SdmaVariant::pcpy, as_is),
            "copy engines do not reduce: use the backend rccl, or engines with gpu.sdma.reduction = true");
  EXPECT_EQ(why(CollectiveKind::all_gather, SdmaVariant::pcpy, [](CollectiveSpec& spec) { spec.gpus = 9; }),
            "a collective takes 2 to 8 GPUs of this platform, not 9");
  EXPECT_EQ(why(CollectiveKind::all_gather, SdmaVariant::b2b, [](CollectiveSpec& spec) { spec.engines = 15; }),
            "a GPU has 14 engines for its links, so b2b runs on 1 to that many, not 15");
  EXPECT_EQ(why(CollectiveKind::all_gather, SdmaVariant::pcpy, [](CollectiveSpec& spec) { spec.engines = 2; }),
            "a number of engines is a choice of b2b alone");
  EXPECT_EQ(
      why(CollectiveKind::all_gather, SdmaVariant::pcpy, [](CollectiveSpec& spec) { spec.bytes = sim::Bytes(0); }),
      "a collective moves at least one byte");
}

TEST(SdmaCollective, PrelaunchMustFitInTheRing) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.sdma.ring = 4_KiB;
  const auto why = [&](sim::Bytes bytes) {
    return why_impossible_on_sdma(all_gather(SdmaVariant::pcpy, bytes, true), platform.sdma, platform.gpus);
  };
  EXPECT_EQ(why(1_GiB), "");
  EXPECT_NE(why(16_GiB).find("use a larger ring"), std::string::npos);
}

}  // namespace
}  // namespace c3sim::models
