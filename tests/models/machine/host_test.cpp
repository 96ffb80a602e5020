// These tests check that a host thread is a serial resource, that doorbells keep their distance and what waiting costs.
#include "models/machine/host.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "models/machine/memory_word.h"
#include "sim/config/config.h"
#include "tests/config_fault.h"
#include "tests/models/machine/word_writer.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;

HostSpec host_spec(HostThreads threads = HostThreads::one) {
  HostSpec spec;
  spec.threads = threads;
  spec.submission.command_write = 10_ns;
  spec.submission.packet_write = 1_ns;
  spec.submission.doorbell = 5_ns;
  spec.submission.doorbell_interval = 100_ns;
  spec.submission.word_write = 3_ns;
  spec.submission.word_check = 7_ns;
  spec.interrupt_latency = 1000_ns;
  spec.kernel_launch = 50_ns;
  spec.graph_launch = 20_ns;
  spec.kernel_notice = 30_ns;
  return spec;
}

// A Doing is what a host thread does; its place in the list of doings is the place of its end in the result.
using Doing = std::function<sim::Task<>(Host&)>;

sim::Task<> do_and_note(Host& host, Doing doing, sim::Time& end) {
  co_await doing(host);
  end = host.simulator().now();
}
// Returns when each of the doings ends if all of them begin at once.
std::vector<sim::Time> ends_of(Host& host, const std::vector<Doing>& doings) {
  std::vector<sim::Time> ends(doings.size());
  for (std::size_t i = 0; i < doings.size(); ++i) {
    host.simulator().spawn("doing", do_and_note(host, doings[i], ends[i]));
  }
  host.simulator().run();
  return ends;
}
using EndTimes = std::vector<sim::Time>;

sim::Task<> ring_doorbells(Host& host, int gpu, int times) {
  for (int i = 0; i < times; ++i) co_await host.thread_of(gpu).ring_doorbell("queue");
}
Doing ring(int gpu, int times) {
  return [=](Host& host) { return ring_doorbells(host, gpu, times); };
}
sim::Task<> work_for_50_ns(Host& host, int gpu) { co_await host.thread_of(gpu).work(50_ns, {"work", "here"}); }
Doing work(int gpu) {
  return [=](Host& host) { return work_for_50_ns(host, gpu); };
}
sim::Task<> launch_on(Host& host, int gpu, bool graph) { co_await host.launch_collective(gpu, graph); }
Doing launch(int gpu, bool graph) {
  return [=](Host& host) { return launch_on(host, gpu, graph); };
}
sim::Task<> write_five_packets(Host& host) { co_await host.thread_of(0).write_command(5, "queue"); }
sim::Task<> notice_end(Host& host) { co_await host.notice_kernel_end(0); }
sim::Task<> see_written(Host& host, MemoryWord& word) {
  const Condition written{Comparison::equal, 1};
  co_await host.see(0, word, written);
}
Doing see(MemoryWord& word) {
  return [&word](Host& host) { return see_written(host, word); };
}

TEST(Host, OneThreadWorksForAllGpusInTurnAndAThreadPerGpuAtOnce) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  EXPECT_EQ(host.threads(), 1);
  EXPECT_EQ(ends_of(host, {work(0), work(1), work(2)}), (EndTimes{50_ns, 100_ns, 150_ns}));
  EXPECT_EQ(host.thread_of(7).busy(), 150_ns);
  sim::Simulator other;
  Host per_gpu(host_spec(HostThreads::per_gpu), other, 8);
  EXPECT_EQ(per_gpu.threads(), 8);
  EXPECT_EQ(ends_of(per_gpu, {work(0), work(1)}), (EndTimes{50_ns, 50_ns}));
}

// Launches of kernels of one GPU still follow each other.
TEST(Host, KernelsOfDifferentGpusAreLaunchedAtOnceWhoeverDrivesTheEngines) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  EXPECT_EQ(ends_of(host, {launch(0, false), launch(1, true), launch(1, false)}), (EndTimes{50_ns, 20_ns, 70_ns}));
}

// The stores to the doorbells leave at 5, 105 and 205 ns.
TEST(Host, DoorbellsOfOneThreadAreAnIntervalApart) {
  sim::Simulator simulator;
  Host host(host_spec(HostThreads::per_gpu), simulator, 2);
  EXPECT_EQ(ends_of(host, {ring(0, 1), ring(1, 3)}), (EndTimes{5_ns, 205_ns}));
}

// The command takes 10 ns and its packets 5 * 1 ns.
TEST(Host, FurtherPacketsOfACommandCostTheirWriteAlone) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  EXPECT_EQ(ends_of(host, {write_five_packets}), (EndTimes{15_ns}));
}

TEST(Host, WordsThatArriveTogetherAreSeenOneAfterTheOther) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  MemoryWord first(simulator, "first", 0), second(simulator, "second", 0);
  simulator.spawn("write", write_at(simulator, first, 40_ns));
  simulator.spawn("write", write_at(simulator, second, 40_ns));
  EXPECT_EQ(ends_of(host, {see(first), see(second)}), (EndTimes{47_ns, 54_ns}));
}

