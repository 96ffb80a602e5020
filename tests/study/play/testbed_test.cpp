#include "study/play/testbed.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "sim/interruption.h"
#include "study/play/digest.h"
#include "study/play/parallel.h"
#include "study/play/queue_time.h"
#include "study/program/operation_graph.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

const models::SdmaCopySpec copy{0, 1, 64_MiB, {}};

class TestbedTest : public testing::Test {
 protected:
  Testbed testbed_{mi300x().spec};
};

TEST_F(TestbedTest, TheSameQuestionIsSimulatedOnceWhateverItsName) {
  const Timeline& first = testbed_.run({operation("a", copy)});
  EXPECT_EQ(&testbed_.run({operation("b", copy)}), &first);
  EXPECT_EQ(testbed_.alone(copy), first.makespan());
}

TEST_F(TestbedTest, WarnsOfWhatIsCounted) {
  EXPECT_THAT(testbed_.warnings(), IsEmpty());
  Timeline watched;
  watched.unsettled = 3;
  watched.clock_search = ClockSearch::above_cap;
  testbed_.count(watched);
  EXPECT_THAT(testbed_.warnings(),
              testing::ElementsAre(HasSubstr("(instants: 3)"), HasSubstr("above the cap of 750 W")));
}

// A cap of 250 W is below what the pairs draw, so that the search for clock and power is given up.
TEST_F(TestbedTest, WarnsAlikeHoweverManyThreadsAsk) {
  models::PlatformSpec capped = mi300x().spec;
  capped.gpu.power.cap = sim::Watts(250.0);
  const auto warnings_of = [&capped](int jobs) {
    Testbed testbed(capped);
    for_each_on_testbeds(
        testbed, 6,
        [](Testbed& own, std::size_t index) {
          const models::CollectiveSpec gather =
              collective(models::Backend::rccl, models::CollectiveKind::all_gather, 64_MiB);
          const models::GemmShape gemm{4096, 4096, 4096 + 512 * static_cast<int>(index)};
          own.run({operation_of(gemm, {}, "s"), operation_of(on_gpus_of(own.platform(), gather), {}, "t")});
        },
        {}, jobs);
    return testbed.warnings();
  };
  EXPECT_THAT(warnings_of(1), testing::Contains(HasSubstr("did not settle")));
  EXPECT_EQ(warnings_of(4), warnings_of(1));
}

// The words of a collective by kernels leave out its host threads; a question includes them.
TEST_F(TestbedTest, TheMaskAndEveryFieldOfTheWorkArePartOfTheQuestion) {
  EXPECT_NE(testbed_.alone(gemm_4096), testbed_.alone(gemm_4096, {0, 19}));
  models::CollectiveSpec one;
  one.bytes = 64_MiB;
  one.host_threads = models::HostThreads::one;
  models::CollectiveSpec per_gpu = one;
  per_gpu.host_threads = models::HostThreads::per_gpu;
  EXPECT_EQ(to_string(one), to_string(per_gpu));
  EXPECT_NE(&testbed_.run({operation("a", one)}), &testbed_.run({operation("a", per_gpu)}));
}

const models::CollectiveSpec small_all_gather =
    collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_MiB);

models::CollectiveSpec in_graph() {
  models::CollectiveSpec spec = small_all_gather;
  spec.graph = true;
  return spec;
}

// Returns how long both take from rest, one after the other.
sim::Time time_behind(const Work& before, const Work& behind, std::vector<std::string> assignments) {
  assignments.insert(assignments.begin(), {"host.protocol=shot", "rccl.graph_gap=0us"});
  Testbed testbed(mi300x(assignments).spec);
  return testbed.run({operation("before", before), operation("behind", behind, {0})}).makespan();
}

