// Which protocol a collective takes, and what becomes of its time where one gives way to the next.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "models/collectives/algorithm.h"
#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/collectives/collective_kinds.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

std::string_view protocol(Node& node, const CollectiveSpec& spec) {
  CuMask mask;
  if (spec.cus) mask.end = *spec.cus / node.spec().gpu.memory.xcds;
  return channel_program(node, spec, mask).protocol;
}

// The round machine's 3 steps and slices of s bytes at 10 GB/s: 3 us + s / 2.5 GB/s, 6 us + s / 5 GB/s, 12 us + s / 10
// GB/s, which are as good as each other at 15 KB and at 60 KB.
TEST(RcclProtocol, IsTheOneThatTakesLeast) {
  sim::Simulator simulator;
  const PlatformSpec platform = round_platform();
  Node node(simulator, platform);
  CollectiveSpec spec;
  spec.gpus = 4;
  const auto of_slices = [&](double bytes) {
    spec.bytes = sim::Bytes(4.0 * bytes);
    return protocol(node, spec);
  };
  EXPECT_EQ(of_slices(1.0), "ll");
  EXPECT_EQ(of_slices(14.9e3), "ll");
  EXPECT_EQ(of_slices(15.1e3), "ll128");
  EXPECT_EQ(of_slices(59.9e3), "ll128");
  EXPECT_EQ(of_slices(60.1e3), "simple");
  EXPECT_EQ(of_slices(1e9), "simple");
}

// Around a ring of n GPUs a channel handles n parts of an all-gather for n - 1 that arrive: of 2 GPUs 2 for 1, so twice
// 4 bytes per byte of payload. An all-reduce handles 2n - 1 for 2n - 2, 3 for 2: 6. A direct exchange has no own part
// to send on.
TEST(RcclLoop, HandlesTheOwnPartAsWell) {
  sim::Simulator simulator;
  PlatformSpec platform = round_platform();
  for (RcclCollectiveSpec& collective : platform.rccl.collectives) collective.loop_bytes = 4.0;
  Node node(simulator, platform);
  const auto bytes = [&node](CollectiveKind kind, int gpus) {
    CollectiveSpec spec;
    spec.kind = kind;
    spec.gpus = gpus;
    spec.bytes = sim::Bytes(1e6);
    return channel_program(node, spec, {}).steps.front().demand.bytes_per_unit;
  };
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_gather, 2), 8.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_reduce, 2), 6.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_to_all, 2), 4.0);
}

// A step for each other GPU, of an all-reduce two: with 1 us each 3 and 6 us on 4 GPUs.
// All 6 channels, at a 36th: a loop takes twice as long; one of a direct exchange, whose channels wait for none, does
// not.
TEST(RcclLoop, TakesLongerTheMoreChannelsARingHas) {
  sim::Simulator simulator;
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_latency = 2_us;
  platform.rccl.crowding = 1.0 / 36.0;
  Node node(simulator, platform);
  const auto latency = [&node](CollectiveKind kind) {
    CollectiveSpec spec;
    spec.kind = kind;
    spec.gpus = 4;
    spec.bytes = sim::Bytes(1e6);
    spec.channels = 6;
    return channel_program(node, spec, {}).steps.front().demand.step_latency;
  };
  EXPECT_EQ(latency(CollectiveKind::all_gather), 4_us);
  EXPECT_EQ(latency(CollectiveKind::all_to_all), 2_us);
}

TEST(RcclSteps, GoWithTheNumberOfGpus) {
  sim::Simulator simulator;
  PlatformSpec platform = round_platform();
  for (RcclProtocolSpec& each : platform.rccl.protocols) each.step_latency = 1_us;
  platform.rccl.collectives[static_cast<std::size_t>(CollectiveKind::all_gather)].steps_per_peer = 1.0;
  platform.rccl.collectives[static_cast<std::size_t>(CollectiveKind::all_reduce)].steps_per_peer = 2.0;
  Node node(simulator, platform);
  const auto latency = [&node](CollectiveKind kind) {
    CollectiveSpec spec;
    spec.kind = kind;
    spec.gpus = 4;
    spec.bytes = sim::Bytes(1e6);
    return channel_program(node, spec, {}).steps.front().latency;
  };
  EXPECT_EQ(latency(CollectiveKind::all_gather), 3_us);
  EXPECT_EQ(latency(CollectiveKind::all_reduce), 6_us);
}

// The sizes at which a collective changes its protocol, by halves.
void expect_no_jump(Node& node, CollectiveSpec spec, double low, double high, int& switches) {
  const auto at = [&spec](double bytes) {
    spec.bytes = sim::Bytes(bytes);
    return spec;
  };
  if (protocol(node, at(low)) == protocol(node, at(high))) return;
  if (high - low > 1.0) {
    const double middle = std::floor(0.5 * (low + high));
    expect_no_jump(node, spec, low, middle, switches);
    expect_no_jump(node, spec, middle, high, switches);
    return;
  }
  ++switches;
  const PlatformSpec& platform = node.spec();
  EXPECT_NEAR(microseconds_on(platform, at(high)) / microseconds_on(platform, at(low)), 1.0, 0.01)
      << platform.name << " " << to_string(spec.kind) << " of " << low << " B, " << spec.gpus << " GPUs, "
      << spec.channels.value_or(0) << " channels, " << spec.cus.value_or(0) << " CUs";
}

TEST(RcclProtocol, GivesWayToTheNextWithoutAJump) {
  int switches = 0;
  for (const PlatformSpec& platform : {mi300x(), mi300x({"rccl.generation=rccl_2024"}), h200()}) {
    sim::Simulator simulator;
    Node node(simulator, platform);
    for (const CollectiveKind kind : all_kinds) {
      for (const int gpus : {2, 3, 5, 8}) {
        for (const std::optional<int> channels : {std::optional<int>(), std::optional<int>(9)}) {
          CollectiveSpec spec;
          spec.kind = kind;
          spec.gpus = gpus;
          spec.channels = channels;
          spec.graph = gpus == 2;
          expect_no_jump(node, spec, 8.0, 1e9, switches);
          if (platform.gpu.memory.xcds == 1) continue;
          spec.cus = 16;
          expect_no_jump(node, spec, 8.0, 1e9, switches);
        }
      }
    }
  }
  EXPECT_GT(switches, 100);
}

}  // namespace
}  // namespace c3sim::models
