// Which protocol a collective takes, and what becomes of its time where one gives way to the next.
#include "models/collectives/rccl_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/collectives/collective_kinds.h"

namespace c3sim::models {
namespace {

// The place of the protocol in RcclSpec::protocols.
std::ptrdiff_t protocol(Node& node, const CollectiveSpec& spec) {
  const PlatformSpec& platform = node.spec();
  const int cus = spec.cus.value_or(platform.gpu.cus());
  const int slots = platform.gpu.slots(cus, platform.rccl.collective(spec.kind).channel);
  return &RcclPlan(node, spec, slots).protocol() - platform.rccl.protocols.data();
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
  EXPECT_EQ(of_slices(1.0), 0);
  EXPECT_EQ(of_slices(14.9e3), 0);
  EXPECT_EQ(of_slices(15.1e3), 1);
  EXPECT_EQ(of_slices(59.9e3), 1);
  EXPECT_EQ(of_slices(60.1e3), 2);
  EXPECT_EQ(of_slices(1e9), 2);
}

// Around a ring of n GPUs a channel handles n parts of an all-gather for n - 1 that arrive; of a full node's 8 for 7,
// the table's 4 bytes are told. Of 2 GPUs, 2 for 1: 4 x 2 / (8 / 7) = 7. An all-reduce handles 3 for 2, 15 for 14 on 8
// GPUs: 4 x 1.5 / (15 / 14) = 5.6.
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
    return RcclPlan(node, spec, 8).loop_bytes();
  };
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_gather, 2), 7.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_reduce, 2), 5.6);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_to_all, 2), 4.0);
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
