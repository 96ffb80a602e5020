// Does each packet do what it says, in order and to the nanosecond; do copies meet their latency and bandwidth limits?
// Times are derived from CopyPlatform::round(): a command takes the thread 64 + 1 ns, a doorbell 2 + 32 ns, a fetch 64
// ns, so n commands start to run at start(n) = 65 n + 98 ns. A transfer takes 256 ns of set-up, its bytes at 10
// bytes/ns, and 512 + 2 * 16 ns until it is acknowledged. Other packets take 128 ns to decode.
#include "models/sdma/sdma_engine.h"

#include <gtest/gtest.h>

#include "tests/models/machine/word_writer.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_us;

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

TEST(PacketsDoWhatTheySay, FenceWritesItsValue) {
  CopyNode node(CopyPlatform::round());
  MemoryWord word(node.simulator(), "word", 0);
  run(node, {FenceCommand{&word, 42}});
  EXPECT_EQ(word.value(), 42);
  EXPECT_EQ(word.written_at(), start(1) + decode + 2048_ns);
}

TEST(PacketsDoWhatTheySay, AtomicAdds) {
  CopyNode node(CopyPlatform::round());
  MemoryWord word(node.simulator(), "word", 5);
  run(node, {AtomicCommand{&word, -1}, AtomicCommand{&word, -1}});
  EXPECT_EQ(word.value(), 3);
  EXPECT_EQ(word.written_at(), start(2) + 2 * decode + 2048_ns);  // writes are posted: only decoding adds up
}

TEST(PacketsDoWhatTheySay, TrapSetsItsEvent) {
  CopyNode node(CopyPlatform::round());
  MemoryWord event(node.simulator(), "event", 0);
  run(node, {TrapCommand{&event}});
  EXPECT_EQ(event.value(), 1);
  EXPECT_EQ(event.written_at(), start(1) + decode + 2048_ns);
}

TEST(PacketsDoWhatTheySay, TimestampIsTakenWhenTheCopiesBeforeAreDone) {
  CopyNode node(CopyPlatform::round());
  sim::Time stamp;
  run(node, {copy(100), TimestampCommand{&stamp}});
  expect_at(stamp, start(2) + setup + 10_ns + acknowledgement);
}

TEST(PacketsDoWhatTheySay, PollOfAWordThatIsThereCostsOneRead) {
  CopyNode node(CopyPlatform::round());
  MemoryWord word(node.simulator(), "release", 1);
  sim::Time stamp;
  run(node, {PollCommand{&word, {Comparison::equal, 1}}, TimestampCommand{&stamp}});
  EXPECT_EQ(stamp, start(2) + decode + 64_ns + decode);
}

// Reads see the word 32 ns after they leave and are 64 + 1024 ns apart.
TEST(GatesAreTight, APollSeesAWriteAtItsNextReadAndNotBefore) {
  const sim::Time second_look = start(2) + decode + 32_ns + 1088_ns;
  const auto stamp_after_write_at = [](sim::Time at) {
    CopyNode node(CopyPlatform::round());
    MemoryWord word(node.simulator(), "release", 0);
    sim::Time stamp;
    node.simulator().spawn("writer", write_at(node.simulator(), word, at));
    run(node, {PollCommand{&word, {Comparison::equal, 1}}, TimestampCommand{&stamp}});
    return stamp;
  };
  const sim::Time seen = second_look + 32_ns + decode;
  EXPECT_EQ(stamp_after_write_at(second_look - 500_ns), seen);
  EXPECT_EQ(stamp_after_write_at(second_look), seen);
  EXPECT_EQ(stamp_after_write_at(second_look + 1_ns), seen + 1088_ns);
}

// A completion packet, decoded long before, goes out when the last byte is acknowledged: at that tick, not one before.
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

TEST(PacketsDoWhatTheySay, AReductionReadsBothAndWritesItsOwn) {
  CopyNode node(CopyPlatform::round());
  TransferTimes times;
  TransferCommand command = copy(1e6, &times, 1, 0);  // by an engine of GPU 0
  command.kind = TransferKind::reduce;
  run(node, {command}, 2);
  expect_at(times.finished, start(1) + setup + 100_us + acknowledgement);
  EXPECT_NEAR(node.network().served(node.memory(1).hbm()), 1e6, 1);
  EXPECT_NEAR(node.network().served(node.memory(0).hbm()), 2e6, 1);
  EXPECT_NEAR(node.network().served(node.fabric().link(1, 0)), 1e6, 1);
  EXPECT_EQ(node.network().served(node.fabric().link(0, 1)), 0.0);
}

TEST(PacketsDoWhatTheySay, BroadcastReadsOnceAndWritesTwice) {
  CopyPlatform platform = CopyPlatform::round();
  platform.gpus = platform.fabric.gpus = 3;
  platform.sdma.engine_map = {{-1, 2, 3}, {2, -1, 3}, {2, 3, -1}};
  CopyNode node(platform);
  TransferTimes times;
  TransferCommand command = copy(1e6, &times);
  command.destinations.push_back({2, 0, sim::Bytes(0), sim::Bytes(1e6)});
  run(node, {command});
  // The engine writes 10 bytes/ns, 5 to each destination.
  expect_at(times.finished, start(1) + setup + 200_us + acknowledgement);
  EXPECT_NEAR(node.network().served(node.memory(0).hbm()), 1e6, 1);
  EXPECT_NEAR(node.network().served(node.memory(1).hbm()), 1e6, 1);
  EXPECT_NEAR(node.network().served(node.memory(2).hbm()), 1e6, 1);
}

