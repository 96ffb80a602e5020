// These tests look at the figures of trials: alone on a machine with round numbers, where they can be worked out by
// hand, and element-wise kernels at once with GEMMs, collectives and copies, where nobody is served last.
#include "study/ask/trial.h"

#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_B;
using sim::operator""_KiB;
using sim::operator""_GiB;
using sim::operator""_MiB;
using sim::operator""_ns;
using sim::operator""_us;

models::PlatformSpec round_but(const std::function<void(models::PlatformSpec&)>& changes) {
  models::PlatformSpec platform = models::round_platform();
  changes(platform);
  return platform;
}
Figures of_round(const Trial& trial) { return all_of(models::round_platform(), trial); }
double round_time(const Trial& trial) { return of_round(trial).at(Figure::time); }

// The next tests run kernels. A launch takes 4 us, a notice 2 us and the dispatch of workgroups 1 us; HBM gives 800
// GB/s to reads and 500 GB/s to writes.

TEST(StreamTrials, TakeTheirBytesOverWhatHbmGives) {
  // Two of three bytes are read and one is written: (2/3 / 800 + 1/3 / 500) per GB/s make 1.5 ms for 1 GB.
  const Figures triad = of_round(StreamTrial{2, 1, sim::Bytes(1e9)});
  EXPECT_NEAR(triad.at(Figure::time), 1500.0 * us + 7.0 * us, 1e-12);
  EXPECT_DOUBLE_EQ(triad.at(Figure::rate), 1e9 / triad.at(Figure::time));
  EXPECT_NEAR(round_time(StreamTrial{1, 0, sim::Bytes(1e9)}), 1250.0 * us + 7.0 * us, 1e-12);
}

TEST(StreamTrials, DrawWhatTheirBytesTakeBesideRest) {
  const models::PlatformSpec platform =
      round_but([](auto& spec) { spec.gpu.power.hbm_energy = sim::JoulesPerByte(100e-12); });
  // A GPU draws 120 W at rest: 100 W, and 20 W at the highest clock. 1 GB takes 0.125 J more over 1.257 ms: at an
  // efficiency of 80 % it costs HBM as much as 1.25 GB.
  EXPECT_NEAR(figure(platform, RestTrial{}, Figure::power), 120.0 * watt, 1e-9);
  EXPECT_NEAR(figure(platform, StreamTrial{1, 0, sim::Bytes(1e9)}, Figure::power), 120.0 + 0.125 / 1257e-6, 1e-6);
}

// The trial is the one that `c3sim kernel --operator attention` asks for.
TEST(AttentionTrials, AreOneKernel) {
  const models::PlatformSpec platform = models::h200();
  const models::AttentionShape trial{.heads = 8, .kv_heads = 1, .queries = 512, .keys = 512, .head_dim = 128};
  const Figures figures = all_of(platform, trial);
  const double around = sim::to_seconds(platform.host.around_kernel()).value();
  EXPECT_NEAR(figures.at(Figure::kernel_time), figures.at(Figure::time) - around, 1e-12);
  EXPECT_EQ(command_of(Trial(trial)), "kernel --operator attention --tokens 512 --heads 8 --kv-heads 1");
  EXPECT_EQ(size_of(trial), trial.flops().value());
}

// An empty kernel takes 7 us around a tile of 128 x 128 with one element of k: 33 kflop take 0.07 us at 0.5 TFLOP/s.
TEST(RestTrials, HaveTheHighestClockAndNoTimeAndEmptyKernelsTakeTheirLaunch) {
  EXPECT_DOUBLE_EQ(of_round(RestTrial{}).at(Figure::clock), 2e9);
  EXPECT_FALSE(of_round(RestTrial{}).contains(Figure::time));
  EXPECT_GE(round_time(EmptyKernelTrial{}), 7.0 * us);
  EXPECT_LT(round_time(EmptyKernelTrial{}), 7.1 * us);
}

