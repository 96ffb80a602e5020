// These tests check that packets do what they say, in order and to the nanosecond, within latency and bandwidth limits.
// On CopyPlatform::round() a command takes the thread 64 + 1 ns, a doorbell 2 + 32 ns and a fetch 64 ns: n commands
// start at start(n) = 65 n + 98 ns. A transfer takes 256 ns of set-up, its bytes at 10 bytes/ns, and 512 + 2 * 16 ns
// until it is acknowledged. Other packets take 128 ns to decode.
#include "models/sdma/sdma_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/machine/word_writer.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_us;
using ::testing::HasSubstr;

constexpr sim::Time start(int commands) { return commands * 65_ns + 98_ns; }
constexpr sim::Time setup = 256_ns;
constexpr sim::Time acknowledgement = 544_ns;
constexpr sim::Time decode = 128_ns;

TransferCommand copy(double bytes, TransferTimes* times = nullptr, int from = 0, int to = 1) {
  TransferCommand command;
  command.source = {from, 0, sim::Bytes(0), sim::Bytes(bytes)};
  command.destinations.push_back({to, 0, sim::Bytes(0), sim::Bytes(bytes)});
  command.times = times;
  return command;
}

sim::Task<> submit(CopyNode& node, SdmaQueue& queue, std::vector<SdmaCommand> commands) {
  SubmittingThread& thread = node.host().thread_of(0);
  co_await queue.submit(thread, std::move(commands), 32_ns);
}
sim::Task<> submit_at(CopyNode& node, sim::Time at, SdmaQueue& queue, std::vector<SdmaCommand> commands) {
  co_await node.simulator().delay(at);
  co_await submit(node, queue, std::move(commands));
}
void run(CopyNode& node, std::vector<SdmaCommand> commands, int engine = 2) {
  node.simulator().spawn("submitter", submit(node, node.sdma(0).engine(engine).queue(0), std::move(commands)));
  node.simulator().run();
}
// The network ends an activity within the picosecond that follows.
void expect_at(sim::Time actual, sim::Time expected) {
  EXPECT_GE(actual, expected);
  EXPECT_LE(actual, expected + sim::Time(4));
}

// Writes are posted, so only decoding times add up.
TEST(PacketsDoWhatTheySay, FencesAtomicsAndTrapsWriteTheirWord) {
  using Commands = std::vector<SdmaCommand>;
  const auto expect_word = [](const auto& commands_to, std::int64_t before, std::int64_t after) {
    CopyNode node(CopyPlatform::round());
    MemoryWord word(node.simulator(), "word", before);
    const Commands commands = commands_to(&word);
    run(node, commands);
    const auto count = static_cast<int>(commands.size());
    EXPECT_EQ(word.value(), after);
    EXPECT_EQ(word.written_at(), start(count) + count * decode + 2048_ns);
  };
  expect_word([](MemoryWord* word) { return Commands{FenceCommand{word, 42}}; }, 0, 42);
  expect_word([](MemoryWord* word) { return Commands{AtomicCommand{word, -1}, AtomicCommand{word, -1}}; }, 5, 3);
  expect_word([](MemoryWord* word) { return Commands{TrapCommand{word}}; }, 0, 1);
}

TEST(PacketsDoWhatTheySay, AFenceIsWrittenWhenTheCopiesBeforeAreDoneAndAPollHasReadItsWord) {
  CopyNode node(CopyPlatform::round());
  MemoryWord fence(node.simulator(), "fence", 0);
  run(node, {copy(100), FenceCommand{&fence, 1}});
  expect_at(fence.written_at(), start(2) + setup + 10_ns + acknowledgement + 2048_ns);
  CopyNode polling(CopyPlatform::round());
  MemoryWord word(polling.simulator(), "release", 1);
  MemoryWord behind(polling.simulator(), "fence", 0);
  run(polling, {PollCommand{&word, {Comparison::equal, 1}}, FenceCommand{&behind, 1}});
  EXPECT_EQ(behind.written_at(), start(2) + decode + 64_ns + decode + 2048_ns);
}

// Reads see the word 32 ns after they leave and follow each other every 64 + 1024 ns.
TEST(GatesAreTight, APollSeesAWriteAtItsNextReadAndNotBefore) {
  const sim::Time second_look = start(2) + decode + 32_ns + 1088_ns;
  const auto fence_after_write_at = [](sim::Time at) {
    CopyNode node(CopyPlatform::round());
    MemoryWord word(node.simulator(), "release", 0);
    MemoryWord fence(node.simulator(), "fence", 0);
    node.simulator().spawn("writer", write_at(node.simulator(), word, at));
    run(node, {PollCommand{&word, {Comparison::equal, 1}}, FenceCommand{&fence, 1}});
    return fence.written_at();
  };
  const sim::Time seen = second_look + 32_ns + decode + 2048_ns;
  EXPECT_EQ(fence_after_write_at(second_look - 500_ns), seen);
  EXPECT_EQ(fence_after_write_at(second_look), seen);
  EXPECT_EQ(fence_after_write_at(second_look + 1_ns), seen + 1088_ns);
}