TEST(PacketsDoWhatTheySay, SwapMovesBothWaysThroughOneEngine) {
  CopyNode node(CopyPlatform::round());
  TransferTimes times;
  TransferCommand command = copy(1e6, &times);
  command.kind = TransferKind::swap;
  run(node, {command});
  // Twice the bytes at the engine's rate; the other side is read and written over the link: four hops of 16 ns.
  expect_at(times.finished, start(1) + setup + 200_us + acknowledgement + 32_ns);
  for (int gpu : {0, 1}) EXPECT_NEAR(node.network().served(node.memory(gpu).hbm()), 2e6, 1);
  EXPECT_NEAR(node.network().served(node.fabric().link(0, 1)), 1e6, 1);
  EXPECT_NEAR(node.network().served(node.fabric().link(1, 0)), 1e6, 1);
}

TEST(CopiesMeetTheirLimits, ASmallCopyTakesItsLatencies) {
  CopyNode node(CopyPlatform::round());
  TransferTimes times;
  run(node, {copy(1, &times)});
  EXPECT_EQ(times.fetched, start(1));
  expect_at(times.finished, start(1) + setup + sim::Time(100) + acknowledgement);
}

TEST(CopiesMeetTheirLimits, ALargeCopyTakesItsBytesOverTheRateWhateverTheNumberOfPackets) {
  CopyNode node(CopyPlatform::round());
  TransferTimes times;
  run(node, {copy(2e7, &times)});
  // 20 packets of at most 1e6 bytes, written in 19 ns more than one.
  expect_at(times.finished, start(1) + 19_ns + setup + 2000_us + acknowledgement);
}

TEST(CopiesMeetTheirLimits, SetUpOfPacketsBoundsTheRateOfAFastEngine) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.payload_rate = platform.fabric.link_rate = sim::BytesPerSecond(1e13);
  platform.memory.hbm_rate = platform.memory.cache_rate = sim::BytesPerSecond(1e15);
  CopyNode node(platform);
  TransferTimes times;
  run(node, {copy(5e7, &times)});
  // 50 packets, 49 ns more to write; each takes its set-up of 256 ns, longer than its data.
  expect_at(times.finished, start(1) + 49_ns + setup + 50 * 256_ns + acknowledgement);
}

TEST(CopiesMeetTheirLimits, BytesInFlightOverTheLatencyBoundTheRate) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.bytes_in_flight = sim::Bytes(64);
  CopyNode node(platform);
  TransferTimes times;
  run(node, {copy(1e6, &times)});
  // 64 bytes per 2 * 16 ns of fabric: 2 bytes/ns.
  expect_at(times.finished, start(1) + setup + 500_us + acknowledgement);
}

TEST(CopiesMeetTheirLimits, ALoadedMemorySlowsAnEngineWhereBandwidthIsLeft) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.memory.queueing_factor = 0.5;
  platform.sdma.bytes_in_flight = sim::Bytes(96 * 1024);
  const auto copied_beside = [&platform](double hbm_share) {
    CopyNode node(platform);
    for (int gpu : {0, 1}) {
      const auto hbm = node.memory(gpu).hbm();
      sim::ActivitySpec other;
      other.amount = 1e9;
      other.usages = {{hbm, 1.0}};
      other.cap = hbm_share * node.network().capacity(hbm);
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
  try {
    node.simulator().run();
    FAIL() << "no deadlock";
  } catch (const sim::Deadlock& deadlock) {
    const std::string text = deadlock.what();
    for (const char* part : {"packet 1 (POLL_REGMEM) of gpu0.sdma2.queue0", "left",
                             "packet 0 (POLL_REGMEM) of gpu1.sdma3.queue1", "right", ">= 1"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
    }
  }
}

TEST(SdmaEngine, AnotherThanTheRecommendedEngineIsSlower) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.affinity_penalty = 1.5;
  CopyNode node(platform);
  TransferTimes times;
  run(node, {copy(1e6, &times)}, 3);
  expect_at(times.finished, start(1) + setup + 150_us + acknowledgement);
}

TEST(SdmaEngine, HostEnginesPreferADirection) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.host_direction_penalty = 2.0;
  const auto finished = [&](int from, int to, int engine) {
    CopyNode node(platform);
    TransferTimes times;
    run(node, {copy(1e6, &times, from, to)}, engine);
    return times.finished - times.fetched;
  };
  // No latency to the host on this platform: set-up, data, 512 ns.
  expect_at(finished(0, host_device, 1), setup + 100_us + 512_ns);
  expect_at(finished(0, host_device, 0), setup + 200_us + 512_ns);
  expect_at(finished(host_device, 0, 0), setup + 100_us + 512_ns);
  expect_at(finished(host_device, 0, 1), setup + 200_us + 512_ns);
}

TEST(SdmaEngine, AWritebackDelaysTheCopyOfFreshData) {
  CopyPlatform platform = CopyPlatform::round();
  platform.sdma.l2_writeback = true;
  platform.sdma.l2_writeback_time = 7_us;
  CopyNode node(platform);
  TransferTimes times;
  run(node, {copy(100, &times)});
  expect_at(times.finished, start(1) + setup + 7_us + 10_ns + acknowledgement);
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

}  // namespace
}  // namespace c3sim::models
