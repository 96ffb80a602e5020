#include "study/run/testbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  testbed_.count(watched);
  EXPECT_THAT(testbed_.warnings(), testing::ElementsAre(HasSubstr("at 3 instants")));
}

TEST_F(TestbedTest, AnotherMaskIsAnotherQuestion) {
  EXPECT_NE(testbed_.alone(gemm_4096), testbed_.alone(gemm_4096, {0, 19}));
}

// Words leave out that a thread drives all GPUs of a collective by kernels; a question does not.
TEST_F(TestbedTest, EveryFieldOfTheWorkIsPartOfTheQuestion) {
  models::CollectiveSpec one;
  one.bytes = 64_MiB;
  one.host_threads = models::HostThreads::one;
  models::CollectiveSpec per_gpu = one;
  per_gpu.host_threads = models::HostThreads::per_gpu;
  EXPECT_EQ(to_string(one), to_string(per_gpu));
  EXPECT_NE(&testbed_.run({operation("a", one)}), &testbed_.run({operation("a", per_gpu)}));
}

// A kernel that had to wait begins a gap behind the one before it, whatever kind it is: a microsecond here.
TEST_F(TestbedTest, EveryKernelThatWaitedLeavesTheSameGap) {
  models::RemoteKernelSpec remote{.gpu = 0, .peers = {1}, .bytes = 1_MiB, .workgroups = 8};
  models::CollectiveSpec in_graph = collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_MiB);
  in_graph.graph = true;
  const std::vector<Work> kernels{gemm_4096,
                                  collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_MiB),
                                  collective(models::Backend::one_shot, models::CollectiveKind::all_reduce, 1_MiB),
                                  in_graph,
                                  models::ElementwiseSpec{1_MiB, 1_MiB, {}},
                                  models::AttentionShape{.heads = 8, .kv_heads = 8, .queries = 256, .keys = 256},
                                  remote};
  for (const Work& kernel : kernels) {
    const auto time = [&](const char* gap) {
      Testbed testbed(mi300x({"host.protocol=shot", gap}).spec);
      return testbed.run({operation("before", gemm_4096), operation("behind", kernel, {0})}).makespan();
    };
    const bool of_library = kernel == Work(in_graph);
    EXPECT_NEAR(sim::to_microseconds(time(of_library ? "rccl.graph_gap=1us" : "host.kernel_gap=1us") -
                                     time("host.kernel_gap=0us")),
                1.0, 1e-3)
        << to_string(kernel);
  }
}

// A graph that is launched when the kernel before it has long ended begins at once.
TEST_F(TestbedTest, ACollectiveInAGraphThatNeedNotWaitLeavesNoGap) {
  models::CollectiveSpec in_graph = collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_MiB);
  in_graph.graph = true;
  const auto time = [&](const char* gap) {
    Testbed testbed(mi300x({"host.protocol=shot", "host.graph_launch=8us", gap}).spec);
    const models::ElementwiseSpec small{sim::Bytes(4096), sim::Bytes(4096), {}};
    return testbed.run({operation("before", small), operation("behind", in_graph, {0})}).makespan();
  };
  EXPECT_EQ(time("rccl.graph_gap=5us"), time("rccl.graph_gap=0us"));
}

// The link's 48.4 GB/s bound a copy on the recommended engine. One that is made for the host, and faster over PCIe, is
// no faster there.
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

// What a copy takes beside its data, of 64 MiB 1384 us at 48.5 GB/s, is some us; from the second on, set-up and
// acknowledgement alone are left of it, as the host has written the commands before.
TEST_F(TestbedTest, CopiesThatFollowEachOtherAreQueued) {
  const Schedule schedule{operation("a", copy), operation("b", copy, {0}), operation("c", copy, {1})};
  const Timeline timeline = testbed_.run(schedule);
  const sim::Time one = testbed_.alone(copy);
  const sim::Time second = timeline.operations[1].end - timeline.operations[0].end;
  EXPECT_EQ(timeline.operations[1].start, timeline.operations[0].end);
  EXPECT_EQ(timeline.operations[2].end - timeline.operations[1].end, second);
  EXPECT_LT(second, one - std::chrono::microseconds(2));
  EXPECT_GT(second, sim::to_time(copy.bytes / mi300x().spec.fabric.link_rate));
}