// A completion packet, decoded long before, leaves at the very tick at which the last byte is acknowledged.
TEST(GatesAreTight, ACompletionLeavesWithTheAcknowledgementOfTheLastByte) {
  for (const bool atomic : {true, false}) {
    CopyNode node(CopyPlatform::round());
    MemoryWord word(node.simulator(), "completion", 0);
    TransferTimes first, last;
    const SdmaCommand completion = atomic ? SdmaCommand(AtomicCommand{&word, 1}) : SdmaCommand(FenceCommand{&word, 1});
    run(node, {copy(1e6, &first), copy(1e4, &last), completion});
    EXPECT_LT(first.finished, last.finished);
    EXPECT_EQ(word.written_at(), last.finished + 2048_ns);
  }
}

// A LoneTransfer is a transfer by an engine of GPU 0 on a node of its own.
struct LoneTransfer {
  explicit LoneTransfer(TransferCommand command, const CopyPlatform& platform = CopyPlatform::round(), int engine = 2)
      : node(platform) {
    command.times = &times;
    run(node, {command}, engine);
  }
  double through_hbm(int gpu) { return node.network().served(node.memory(gpu).hbm()); }
  double over_link(int from, int to) { return node.network().served(node.fabric().link(from, to)); }

  CopyNode node;
  TransferTimes times;
};

TEST(PacketsDoWhatTheySay, AReductionReadsBothAndWritesItsOwn) {
  TransferCommand command = copy(1e6, nullptr, 1, 0);
  command.kind = TransferKind::reduce;
  LoneTransfer reduction(command);
  expect_at(reduction.times.finished, start(1) + setup + 100_us + acknowledgement);
  EXPECT_NEAR(reduction.through_hbm(1), 1e6, 1);
  EXPECT_NEAR(reduction.through_hbm(0), 2e6, 1);
  EXPECT_NEAR(reduction.over_link(1, 0), 1e6, 1);
  EXPECT_EQ(reduction.over_link(0, 1), 0.0);
}

// The engine writes 10 bytes/ns: 5 to each destination.
TEST(PacketsDoWhatTheySay, BroadcastReadsOnceAndWritesTwice) {
  CopyPlatform platform = CopyPlatform::round();
  platform.gpus = platform.fabric.gpus = 3;
  platform.sdma.engine_map = {{-1, 2, 3}, {2, -1, 3}, {2, 3, -1}};
  TransferCommand command = copy(1e6);
  command.destinations.push_back({2, 0, sim::Bytes(0), sim::Bytes(1e6)});
  LoneTransfer broadcast(command, platform);
  expect_at(broadcast.times.finished, start(1) + setup + 200_us + acknowledgement);
  for (const int gpu : {0, 1, 2}) EXPECT_NEAR(broadcast.through_hbm(gpu), 1e6, 1);
}

// A swap moves twice the bytes at the engine's rate and accesses the peer over the link: four hops of 16 ns.
TEST(PacketsDoWhatTheySay, SwapMovesBothWaysThroughOneEngine) {
  TransferCommand command = copy(1e6);
  command.kind = TransferKind::swap;
  LoneTransfer swap(command);
  expect_at(swap.times.finished, start(1) + setup + 200_us + acknowledgement + 32_ns);
  for (const int gpu : {0, 1}) EXPECT_NEAR(swap.through_hbm(gpu), 2e6, 1);
  EXPECT_NEAR(swap.over_link(0, 1), 1e6, 1);
  EXPECT_NEAR(swap.over_link(1, 0), 1e6, 1);
}

