// Is a host thread a serial resource, do doorbells keep their distance, and does waiting cost what the platform says?
#include "models/machine/host.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/config/config.h"
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

sim::Task<> ring(Host& host, int gpu, int times, sim::Time& end) {
  for (int i = 0; i < times; ++i) co_await host.thread_of(gpu).ring_doorbell("queue");
  end = host.simulator().now();
}
sim::Task<> work(Host& host, int gpu, sim::Time duration, sim::Time& end) {
  co_await host.thread_of(gpu).work(duration, {"work", "here"});
  end = host.simulator().now();
}
sim::Task<> launch(Host& host, int gpu, bool graph, sim::Time& end) {
  co_await host.launch_collective(gpu, graph);
  end = host.simulator().now();
}
sim::Task<> write_command(Host& host, std::int64_t packets, sim::Time& end) {
  co_await host.thread_of(0).write_command(packets, "queue");
  end = host.simulator().now();
}
sim::Task<> notice(Host& host, sim::Time& end) {
  co_await host.notice_kernel_end(0);
  end = host.simulator().now();
}
sim::Task<> see(Host& host, MemoryWord& word, sim::Time& end) {
  const Condition written{Comparison::equal, 1};
  co_await host.see(0, word, written);
  end = host.simulator().now();
}

TEST(Host, OneThreadWorksForAllGpusInTurn) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  sim::Time ends[3];
  for (int gpu = 0; gpu < 3; ++gpu) simulator.spawn("work", work(host, gpu, 50_ns, ends[gpu]));
  simulator.run();
  EXPECT_EQ(host.threads(), 1);
  EXPECT_EQ(ends[0], 50_ns);
  EXPECT_EQ(ends[1], 100_ns);
  EXPECT_EQ(ends[2], 150_ns);
  EXPECT_EQ(host.thread_of(7).busy(), 150_ns);
}

TEST(Host, AThreadPerGpuWorksAtOnce) {
  sim::Simulator simulator;
  Host host(host_spec(HostThreads::per_gpu), simulator, 8);
  sim::Time ends[2];
  for (int gpu = 0; gpu < 2; ++gpu) simulator.spawn("work", work(host, gpu, 50_ns, ends[gpu]));
  simulator.run();
  EXPECT_EQ(host.threads(), 8);
  EXPECT_EQ(ends[0], 50_ns);
  EXPECT_EQ(ends[1], 50_ns);
}

TEST(Host, KernelsOfDifferentGpusAreLaunchedAtOnceWhoeverDrivesTheEngines) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 8);
  sim::Time kernel, graph, behind;
  simulator.spawn("kernel", launch(host, 0, false, kernel));
  simulator.spawn("graph", launch(host, 1, true, graph));
  simulator.spawn("behind", launch(host, 1, false, behind));
  simulator.run();
  EXPECT_EQ(kernel, 50_ns);
  EXPECT_EQ(graph, 20_ns);
  EXPECT_EQ(behind, 70_ns);  // one GPU's launches still follow each other
}

TEST(Host, DoorbellsOfOneThreadAreAnIntervalApart) {
  sim::Simulator simulator;
  Host host(host_spec(HostThreads::per_gpu), simulator, 2);
  sim::Time one, three;
  simulator.spawn("one", ring(host, 0, 1, one));
  simulator.spawn("three", ring(host, 1, 3, three));
  simulator.run();
  EXPECT_EQ(one, 5_ns);
  EXPECT_EQ(three, 205_ns);  // stores leave at 5, 105 and 205 ns
}

TEST(Host, FurtherPacketsOfACommandCostTheirWriteAlone) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  sim::Time end;
  simulator.spawn("write", write_command(host, 5, end));
  simulator.run();
  EXPECT_EQ(end, 15_ns);  // 10 + 5 * 1
}

TEST(Host, WordsThatArriveTogetherAreSeenOneAfterTheOther) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  MemoryWord first(simulator, "first", 0), second(simulator, "second", 0);
  sim::Time seen[2];
  simulator.spawn("write", write_at(simulator, first, 40_ns));
  simulator.spawn("write", write_at(simulator, second, 40_ns));
  simulator.spawn("see", see(host, first, seen[0]));
  simulator.spawn("see", see(host, second, seen[1]));
  simulator.run();
  EXPECT_EQ(seen[0], 47_ns);
  EXPECT_EQ(seen[1], 54_ns);
}

TEST(Host, AnInterruptAddsItsLatencyOnceItIsUnderWay) {
  HostSpec sleeping = host_spec();
  sleeping.wait = HostWait::interrupt;
  sim::Simulator simulator;
  Host host(sleeping, simulator, 1);
  MemoryWord word(simulator, "event", 0);
  sim::Time seen, again;
  simulator.spawn("write", write_at(simulator, word, 40_ns));
  simulator.spawn("see", see(host, word, seen));
  simulator.run();
  EXPECT_EQ(seen, 1047_ns);  // 40 + 1000 + 7
  simulator.spawn("see", see(host, word, again));
  simulator.run();
  EXPECT_EQ(again, 1054_ns);  // the interrupt has long arrived
}

TEST(Host, TheEndOfAKernelIsNoticedLater) {
  sim::Simulator simulator;
  Host host(host_spec(), simulator, 1);
  sim::Time end;
  simulator.spawn("notice", notice(host, end));
  simulator.run();
  EXPECT_EQ(end, 30_ns);
  EXPECT_EQ(host.thread_of(0).busy(), 0_ns);
}

TEST(Host, AnUnknownNumberOfThreadsIsTheUsersFault) {
  sim::Config config = sim::Config::from_text("host: {threads: two}\n", "test.yaml");
  HostSpec::read(config.root().section("host"));
  try {
    config.finish();
    FAIL() << "accepted";
  } catch (const sim::ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("per_gpu"), std::string::npos) << error.what();
  }
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

// 50 ns to launch, 30 to notice; 400 more for the first kernel and for one after as long a pause.
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

// The launcher sleeps 400 ns after the first: the second is launched 50 ns behind that, as it would be of a GPU awake.
TEST(Host, KernelsStartInTheOrderOfTheirLaunchesFromRestToo) {
  HostSpec sleepy = host_spec();
  sleepy.wake_up = 400_ns;
  sim::Simulator simulator;
  Host host(sleepy, simulator, 1);
  sim::Time first{0};
  sim::Time second{0};
  simulator.spawn("first", launch(host, 0, false, first));
  simulator.spawn("second", launch(host, 0, false, second));
  simulator.run();
  EXPECT_EQ(first, 450_ns);
  EXPECT_EQ(second, 500_ns);
}

}  // namespace
}  // namespace c3sim::models
