// What is seen of runs alone: on a machine with round numbers where that can be worked out by hand.
#include "study/ask/trial.h"

#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_B;
using sim::operator""_GiB;
using sim::operator""_MiB;
using sim::operator""_ns;
using sim::operator""_us;

// Kernels. Launch takes 4 us, notice 2 us and the dispatch of workgroups 1 us; HBM gives 800 GB/s to reads
// and 500 GB/s to writes.

TEST(StreamTrials, TakeTheirBytesOverWhatHbmGives) {
  // Of three bytes two are read and one is written: 2/3 / 800 + 1/3 / 500 GB/s make 1.5 ms of 1 GB.
  const Figures triad = all_of(models::round_platform(), StreamTrial{2, 1, sim::Bytes(1e9)});
  EXPECT_NEAR(triad.at(Figure::time), 1500.0 * us + 7.0 * us, 1e-12);
  const Figures read = all_of(models::round_platform(), StreamTrial{1, 0, sim::Bytes(1e9)});
  EXPECT_NEAR(read.at(Figure::time), 1250.0 * us + 7.0 * us, 1e-12);
}

TEST(StreamTrials, HaveTheRateOfAllTheirArrays) {
  const Figures triad = all_of(models::round_platform(), StreamTrial{2, 1, sim::Bytes(1e9)});
  EXPECT_DOUBLE_EQ(triad.at(Figure::rate), 1e9 / triad.at(Figure::time));
}

TEST(StreamTrials, DrawWhatTheirBytesTakeBesideRest) {
  models::PlatformSpec platform = models::round_platform();
  platform.gpu.power.hbm_energy = sim::JoulesPerByte(100e-12);
  // 120 W at rest: 100 W, and 20 W at the highest clock. Over 1.257 ms 1 GB takes 0.1 J more: at an efficiency of 80 %
  // it costs HBM as much as 1.25 GB.
  EXPECT_NEAR(figure(platform, RestTrial{}, Figure::power), 120.0 * watt, 1e-9);
  EXPECT_NEAR(figure(platform, StreamTrial{1, 0, sim::Bytes(1e9)}, Figure::power), 120.0 + 0.125 / 1257e-6, 1e-6);
}

// As a command asks for it: c3sim kernel --operator attention.
TEST(AttentionTrials, AreOneKernel) {
  const models::PlatformSpec platform = models::h200();
  const AttentionTrial trial{{.heads = 8, .kv_heads = 1, .queries = 512, .keys = 512, .head_dim = 128}};
  const Figures figures = all_of(platform, trial);
  const double around = sim::to_seconds(platform.host.around_kernel()).value();
  EXPECT_NEAR(figures.at(Figure::kernel_time), figures.at(Figure::time) - around, 1e-12);
  EXPECT_EQ(command_of(Trial(trial)), "kernel --operator attention --tokens 512 --heads 8 --kv-heads 1");
  EXPECT_EQ(size_of(trial), trial.shape.flops().value());
}

TEST(RestTrials, HaveTheHighestClockAndNoTime) {
  const Figures rest = all_of(models::round_platform(), RestTrial{});
  EXPECT_DOUBLE_EQ(rest.at(Figure::clock), 2e9);
  EXPECT_FALSE(rest.contains(Figure::time));
}

TEST(EmptyKernelTrials, TakeNoMoreThanTheirLaunch) {
  // 7 us around a tile of 128 x 128 of one element of k, 33 kflop of a CU that does 0.5 TFLOP/s: 0.07 us.
  const double time = figure(models::round_platform(), EmptyKernelTrial{}, Figure::time);
  EXPECT_GE(time, 7.0 * us);
  EXPECT_LT(time, 7.1 * us);
}

// GEMMs. 64 tiles of 128 x 128 are eight for each of 8 CUs, which reach half of 1 TFLOP/s at 1 GHz.
constexpr models::GemmShape square{1024, 1024, 65536};

models::PlatformSpec without_dispatch() {
  models::PlatformSpec platform = models::round_platform();
  platform.gpu.dispatch.workgroup_launch = sim::Time(0);
  return platform;
}

