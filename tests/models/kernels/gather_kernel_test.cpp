// Round machine: 1 us of dispatch between the start of a call and its notice, 2 us; links of 10 GB/s, also to the host.
#include "models/kernels/gather_kernel.h"

#include <gtest/gtest.h>

#include "models/platform/device.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;
using sim::operator""_ns;

sim::Task<> gather(Node& node, SdmaCopySpec spec) { co_await run_gather_kernel(node, spec); }

double microseconds(const PlatformSpec& platform, int from, int to, double bytes, std::int64_t copies) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  const SdmaCopySpec spec{
      .from = from, .to = to, .bytes = sim::Bytes(bytes), .submit = Submission::kernel, .copies = copies};
  return sim::to_microseconds(time_of(simulator, gather(node, spec)));
}

PlatformSpec with_gather_calls() {
  PlatformSpec platform = round_platform();
  platform.fabric.host_latency = 500_ns;
  platform.host.copies.call = 1_us;
  platform.host.copies.start = 4_us;
  platform.host.copies.workgroup_in_flight = sim::Bytes(1000.0);
  return platform;
}

// 1000 bytes a round trip of 1 us are 1 GB/s for a workgroup; 32 of them, on 8 CUs, fill the link, and 64 go in two
// waves.
TEST(GatherKernel, OfOneBlockWaitsForTheWayToTheHostAndOfManyForTheLink) {
  EXPECT_NEAR(microseconds(with_gather_calls(), host_device, 0, 1e6, 1), around_us + 1000, 1e-2);
  EXPECT_NEAR(microseconds(with_gather_calls(), host_device, 0, 1e6, 64), around_us + 6400, 3);
}

// What is stored does not wait for where it goes.
TEST(GatherKernel, StoresToTheHostAndToPeersAtTheRateOfTheLink) {
  EXPECT_NEAR(microseconds(with_gather_calls(), 0, host_device, 1e6, 40), around_us + 4000, 1);
  EXPECT_NEAR(microseconds(with_gather_calls(), 0, 1, 1e6, 40), around_us + 4000, 1);
}

}  // namespace
}  // namespace c3sim::models