TEST(Host, AnInterruptAddsItsLatencyOnceItIsUnderWay) {
  HostSpec sleeping = host_spec();
  sleeping.wait = HostWait::interrupt;
  sim::Simulator simulator;
  Host host(sleeping, simulator, 1);
  MemoryWord word(simulator, "event", 0);
  simulator.spawn("write", write_at(simulator, word, 40_ns));
  EXPECT_EQ(ends_of(host, {see(word)}), (EndTimes{1047_ns}));  // 40 + 1000 + 7
  EXPECT_EQ(ends_of(host, {see(word)}), (EndTimes{1054_ns}));  // the interrupt has long arrived
}

TEST(Host, TheEndOfAKernelIsNoticedLater) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  EXPECT_EQ(ends_of(host, {notice_end}), (EndTimes{30_ns}));
  EXPECT_EQ(host.thread_of(0).busy(), 0_ns);
}

TEST(Host, AnUnknownNumberOfThreadsIsTheUsersFault) {
  sim::Config config = sim::Config::from_text("host: {threads: two}\n", "test.yaml");
  HostSpec::read(config.root().section("host"));
  EXPECT_NE(config_fault([&config] { config.finish(); }).find("per_gpu"), std::string::npos);
}

sim::Task<> kernels_after(Host& host, std::vector<sim::Time> pauses, std::vector<sim::Time>& durations) {
  for (const sim::Time pause : pauses) {
    co_await host.simulator().delay(pause);
    const sim::Time start = host.simulator().now();
    co_await host.launch_kernel(0);
    co_await host.notice_kernel_end(0);
    durations.push_back(host.simulator().now() - start);
  }
}

// A launch takes 50 ns and a notice 30 ns; the first kernel and one after a pause of 400 ns take 400 ns more.
TEST(Host, AKernelThatFindsItsGpuAtRestStartsLater) {
  HostSpec sleepy = host_spec();
  sleepy.wake_up = 400_ns;
  sim::Simulator simulator;
  Host host(sleepy, simulator, 1);
  std::vector<sim::Time> durations;
  simulator.spawn("test", kernels_after(host, {0_ns, 0_ns, 399_ns, 400_ns}, durations));
  simulator.run();
  EXPECT_EQ(durations, (std::vector{480_ns, 80_ns, 80_ns, 480_ns}));
}

// The launcher sleeps 400 ns after the first launch; the second follows 50 ns later, as on a GPU that is awake.
TEST(Host, KernelsStartInTheOrderOfTheirLaunchesFromRestToo) {
  HostSpec sleepy = host_spec();
  sleepy.wake_up = 400_ns;
  sim::Simulator simulator;
  Host host(sleepy, simulator, 1);
  EXPECT_EQ(ends_of(host, {launch(0, false), launch(0, false)}), (EndTimes{450_ns, 500_ns}));
}

sim::Task<> note_when(MemoryWord& word, Condition condition, sim::Simulator& simulator, sim::Time& at) {
  co_await word.wait(condition, "the test's word");
  at = simulator.now();
}
sim::Task<> count_down(MemoryWord& word, sim::Simulator& simulator) {
  for (int i = 0; i < 3; ++i) {
    co_await simulator.delay(10_ns);
    word.add(-1);
  }
}

TEST(MemoryWord, WakesEachWatcherAtTheWriteThatMeetsItsCondition) {
  sim::Simulator simulator;
  MemoryWord word(simulator, "signal", 3);
  sim::Time at_most_two{-1}, zero{-1}, three{-1};
  simulator.spawn("a", note_when(word, {Comparison::at_most, 2}, simulator, at_most_two));
  simulator.spawn("b", note_when(word, {Comparison::equal, 0}, simulator, zero));
  simulator.spawn("c", note_when(word, {Comparison::at_least, 3}, simulator, three));
  simulator.spawn("writer", count_down(word, simulator));
  simulator.run();
  EXPECT_EQ(three, 0_ns);  // holds from the start
  EXPECT_EQ(at_most_two, 10_ns);
  EXPECT_EQ(zero, 30_ns);
  EXPECT_EQ(word.written_at(), 30_ns);
}

TEST(MemoryWord, WatcherOfAValueThatNeverComesIsADeadlockThatNamesTheWord) {
  sim::Simulator simulator;
  MemoryWord word(simulator, "signal 7", 1);
  sim::Time at{-1};
  simulator.spawn("watcher", note_when(word, {Comparison::equal, 0}, simulator, at));
  try {
    simulator.run();
    FAIL() << "no deadlock";
  } catch (const sim::Deadlock& deadlock) {
    ASSERT_EQ(deadlock.blocked().size(), 1U);
    EXPECT_NE(deadlock.blocked().front().waits_for.find("signal 7"), std::string::npos);
  }
}

}  // namespace
}  // namespace c3sim::models