TEST(GemmTrials, RunAtTheirEfficiencyOfTheMatrixPeak) {
  const Figures gemm = all_of(without_dispatch(), GemmTrial{.shape = square});
  const double kernel = square.flops().value() / 4e12;
  EXPECT_NEAR(gemm.at(Figure::time), kernel + 6.0 * us, 1e-9);
  EXPECT_NEAR(gemm.at(Figure::flop_rate), square.flops().value() / gemm.at(Figure::time), 1.0);
  EXPECT_NEAR(gemm.at(Figure::efficiency), 0.5, 1e-6) << "launch and notice apart";
  // 1 GHz while it computes, 2 GHz during launch and notice.
  EXPECT_NEAR(gemm.at(Figure::clock), 1e9 * (kernel + 12.0 * us) / (kernel + 6.0 * us), 1e3);
}

// A rate of its own: twice the operations a cycle at the same share of them.
TEST(GemmTrials, HaveTheEfficiencyOfTheirFormat) {
  models::PlatformSpec platform = without_dispatch();
  models::PrecisionSpec fp8{2.0 * platform.gpu.gemm.flops_per_cycle_per_cu};
  platform.gpu.gemm.others[static_cast<std::size_t>(models::Dtype::fp8)] = fp8;
  models::GemmShape shape = square;
  shape.dtype = models::Dtype::fp8;
  EXPECT_NEAR(figure(platform, GemmTrial{.shape = shape}, Figure::efficiency), 0.5, 1e-6);
}

TEST(GemmTrials, OnHalfTheCusTakeTwiceAsLongAtTheSameEfficiency) {
  const Figures all = all_of(without_dispatch(), GemmTrial{.shape = square});
  const Figures half = all_of(without_dispatch(), GemmTrial{.shape = square, .cus = 4});
  EXPECT_NEAR(half.at(Figure::time) - 6.0 * us, 2.0 * (all.at(Figure::time) - 6.0 * us), 1e-9);
  EXPECT_NEAR(half.at(Figure::efficiency), 0.5, 1e-6);
}

// However short the kernel: one wave takes 33 us, of which 6 us of launch and notice at 2 GHz would be a lot.
TEST(GemmTrials, HaveTheEfficiencyThatTheirClockGivesThem) {
  EXPECT_NEAR(figure(without_dispatch(), GemmTrial{.shape = {256, 512, 512}}, Figure::efficiency), 0.5, 1e-3);
}

TEST(GemmTrials, AskTheL2ForTwoPanelsOfEveryTileAndTheResult) {
  // 64 tiles: 128 + 128 rows of k elements of 2 bytes each, and 128 x 128 elements written.
  const Figures gemm = all_of(models::round_platform(), GemmTrial{.shape = square});
  const double asked = 64.0 * (256.0 * 65536.0 * 2.0 + 128.0 * 128.0 * 2.0);  // 2.1 GB
  EXPECT_NEAR(gemm.at(Figure::l2_hit_bytes) + gemm.at(Figure::l2_miss_bytes), asked, asked * 1e-12);
  EXPECT_GT(gemm.at(Figure::l2_hit_bytes), 0.0);
  EXPECT_GE(gemm.at(Figure::cache_hit_share), 0.0);
  EXPECT_LE(gemm.at(Figure::cache_hit_share), 1.0);
}

TEST(GemmTrials, OnOneCuOfEachXcdFindNothingOfEachOtherInTheL2) {
  const Figures gemm = all_of(models::round_platform(), GemmTrial{.shape = square, .cus = 2});
  EXPECT_NEAR(gemm.at(Figure::l2_hit_bytes) / gemm.at(Figure::l2_miss_bytes), 0.0, 1e-9);
  EXPECT_GT(figure(models::round_platform(), GemmTrial{.shape = square}, Figure::l2_hit_bytes), 1e9);
}

