// These tests check which part of a collective runs where and what each collective is defined to deliver.
#include "models/collectives/collective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/collectives/algorithm.h"
#include "models/collectives/deliveries.h"
#include "models/machine/delivery_ledger.h"
#include "sim/check.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_MiB;

// Kernels do the reduce-scatter; no engine starts before the host knows that all kernels have ended.
TEST(SharedAllReduce, IsTheReduceScatterOfKernelsAndThenTheAllGatherOfEngines) {
  const PlatformSpec platform = mi300x();
  for (int gpus = 2; gpus <= 8; ++gpus) {
    for (const bool prelaunch : {false, true}) {
      CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::sdma, 16_MiB, gpus);
      const CollectiveSpec first = collective(CollectiveKind::reduce_scatter, Backend::rccl, 16_MiB, gpus);
      CollectiveSpec second = collective(CollectiveKind::all_gather, Backend::sdma, 16_MiB, gpus);
      spec.prelaunch = second.prelaunch = prelaunch;
      const auto sum = time_on(platform, first) + time_on(platform, second);
      // Prelaunched engines check their POLL packets at other moments.
      const double poll_us =
          sim::to_microseconds(platform.gpu.sdma.host_read_latency + platform.gpu.sdma.poll_interval);
      EXPECT_NEAR(sim::to_microseconds(time_on(platform, spec)), sim::to_microseconds(sum), prelaunch ? poll_us : 1e-3)
          << gpus << " GPUs, prelaunch " << prelaunch;
    }
  }
}

TEST(SharedAllReduce, TakesTheCusItIsGivenAndTheVariantItNames) {
  const PlatformSpec platform = mi300x();
  CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::sdma, 256_MiB);
  const sim::Time all_cus = time_on(platform, spec);
  spec.cus = 8;
  EXPECT_GT(time_on(platform, spec), all_cus);
  spec.cus.reset();
  spec.variant = SdmaVariant::b2b;
  EXPECT_GT(time_on(platform, spec), all_cus);
}

// The mesh looks the same from every GPU: the last four GPUs take as long as the first four.
TEST(CollectiveGroup, TakesAsLongWhereverItBegins) {
  const PlatformSpec platform = mi300x();
  for (const Algorithm& backend : backends()) {
    for (const CollectiveKind kind : backend.kinds) {
      CollectiveSpec spec = collective(kind, {backend.name}, 16_MiB, 4);
      if (kind == CollectiveKind::reduce_scatter && spec.backend == Backend::sdma) continue;
      spec.host_threads = HostThreads::per_gpu;
      const sim::Time first = time_on(platform, spec);
      spec.first = 4;
      EXPECT_EQ(time_on(platform, spec), first) << backend.name << " " << to_string(kind);
    }
  }
}

TEST(CollectiveParts, AreKernelsEnginesOrBoth) {
  SdmaSpec engines = mi300x().gpu.sdma;
  const CollectiveSpec on_sdma = collective(CollectiveKind::all_reduce, Backend::sdma, 1_MiB);
  EXPECT_EQ(kernel_part(on_sdma, engines)->kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(engine_part(on_sdma, engines)->kind, CollectiveKind::all_gather);
  const CollectiveSpec on_rccl = collective(CollectiveKind::all_reduce, Backend::rccl, 1_MiB);
  EXPECT_EQ(kernel_part(on_rccl, engines)->kind, CollectiveKind::all_reduce);
  EXPECT_FALSE(engine_part(on_rccl, engines));
  engines.reduction = true;
  EXPECT_FALSE(kernel_part(on_sdma, engines));
  EXPECT_EQ(engine_part(on_sdma, engines)->kind, CollectiveKind::all_reduce);
}

// On four GPUs, chunk r of an array of 4000 bytes is bytes 1000 r to 1000 (r + 1).
TEST(CollectiveData, IsWhatTheNameOfTheCollectiveSays) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, Backend::rccl, sim::Bytes(4000), 4);
  const auto range = [](int gpu, int buffer, double begin, double bytes) {
    return BufferRange{gpu, buffer, sim::Bytes(begin), sim::Bytes(bytes)};
  };
  const auto only = [&spec](CollectiveKind kind, int from, int to) {
    const std::vector<Delivery> all = deliveries(kind, spec, from, to);
    EXPECT_EQ(all.size(), 1U);
    return all.front();
  };
  EXPECT_EQ(only(CollectiveKind::all_gather, 2, 1), (Delivery{range(1, 1, 2000, 1000), range(2, 1, 2000, 1000)}));
  EXPECT_EQ(only(CollectiveKind::all_to_all, 2, 1), (Delivery{range(1, 1, 2000, 1000), range(2, 0, 1000, 1000)}));
  EXPECT_EQ(only(CollectiveKind::reduce_scatter, 2, 1), (Delivery{range(1, 1, 1000, 1000), range(2, 0, 1000, 1000)}));
  EXPECT_EQ(only(CollectiveKind::broadcast, 0, 1), (Delivery{range(1, 1, 0, 4000), range(0, 1, 0, 4000)}));
  EXPECT_TRUE(deliveries(CollectiveKind::broadcast, spec, 2, 1).empty());
  EXPECT_EQ(
      deliveries(CollectiveKind::all_reduce, spec, 2, 1),
      (std::vector<Delivery>{only(CollectiveKind::reduce_scatter, 2, 1), only(CollectiveKind::all_gather, 2, 1)}));
  // A swap works in place.
  spec.backend = Backend::sdma;
  spec.variant = SdmaVariant::swap;
  EXPECT_EQ(only(CollectiveKind::all_to_all, 2, 1).source, range(2, 1, 1000, 1000));
}