// A kernel of any kind that had to wait begins a gap after the one before it: a microsecond here.
TEST_F(TestbedTest, EveryKernelThatWaitedLeavesTheSameGap) {
  const models::RemoteKernelSpec remote{.gpu = 0, .peers = {1}, .bytes = 1_MiB, .workgroups = 8};
  const std::vector<Work> kernels{gemm_4096,
                                  small_all_gather,
                                  collective(models::Backend::one_shot, models::CollectiveKind::all_reduce, 1_MiB),
                                  in_graph(),
                                  models::ElementwiseSpec{1_MiB, 1_MiB, {}},
                                  models::AttentionShape{.heads = 8, .kv_heads = 8, .queries = 256, .keys = 256},
                                  remote};
  for (const Work& kernel : kernels) {
    const char* const gap = kernel == Work(in_graph()) ? "rccl.graph_gap=1us" : "host.kernel_gap=1us";
    const sim::Time none = time_behind(gemm_4096, kernel, {"host.kernel_gap=0us"});
    EXPECT_NEAR(sim::to_microseconds(time_behind(gemm_4096, kernel, {gap}) - none), 1.0, 1e-3) << to_string(kernel);
  }
}

// A graph that is launched when the kernel before it has long ended begins at once.
TEST_F(TestbedTest, ACollectiveInAGraphThatNeedNotWaitLeavesNoGap) {
  const models::ElementwiseSpec small{sim::Bytes(4096), sim::Bytes(4096), {}};
  EXPECT_EQ(time_behind(small, in_graph(), {"host.graph_launch=8us", "rccl.graph_gap=5us"}),
            time_behind(small, in_graph(), {"host.graph_launch=8us"}));
}

// The link's 48.4 GB/s bound a copy on the recommended engine. An engine made for the host, which is faster over PCIe,
// is no faster to a peer.
TEST_F(TestbedTest, NoEngineIsFasterToAPeerThanTheRecommendedOne) {
  for (const models::PlatformSpec& platform : {mi300x().spec, h200().spec}) {
    Testbed testbed(platform);
    const sim::Time recommended = testbed.alone(copy);
    for (int engine = 0; engine < platform.gpu.sdma.engines; ++engine) {
      models::SdmaCopySpec other = copy;
      other.engine = engine;
      EXPECT_GE(testbed.alone(other), recommended) << platform.name << ", engine " << engine;
    }
  }
}

TEST_F(TestbedTest, AnOperationStartsWhenThoseBeforeItHaveEnded) {
  const Timeline timeline =
      testbed_.run({operation("a", copy), operation("b", gemm_4096, {0}), operation("c", copy, {0, 1})});
  EXPECT_EQ(timeline.operations[0].start, sim::Time(0));
  EXPECT_EQ(timeline.operations[1].start, timeline.operations[0].end);
  EXPECT_EQ(timeline.operations[2].start, timeline.operations[1].end);
  EXPECT_EQ(timeline.makespan(), timeline.operations[2].end);
}

// A copy takes some us more than its data, 1384 us of 64 MiB at 48.5 GB/s. From the second copy on, set-up and
// acknowledgement alone are left of that on any engine, as the host has written the commands before. The host starts
// what a kernel delays: nothing that is queued can lie in the way of what it waits for.
TEST_F(TestbedTest, CopiesThatFollowEachOtherAreQueuedUnlessAKernelIsBeforeThem) {
  const models::SdmaCopySpec other{0, 2, 64_MiB, {}};
  const sim::Time data = sim::to_time(copy.bytes / mi300x().spec.fabric.link_rate);
  for (const models::SdmaCopySpec& next : {copy, other}) {
    const Timeline timeline =
        testbed_.run({operation("a", copy), operation("b", next, {0}), operation("c", next, {1})});
    const sim::Time second = timeline.operations[1].end - timeline.operations[0].end;
    EXPECT_EQ(timeline.operations[1].start, timeline.operations[0].end);
    EXPECT_GT(second, data);
    EXPECT_LT(second, testbed_.alone(next) - std::chrono::microseconds(next == copy ? 2 : 0));
    if (next == copy) {
      EXPECT_EQ(timeline.operations[2].end - timeline.operations[1].end, second);
    }
  }
  const Timeline behind =
      testbed_.run({operation("a", gemm_4096), operation("b", copy, {0}), operation("c", copy, {1})});
  EXPECT_EQ(behind.operations[1].end - behind.operations[1].start, testbed_.alone(copy));
  EXPECT_EQ(behind.operations[2].start, behind.operations[1].end);
}