TEST(CopiesMeetTheirLimits, TakeTheirLatenciesOrTheirBytesOverTheRate) {
  const auto beside_latencies = [](double bytes, const auto& change, int engine = 2) {
    CopyPlatform platform = CopyPlatform::round();
    change(platform);
    const LoneTransfer transfer(copy(bytes), platform, engine);
    EXPECT_TRUE(bytes > 1 || transfer.times.fetched == start(1));
    return transfer.times.finished - acknowledgement - setup - start(1);
  };
  const auto as_is = [](CopyPlatform&) {};
  expect_at(beside_latencies(1, as_is), sim::Time(100));
  // The copy has 20 packets of at most 1e6 bytes, and writing them takes 19 ns more than writing one.
  expect_at(beside_latencies(2e7, as_is), 19_ns + 2000_us);
  // The copy has 50 packets, 49 ns more to write; each takes its set-up of 256 ns, longer than its data.
  const auto fast = [](CopyPlatform& p) {
    p.sdma.payload_rate = p.fabric.link_rate = sim::BytesPerSecond(1e13);
    p.memory.hbm_rate = p.memory.cache_rate = sim::BytesPerSecond(1e15);
  };
  expect_at(beside_latencies(5e7, fast), 49_ns + 50 * 256_ns);
  // The fabric moves 64 bytes per 2 * 16 ns: 2 bytes/ns.
  expect_at(beside_latencies(1e6, [](CopyPlatform& p) { p.sdma.bytes_in_flight = sim::Bytes(64); }), 500_us);
  // An engine other than the recommended one is slower.
  expect_at(beside_latencies(
                1e6, [](CopyPlatform& p) { p.sdma.affinity_penalty = 1.5; }, 3),
            150_us);
  // A write-back delays the copy of fresh data.
  const auto writes_back = [](CopyPlatform& p) {
    p.sdma.l2_writeback = true;
    p.sdma.l2_writeback_time = 7_us;
  };
  expect_at(beside_latencies(100, writes_back), 7_us + 10_ns);
}

TEST(CopiesMeetTheirLimits, ALoadedMemorySlowsAnEngineWhereBandwidthIsLeft) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.memory.queueing_factor = 0.5;
  platform.sdma.bytes_in_flight = sim::Bytes(96 * 1024);
  const auto copied_beside = [&platform](double hbm_share) {
    CopyNode node(platform);
    for (int gpu : {0, 1}) {
      const auto hbm = node.memory(gpu).hbm();
      sim::ActivitySpec other{.amount = 1e9, .usages = {{hbm, 1.0}}, .cap = hbm_share * node.network().capacity(hbm)};
      if (hbm_share > 0.0) node.network().start(other, [] {});
    }
    TransferTimes times;
    run(node, {copy(4e6, &times)}, platform.sdma.recommended_engine(0, 1));
    return times.finished - times.fetched;
  };
  // A tenth of HBM is ten times what the engine needs, but its bytes in flight no longer cover the latency.
  EXPECT_GT(sim::to_seconds(copied_beside(0.9)), 1.1 * sim::to_seconds(copied_beside(0.0)));
}

TEST(SdmaEngine, SetUpOfTheNextCopyOverlapsTheDataOfTheOneBefore) {
  const auto finished = [](double bytes) {
    CopyNode node(CopyPlatform::round());
    TransferTimes times;
    run(node, {copy(bytes), copy(bytes, &times)});
    return times.finished;
  };
  expect_at(finished(100), start(2) + 2 * setup + 10_ns + acknowledgement);
  expect_at(finished(1e6), start(2) + setup + 200_us + acknowledgement);
}

TEST(SdmaEngine, ServesItsQueuesInTurn) {
  CopyNode node(CopyPlatform::round());
  MemoryWord signal(node.simulator(), "signal", 3);
  TransferTimes first, second, other;
  SdmaEngine& engine = node.sdma(0).engine(2);
  node.simulator().spawn(
      "a", submit(node, engine.queue(0),
                  {copy(1e6, &first), AtomicCommand{&signal, -1}, copy(1e6, &second), AtomicCommand{&signal, -1}}));
  node.simulator().spawn("b", submit_at(node, 50_us, engine.queue(1), {copy(1e6, &other), AtomicCommand{&signal, -1}}));
  node.simulator().run();
  EXPECT_EQ(signal.value(), 0);
  EXPECT_LT(first.finished, other.finished);
  EXPECT_LT(other.finished, second.finished);
}

TEST(SdmaEngine, AQueueThatPollsLetsTheOthersRun) {
  CopyNode node(CopyPlatform::round());
  MemoryWord release(node.simulator(), "release", 0);
  TransferTimes held, other;
  SdmaEngine& engine = node.sdma(0).engine(2);
  node.simulator().spawn(
      "a", submit(node, engine.queue(0), {PollCommand{&release, {Comparison::equal, 1}}, copy(100, &held)}));
  node.simulator().spawn("b", submit(node, engine.queue(1), {copy(100, &other)}));
  node.simulator().spawn("writer", write_at(node.simulator(), release, 50_us));
  node.simulator().run();
  EXPECT_LT(other.finished, 50_us);
  EXPECT_GT(held.fetched, 50_us);
}