// The next tests run GEMMs. 64 tiles of 128 x 128 are eight for each of 8 CUs, which reach half of 1 TFLOP/s at 1 GHz.
constexpr models::GemmShape square{1024, 1024, 65536};

models::PlatformSpec without_dispatch() {
  return round_but([](auto& spec) { spec.gpu.dispatch.workgroup_launch = sim::Time(0); });
}

TEST(GemmTrials, RunAtTheirEfficiencyOfTheMatrixPeak) {
  const Figures gemm = all_of(without_dispatch(), GemmTrial{.shape = square});
  const double kernel = square.flops().value() / 4e12;
  EXPECT_NEAR(gemm.at(Figure::time), kernel + 6.0 * us, 1e-9);
  EXPECT_NEAR(gemm.at(Figure::flop_rate), square.flops().value() / gemm.at(Figure::time), 1.0);
  EXPECT_NEAR(gemm.at(Figure::efficiency), 0.5, 1e-6) << "launch and notice apart";
  // The clock is 1 GHz while the GEMM computes and 2 GHz during launch and notice.
  EXPECT_NEAR(gemm.at(Figure::clock), 1e9 * (kernel + 12.0 * us) / (kernel + 6.0 * us), 1e3);
}

// The format has a rate of its own: twice the operations per cycle at the same efficiency.
TEST(GemmTrials, HaveTheEfficiencyOfTheirFormat) {
  models::PlatformSpec platform = without_dispatch();
  models::PrecisionSpec fp8{2.0 * platform.gpu.gemm.flops_per_cycle_per_cu};
  platform.gpu.gemm.others[static_cast<std::size_t>(models::Dtype::fp8)] = fp8;
  models::GemmShape shape = square;
  shape.dtype = models::Dtype::fp8;
  EXPECT_NEAR(figure(platform, GemmTrial{.shape = shape}, Figure::efficiency), 0.5, 1e-6);
}

// One wave takes 33 us. The efficiency leaves out its 6 us of launch and notice at 2 GHz, which would be a lot.
TEST(GemmTrials, OnHalfTheCusTakeTwiceAsLongAtTheSameEfficiency) {
  const Figures all = all_of(without_dispatch(), GemmTrial{.shape = square});
  const Figures half = all_of(without_dispatch(), GemmTrial{.shape = square, .cus = 4});
  EXPECT_NEAR(half.at(Figure::time) - 6.0 * us, 2.0 * (all.at(Figure::time) - 6.0 * us), 1e-9);
  EXPECT_NEAR(half.at(Figure::efficiency), 0.5, 1e-6);
  EXPECT_NEAR(figure(without_dispatch(), GemmTrial{.shape = {256, 512, 512}}, Figure::efficiency), 0.5, 1e-3);
}

TEST(GemmTrials, AskTheL2ForTwoPanelsOfEveryTileAndTheResult) {
  // Each of 64 tiles reads 128 + 128 rows of k elements of 2 bytes and writes 128 x 128 elements.
  const Figures gemm = of_round(GemmTrial{.shape = square});
  const double asked = 64.0 * (256.0 * 65536.0 * 2.0 + 128.0 * 128.0 * 2.0);  // 2.1 GB
  EXPECT_NEAR(gemm.at(Figure::l2_hit_bytes) + gemm.at(Figure::l2_miss_bytes), asked, asked * 1e-12);
  EXPECT_GT(gemm.at(Figure::l2_hit_bytes), 0.0);
  EXPECT_GE(gemm.at(Figure::cache_hit_share), 0.0);
  EXPECT_LE(gemm.at(Figure::cache_hit_share), 1.0);
}

TEST(GemmTrials, OnOneCuOfEachXcdFindNothingOfEachOtherInTheL2) {
  const Figures gemm = of_round(GemmTrial{.shape = square, .cus = 2});
  EXPECT_NEAR(gemm.at(Figure::l2_hit_bytes) / gemm.at(Figure::l2_miss_bytes), 0.0, 1e-9);
  EXPECT_GT(of_round(GemmTrial{.shape = square}).at(Figure::l2_hit_bytes), 1e9);
}