TEST_F(TestbedTest, WordsTellWorkApart) {
  models::CollectiveSpec collective;
  collective.bytes = 896_MiB;
  EXPECT_EQ(to_string(Work(gemm_4096)), "gemm 4096x4096x4096");
  EXPECT_EQ(to_string(Work(collective)), "rccl all_gather of 896MiB over 8 GPUs");
  collective.cus = 32;
  EXPECT_THAT(to_string(Work(collective)), HasSubstr("on 32 CUs"));
  collective.backend = models::Backend::sdma;
  collective.prelaunch = true;
  EXPECT_THAT(to_string(Work(collective)), HasSubstr("sdma pcpy prelaunched"));
  EXPECT_EQ(to_string(Work(models::SdmaCopySpec{0, models::host_device, 1_MiB, 1})),
            "copy gpu0 to host of 1MiB by engine 1");
}

// The factors make a GEMM twice as long and copies half as long. What waits for the GEMM begins when the GEMM ends, and
// keeps its delay; phases of a copy add up to its time.
TEST_F(TestbedTest, FactorsMultiplyDurations) {
  Testbed off(mi300x().spec, [](const Work& work, const Company&) {
    return std::holds_alternative<models::GemmShape>(work) ? 2.0 : 0.5;
  });
  Schedule schedule{operation("a", gemm_4096), operation("b", copy, {0}), operation("c", gemm_4096, {0, 1})};
  schedule[1].delay = sim::Time(7'000'000);
  const Timeline simulated = testbed_.run(schedule);
  const std::vector<Span>& spans = off.run(schedule).operations;
  const auto duration = [](const Span& span) { return span.end - span.start; };
  EXPECT_EQ(simulated.operations[1].phases->total(), duration(simulated.operations[1]));
  EXPECT_EQ(duration(spans[0]), 2 * duration(simulated.operations[0]));
  EXPECT_EQ(spans[1].start, spans[0].end + sim::Time(7'000'000));
  const sim::Time half = duration(simulated.operations[1]) / 2;
  EXPECT_NEAR(static_cast<double>((duration(spans[1]) - half).count()), 0.0, 1.0);
  EXPECT_NEAR(static_cast<double>((spans[1].phases->total() - half).count()), 0.0, 4.0);
  EXPECT_EQ(spans[2].start, spans[1].end);
  EXPECT_EQ(off.watch(schedule, {}).makespan(), simulated.makespan()) << "meters see what was simulated";
  EXPECT_EQ(off.as_simulated().run(schedule).makespan(), simulated.makespan());
  EXPECT_EQ(&testbed_.as_simulated(), &testbed_);
}

// A GEMM runs at once with the first part of a copy.
TEST_F(TestbedTest, FactorsKnowWhatRunsBeside) {
  std::vector<Company> seen;
  Testbed off(mi300x().spec, [&seen](const Work&, const Company& company) {
    seen.push_back(company);
    return 1.0;
  });
  const Schedule schedule{operation("a", gemm_4096), operation("b", copy)};
  const Timeline timeline = off.run(schedule);
  const auto seconds = [](const Span& span) { return sim::to_seconds(span.end - span.start).value(); };
  const double share = seconds(timeline.operations[0]) / seconds(timeline.operations[1]);
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_LT(share, 0.5);
  EXPECT_EQ(seen[0].engines, 1.0);
  EXPECT_EQ(seen[0].kernels, 0.0);
  EXPECT_NEAR(seen[1].kernels, share, 1e-9);
  EXPECT_EQ(seen[1].channels, 0.0);
}