TEST(CollectiveData, PadsTheArrayToAMultipleOfTheGpus) {
  const CollectiveSpec spec = collective(CollectiveKind::all_gather, Backend::rccl, sim::Bytes(1001), 4);
  EXPECT_EQ(chunk(spec, 0, 0, 3).begin, sim::Bytes(753));
  EXPECT_EQ(chunk(spec, 0, 0, 3).bytes, sim::Bytes(251));
}

BufferRange range(int device, double begin, double bytes) { return {device, 0, sim::Bytes(begin), sim::Bytes(bytes)}; }

// Bytes 0 to 100 of GPU 1 must be delivered from the same bytes of GPU 0.
TEST(DeliveryLedger, RejectsAMissingByteAByteWrittenTwiceAndBytesOfAnotherSource) {
  using Deliveries = std::vector<std::pair<BufferRange, BufferRange>>;
  for (const Deliveries& deliveries : {Deliveries{{range(1, 0, 99), range(0, 0, 99)}},
                                       {{range(1, 0, 100), range(0, 0, 100)}, {range(1, 50, 1), range(0, 50, 1)}},
                                       {{range(1, 0, 100), range(0, 1, 100)}}}) {
    DeliveryLedger ledger;
    ledger.expect(range(1, 0, 100), range(0, 0, 100));
    for (const auto& [to, from] : deliveries) ledger.deliver(to, from);
    EXPECT_THROW(ledger.require_complete(), sim::InternalError);
  }
}

TEST(DeliveryLedger, ASwapIsTwoDeliveriesBothOfWhichAreDue) {
  DeliveryLedger ledger;
  ledger.expect(range(0, 0, 8), range(1, 0, 8));
  ledger.expect(range(1, 0, 8), range(0, 0, 8));
  ledger.deliver(range(0, 0, 8), range(1, 0, 8));
  EXPECT_THROW(ledger.require_complete(), sim::InternalError);
  ledger.deliver(range(1, 0, 8), range(0, 0, 8));
  EXPECT_NO_THROW(ledger.require_complete());
}

TEST(DeliveryLedger, AReductionTakesEverySourceOnce) {
  DeliveryLedger ledger;
  for (int source : {1, 2}) ledger.expect(range(0, 0, 100), range(source, 0, 100));
  // The pieces of the two sources interleave in the destination.
  for (double begin : {0.0, 50.0}) {
    for (int source : {2, 1}) ledger.deliver(range(0, begin, 50), range(source, begin, 50));
  }
  EXPECT_NO_THROW(ledger.require_complete());
  ledger.deliver(range(0, 0, 50), range(1, 0, 50));
  EXPECT_THROW(ledger.require_complete(), sim::InternalError);
}

RC_GTEST_PROP(DeliveryLedgerProperty, AnyPartitionInAnyOrderIsComplete, ()) {
  DeliveryLedger ledger;
  const auto cuts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000));
  std::vector<int> ends(cuts);
  ends.push_back(0);
  ends.push_back(1000);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<std::pair<int, int>> pieces;
  for (std::size_t i = 1; i < ends.size(); ++i) pieces.emplace_back(ends[i - 1], ends[i]);
  std::rotate(pieces.begin(), pieces.begin() + *rc::gen::inRange<long>(0, static_cast<long>(pieces.size())),
              pieces.end());
  ledger.expect(range(3, 0, 1000), range(4, 7000, 1000));
  for (const auto& [begin, end] : pieces)
    ledger.deliver(range(3, begin, end - begin), range(4, 7000 + begin, end - begin));
  ledger.require_complete();
}

}  // namespace
}  // namespace c3sim::models