TEST_F(TestbedTest, ACopyOnAnotherEngineWaitsForTheOneBeforeIt) {
  const models::SdmaCopySpec other{0, 2, 64_MiB, {}};
  const Timeline timeline = testbed_.run({operation("a", copy), operation("b", other, {0})});
  const sim::Time data = sim::to_time(copy.bytes / mi300x().spec.fabric.link_rate);
  EXPECT_EQ(timeline.operations[1].start, timeline.operations[0].end);
  EXPECT_GT(timeline.operations[1].end - timeline.operations[0].end, data);
  EXPECT_LT(timeline.operations[1].end - timeline.operations[0].end, testbed_.alone(other));
}

// What a kernel before it delays, the host starts: nothing that is queued can lie in the way of what it waits for.
TEST_F(TestbedTest, ACopyBehindAKernelIsStartedByTheHost) {
  const Timeline timeline =
      testbed_.run({operation("a", gemm_4096), operation("b", copy, {0}), operation("c", copy, {1})});
  EXPECT_EQ(timeline.operations[1].end - timeline.operations[1].start, testbed_.alone(copy));
  EXPECT_EQ(timeline.operations[2].start, timeline.operations[1].end);
}

TEST_F(TestbedTest, TwoTestbedsGiveTheSameTimes) {
  Testbed other(mi300x().spec);
  const Schedule schedule{operation("a", gemm_4096), operation("b", copy)};
  EXPECT_EQ(testbed_.run(schedule).makespan(), other.run(schedule).makespan());
}

TEST_F(TestbedTest, ThePhasesOfACopyMakeUpItsTime) {
  const Span span = testbed_.run({operation("a", copy)}).operations[0];
  ASSERT_TRUE(span.phases.has_value());
  EXPECT_EQ(span.phases->total(), span.end - span.start);
}

TEST_F(TestbedTest, SaysWhyWorkIsImpossible) {
  EXPECT_THAT(testbed_.why_impossible(gemm_4096), IsEmpty());
  EXPECT_THAT(testbed_.why_impossible(copy), IsEmpty());
  EXPECT_THAT(testbed_.why_impossible(models::GemmShape{1 << 24, 1 << 24, 1}), HasSubstr("does not fit"));
  EXPECT_FALSE(testbed_.why_impossible(models::SdmaCopySpec{3, 3, 1_MiB, {}}).empty());
  EXPECT_FALSE(testbed_.why_impossible(models::SdmaCopySpec{0, 8, 1_MiB, {}}).empty());
  models::CollectiveSpec swap;
  swap.backend = models::Backend::sdma;
  swap.variant = models::SdmaVariant::swap;
  swap.bytes = 1_MiB;
  EXPECT_FALSE(testbed_.why_impossible(swap).empty());
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

// A GEMM that takes twice as long, and copies that take half as long. What waits for the GEMM begins when that ends,
// and keeps its delay; phases of a copy add up to its time.
TEST_F(TestbedTest, FactorsMultiplyDurations) {
  Testbed off(mi300x().spec, [](const Work& work, const Company&) {
    return std::holds_alternative<models::GemmShape>(work) ? 2.0 : 0.5;
  });
  Schedule schedule{operation("a", gemm_4096), operation("b", copy, {0}), operation("c", gemm_4096, {0, 1})};
  schedule[1].delay = sim::Time(7'000'000);
  const Timeline simulated = testbed_.run(schedule);
  const std::vector<Span>& spans = off.run(schedule).operations;
  const auto duration = [](const Span& span) { return span.end - span.start; };
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

// A GEMM beside the first part of a copy.
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

}  // namespace
}  // namespace c3sim::study