// 36 ms of a GEMM at 1 kW precede 34 ms of a collective, below the cap of 700 W in the mean: the governor of an H200,
// whose window is 37 ms, steps within the run. After a GEMM of a quarter of that time it does not step, and a GEMM
// alone meets the cap.
TEST(PlayedThroughTheGovernorsLoop, AreRunsThatOutlastItsWindowWhereTheCapDoesNotHoldTheirMean) {
  Testbed testbed(h200().spec);
  const auto before_all_gather = [&testbed](std::int64_t m) {
    const auto gather = collective(models::Backend::rccl, models::CollectiveKind::all_gather, sim::Bytes(14e9));
    return testbed.run({operation("gemm", models::GemmShape{m, 8192, 16384}), operation("collective", gather, {0})});
  };
  const Timeline long_gemm = before_all_gather(106496);
  EXPECT_THAT(long_gemm.governors, Not(IsEmpty()));
  EXPECT_LT(long_gemm.means.clock, testbed.platform().gpu.power.highest_clock);
  EXPECT_THAT(before_all_gather(26624).governors, IsEmpty());
  EXPECT_THAT(testbed.run({operation("gemm", models::GemmShape{106496, 8192, 16384})}).governors, IsEmpty());
}

// A GEMM spends 4 of its 10 units with the engines, 3 and 2 with two collectives' channels; a delay is no company. Two
// that fill all of its time count as all of it, and an operation that takes no time has no company.
TEST(Company, IsCountedAsSharesOfTime) {
  const auto span = [](int start, int end) { return Span{sim::Time(start), sim::Time(end), {}}; };
  const Schedule schedule{operation_of(gemm_4096), operation_of(models::SdmaCopySpec{}), operation_of(small_all_gather),
                          operation_of(small_all_gather), operation_of(DelaySpec{})};
  const std::vector<Span> spans{span(10, 20), span(0, 14), span(12, 15), span(18, 30), span(0, 30)};
  const Company company = company_of(schedule, spans, 0);
  EXPECT_DOUBLE_EQ(company.engines, 0.4);
  EXPECT_DOUBLE_EQ(company.channels, 0.5);
  EXPECT_DOUBLE_EQ(company.kernels, 0.0);
  EXPECT_DOUBLE_EQ(company_of(schedule, spans, 3).kernels, 2.0 / 12.0);
  const Schedule two{operation_of(models::SdmaCopySpec{}), operation_of(gemm_4096), operation_of(gemm_4096)};
  EXPECT_DOUBLE_EQ(company_of(two, {span(0, 10), span(0, 10), span(0, 10)}, 0).kernels, 1.0);
  EXPECT_DOUBLE_EQ(company_of(two, {span(5, 5), span(0, 10), span(0, 10)}, 0).kernels, 0.0);
}

Schedule copy_of(double bytes, const std::string& name = "a") {
  return {operation(name, models::SdmaCopySpec{0, 1, sim::Bytes(bytes), {}})};
}

Timeline ending_at(std::int64_t end) {
  Timeline timeline;
  timeline.operations.push_back({sim::Time(0), sim::Time(end), {}});
  return timeline;
}

TEST(RunCache, FindsARunByWhatDecidesHowItPlaysOut) {
  RunCache cache;
  cache.keep(copy_of(1.0), Between::nothing, ending_at(1));
  cache.keep(copy_of(2.0), Between::nothing, ending_at(2));
  cache.keep(copy_of(1.0), Between::communication, ending_at(3));
  EXPECT_EQ(cache.find(copy_of(1.0, "another name"), Between::nothing)->makespan(), sim::Time(1));
  EXPECT_EQ(cache.find(copy_of(2.0), Between::nothing)->makespan(), sim::Time(2));
  EXPECT_EQ(cache.find(copy_of(1.0), Between::communication)->makespan(), sim::Time(3));
  EXPECT_EQ(cache.find(copy_of(3.0), Between::nothing), nullptr);
}

