#include "models/sdma/sdma_copy.h"

#include <gtest/gtest.h>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_us;
using sim::operator""_MiB;

// CopyPlatform::round(): two commands of 65 ns and a doorbell of 2 ns; 32 ns to the engine and 64 ns to fetch; 256 ns
// of set-up, 10 bytes per ns, 512 + 2 * 16 ns; the ATOMIC, decoded meanwhile, 2048 ns under way and seen within 8 ns.
TEST(SdmaCopy, PhasesAreTheStepsOfTheCommand) {
  CopyNode node(CopyPlatform::round());
  const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(1e6), {}});
  EXPECT_EQ(phases.control, 132_ns);
  EXPECT_EQ(phases.schedule, 96_ns);
  EXPECT_NEAR(sim::to_microseconds(phases.copy), 100.8, 1e-5);
  EXPECT_EQ(phases.completion, 2056_ns);
  EXPECT_EQ(phases.total(), node.simulator().now());
}

TEST(SdmaCopy, AnInterruptIsSlowerThanPolling) {
  CopyPlatform platform = CopyPlatform::round();
  platform.host.wait = HostWait::interrupt;
  CopyNode node(platform);
  const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(1e6), {}});
  // The TRAP behind the ATOMIC takes its 128 ns to decode, its write 2048 ns, the interrupt 4096 ns; seen in 8 ns.
  EXPECT_EQ(phases.completion, 6280_ns);
}

// pcie_host_device_mi300x.csv: 56 GB/s from the device on the right engine, 48 on the wrong one, 55 to the device.
TEST(SdmaCopy, HostCopiesRunAtTheMeasuredRates) {
  const auto rate = [](int from, int to, std::optional<int> engine) {
    CopyNode node(CopyPlatform::mi300x());
    return 1073.741824e3 / sim::to_microseconds(node.run(SdmaCopySpec{from, to, 1024_MiB, engine}).copy);
  };
  EXPECT_NEAR(rate(0, host_device, {}), 56.0, 0.5);
  EXPECT_NEAR(rate(0, host_device, 0), 48.0, 0.5);
  EXPECT_NEAR(rate(host_device, 0, {}), 55.0, 0.5);
}

TEST(SdmaCopy, SaysWhyItIsImpossible) {
  const SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1_MiB, 15}, sdma, 8), "");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1_MiB, 16}, sdma, 8), "the engines of a GPU are 0 to 15, there is no 16");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 8, 1_MiB, {}}, sdma, 8), "the GPUs of this platform are gpu0 to gpu7");
  EXPECT_EQ(why_impossible(SdmaCopySpec{3, 3, 1_MiB, {}}, sdma, 8),
            "a copy engine copies between two GPUs, or between a GPU and the host");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, sim::Bytes(0), {}}, sdma, 8), "a copy moves at least one byte");
}

}  // namespace
}  // namespace c3sim::models