TEST(GemmTrials, DrawTheMeanOverThePauseBehindThem) {
  // The GPU rests at 120 W during the pause, which is three quarters of the whole.
  const Figures none = of_round(GemmTrial{.shape = square});
  const double time = none.at(Figure::time);
  const sim::Time pause = sim::to_time(sim::Seconds(3.0 * time));
  const Figures paused = of_round(GemmTrial{.shape = square, .pause = pause});
  EXPECT_NEAR(paused.at(Figure::power), (none.at(Figure::power) + 3.0 * 120.0) / 4.0, 1e-6);
  EXPECT_NEAR(paused.at(Figure::clock), (none.at(Figure::clock) + 3.0 * 2e9) / 4.0, 1.0);
  EXPECT_DOUBLE_EQ(paused.at(Figure::time), time) << "the pause is not timed";
}

// The same number of elements takes longer in longer rows, since a row is reduced before it is written.
TEST(GemmTrials, ThatQuantiseTakeTheTimeOfAKernelMore) {
  const models::PlatformSpec platform = mi300x({"host.protocol=graph"}).spec;
  const auto kernel = [&](std::int64_t tokens, std::int64_t k) {
    GemmTrial trial{.shape = {4096, tokens, k}};
    trial.shape.dtype = models::Dtype::fp8;
    const double alone = figure(platform, trial, Figure::time);
    trial.quantise = true;
    return figure(platform, trial, Figure::time) - alone;
  };
  EXPECT_GT(kernel(512, 1024), 1e-6);
  EXPECT_GT(kernel(64, 8192), kernel(512, 1024));
}

// All GEMMs of a series quantise, and so does the one of the series that is asked for.
TEST(GemmTrials, ThatQuantiseDoSoInASeries) {
  GemmTrial trial{.shape = {4096, 64, 4096}, .nth = 3};
  trial.shape.dtype = models::Dtype::fp8;
  const double alone = figure(mi300x().spec, trial, Figure::time);
  trial.quantise = true;
  EXPECT_GT(figure(mi300x().spec, trial, Figure::time), alone);
  trial.nth = {};
  trial.pause = std::chrono::milliseconds(1);
  const double paused = figure(mi300x().spec, trial, Figure::time);
  trial.quantise = false;
  EXPECT_GT(paused, figure(mi300x().spec, trial, Figure::time));
}

TEST(GemmTrials, AreMeteredOnlyWhereThatIsAskedFor) {
  Testbed testbed(models::round_platform());
  EXPECT_FALSE(observe(testbed, GemmTrial{.shape = square}, {Figure::time}).contains(Figure::power));
  EXPECT_TRUE(observe(testbed, GemmTrial{.shape = square}, {Figure::power}).contains(Figure::clock));
}

// The next tests run kernels on the memory of other GPUs over links of 10 GB/s, with 7 us around the data.

using Pattern = RemoteTrial::Pattern;

RemoteTrial remote(Pattern pattern, models::RemoteAccess access = models::RemoteAccess::uncached_store,
                   std::optional<int> cus = {}) {
  return {access, pattern, 0, 1, sim::Bytes(1e9), cus};
}

