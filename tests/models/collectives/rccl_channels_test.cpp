// These tests check which protocol a collective takes and how its time behaves where the protocol changes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "models/collectives/collective.h"
#include "models/platform/rccl_spec.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_GBps;
using sim::operator""_us;

std::string_view protocol(Node& node, const CollectiveSpec& spec) {
  CuMask mask;
  if (spec.cus) mask.end = *spec.cus / node.spec().gpu.memory.xcds;
  return channel_program(node, spec, mask).protocol;
}

CollectiveSpec collective_of(CollectiveKind kind, double bytes, int gpus = 4) {
  return collective(kind, Backend::rccl, sim::Bytes(bytes), gpus);
}

auto program_on(const PlatformSpec& platform, const CollectiveSpec& spec) {
  LoneNode node(platform);
  return channel_program(node, spec, {});
}

void expect_protocols(const PlatformSpec& platform, CollectiveKind kind,
                      const std::vector<std::pair<double, std::string_view>>& of_bytes) {
  for (const auto& [bytes, expected] : of_bytes) {
    EXPECT_EQ(program_on(platform, collective_of(kind, bytes)).protocol, expected) << to_string(kind) << ' ' << bytes;
  }
}

RcclCollectiveSpec& row_of(PlatformSpec& platform, CollectiveKind kind) {
  return platform.rccl.collectives[static_cast<std::size_t>(kind)];
}

PlatformSpec with_tuner() {
  PlatformSpec platform = round_platform();
  platform.rccl.tuner = {{{1_us, 1_us, 1.0_GBps}, {100_us, 1_us, 4.0_GBps}, {4_us, 2_us, 4.0_GBps}}};
  return platform;
}

// On the round machine 3 steps and slices of s bytes at 10 GB/s take 3 us + s / 2.5 GB/s by LL, 6 us + s / 5 GB/s by
// LL128 and 12 us + s / 10 GB/s by Simple. LL and LL128 are equal at 15 KB, LL128 and Simple at 60 KB.
TEST(RcclProtocol, IsTheOneThatTakesLeast) {
  expect_protocols(round_platform(), CollectiveKind::all_gather,
                   {{4.0, "ll"},
                    {4.0 * 14.9e3, "ll"},
                    {4.0 * 15.1e3, "ll128"},
                    {4.0 * 59.9e3, "ll128"},
                    {4.0 * 60.1e3, "simple"},
                    {4e9, "simple"}});
}

// The tuner expects an all-gather on 4 GPUs, 3 hops of payload p, to take 4 us + p / 1 GB/s by LL, 10 us + p / 4 GB/s
// by Simple and longer by LL128: equal at p = 8 KB, three quarters of 10.67 KB. Its real time does not count. A direct
// exchange uses LL up to 16 KiB per peer, then Simple. A broadcast counts one hop: 2 us + p / 1 GB/s by LL, 6 us + p /
// 4 GB/s by Simple, equal at 5.33 KB.
TEST(RcclProtocol, IsTheOneThatTheTunerTakesForTheFastest) {
  expect_protocols(with_tuner(), CollectiveKind::all_gather, {{10.6e3, "ll"}, {10.7e3, "simple"}});
  expect_protocols(with_tuner(), CollectiveKind::all_to_all, {{4.0 * 16384.0, "ll"}, {4.0 * 16385.0, "simple"}});
  expect_protocols(with_tuner(), CollectiveKind::broadcast, {{5.3e3, "ll"}, {5.4e3, "simple"}});
}

// Returns a round machine whose channels take 2 us for 1 MB, in chunks, by Simple.
PlatformSpec in_chunks(sim::Bytes chunk) {
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_latency = 2_us;
  platform.rccl.workgroup_in_flight = sim::Bytes(1e6);
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}})
    platform.rccl.protocols[other].link_efficiency = 0.01;
  for (RcclCollectiveSpec& collective : platform.rccl.collectives) {
    collective.chunk = chunk;
    collective.last_loop_bytes = 2.0;
  }
  return platform;
}

double latency_us(const PlatformSpec& platform, CollectiveKind kind, double bytes) {
  return sim::to_seconds(program_on(platform, collective_of(kind, bytes)).steps.front().latency).value() * 1e6;
}

// Each of 6 channels has 1 MB of a part of 24 MB, whose two bytes per byte take 4 us to copy. In quarter chunks the
// first round takes 1 us, and four rounds take 2 sqrt(4) - 1 = 3 us; the forty rounds of ten times the array 11.65.
TEST(RcclRounds, LeaveLinksWithoutWorkTheLessTheMoreThereAre) {
  constexpr auto kind = CollectiveKind::all_gather;
  const auto idle_us = [](double chunk, double bytes) {
    const auto program = program_on(in_chunks(sim::Bytes(chunk)), collective_of(kind, bytes));
    return program.steps.front().rounds.value().idle.value() * 1e6;
  };
  EXPECT_NEAR(idle_us(2e6, 24e6), 4.0, 1e-3);
  EXPECT_NEAR(idle_us(0.25e6, 24e6), 3.0, 1e-3);
  EXPECT_NEAR(idle_us(0.25e6, 240e6), 2.0 * std::sqrt(40.0) - 1.0, 1e-3);
  EXPECT_NEAR(latency_us(in_chunks(sim::Bytes(2e6)), kind, 24e6), 12.0, 1e-3) << "Simple's three steps";
}