TEST(GemmTrials, DrawTheMeanOverThePauseBehindThem) {
  // Of time and pause the pause is at rest, at 120 W.
  const Figures none = all_of(models::round_platform(), GemmTrial{.shape = square});
  const double time = none.at(Figure::time);
  const sim::Time pause = sim::to_time(sim::Seconds(3.0 * time));
  const Figures paused = all_of(models::round_platform(), GemmTrial{.shape = square, .pause = pause});
  EXPECT_NEAR(paused.at(Figure::power), (none.at(Figure::power) + 3.0 * 120.0) / 4.0, 1e-6);
  EXPECT_NEAR(paused.at(Figure::clock), (none.at(Figure::clock) + 3.0 * 2e9) / 4.0, 1.0);
  EXPECT_DOUBLE_EQ(paused.at(Figure::time), time) << "the pause is not timed";
}

TEST(GemmTrials, AreMeteredOnlyWhereThatIsAskedFor) {
  Testbed testbed(models::round_platform());
  EXPECT_FALSE(observe(testbed, GemmTrial{.shape = square}, {Figure::time}).contains(Figure::power));
  EXPECT_TRUE(observe(testbed, GemmTrial{.shape = square}, {Figure::power}).contains(Figure::clock));
}

// Kernels on other GPUs' memory. Links of 10 GB/s, 7 us around the data.

RemoteTrial remote(RemoteTrial::Pattern pattern, models::RemoteAccess access = models::RemoteAccess::uncached_store) {
  return {access, pattern, 0, 1, sim::Bytes(1e9), {}};
}

