// These tests cover kernels that move data to or from other GPUs or the host. On the round machine a launch takes 4 us,
// dispatch 1 us and notice 2 us.
#include "models/kernels/remote_kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/kernels/block_copies.h"
#include "models/platform/device.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

double microseconds(const PlatformSpec& platform, const RemoteKernelSpec& kernel) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_remote_kernel(node, kernel)));
}

RemoteKernelSpec kernel(std::vector<int> peers, RemoteAccess access, double bytes) {
  return {0, std::move(peers), access, sim::Bytes(bytes), 8};
}

TEST(RemoteKernel, OfAByteTakesItsLaunchAndNotice) {
  EXPECT_NEAR(microseconds(round_platform(), kernel({1}, RemoteAccess::uncached_store, 1.0)), around_us + 1e-4, 1e-5);
}

TEST(RemoteKernel, HasEveryLinkForItself) {
  for (const RemoteAccess access : {RemoteAccess::uncached_store, RemoteAccess::load}) {
    EXPECT_NEAR(microseconds(round_platform(), kernel({1, 2, 3}, access, 1e9)), around_us + 1e5, 1e-3);
  }
}

// With 12 KB in flight over 2 * 0.5 us, loads reach 12 GB/s: more than one link, but 4 GB/s for each of three peers.
TEST(RemoteKernel, LoadsOfManyPeersShareTheReadsInFlight) {
  using sim::operator""_ns;
  PlatformSpec platform = round_platform();
  platform.fabric.latency = 500_ns;
  platform.fabric.reads_in_flight = sim::Bytes(12e3);
  EXPECT_NEAR(microseconds(platform, kernel({1}, RemoteAccess::load, 1e9)), around_us + 1e5, 1e-3);
  EXPECT_NEAR(microseconds(platform, kernel({1, 2, 3}, RemoteAccess::load, 1e9)), around_us + 2.5e5, 1e-3);
  EXPECT_NEAR(microseconds(platform, kernel({1, 2, 3}, RemoteAccess::uncached_store, 1e9)), around_us + 1e5, 1e-3);
}

// Nearly all of the 8 MiB of L2 is dirty after 3 GB, a third of it per peer, and is written back at 1 GB/s in all.
TEST(RemoteKernel, WritesBackWhatItsStoresLeftInTheL2) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.writeback_rate = sim::BytesPerSecond(1e9);
  const double dirty = 8.0 * 1048576.0;
  EXPECT_NEAR(microseconds(platform, kernel({1, 2, 3}, RemoteAccess::store, 1e9)),
              around_us + (1e9 - dirty / 3.0) / 1e4 + dirty / 1e3, 1e-2);
  // Data far smaller than the L2 stays there until the end.
  EXPECT_NEAR(microseconds(platform, kernel({1, 2, 3}, RemoteAccess::store, 1e3)), around_us + 3.0, 1e-2);
  // The link to one peer is slower than the write-back of a fast L2, so write-back costs nothing.
  platform.gpu.memory.writeback_rate = sim::BytesPerSecond(1e12);
  EXPECT_NEAR(microseconds(platform, kernel({1}, RemoteAccess::store, 1e9)), around_us + 1e5, 1e-3);
}

TEST(RemoteKernel, MovesEveryByteOnceOverItsLink) {
  for (const RemoteAccess access : {RemoteAccess::store, RemoteAccess::load}) {
    PlatformSpec platform = round_platform();
    platform.gpu.memory.writeback_rate = sim::BytesPerSecond(1e9);
    LoneNode node(platform);
    time_of(node, run_remote_kernel(node, kernel({1, 3}, access, 1e6)));
    for (const int peer : {1, 3}) {
      const bool load = access == RemoteAccess::load;
      const auto link = load ? node.fabric().link(peer, 0) : node.fabric().link(0, peer);
      EXPECT_NEAR(node.network().served(link), 1e6, 1.0);
    }
    EXPECT_EQ(node.network().served(node.fabric().link(0, 2)), 0.0);
  }
}

// S bytes of random stores into a cache of capacity C leave C (1 - exp(-S / C)) dirty.
TEST(MemoryWriteback, LinesStayDirtyUntilOthersTakeTheirPlace) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  const Memory memory(round_memory(), network, "gpu0");
  const double capacity = 8.0 * 1048576.0;
  EXPECT_NEAR(memory.dirty_in_l2(sim::Bytes(1024.0)).value(), 1024.0, 0.1);
  EXPECT_NEAR(memory.dirty_in_l2(sim::Bytes(capacity)).value(), capacity * (1.0 - std::exp(-1.0)), 1.0);
  EXPECT_NEAR(memory.dirty_in_l2(sim::Bytes(1e9)).value(), capacity, 1.0);
}

// The round machine takes 1 us to dispatch a call and 2 us to notice its end. Links, also to the host, have 10 GB/s.

using sim::operator""_us;
using sim::operator""_ns;

sim::Task<> gather(Node& node, SdmaCopySpec spec) { co_await run_gather_kernel(node, spec); }

double microseconds(const PlatformSpec& platform, int from, int to, double bytes, std::int64_t copies) {
  LoneNode node(platform);
  const SdmaCopySpec spec{
      .from = from, .to = to, .bytes = sim::Bytes(bytes), .submit = Submission::kernel, .copies = copies};
  return sim::to_microseconds(time_of(node, gather(node, spec)));
}

PlatformSpec with_gather_calls() {
  PlatformSpec platform = round_platform();
  platform.fabric.host_latency = 500_ns;
  platform.host.copies.call = 1_us;
  platform.host.copies.start = 4_us;
  platform.host.copies.workgroup_in_flight = sim::Bytes(1000.0);
  return platform;
}

// A workgroup moves 1000 bytes per round trip of 1 us: 1 GB/s. On 8 CUs, 32 workgroups fill the link, and 64 run in two
// waves.
TEST(GatherKernel, OfOneBlockWaitsForTheWayToTheHostAndOfManyForTheLink) {
  EXPECT_NEAR(microseconds(with_gather_calls(), host_device, 0, 1e6, 1), around_us + 1000, 1e-2);
  EXPECT_NEAR(microseconds(with_gather_calls(), host_device, 0, 1e6, 64), around_us + 6400, 3);
}

// Stores do not wait for their destination.
TEST(GatherKernel, StoresToTheHostAndToPeersAtTheRateOfTheLink) {
  EXPECT_NEAR(microseconds(with_gather_calls(), 0, host_device, 1e6, 40), around_us + 4000, 1);
  EXPECT_NEAR(microseconds(with_gather_calls(), 0, 1, 1e6, 40), around_us + 4000, 1);
}

}  // namespace
}  // namespace c3sim::models