// The 6 MB that two channels send over a link of 10 GB/s take 600 us, plus 4 us without work. Channels of 40 KB send
// 7.5 GB/s and take 800 us, which includes the 100 us of their last part, so links lose no more time.
TEST(RcclRounds, TakeTimeOnlyWhereLinksBoundThem) {
  const auto time_us = [](PlatformSpec platform, double chunk) {
    for (RcclCollectiveSpec& collective : platform.rccl.collectives) collective.chunk = sim::Bytes(chunk);
    return microseconds_on(platform, collective_of(CollectiveKind::all_gather, 24e6));
  };
  PlatformSpec platform = in_chunks(sim::Bytes(2e6));
  constexpr double next_to_nothing = 1.0;
  EXPECT_NEAR(time_us(platform, 2e6) - time_us(platform, next_to_nothing), 4.0, 0.05);
  platform.rccl.workgroup_in_flight = sim::Bytes(40e3);
  EXPECT_NEAR(time_us(platform, 2e6) - time_us(platform, next_to_nothing), 0.0, 0.05);
}

// Channels that send to each peer separately are in step only at the end: one and a half channels per peer have 6 MB, 4
// MB each, and copy their last chunk of 2 MB in 8 us.
TEST(RcclRounds, OfAnExchangeEndWithACopyThatNoLinkSees) {
  EXPECT_NEAR(latency_us(in_chunks(sim::Bytes(2e6)), CollectiveKind::all_to_all, 24e6), 12.0 + 8.0, 1e-3);
}

// By Simple, sends and receives may load a link differently from rings.
TEST(RcclExchange, MayHaveALinkEfficiencyOfItsOwn) {
  PlatformSpec platform = round_platform();
  row_of(platform, CollectiveKind::all_to_all).link_efficiency = 0.5;
  const auto link_bytes = [&platform](CollectiveKind kind) {
    return program_on(platform, collective_of(kind, 4e9)).steps.front().demand.peer.value().link_bytes;
  };
  EXPECT_DOUBLE_EQ(link_bytes(CollectiveKind::all_to_all), 2.0);
  EXPECT_DOUBLE_EQ(link_bytes(CollectiveKind::all_gather), 1.0);
}

// In a chain of 4 GPUs two wait for the first chunk of all 6 channels, 3 MB, at the 30 GB/s of a GPU's three links; the
// last copy of 0.5 MB takes 2 us. An array of 6 MB is 1 MB per channel: two chunks, with the same latency.
TEST(RcclRounds, DownAChainWaitForAWholeChunk) {
  constexpr auto kind = CollectiveKind::broadcast;
  EXPECT_NEAR(latency_us(in_chunks(sim::Bytes(0.5e6)), kind, 24e6), 12.0 + 2.0 * 100.0 + 2.0, 1e-3);
  EXPECT_NEAR(latency_us(in_chunks(sim::Bytes(0.5e6)), kind, 6e6), 12.0 + 2.0 * 100.0 + 2.0, 1e-3);
  // An array of 1.2 MB is 0.2 MB per channel, all in one chunk.
  EXPECT_NEAR(latency_us(in_chunks(sim::Bytes(0.5e6)), kind, 1.2e6), 12.0 + 2.0 * 40.0 + 0.8, 1e-3);
}

// Both collectives start once, in 7 us, and take three or six steps of 4 us: an all-gather takes one step per other
// GPU, an all-reduce two.
TEST(RcclSteps, GoWithTheNumberOfGpusAndBeginOnce) {
  PlatformSpec platform = round_platform();
  platform.rccl.protocols[2].start = 7_us;
  row_of(platform, CollectiveKind::all_gather).steps_per_peer = 1.0;
  row_of(platform, CollectiveKind::all_reduce).steps_per_peer = 2.0;
  EXPECT_NEAR(latency_us(platform, CollectiveKind::all_gather, 24e6), 7.0 + 12.0, 1e-3);
  EXPECT_NEAR(latency_us(platform, CollectiveKind::all_reduce, 24e6), 7.0 + 24.0, 1e-3);
}

// On a ring of n GPUs a channel handles n parts of an all-gather for n - 1 that arrive: 2 for 1 on 2 GPUs, so twice 4
// bytes per byte of payload. An all-reduce handles 2n - 1 for 2n - 2, 3 for 2: 6 bytes. A direct exchange sends no own
// part on. If the last part, which is sent to nobody, takes 1 byte instead of 4, the results are 5 and 4.5.
TEST(RcclLoop, HandlesTheOwnPartAsWellAndTheLastAsFar) {
  PlatformSpec platform = round_platform();
  const auto bytes = [&platform](CollectiveKind kind) {
    return program_on(platform, collective_of(kind, 1e6, 2)).steps.front().demand.bytes_per_unit;
  };
  for (RcclCollectiveSpec& collective : platform.rccl.collectives) collective.loop_bytes = 4.0;
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_gather), 8.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_reduce), 6.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_to_all), 4.0);
  for (RcclCollectiveSpec& collective : platform.rccl.collectives) {
    collective.chunk = sim::Bytes(1e6);
    collective.last_loop_bytes = 1.0;
  }
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_gather), 5.0);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::all_reduce), 4.5);
}