TEST(RemoteTrials, OneWayHaveALinkForThemselves) {
  const Figures one = all_of(models::round_platform(), remote(RemoteTrial::Pattern::one_way));
  EXPECT_NEAR(one.at(Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_DOUBLE_EQ(one.at(Figure::link_rate), 1e9 / one.at(Figure::time));
  EXPECT_DOUBLE_EQ(one.at(Figure::rate), one.at(Figure::link_rate)) << "one peer";
}

TEST(RemoteTrials, BothWaysShareALinkWithTheAcknowledgements) {
  models::PlatformSpec platform = models::round_platform();
  platform.fabric.reverse_share = 0.25;
  // Each direction carries 1 GB and a quarter of what comes back.
  EXPECT_NEAR(figure(platform, remote(RemoteTrial::Pattern::one_way), Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_NEAR(figure(platform, remote(RemoteTrial::Pattern::both_ways), Figure::time), 0.125 + 7.0 * us, 1e-9);
}

TEST(RemoteTrials, OfAllGpusHaveARateOfAllTheirLinks) {
  // 3 peers over links of their own: as long as one, for three times the bytes.
  const Figures all = all_of(models::round_platform(), remote(RemoteTrial::Pattern::all));
  EXPECT_NEAR(all.at(Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_DOUBLE_EQ(all.at(Figure::rate), 3.0 * all.at(Figure::link_rate));
}

TEST(RemoteTrials, LoadAsWellAsStore) {
  EXPECT_NEAR(
      figure(models::round_platform(), remote(RemoteTrial::Pattern::one_way, models::RemoteAccess::load), Figure::time),
      0.1 + 7.0 * us, 1e-9);
  // Stores that the L2s keep are written back in the end: 8 MiB of L2 hold nearly 8 MiB of 1 GB, at 1 GB/s.
  models::PlatformSpec platform = models::round_platform();
  platform.gpu.memory.writeback_rate = sim::BytesPerSecond(1e9);
  const double dirty = 8.0 * 1048576.0;
  EXPECT_NEAR(figure(platform, remote(RemoteTrial::Pattern::one_way, models::RemoteAccess::store), Figure::time),
              (1e9 - dirty) / 1e10 + dirty / 1e9 + 7.0 * us, 1e-7);
}

TEST(RemoteTrials, OnFewCusAreHeldBackByWhatTheseHaveInFlight) {
  models::PlatformSpec platform = models::round_platform();
  platform.rccl.workgroup_in_flight = sim::Bytes(8e3);
  platform.rccl.workgroup_latency = 1_us;
  RemoteTrial trial = remote(RemoteTrial::Pattern::one_way);
  trial.cus = 1;
  // Half of 8 KB is read while the other half is written: 4 KB a microsecond are 4 GB/s.
  EXPECT_NEAR(figure(platform, trial, Figure::time), 0.25 + 7.0 * us, 1e-6);
}

// Loads. 4 MiB of L2 an XCD, 64 MiB of Infinity Cache after 100 ns, HBM after 200 ns more.

models::PlatformSpec with_latencies() {
  models::PlatformSpec platform = models::round_platform();
  platform.gpu.memory.cache_latency = 100_ns;
  platform.gpu.memory.hbm_latency = 200_ns;
  return platform;
}

double nanoseconds(const models::PlatformSpec& platform, const LoadTrial& trial) {
  return figure(platform, trial, Figure::latency) * 1e9;
}

TEST(LoadTrials, WithinTheL2HaveNoModel) { EXPECT_THAT(all_of(with_latencies(), LoadTrial{4_MiB, {}}), IsEmpty()); }

TEST(LoadTrials, ThatFitTheInfinityCacheTakeItsLatency) {
  EXPECT_NEAR(nanoseconds(with_latencies(), {8_MiB, {}}), 100.0, 0.1);
  EXPECT_NEAR(nanoseconds(with_latencies(), {64_MiB, {}}), 100.0, 0.1);
}

// Of a set gone through again and again the oldest line goes first, and nothing is found of twice the cache.
TEST(LoadTrials, BeyondTheInfinityCacheComeFromHbm) {
  EXPECT_NEAR(nanoseconds(with_latencies(), {128_MiB, {}}), 300.0, 0.1);
}

// Half of 128 MiB is translated; each other load takes 40 ns more.
TEST(LoadTrials, BeyondTheReachOfTranslationsWaitForOne) {
  models::PlatformSpec platform = with_latencies();
  platform.gpu.memory.translation_reach = 64_MiB;
  platform.gpu.memory.translation_latency = 40_ns;
  EXPECT_NEAR(nanoseconds(platform, {128_MiB, {}}), 300.0 + 20.0, 0.1);
}

TEST(LoadTrials, OfWhatTheL2HoldsTakeItsLatency) {
  models::PlatformSpec platform = with_latencies();
  platform.gpu.memory.l2_latency = platform.gpu.memory.l2_far_latency = 50_ns;
  EXPECT_NEAR(nanoseconds(platform, {4_MiB, {}}), 50.0, 0.1) << "one thread has one L2";
  EXPECT_NEAR(nanoseconds(platform, {8_MiB, {}}), 100.0, 0.1);
}

TEST(LoadTrials, BesideAStreamWaitInTheQueueOfHbm) {
  models::PlatformSpec platform = with_latencies();
  platform.gpu.memory.queueing_factor = 0.5;
  // 400 GB/s of the 800 that reads can have: at half load 1 + 0.5 * 0.5^2 / (1 - 0.5) = 1.25.
  const auto beside = sim::BytesPerSecond(400e9);
  EXPECT_NEAR(nanoseconds(platform, {128_MiB, beside, 1.0}), 100.0 + 0.5 * 250.0, 1e-9);
  // Of writes 250 GB/s are half.
  EXPECT_NEAR(nanoseconds(platform, {128_MiB, sim::BytesPerSecond(250e9), 0.0}), 100.0 + 0.5 * 250.0, 1e-9);
  EXPECT_NEAR(nanoseconds(platform, {64_MiB, beside, 1.0}), 100.0, 1e-9) << "no load goes to HBM";
}

// Copies by engines.

TEST(CopyTrials, HavePhasesThatMakeUpTheirTime) {
  for (const sim::Bytes bytes : {1_B, 64_MiB}) {
    const Figures copy = all_of(mi300x().spec, CopyTrial{{0, 1, bytes, {}}});
    const double shares = copy.at(Figure::control_share) + copy.at(Figure::schedule_share) +
                          copy.at(Figure::copy_share) + copy.at(Figure::completion_share);
    EXPECT_DOUBLE_EQ(shares, 1.0);
    for (const Figure share :
         {Figure::control_share, Figure::schedule_share, Figure::copy_share, Figure::completion_share}) {
      EXPECT_GT(copy.at(share), 0.0) << form_of(share).key;
    }
    EXPECT_NEAR(copy.at(Figure::rate), bytes.value() / (copy.at(Figure::copy_share) * copy.at(Figure::time)),
                1e-6 * copy.at(Figure::rate))
        << "while the engine moves bytes";
  }
}

TEST(CopyTrials, ToSeveralPeersShareThePort) {
  const models::PlatformSpec platform = models::h200();
  const sim::Bytes bytes = 64_MiB;
  const double one = figure(platform, FanOutTrial{1, bytes}, Figure::time);
  const double seven = figure(platform, FanOutTrial{7, bytes}, Figure::time);
  const sim::Seconds port = 7.0 * bytes / platform.fabric.link_rate;
  EXPECT_GT(seven, port.value());
  EXPECT_LT(seven, port.value() + one);
  EXPECT_DOUBLE_EQ(figure(platform, CopyTrial{{0, 1, bytes, {}}}, Figure::time), one);
}

// Collectives.

TEST(CollectiveTrials, OnFewerChannelsTakeLonger) {
  CollectiveTrial trial = gather(models::Backend::rccl, 4_GiB);
  trial.spec.channels = 1;
  const double one = figure(models::h200(), trial, Figure::time);
  trial.spec.channels = 2;
  // Channels run side by side: two take half as long, but for steps of less than a millisecond.
  EXPECT_NEAR(figure(models::h200(), trial, Figure::time), one / 2.0, 1e-3);
}

TEST(CollectiveTrials, OfNoNumberOfGpusAreOfAllOfThePlatform) {
  CollectiveTrial all = gather(models::Backend::rccl, 64_MiB);
  CollectiveTrial eight = all;
  eight.spec.gpus = 8;
  EXPECT_EQ(all_of(mi300x().spec, all), all_of(mi300x().spec, eight));
  eight.spec.gpus = 4;
  EXPECT_NE(all_of(mi300x().spec, all), all_of(mi300x().spec, eight));
}

TEST(CollectiveTrials, HaveTheBusBandwidthOfRcclsTests) {
  const Figures all = all_of(mi300x().spec, gather(models::Backend::rccl, 64_MiB));
  EXPECT_NEAR(all.at(Figure::bus_bandwidth), 7.0 / 8.0 * (64_MiB).value() / all.at(Figure::time), 1.0);
}

TEST(CollectiveTrials, AreComparedWithParallelCopiesWhereThatIsAskedFor) {
  const models::PlatformSpec platform = mi300x().spec;
  const CollectiveTrial copies = gather(models::Backend::sdma, 64_MiB);
  EXPECT_DOUBLE_EQ(figure(platform, copies, Figure::over_parallel_copies), 1.0);
  CollectiveTrial prelaunched = copies;
  prelaunched.spec.prelaunch = true;
  EXPECT_GT(figure(platform, prelaunched, Figure::over_parallel_copies), 1.0);
  CollectiveTrial back_to_back = copies;
  back_to_back.spec.variant = models::SdmaVariant::b2b;
  back_to_back.spec.engines = 4;
  const CollectiveTrial kernels = gather(models::Backend::rccl, 64_MiB);
  const double alone = figure(platform, copies, Figure::time);
  for (const CollectiveTrial& trial : {prelaunched, back_to_back, kernels}) {
    const Figures seen = all_of(platform, trial);
    EXPECT_DOUBLE_EQ(seen.at(Figure::over_parallel_copies), alone / seen.at(Figure::time)) << to_string(Trial(trial));
  }
  Testbed testbed(platform);
  EXPECT_FALSE(observe(testbed, copies, {Figure::time}).contains(Figure::over_parallel_copies));
}

}  // namespace
}  // namespace c3sim::study