// Each of the schedules below has one operation.
TEST(RunCache, ForgetsTheOldestRunsBeyondItsBoundButKeepsTheNewestHoweverLongTheyAre) {
  RunCache cache(10, 2);
  for (int i = 1; i <= 100; ++i) cache.keep(copy_of(i), Between::nothing, ending_at(i));
  EXPECT_EQ(cache.size(), 10U);
  EXPECT_EQ(cache.find(copy_of(90.0), Between::nothing), nullptr);
  EXPECT_EQ(cache.find(copy_of(91.0), Between::nothing)->makespan(), sim::Time(91));
  RunCache small(1, 2);
  for (int i = 1; i <= 3; ++i) small.keep(copy_of(i), Between::nothing, ending_at(i));
  EXPECT_EQ(small.size(), 2U);
}

Schedule in_a_row(const std::vector<Work>& works) {
  Schedule schedule;
  for (const Work& work : works) {
    schedule.push_back(operation_of(work));
    if (schedule.size() > 1) schedule.back().after = {schedule.size() - 2};
  }
  return schedule;
}

std::vector<sim::Time> times_of(Testbed& testbed, const Schedule& schedule) {
  std::vector<sim::Time> times;
  for (const Span& span : on_queues(schedule, testbed.run(schedule), testbed.platform())) {
    times.push_back(span.end - span.start);
  }
  return times;
}

// A launch takes 6.25 us and a notice 2 us; both are the host's, whether it launches in time or not.
TEST(QueueTime, OfAKernelIsWithoutItsLaunchAndItsNotice) {
  Testbed testbed(mi300x().spec);
  const models::HostSpec& host = testbed.platform().host;
  const sim::Time bare = testbed.alone(gemm_4096) - host.kernel_launch - host.kernel_notice;
  EXPECT_EQ(alone_on_queue(testbed, operation_of(gemm_4096), false), bare);
  EXPECT_EQ(alone_on_queue(testbed, operation_of(gemm_4096), true), bare);
  EXPECT_EQ(times_of(testbed, in_a_row({gemm_4096, gemm_4096, gemm_4096})), std::vector(3, bare));
}

// From rest the first kernel of a GPU waits until the GPU has woken up.
TEST(QueueTime, OfTheFirstKernelIsWithoutItsWakingUp) {
  models::PlatformSpec platform = mi300x().spec;
  platform.host.protocol = models::Protocol::shot;
  platform.host.wake_up = sim::Time(10'000'000);
  Testbed testbed(platform);
  const std::vector<sim::Time> times = times_of(testbed, in_a_row({gemm_4096, gemm_4096}));
  EXPECT_EQ(times.at(0), alone_on_queue(testbed, operation_of(gemm_4096), false));
  // The second kernel finds operands in the cache.
  EXPECT_LT(times.at(1), times.at(0));
  EXPECT_GT(1.03 * sim::to_seconds(times.at(1)).value(), sim::to_seconds(times.at(0)).value());
}

// The commands of a queued copy lie with its engine before its turn; the host sees a copy that it starts in whole.
TEST(QueueTime, OfAQueuedCopyIsThatBehindAnother) {
  Testbed testbed(mi300x().spec);
  const models::SdmaCopySpec transfer{.from = 0, .to = 1, .bytes = sim::Bytes(1 << 20)};
  const sim::Time first = alone_on_queue(testbed, operation_of(transfer), false);
  const sim::Time queued = alone_on_queue(testbed, operation_of(transfer), true);
  EXPECT_EQ(first, testbed.alone(transfer));
  EXPECT_LT(queued, first);
  EXPECT_EQ(times_of(testbed, in_a_row({transfer, transfer})), (std::vector{first, queued}));
  const DelaySpec delay{sim::Time(30'000'000)};
  EXPECT_EQ(times_of(testbed, in_a_row({delay, delay})), std::vector(2, delay.time));
}