TEST(SdmaEngine, PollsThatWaitForEachOtherAreADeadlockThatNamesEnginesQueuesPacketsAndWords) {
  CopyNode node(CopyPlatform::round());
  MemoryWord left(node.simulator(), "left", 0), right(node.simulator(), "right", 0);
  const Condition set{Comparison::at_least, 1};
  node.simulator().spawn(
      "a", submit(node, node.sdma(0).engine(2).queue(0), {copy(1), PollCommand{&left, set}, FenceCommand{&right, 1}}));
  node.simulator().spawn(
      "b", submit(node, node.sdma(1).engine(3).queue(1), {PollCommand{&right, set}, FenceCommand{&left, 1}}));
  const std::string text = deadlock_of([&node] { node.simulator().run(); });
  for (const char* part : {"packet 1 (POLL_REGMEM) of gpu0.sdma2.queue0", "left",
                           "packet 0 (POLL_REGMEM) of gpu1.sdma3.queue1", "right", ">= 1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

// This platform has no latency to the host: a copy takes set-up, data and 512 ns.
TEST(SdmaEngine, HostEnginesPreferADirection) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.host_direction_penalty = 2.0;
  const auto expect_data = [&](int from, int to, int engine, sim::Time data) {
    const LoneTransfer transfer(copy(1e6, nullptr, from, to), platform, engine);
    expect_at(transfer.times.finished - transfer.times.fetched, setup + data + 512_ns);
  };
  expect_data(0, host_device, 1, 100_us);
  expect_data(0, host_device, 0, 200_us);
  expect_data(host_device, 0, 0, 100_us);
  expect_data(host_device, 0, 1, 200_us);
}

TEST(SdmaEngine, ARingThatHoldsOnePacketStillCarriesEverything) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.ring = sim::Bytes(32);
  CopyNode node(platform);
  DeliveryLedger ledger;
  MemoryWord signal(node.simulator(), "signal", 1);
  TransferCommand command = copy(5e6);
  command.ledger = &ledger;
  ledger.expect(command.destinations.front(), command.source);
  run(node, {command, AtomicCommand{&signal, -1}});
  EXPECT_EQ(signal.value(), 0);
  EXPECT_NO_THROW(ledger.require_complete());
}

// These tests check that a ring wastes no space and admits no writer too early.

struct BareQueue;
sim::Task<> write_fences(BareQueue& bare, int count, std::vector<sim::Time>& written);
sim::Task<> ring(BareQueue& bare);

// A BareQueue has no engine: the test takes and releases packets.
struct BareQueue {
  explicit BareQueue(double ring_bytes)
      : platform(CopyPlatform::round()),
        thread(simulator, "thread", platform.host.submission),
        queue(simulator, platform.sdma.packets, sim::Bytes(ring_bytes), "ring", [this] { ++announcements; }) {}

  // Returns when each of `count` fences is written; if `ringing`, a doorbell follows them.
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
  // Each fence takes 64 ns to build and 1 ns to write.
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
  EXPECT_THAT(deadlock_of([&bare] { bare.write(5); }), HasSubstr("bytes of the ring of ring"));
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

// Submits three fences that carry the user's operation number.
sim::Task<> submit_fences(BareQueue& bare, QueueUser user, bool or_leave = false) {
  std::vector<SdmaCommand> fences(3, FenceCommand{nullptr, static_cast<std::int32_t>(user.operation)});
  if (or_leave) {
    co_await bare.queue.submit_or_leave(bare.thread, std::move(fences), 32_ns, user);
  } else {
    co_await bare.queue.submit(bare.thread, std::move(fences), 32_ns, user);
  }
}
// Returns the numbers of all fences in the ring, in order.
std::vector<int> fences_in(BareQueue& bare) {
  std::vector<int> values;
  while (bare.queue.has_command()) values.push_back(std::get<FenceCommand>(bare.queue.take().command).value);
  return values;
}

TEST(SdmaQueue, WhatIsSubmittedTogetherLiesTogether) {
  BareQueue bare(1024);
  for (const std::uint32_t operation : {1U, 2U}) bare.simulator.spawn("writer", submit_fences(bare, {operation}));
  bare.simulator.run();
  EXPECT_EQ(fences_in(bare), (std::vector<int>{1, 1, 1, 2, 2, 2}));
}

// Operation 2 waits for operation 1 but arrives first. Operation 3 waits for nothing and delays no other operation.
TEST(SdmaQueue, CommandsThatWaitComeBehindThoseOfOperationsBeforeThem) {
  BareQueue bare(1024);
  for (const std::uint32_t operation : {1U, 2U, 3U}) bare.queue.expect(operation);
  for (const QueueUser user : {QueueUser{2, true}, QueueUser{3, false}, QueueUser{1, false}}) {
    bare.simulator.spawn("writer", submit_fences(bare, user));
  }
  bare.simulator.run();
  EXPECT_EQ(fences_in(bare), (std::vector<int>{3, 3, 3, 1, 1, 1, 2, 2, 2}));
}

// A writer that leaves its commands goes on at once; later commands on the same queue follow them.
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
