// These tests check that a host thread is a serial resource, that doorbells keep their distance and what waiting costs.
#include "models/machine/host.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/machine/memory_word.h"
#include "tests/models/machine/word_writer.h"
#include "tests/models/model_fixture.h"

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

using EndTimes = std::vector<sim::Time>;

sim::Task<> ring(Host& host, int gpu, int times) {
  for (int i = 0; i < times; ++i) co_await host.thread_of(gpu).ring_doorbell("queue");
}
sim::Task<> work(Host& host, int gpu) { return host.thread_of(gpu).work(50_ns, {"work", "here"}); }
sim::Task<> see(Host& host, MemoryWord& word) { return host.see(0, word, {Comparison::equal, 1}); }

TEST(Host, OneThreadWorksForAllGpusInTurnAndAThreadPerGpuAtOnce) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  EXPECT_EQ(host.threads(), 1);
  EXPECT_EQ(ends_together(host.simulator(), work(host, 0), work(host, 1), work(host, 2)),
            (EndTimes{50_ns, 100_ns, 150_ns}));
  EXPECT_EQ(host.thread_of(7).busy(), 150_ns);
  sim::Simulator other;
  Host per_gpu(host_spec(HostThreads::per_gpu), other, 8);
  EXPECT_EQ(per_gpu.threads(), 8);
  EXPECT_EQ(ends_together(per_gpu.simulator(), work(per_gpu, 0), work(per_gpu, 1)), (EndTimes{50_ns, 50_ns}));
}

// Launches of kernels of one GPU still follow each other.
TEST(Host, KernelsOfDifferentGpusAreLaunchedAtOnceWhoeverDrivesTheEngines) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  EXPECT_EQ(ends_together(host.simulator(), host.launch_collective(0, false), host.launch_collective(1, true),
                          host.launch_collective(1, false)),
            (EndTimes{50_ns, 20_ns, 70_ns}));
}

// The stores to the doorbells leave at 5, 105 and 205 ns.
TEST(Host, DoorbellsOfOneThreadAreAnIntervalApart) {
  sim::Simulator simulator;
  Host host(host_spec(HostThreads::per_gpu), simulator, 2);
  EXPECT_EQ(ends_together(host.simulator(), ring(host, 0, 1), ring(host, 1, 3)), (EndTimes{5_ns, 205_ns}));
}

// The command takes 10 ns and its packets 5 * 1 ns.
TEST(Host, FurtherPacketsOfACommandCostTheirWriteAlone) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  EXPECT_EQ(ends_together(host.simulator(), host.thread_of(0).write_command(5, "queue")), (EndTimes{15_ns}));
}

TEST(Host, WordsThatArriveTogetherAreSeenOneAfterTheOther) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  MemoryWord first(simulator, "first", 0), second(simulator, "second", 0);
  simulator.spawn("write", write_at(simulator, first, 40_ns));
  simulator.spawn("write", write_at(simulator, second, 40_ns));
  EXPECT_EQ(ends_together(host.simulator(), see(host, first), see(host, second)), (EndTimes{47_ns, 54_ns}));
}

TEST(Host, AnInterruptAddsItsLatencyOnceItIsUnderWay) {
  HostSpec sleeping = host_spec();
  sleeping.wait = HostWait::interrupt;
  sim::Simulator simulator;
  Host host(sleeping, simulator, 1);
  MemoryWord word(simulator, "event", 0);
  simulator.spawn("write", write_at(simulator, word, 40_ns));
  EXPECT_EQ(ends_together(host.simulator(), see(host, word)), (EndTimes{1047_ns}));  // 40 + 1000 + 7
  EXPECT_EQ(ends_together(host.simulator(), see(host, word)), (EndTimes{1054_ns}));  // the interrupt has long arrived
}

TEST(Host, TheEndOfAKernelIsNoticedLater) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  EXPECT_EQ(ends_together(host.simulator(), host.notice_kernel_end(0)), (EndTimes{30_ns}));
  EXPECT_EQ(host.thread_of(0).busy(), 0_ns);
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
  EXPECT_EQ(ends_together(host.simulator(), host.launch_collective(0, false), host.launch_collective(0, false)),
            (EndTimes{450_ns, 500_ns}));
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
  const std::string text = deadlock_of([&simulator] { simulator.run(); });
  EXPECT_NE(text.find("'watcher' waits for"), std::string::npos) << text;
  EXPECT_NE(text.find("signal 7"), std::string::npos) << text;
}

}  // namespace
}  // namespace c3sim::models