// The digests are the examples of FIPS 180-4: the empty text, and "abc".
TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// The next tests work on several threads.

TEST(Parallel, CallsEachIndexOnce) {
  std::vector<int> calls(1000, 0);
  for_each_index(calls.size(), [&](std::size_t index) { ++calls[index]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
  for_each_index(0, [](std::size_t) { FAIL() << "there is nothing to do"; });
}

TEST(Parallel, ThreadsAreAsManyAsAskedForOrOneForEachCore) {
  EXPECT_EQ(threads_of(3), 3);
  EXPECT_GE(threads_of(0), 1);
}

TEST(Parallel, ProgressCountsUpToAll) {
  std::vector<std::size_t> seen;
  const auto progress = [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 50U);
    EXPECT_EQ(done, seen.size());
    seen.push_back(done);
  };
  for_each_index(
      50, [](std::size_t) {}, progress);
  EXPECT_EQ(seen.size(), 51U);
}

TEST(Parallel, TheFirstFailureComesOutAfterAllHaveEnded) {
  std::vector<int> calls(20, 0);
  const auto work = [&](std::size_t index) {
    ++calls[index];
    if (index == 7 || index == 13) throw std::runtime_error(std::to_string(index));
  };
  try {
    for_each_index(calls.size(), work);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(calls, std::vector<int>(20, 1));
}

struct Interrupted {};

// A progress callback may end the work by an exception, which comes out; an exception that is no error, as of an
// interrupted run, ends it as well: the rest is not worked off.
TEST(Parallel, ProgressAndWhatIsNoErrorEndTheWork) {
  for (const int jobs : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto enough = [](std::size_t done, std::size_t) {
      if (done == 3) throw std::runtime_error("enough");
    };
    EXPECT_THROW(for_each_index(
                     1000, [&calls](std::size_t) { ++calls; }, enough, jobs),
                 std::runtime_error);
    EXPECT_LT(calls, 1000) << jobs;
    calls = 0;
    const auto work = [&calls](std::size_t) {
      if (++calls == 3) throw Interrupted();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    EXPECT_THROW(for_each_index(1000, work, {}, jobs), Interrupted);
    EXPECT_LT(calls, 1000) << jobs;
  }
}

// The caller's thread, which may have no work left, asks whether the result is still wanted; an interruption there ends
// the work of other threads, which ask as well.
TEST(Parallel, AnInterruptionOfTheCallerEndsTheWorkOfOthers) {
  std::atomic<bool> is_asked = false;
  std::atomic<bool> is_late = false;
  const auto work = [&](std::size_t index) {
    if (index == 0) return;  // one thread is done at once
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < latest) {
      sim::ask_interruption();
      is_asked = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    is_late = true;
  };
  const sim::Interruption interruption([&] {
    if (is_asked) throw Interrupted();
  });
  EXPECT_THROW(for_each_index(4, work, {}, 4), Interrupted);
  EXPECT_FALSE(is_late);
}

// An interruption of a thread of an outer call ends the calls that the thread makes itself.
TEST(Parallel, AnInterruptionReachesWorkWithinWork) {
  std::atomic<int> finished = 0;
  const auto inner = [&](std::size_t) {
    for (int i = 0; i < 100; ++i) {
      sim::ask_interruption();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto outer = [&](std::size_t) {
    for (int i = 0; i < 20; ++i) for_each_index(4, inner, {}, 2);
    ++finished;
  };
  std::atomic<int> asked = 0;
  const sim::Interruption interruption([&] {
    if (++asked > 3) throw Interrupted();
  });
  EXPECT_THROW(for_each_index(3, outer, {}, 3), Interrupted);
  EXPECT_EQ(finished, 0);
}

}  // namespace
}  // namespace c3sim::study
