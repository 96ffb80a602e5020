// Which part of a collective runs where, and what each collective is defined to deliver.
#include "models/collectives/collective.h"

#include <gtest/gtest.h>

#include "models/collectives/deliveries.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;

CollectiveSpec collective(CollectiveKind kind, Backend backend, sim::Bytes bytes) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.backend = backend;
  spec.bytes = bytes;
  return spec;
}

// Kernels reduce and scatter; no engine starts before the host knows that all of them have ended.
TEST(SharedAllReduce, IsTheReduceScatterOfKernelsAndThenTheAllGatherOfEngines) {
  const PlatformSpec platform = mi300x();
  for (int gpus = 2; gpus <= 8; ++gpus) {
    for (const bool prelaunch : {false, true}) {
      CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::sdma, 16_MiB);
      CollectiveSpec first = collective(CollectiveKind::reduce_scatter, Backend::rccl, 16_MiB);
      CollectiveSpec second = collective(CollectiveKind::all_gather, Backend::sdma, 16_MiB);
      spec.gpus = first.gpus = second.gpus = gpus;
      spec.prelaunch = second.prelaunch = prelaunch;
      const auto sum = time_on(platform, first) + time_on(platform, second);
      // Prelaunched engines look at their POLLs at other moments.
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

// The mesh is the same wherever one stands: the last four GPUs take what the first four take.
TEST(CollectiveGroup, TakesAsLongWhereverItBegins) {
  const PlatformSpec platform = mi300x();
  for (const BackendAbilities& backend : backends()) {
    for (const CollectiveKind kind : backend.kinds) {
      if (kind == CollectiveKind::reduce_scatter && backend.backend == Backend::sdma) continue;
      CollectiveSpec spec = collective(kind, backend.backend, 16_MiB);
      spec.gpus = 4;
      spec.host_threads = HostThreads::per_gpu;
      const sim::Time first = time_on(platform, spec);
      spec.first = 4;
      EXPECT_EQ(time_on(platform, spec), first) << to_string(backend.backend) << " " << to_string(kind);
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

TEST(CollectiveGroup, LiesWithinTheNode) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, Backend::rccl, 1_MiB);
  spec.gpus = 4;
  spec.first = 5;
  const PlatformSpec platform = mi300x();
  sim::Simulator simulator;
  const Node node(simulator, platform);
  EXPECT_EQ(why_impossible(spec, node),
            "4 GPUs from gpu5 on are more than the node has: 0 to 4 is accepted as the first");
}

TEST(CollectiveParts, SayWhyTheyAreImpossible) {
  sim::Simulator simulator;
  const PlatformSpec platform = mi300x();
  const Node node(simulator, platform);
  CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::sdma, 1_MiB);
  EXPECT_EQ(why_impossible(spec, node), "");
  spec.variant = SdmaVariant::swap;
  EXPECT_EQ(why_impossible(spec, node),
            "the part on copy engines cannot run: variant swap does not exist for all_gather; use pcpy, bcst or b2b");
  spec.variant = SdmaVariant::pcpy;
  spec.cus = 7;
  EXPECT_EQ(why_impossible(spec, node), "7 CUs cannot be had: a multiple of 8, one per XCD, from 8 to 304 is accepted");
  spec = collective(CollectiveKind::reduce_scatter, Backend::sdma, 1_MiB);
  EXPECT_EQ(why_impossible(spec, node),
            "copy engines do not reduce: use the backend rccl, or engines with gpu.sdma.reduction = true");
  spec = collective(CollectiveKind::all_reduce, Backend::rccl, 1_MiB);
  spec.channels = 305;
  EXPECT_EQ(why_impossible(spec, node), "305 channels cannot be had: 1 to 304 are accepted, which fit on the CUs");
  spec.channels = 304;
  EXPECT_EQ(why_impossible(spec, node), "");
  spec.prelaunch = true;
  EXPECT_EQ(why_impossible(spec, node), "prelaunch is for SDMA: kernels have no queue of commands to hold back");
}

// Four GPUs, 4000 bytes: chunk r of an array is bytes 1000 r to 1000 (r + 1).
TEST(CollectiveData, IsWhatTheNameOfTheCollectiveSays) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, Backend::rccl, sim::Bytes(4000));
  spec.gpus = 4;
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
  CollectiveSpec spec = collective(CollectiveKind::all_gather, Backend::rccl, sim::Bytes(1001));
  spec.gpus = 4;
  EXPECT_EQ(chunk(spec, 0, 0, 3).begin, sim::Bytes(753));
  EXPECT_EQ(chunk(spec, 0, 0, 3).bytes, sim::Bytes(251));
}

}  // namespace
}  // namespace c3sim::models
