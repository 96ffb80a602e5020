// Does a ring lose nothing and let nobody in a moment too early?
#include "models/sdma/sdma_queue.h"

#include <gtest/gtest.h>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;

struct BareQueue;
sim::Task<> write_fences(BareQueue& bare, int count, std::vector<sim::Time>& written);
sim::Task<> ring(BareQueue& bare);

// A queue without an engine: the test takes and releases.
struct BareQueue {
  explicit BareQueue(double ring_bytes)
      : platform(CopyPlatform::round()),
        thread(simulator, "thread", platform.host.submission),
        queue(simulator, platform.sdma.packets, sim::Bytes(ring_bytes), "ring", [this] { ++announcements; }) {}

  // When each of so many fences is written; `ringing` the doorbell behind them.
  std::vector<sim::Time> write(int count, bool ringing = false) {
    std::vector<sim::Time> written;
    simulator.spawn("writer", write_fences(*this, count, written));
    simulator.run();
    if (ringing) simulator.spawn("doorbell", ring(*this));
    simulator.run();
    return written;
  }

  CopyPlatform platform;
  sim::Simulator simulator;
  SubmittingThread thread;
  int announcements = 0;
  SdmaQueue queue;
};

sim::Task<> write_fences(BareQueue& bare, int count, std::vector<sim::Time>& written) {
  for (int i = 0; i < count; ++i) {
    std::vector<SdmaCommand> fence(1, FenceCommand{});
    const QueueUser nobody;
    co_await bare.queue.submit(bare.thread, std::move(fence), 32_ns, nobody, false);
    written.push_back(bare.simulator.now());
  }
}
sim::Task<> ring(BareQueue& bare) { co_await bare.queue.ring_doorbell(bare.thread, 32_ns); }
sim::Task<> use_first_at(BareQueue& bare, sim::Time at) {
  co_await bare.simulator.delay(at);
  const QueuedCommand first = bare.queue.take();
  bare.queue.release(first);
}

TEST(SdmaQueue, HoldsExactlyWhatFits) {
  BareQueue bare(64);  // four fences of 16 bytes
  // Each takes 64 ns to build and 1 ns to write.
  EXPECT_EQ(bare.write(4), (std::vector<sim::Time>{65_ns, 130_ns, 195_ns, 260_ns}));
  EXPECT_EQ(bare.queue.free().value(), 0);
}

TEST(SdmaQueue, AFullRingHoldsTheWriterUntilThePacketIsReleased) {
  BareQueue bare(64);
  bare.simulator.spawn("engine", use_first_at(bare, 1000_ns));
  EXPECT_EQ(bare.write(5).back(), 1065_ns);
  EXPECT_EQ(bare.announcements, 1);  // the writer rang before it waited: otherwise nobody would ever make room
}

TEST(SdmaQueue, AFullRingThatNobodyEmptiesIsADeadlockThatNamesIt) {
  BareQueue bare(64);
  try {
    bare.write(5);
    FAIL() << "no deadlock";
  } catch (const sim::Deadlock& deadlock) {
    EXPECT_NE(std::string(deadlock.what()).find("bytes of the ring of ring"), std::string::npos) << deadlock.what();
  }
}

TEST(SdmaQueue, PacketsAreVisibleOneDoorbellLatencyAfterTheDoorbell) {
  BareQueue silent(64);
  silent.write(1);
  EXPECT_FALSE(silent.queue.has_command());
  BareQueue bare(64);
  bare.write(1, true);
  EXPECT_TRUE(bare.queue.has_command());
  EXPECT_EQ(bare.simulator.now(), 65_ns + 2_ns + 32_ns);  // write, doorbell store, its way to the engine
}

TEST(SdmaQueue, AFetchBringsInOneGranule) {
  BareQueue bare(64);
  bare.write(3, true);
  ASSERT_TRUE(bare.queue.needs_fetch());
  bare.queue.fetch(sim::Bytes(32));  // two fences
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(bare.queue.needs_fetch());
    bare.queue.take();
  }
  EXPECT_TRUE(bare.queue.needs_fetch());
}

// Three fences of its number.
sim::Task<> submit_fences(BareQueue& bare, QueueUser user, bool or_leave = false) {
  std::vector<SdmaCommand> fences(3, FenceCommand{nullptr, static_cast<std::int32_t>(user.operation)});
  if (or_leave) {
    co_await bare.queue.submit_or_leave(bare.thread, std::move(fences), 32_ns, user);
  } else {
    co_await bare.queue.submit(bare.thread, std::move(fences), 32_ns, user);
  }
}
// The numbers of all fences in the ring, in order.
std::vector<int> fences_in(BareQueue& bare) {
  std::vector<int> values;
  while (bare.queue.has_command()) values.push_back(std::get<FenceCommand>(bare.queue.take().command).value);
  return values;
}

TEST(SdmaQueue, WhatIsSubmittedTogetherLiesTogether) {
  BareQueue bare(1024);
  for (const std::uint32_t operation : {1U, 2U}) {
    bare.simulator.spawn("writer", submit_fences(bare, {operation}));
  }
  bare.simulator.run();
  EXPECT_EQ(fences_in(bare), (std::vector<int>{1, 1, 1, 2, 2, 2}));
}

// Operation 2 waits for what operation 1 does, and is there first. Operation 3 waits for nothing: it holds up nobody.
TEST(SdmaQueue, CommandsThatWaitComeBehindThoseOfOperationsBeforeThem) {
  BareQueue bare(1024);
  for (const std::uint32_t operation : {1U, 2U, 3U}) bare.queue.expect(operation);
  for (const QueueUser user : {QueueUser{2, true}, QueueUser{3, false}, QueueUser{1, false}}) {
    bare.simulator.spawn("writer", submit_fences(bare, user));
  }
  bare.simulator.run();
  EXPECT_EQ(fences_in(bare), (std::vector<int>{3, 3, 3, 1, 1, 1, 2, 2, 2}));
}

// Whoever leaves its commands goes on at once, and what follows on the same queue comes behind them.
TEST(SdmaQueue, CommandsThatAreLeftFollowInOrder) {
  BareQueue bare(1024);
  for (const std::uint32_t operation : {1U, 2U, 3U}) bare.queue.expect(operation);
  sim::Time left = sim::Time::max();
  const auto leave_and_submit = [](BareQueue& on, sim::Time& end) -> sim::Task<> {
    const QueueUser second{2, true};
    co_await submit_fences(on, second, true);
    end = on.simulator.now();
    const QueueUser third{3, true};
    co_await submit_fences(on, third, true);
    const QueueUser first{1, false};
    co_await submit_fences(on, first);
  };
  bare.simulator.spawn("writer", leave_and_submit(bare, left));
  bare.simulator.run();
  EXPECT_EQ(left, sim::Time(0));
  EXPECT_EQ(fences_in(bare), (std::vector<int>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

}  // namespace
}  // namespace c3sim::models