// Crowding of 1/36 with all 6 channels doubles the time of a loop, except in a direct exchange, whose channels wait for
// no other channel.
TEST(RcclLoop, TakesLongerTheMoreChannelsARingHas) {
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_latency = 2_us;
  row_of(platform, CollectiveKind::all_gather).crowding = 1.0 / 36.0;
  for (const auto& [kind, latency] :
       {std::pair(CollectiveKind::all_gather, 4_us), {CollectiveKind::all_to_all, 2_us}}) {
    CollectiveSpec spec = collective_of(kind, 1e6);
    spec.channels = 6;
    EXPECT_EQ(program_on(platform, spec).steps.front().demand.step_latency, latency);
  }
}

// Of 4 KB a peer receives 1 KB: one channel. Of 9 KB it receives 2.25 KB: three. No more channels than exist are used.
TEST(RcclExchange, GivesAPeerAsManyChannelsAsHaveEnoughEach) {
  RcclSpec library = round_platform().rccl;
  RcclCollectiveSpec& exchange = library.collectives[static_cast<std::size_t>(CollectiveKind::all_to_all)];
  exchange.channels = 16;
  CollectiveSpec spec{.kind = CollectiveKind::all_to_all, .gpus = 4};
  const auto channels = [&](double bytes) {
    spec.bytes = sim::Bytes(bytes);
    return library.channels(spec);
  };
  EXPECT_EQ(channels(4e3), 16) << "all, where no part is the least";
  exchange.least_part = sim::Bytes(1e3);
  EXPECT_EQ(channels(4e3), 4);
  EXPECT_EQ(channels(9e3), 12);
  EXPECT_EQ(channels(1e9), 16);
  spec.channels = 2;
  EXPECT_EQ(channels(4e3), 2);
}

// By LL, up to 16 KiB per peer, an exchange starts as rings do. Its start by Simple, 5 us, replaces 3 steps of 4 us.
TEST(RcclExchange, StartsBySimpleAsItsOwnKernelDoes) {
  const PlatformSpec platform = with_tuner();
  PlatformSpec starting = platform;
  row_of(starting, CollectiveKind::all_to_all).start = 5_us;
  for (const auto& [bytes, more_us] : {std::pair(4e3, 0.0), {4e6, 5.0 - 12.0}}) {
    EXPECT_NEAR(latency_us(starting, CollectiveKind::all_to_all, bytes),
                latency_us(platform, CollectiveKind::all_to_all, bytes) + more_us, 1e-6);
  }
}

// Bisects for sizes at which a collective changes its protocol and expects no jump of its time there.
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

// The platforms have no known tuner. NCCL's own tuner leaves jumps: between 1 and 2 MiB the time of an all-reduce of
// two H200s grows by 12.7 us (tensor_parallel.csv).
TEST(RcclProtocol, FullGivesWayToTheNextWithoutAJump) {
  int switches = 0;
  PlatformSpec untuned = h200();
  untuned.rccl.tuner.reset();
  for (const PlatformSpec& platform : {mi300x(), mi300x({"rccl.generation=rccl_2024"}), untuned}) {
    LoneNode node(platform);
    for (const CollectiveKind kind : all_kinds) {
      for (const int gpus : {2, 3, 5, 8}) {
        for (const std::optional<int> channels : {std::optional<int>(), std::optional<int>(9)}) {
          CollectiveSpec spec{.kind = kind, .gpus = gpus, .channels = channels, .graph = gpus == 2};
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

// Each ring takes one of the gpus - 1 links out of every GPU. Over 3 GPUs there are two rings, one each way. Over 4 and
// 6 GPUs, gpus - 1 disjoint rings do not exist (Tillson 1980: the complete digraph of n nodes decomposes into rings
// except for n = 4 and n = 6); over 5 and 7 they do, and the search finds them.
TEST(RingsOfAMesh, AreAsManyAsLinksOfAGpuOrFewerWhereThoseDoNotFallApartIntoRings) {
  for (const auto& [gpus, rings] : {std::pair(2, 1), {3, 2}, {4, 2}, {5, 4}, {6, 4}, {7, 6}}) {
    EXPECT_EQ(rings_of_mesh(gpus), rings) << gpus;
  }
}

TEST(RingsOfAMesh, AreFoundForAnyNumberWithoutTryingAll) {
  for (int gpus = 2; gpus <= 16; ++gpus) {
    EXPECT_GE(rings_of_mesh(gpus), 1) << gpus;
    EXPECT_LE(rings_of_mesh(gpus), gpus - 1) << gpus;
  }
}

}  // namespace
}  // namespace c3sim::models