TEST(RemoteTrials, HaveTheRateOfTheirLinks) {
  const Figures one = of_round(remote(Pattern::one_way));
  EXPECT_NEAR(one.at(Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_DOUBLE_EQ(one.at(Figure::link_rate), 1e9 / one.at(Figure::time));
  EXPECT_DOUBLE_EQ(one.at(Figure::rate), one.at(Figure::link_rate)) << "one peer";
  EXPECT_NEAR(round_time(remote(Pattern::one_way, models::RemoteAccess::load)), 0.1 + 7.0 * us, 1e-9);
  // Three peers have links of their own: as long as one peer, for three times the bytes.
  const Figures all = of_round(remote(Pattern::all));
  EXPECT_NEAR(all.at(Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_DOUBLE_EQ(all.at(Figure::rate), 3.0 * all.at(Figure::link_rate));
}

TEST(RemoteTrials, AreHeldBackByAcknowledgementsCachesAndWhatIsInFlight) {
  // Each direction carries 1 GB and acknowledgements of a quarter of the opposite bytes.
  const models::PlatformSpec shared = round_but([](auto& spec) { spec.fabric.reverse_share = 0.25; });
  EXPECT_NEAR(figure(shared, remote(Pattern::one_way), Figure::time), 0.1 + 7.0 * us, 1e-9);
  EXPECT_NEAR(figure(shared, remote(Pattern::both_ways), Figure::time), 0.125 + 7.0 * us, 1e-9);
  // L2s write the stores that they keep back in the end: 8 MiB of L2 hold nearly 8 MiB of 1 GB, at 1 GB/s.
  const models::PlatformSpec written_back =
      round_but([](auto& spec) { spec.gpu.memory.writeback_rate = sim::BytesPerSecond(1e9); });
  const double dirty = 8.0 * 1048576.0;
  EXPECT_NEAR(figure(written_back, remote(Pattern::one_way, models::RemoteAccess::store), Figure::time),
              (1e9 - dirty) / 1e10 + dirty / 1e9 + 7.0 * us, 1e-7);
  // Half of the 8 KB in flight is read while the other half is written: 4 KB a microsecond are 4 GB/s.
  const models::PlatformSpec few_in_flight = round_but([](auto& spec) {
    spec.rccl.workgroup_in_flight = sim::Bytes(8e3);
    spec.rccl.workgroup_latency = 1_us;
  });
  const RemoteTrial on_one_cu = remote(Pattern::one_way, models::RemoteAccess::uncached_store, 1);
  EXPECT_NEAR(figure(few_in_flight, on_one_cu, Figure::time), 0.25 + 7.0 * us, 1e-6);
}

// The next tests time loads: 4 MiB of L2 per XCD, 64 MiB of Infinity Cache after 100 ns, HBM after 200 ns more.

double nanoseconds(const LoadTrial& trial, const std::function<void(models::MemorySpec&)>& changes = {}) {
  return figure(round_but([&](auto& spec) {
                  spec.gpu.memory.cache_latency = 100_ns;
                  spec.gpu.memory.hbm_latency = 200_ns;
                  if (changes) changes(spec.gpu.memory);
                }),
                trial, Figure::latency) *
         1e9;
}

// Going through a set again and again evicts the oldest line first, so a set of twice the cache finds nothing in it.
// Loads within the L2 have a time where the platform states it; one thread has one L2. The last platform translates
// half of 128 MiB; each load in the other half takes 40 ns more.
TEST(LoadTrials, TakeTheLatencyOfTheNearestThatHoldsTheirSet) {
  EXPECT_NEAR(nanoseconds({8_MiB, {}}), 100.0, 0.1);
  EXPECT_NEAR(nanoseconds({64_MiB, {}}), 100.0, 0.1);
  EXPECT_NEAR(nanoseconds({128_MiB, {}}), 300.0, 0.1);
  EXPECT_THAT(of_round(LoadTrial{4_MiB, {}}), IsEmpty());
  const auto with_l2 = [](models::MemorySpec& memory) { memory.l2_latency = memory.l2_far_latency = 50_ns; };
  EXPECT_NEAR(nanoseconds({4_MiB, {}}, with_l2), 50.0, 0.1);
  EXPECT_NEAR(nanoseconds({8_MiB, {}}, with_l2), 100.0, 0.1);
  const auto with_reach = [](models::MemorySpec& memory) {
    memory.translation_reach = 64_MiB;
    memory.translation_latency = 40_ns;
  };
  EXPECT_NEAR(nanoseconds({128_MiB, {}}, with_reach), 300.0 + 20.0, 0.1);
}

// The stream takes 400 GB/s of the 800 that reads can have: at half load 1 + 0.5 * 0.5^2 / (1 - 0.5) = 1.25. For writes
// 250 GB/s are half of the rate.
TEST(LoadTrials, BesideAStreamWaitInTheQueueOfHbm) {
  const auto queueing = [](models::MemorySpec& memory) { memory.queueing_factor = 0.5; };
  EXPECT_NEAR(nanoseconds({128_MiB, sim::BytesPerSecond(400e9), 1.0}, queueing), 100.0 + 0.5 * 250.0, 1e-9);
  EXPECT_NEAR(nanoseconds({128_MiB, sim::BytesPerSecond(250e9), 0.0}, queueing), 100.0 + 0.5 * 250.0, 1e-9);
  EXPECT_NEAR(nanoseconds({64_MiB, sim::BytesPerSecond(400e9), 1.0}, queueing), 100.0, 1e-9) << "no load goes to HBM";
}

// The next tests run copies by engines.

TEST(CopyTrials, HavePhasesThatMakeUpTheirTime) {
  for (const sim::Bytes bytes : {1_B, 64_MiB}) {
    const Figures copy = all_of(mi300x().spec, CopyTrial{{0, 1, bytes, {}}});
    double shares = 0.0;
    for (const Figure share :
         {Figure::control_share, Figure::schedule_share, Figure::copy_share, Figure::completion_share}) {
      EXPECT_GT(copy.at(share), 0.0) << form_of(share).key;
      shares += copy.at(share);
    }
    EXPECT_DOUBLE_EQ(shares, 1.0);
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

// The next tests run collectives.

// Channels run side by side: two take half as long as one, except for steps of less than a millisecond.
TEST(CollectiveTrials, OnFewerChannelsTakeLonger) {
  const auto time = [](int channels) {
    CollectiveTrial trial = gather(models::Backend::rccl, 4_GiB);
    trial.spec.channels = channels;
    return figure(models::h200(), trial, Figure::time);
  };
  EXPECT_NEAR(time(2), time(1) / 2.0, 1e-3);
}

TEST(CollectiveTrials, OfNoNumberOfGpusAreOfAllOfThePlatform) {
  CollectiveTrial trial = gather(models::Backend::rccl, 64_MiB);
  const Figures all = all_of(mi300x().spec, trial);
  EXPECT_NEAR(all.at(Figure::bus_bandwidth), 7.0 / 8.0 * (64_MiB).value() / all.at(Figure::time), 1.0);
  trial.spec.gpus = 8;
  EXPECT_EQ(all, all_of(mi300x().spec, trial));
  trial.spec.gpus = 4;
  EXPECT_NE(all, all_of(mi300x().spec, trial));
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

// The next tests run element-wise kernels at once with other work.

models::PlatformSpec two_gpus() { return h200({"gpus=2"}).spec; }

// A stretch is the time together over the time alone. A stream of 8 GiB runs on half of the CUs and something else on
// the rest; both take no longer than one after the other, except for the wave that a launch may cost.
struct Stretched {
  double stream;
  double other;
};
Stretched beside(const models::PlatformSpec& platform, Operation other) {
  const int cus = platform.gpu.cus_per_xcd;
  Operation stream = operation_of(models::ElementwiseSpec{4_GiB, 4_GiB, {}}, {0, cus / 2});
  if (is_kernel(other.work)) other.mask = {cus / 2, cus};
  Testbed testbed(platform);
  const double stream_alone = sim::to_microseconds(testbed.run({stream}).makespan());
  const double other_alone = sim::to_microseconds(testbed.run({other}).makespan());
  const Timeline& both = testbed.run({stream, other});
  EXPECT_LE(sim::to_microseconds(both.makespan()), 1.02 * (stream_alone + other_alone));
  return {sim::to_microseconds(both.operations[0].end) / stream_alone,
          sim::to_microseconds(both.operations[1].end) / other_alone};
}

models::CollectiveSpec gathered(models::Backend backend, const models::PlatformSpec& platform) {
  models::CollectiveSpec spec = collective(backend, models::CollectiveKind::all_gather, 1_GiB);
  spec.gpus = platform.gpus;
  spec.host_threads = models::HostThreads::per_gpu;
  return spec;
}

double rate_of(int threads, sim::Bytes set) {
  Testbed testbed(mi300x().spec);
  const StreamTrial trial{.arrays_read = 1, .arrays_written = 0, .bytes = 4_GiB, .threads = threads, .set = set};
  return observe(testbed, trial, {Figure::rate}).at(Figure::rate);
}

// By Little's law 128 threads of 8 B on 304 CUs over about 440 ns make the rate; twice the threads have twice the rate.
TEST(StreamsByThreads, HaveWhatIsUnderWayOverTheLatency) {
  const double few = rate_of(128, 128_MiB);
  EXPECT_NEAR(few, 128.0 * 8.0 * 304.0 / 440e-9, 0.05 * few);
  EXPECT_NEAR(rate_of(256, 128_MiB), 2.0 * few, 0.1 * few);
}

TEST(StreamsByThreads, AreFasterTheNearerTheCacheThatHoldsTheirSet) {
  const double l2 = rate_of(2048, 16_MiB);
  const double cache = rate_of(2048, 128_MiB);
  const double hbm = rate_of(2048, 1_GiB);
  EXPECT_GT(l2, 1.2 * cache);
  EXPECT_GT(cache, 1.2 * hbm);
  EXPECT_NEAR(hbm, 3.86e12, 0.05 * 3.86e12) << "as measured";
}

// A tall GEMM reads every byte from HBM and shares HBM as another stream does.
TEST(ElementwiseBeside, WhatNeedsTheMemorySlowsDownAndIsSlowedDown) {
  for (const models::PlatformSpec& platform : {mi300x().spec, h200().spec}) {
    for (const models::Backend backend : {models::Backend::rccl, models::Backend::sdma}) {
      SCOPED_TRACE(platform.name + ", " + std::string(to_string(backend)));
      const Stretched stretch = beside(platform, operation_of(gathered(backend, platform)));
      EXPECT_GT(stretch.stream, 1.02);
      EXPECT_LT(stretch.stream, 1.6);
      EXPECT_GE(stretch.other, 0.999);
      EXPECT_LT(stretch.other, 3.0);
    }
  }
  const Stretched gemm = beside(mi300x().spec, operation_of(models::GemmShape{65536, 256, 4096}));
  EXPECT_GT(gemm.stream, 1.005);
  EXPECT_GT(gemm.other, 1.005);
}

// A copy engine has as many bytes in flight as alone and that share of a full memory: a tenth of the stream's bytes in
// flight gives a tenth of the stream's rate. HBM serves 4204.8 GB/s of reads; the fabric is no bound.
TEST(ElementwiseBeside, ACopyHasOfAFullMemoryWhatItsEngineHasUnderWay) {
  const models::PlatformSpec platform =
      h200({"gpus=2", "fabric.link_rate=4TB/s", "fabric.peak_link_rate=4TB/s", "fabric.latency=1ns",
            "fabric.reverse_share=0", "gpu.sdma.payload_rate=4TB/s", "gpu.sdma.bytes_in_flight=1056KiB"})
          .spec;
  Operation stream = operation_of(models::ElementwiseSpec{32_GiB, {}, {}});
  stream.gpus = {0};
  Testbed testbed(platform);
  const Span& span = testbed.run({stream, operation_of(models::SdmaCopySpec{.bytes = 1_GiB})}).operations[1];
  const double full = platform.gpu.memory.hbm_rate.value() * platform.gpu.memory.hbm_read_efficiency;
  const double expected = (1_GiB).value() / (full / 11.0);
  EXPECT_NEAR(sim::to_seconds(span.end).value(), expected, 0.06 * expected);
}

// The next tests run element-wise kernels as trials.

TEST(StreamTrials, OnFewWorkgroupsGoAtTheirRateUntilTheMemoryIsFull) {
  const auto rate = [](int workgroups) {
    return figure(two_gpus(), StreamTrial{2, 1, 8_GiB, workgroups}, Figure::rate);
  };
  EXPECT_NEAR(rate(16), 2.0 * rate(8), 0.03 * rate(16));
  const double all = figure(two_gpus(), StreamTrial{2, 1, 8_GiB, {}}, Figure::rate);
  EXPECT_NEAR(rate(264), all, 0.01 * all);
  EXPECT_LT(rate(33), 0.7 * all);
}

TEST(StreamTrials, BesideCopiesLoseWhatTheseTakeOfTheMemory) {
  const auto seen = [](std::optional<StreamTrial> stream, bool both_ways, int gpu) {
    return all_of(two_gpus(), StreamAndCopiesTrial{stream, 64_MiB, both_ways, gpu});
  };
  const StreamTrial triad{2, 1, 1_GiB, 264};
  const double alone = figure(two_gpus(), StreamTrial{2, 1, 64_GiB, 264}, Figure::rate);
  const double copies = seen({}, false, 0).at(Figure::link_rate);
  const Figures both = seen(triad, true, 0);
  const Figures out = seen(triad, false, 0);
  const Figures in = seen(triad, false, 1);
  EXPECT_FALSE(in.contains(Figure::link_rate)) << "that GPU sends nothing";
  EXPECT_LE(out.at(Figure::link_rate), 1.001 * copies);
  EXPECT_GT(out.at(Figure::link_rate), 0.9 * copies);
  // Bytes that leave are read once, and bytes that come are written once.
  EXPECT_NEAR(out.at(Figure::rate) + out.at(Figure::link_rate), alone, 0.02 * alone);
  EXPECT_NEAR(in.at(Figure::rate) + out.at(Figure::link_rate), alone, 0.02 * alone);
  EXPECT_NEAR(both.at(Figure::rate) + 2.0 * both.at(Figure::link_rate), alone, 0.02 * alone);
}

TEST(StreamTrials, BesideACollectiveTellEachOnesTime) {
  StreamAndCollectiveTrial trial{{2, 1, 3_GiB, {}}, {}};
  trial.collective = gathered(models::Backend::sdma, h200().spec);
  trial.collective.gpus = 0;
  const Figures both = all_of(h200().spec, trial);
  const double stream = figure(h200().spec, trial.stream, Figure::kernel_time);
  const double alone = figure(h200().spec, CollectiveTrial{trial.collective}, Figure::time);
  EXPECT_GT(both.at(Figure::kernel_time), stream);
  EXPECT_GE(both.at(Figure::collective_time), alone);
  EXPECT_GE(both.at(Figure::time), std::max(both.at(Figure::kernel_time), both.at(Figure::collective_time)));
}

// Returns the stretch of a collective of 64 MiB on two channels while the workgroups of `hog` run.
double collective_stretch_beside(const HogTrial& hog, models::CollectiveKind kind) {
  models::CollectiveSpec beside = gathered(models::Backend::rccl, two_gpus());
  beside.kind = kind;
  beside.bytes = 64_MiB;
  beside.channels = 2;
  beside.gpus = 0;
  HogTrial trial = hog;
  trial.beside = beside;
  return figure(two_gpus(), trial, Figure::collective_stretch);
}

// Workgroups that compute take CUs and no bandwidth: a collective on channels of its own loses next to nothing.
// Workgroups that stream fill the memory that the loop of the channels waits for.
TEST(HogTrials, TellWhatStandsInTheWayOfACollective) {
  const auto stretch = [](Hog hog) {
    HogTrial trial{.hog = hog};
    trial.arrays.workgroups = 100;
    return collective_stretch_beside(trial, models::CollectiveKind::all_gather);
  };
  EXPECT_NEAR(stretch(Hog::compute), 1.0, 0.02);
  EXPECT_GT(stretch(Hog::stream), 1.05);
}

// In a full memory a collective waits for what streams have asked for, so that it loses more to streams that ask for
// more, up to what a CU can have in flight (hogs_in_flight.csv: 1.43 and 2.4 to 3.1 times).
TEST(HogTrials, CostByWhatTheyKeepUnderWay) {
  const auto stretch = [](sim::Bytes under_way) {
    HogTrial trial;
    trial.arrays.workgroups = 98;
    trial.arrays.under_way = under_way;
    return collective_stretch_beside(trial, models::CollectiveKind::all_reduce);
  };
  const double little = stretch(12_KiB), some = stretch(48_KiB), all = stretch(80_KiB);
  EXPECT_LT(little, 1.15);
  EXPECT_GT(some, 1.3);
  EXPECT_LT(some, 1.8);
  EXPECT_GT(all, 1.25 * some);
  EXPECT_DOUBLE_EQ(stretch(192_KiB), all);
}

// Half of the CUs hold a workgroup of the hog that leaves no room for a workgroup of a large tile: the GEMM, eight
// waves on all CUs, takes at least 1.8 times as long at the same clock, and never twice, as the clock rises. A GEMM
// that loses one CU alone takes little longer.
TEST(HogTrials, TellWhatCusAGemmLoses) {
  HogTrial trial{.hog = Hog::compute, .beside = models::GemmShape{8192, 8192, 8192}};
  const auto stretch = [&trial](int workgroups) {
    trial.arrays.workgroups = workgroups;
    return figure(two_gpus(), trial, Figure::gemm_stretch);
  };
  const double one = stretch(1);
  const double half = stretch(66);
  EXPECT_GE(one, 0.98);
  EXPECT_LT(one, 1.15);
  EXPECT_GT(half, 1.3);
  EXPECT_LT(half, 2.1);
}

TEST(HogTrials, DoNotDependOnWhatTheirArraysHold) {
  HogTrial trial{.hog = Hog::stream, .beside = models::GemmShape{4096, 4096, 4096}};
  trial.arrays.workgroups = 16;
  const double first = figure(two_gpus(), trial, Figure::gemm_time);
  trial.arrays.bytes = 64_GiB;
  EXPECT_DOUBLE_EQ(figure(two_gpus(), trial, Figure::gemm_time), first);
}

TEST(StreamTrials, SayWhyTheyAreImpossible) {
  Testbed testbed(two_gpus());
  const StreamTrial none{0, 0, 1_MiB, {}};
  for (const auto& [trial, why] :
       {std::pair<Trial, std::string>(StreamAndCopiesTrial{{}, 1_MiB, true, 2}, "gpu0 and gpu1"),
        {StreamAndCopiesTrial{{}, 1_MiB, false, 1}, "sends nothing"},
        {none, "at least one array"},
        {StreamAndCopiesTrial{none, 1_MiB}, "at least one array"},
        {StreamAndCollectiveTrial{none, {}}, "at least one array"},
        {HogTrial{.arrays = {0, 0, {}, 4}}, "at least one array"}}) {
    EXPECT_THAT(why_impossible(testbed, trial), HasSubstr(why));
  }
  EXPECT_EQ(
      why_impossible(
          testbed, HogTrial{.hog = Hog::compute, .arrays = {0, 0, {}, 4}, .beside = models::GemmShape{512, 512, 512}}),
      "");
}

}  // namespace
}  // namespace c3sim::study
