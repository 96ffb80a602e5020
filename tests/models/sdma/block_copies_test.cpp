// CopyPlatform::round(), two GPUs: links and engines of 10 GB/s, so that a block of 100 kB takes 10 us.
#include "models/sdma/block_copies.h"

#include <gtest/gtest.h>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;
using sim::operator""_GBps;

constexpr double block = 1e5;
constexpr double copies_start_us = 4.0;
constexpr double copies_notice_us = 1.0;

CopyPlatform with_calls() {
  CopyPlatform platform = CopyPlatform::round();
  platform.host.kernel_notice = 1_us;
  platform.host.copies = {.call = 1_us,
                          .start = 4_us,
                          .order_from_host = 2_us,
                          .order_to_host = 3_us,
                          .order_of_peers = 5_us,
                          .batch_packs = true,
                          .host_rate = 10.0_GBps,
                          .both_ways_rate = 10.0_GBps,
                          .kernels_up_to = {},
                          .kernel_order = 6_us,
                          .kernel_batch_order = 7_us,
                          .workgroup_in_flight = {}};
  return platform;
}

SdmaCopySpec blocks(int from, int to, Submission submit, std::int64_t copies = 100) {
  return {.from = from, .to = to, .bytes = sim::Bytes(block), .submit = submit, .copies = copies};
}

sim::Task<> copy(CopyNode& node, SdmaCopySpec spec, double& us) {
  us = sim::to_microseconds((co_await run_block_copies(node.host(), node.complexes(), node.fabric(), spec)).total());
}

double microseconds(const CopyPlatform& platform, const SdmaCopySpec& spec) {
  CopyNode node(platform);
  double us = 0.0;
  node.simulator().spawn("blocks", copy(node, spec, us));
  node.simulator().run();
  return us;
}

// The start, 100 blocks of 10 us, 99 gaps between them, and the notice.
TEST(BlockCopies, WaitForEachOtherInAStream) {
  const CopyPlatform platform = with_calls();
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::each)), 4 + 1000 + 99 * 2 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, host_device, Submission::graph)), 4 + 1000 + 99 * 3 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 4 + 1000 + 99 * 5 + 1, 1e-3);
}

TEST(BlockCopies, OneTakesItsStartDataAndNotice) {
  for (const Submission submit : {Submission::each, Submission::graph}) {
    EXPECT_NEAR(microseconds(with_calls(), blocks(0, 1, submit, 1)), copies_start_us + 10 + copies_notice_us, 1e-3);
  }
}

// 256 ns to set one up behind the other; 100 packets of 1 ns are written before the call is made.
TEST(BlockCopies, OfABatchAreOnlySetUpOneBehindTheOther) {
  CopyPlatform platform = with_calls();
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 0.256 + 1, 1e-3);
  platform.host.copies.batch_packs = false;
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 2 + 1, 1e-3);
}

// 100 calls of 20 us, the last of which is made 1980 us after the first; a graph needs none of them.
TEST(BlockCopies, WaitForCallsThatTakeLonger) {
  CopyPlatform platform = with_calls();
  platform.host.copies.call = platform.host.copies.start = 20_us;
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 20 + 99 * 20 + 10 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::graph)), 20 + 1000 + 99 * 5 + 1, 1e-3);
}

TEST(BlockCopies, SmallOnesAreKernelsOfTheRuntime) {
  CopyPlatform platform = with_calls();
  platform.host.copies.kernels_up_to = sim::Bytes(block);
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::each)), 4 + 1000 + 99 * 6 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 7 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 4 + 1000 + 99 * 5 + 1, 1e-3);
}

// Two of 1e9 bytes, each 1e5 us alone.
TEST(BlockCopies, BothWaysShareOneEngineAndNotTwo) {
  const auto both_ways = [](double engine_GBps, int other_engine) {
    CopyPlatform platform = with_calls();
    platform.host.copies.both_ways_rate = sim::BytesPerSecond(engine_GBps * 1e9);
    CopyNode node(platform);
    double in = 0.0;
    double out = 0.0;
    SdmaCopySpec one = blocks(host_device, 0, Submission::graph, 1);
    one.bytes = sim::Bytes(1e9);
    one.engine = 1;
    SdmaCopySpec other = one;
    std::swap(other.from, other.to);
    other.engine = other_engine;
    node.simulator().spawn("in", copy(node, one, in));
    node.simulator().spawn("out", copy(node, other, out));
    node.simulator().run();
    return std::max(in, out);
  };
  EXPECT_NEAR(both_ways(10.0, 1), 2e5, 20);
  EXPECT_NEAR(both_ways(16.0, 1), 2e9 / 16e3, 20);
  EXPECT_NEAR(both_ways(20.0, 1), 1e5, 20);
}

TEST(BlockCopies, AreOfARuntime) {
  const SdmaSpec sdma = CopyPlatform::round().sdma;
  SdmaCopySpec spec = blocks(0, 1, Submission::kernel);
  EXPECT_EQ(why_impossible(spec, sdma, 2), "");
  spec.engine = 1;
  EXPECT_EQ(why_impossible(spec, sdma, 2), "a kernel that gathers blocks uses no engine");
  spec.submit = Submission::each;
  spec.engine = {};
  spec.pull = true;
  EXPECT_EQ(why_impossible(spec, sdma, 2), "a runtime's copies of blocks are pushed, by one GPU");
  EXPECT_EQ(why_impossible({.from = 0, .to = 1, .bytes = sim::Bytes(1.0), .copies = 2}, sdma, 2),
            "blocks are copied by a runtime: each, batch, graph or kernel");
}

}  // namespace
}  // namespace c3sim::models
