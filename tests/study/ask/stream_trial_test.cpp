// Element-wise kernels beside GEMMs, collectives and copies: nobody is served last.
#include "study/ask/stream_trial.h"

#include <algorithm>

#include "tests/study/seen_of_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_GiB;
using sim::operator""_MiB;

models::PlatformSpec two_gpus() { return h200({"gpus=2"}).spec; }

// The larger of bytes over rate, alone and together: a stream of 8 GiB on half of the CUs and something beside it, each
// no faster than alone, both no slower than one after the other, but for the wave that a launch may cost.
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

// Little's law: 128 threads of 8 B on 304 CUs over some 440 ns; four times as many threads have four times the rate.
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

TEST(ElementwiseBeside, ACollectiveOfEitherKindSlowsDownAndIsSlowedDown) {
  for (const models::PlatformSpec& platform : {mi300x().spec, h200().spec}) {
    for (const models::Backend backend : {models::Backend::rccl, models::Backend::sdma}) {
      const Stretched stretch = beside(platform, operation_of(gathered(backend, platform)));
      EXPECT_GT(stretch.stream, 1.02) << platform.name << to_string(backend);
      EXPECT_LT(stretch.stream, 1.6) << platform.name << to_string(backend);
      EXPECT_GE(stretch.other, 0.999) << platform.name << to_string(backend);
      EXPECT_LT(stretch.other, 3.0) << platform.name << to_string(backend);
    }
  }
}

// A tall GEMM of which every byte comes from HBM shares that as another stream does.
TEST(ElementwiseBeside, AGemmThatNeedsTheMemorySlowsDownAndIsSlowedDown) {
  const Stretched stretch = beside(mi300x().spec, operation_of(models::GemmShape{65536, 256, 4096}));
  EXPECT_GT(stretch.stream, 1.005);
  EXPECT_GT(stretch.other, 1.005);
}

// A copy engine keeps as much under way as it does alone, and of a full memory gets that part: with a tenth of what the
// stream has under way, a tenth of what both get. HBM serves 4204.8 GB/s of reads; the fabric is no bound.
TEST(ElementwiseBeside, ACopyHasOfAFullMemoryWhatItsEngineHasUnderWay) {
  const models::PlatformSpec platform =
      h200({"gpus=2", "fabric.link_rate=4TB/s", "fabric.peak_link_rate=4TB/s", "fabric.latency=1ns",
            "fabric.reverse_share=0", "gpu.sdma.payload_rate=4TB/s", "gpu.sdma.bytes_in_flight=1056KiB"})
          .spec;
  Operation stream = operation_of(models::ElementwiseSpec{32_GiB, {}, {}});
  stream.gpus = {0};
  models::SdmaCopySpec copy;
  copy.bytes = 1_GiB;
  Testbed testbed(platform);
  const Span& span = testbed.run({stream, operation_of(copy)}).operations[1];
  const double full = platform.gpu.memory.hbm_rate.value() * platform.gpu.memory.hbm_read_efficiency;
  const double expected = (1_GiB).value() / (full / 11.0);
  EXPECT_NEAR(sim::to_seconds(span.end).value(), expected, 0.06 * expected);
}

// Trials of them.

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
  // Bytes that leave are read once, those that come are written once.
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

// Workgroups that compute take CUs and no bandwidth: a collective on channels of its own loses next to nothing. Those
// that stream fill the memory that the loop of its channels waits for.
TEST(HogTrials, TellWhatStandsInTheWayOfACollective) {
  HogTrial trial;
  trial.arrays.workgroups = 100;
  models::CollectiveSpec gather = gathered(models::Backend::rccl, two_gpus());
  gather.bytes = 64_MiB;
  gather.channels = 2;
  gather.gpus = 0;
  trial.beside = gather;
  const auto stretch = [&trial](Hog hog) {
    trial.hog = hog;
    return figure(two_gpus(), trial, Figure::collective_stretch);
  };
  EXPECT_NEAR(stretch(Hog::compute), 1.0, 0.02);
  EXPECT_GT(stretch(Hog::stream), 1.05);
}

// A full memory lets a collective wait behind what streams have asked for, so that it loses more beside those that ask
// for more, up to what a CU can have under way (hogs_in_flight.csv: 1.43 and 2.4 to 3.1 times).
TEST(HogTrials, CostByWhatTheyKeepUnderWay) {
  HogTrial trial;
  trial.arrays.workgroups = 98;
  models::CollectiveSpec reduce = gathered(models::Backend::rccl, two_gpus());
  reduce.kind = models::CollectiveKind::all_reduce;
  reduce.bytes = 64_MiB;
  reduce.channels = 2;
  reduce.gpus = 0;
  trial.beside = reduce;
  const auto stretch = [&trial](sim::Bytes under_way) {
    trial.arrays.under_way = under_way;
    return figure(two_gpus(), trial, Figure::collective_stretch);
  };
  const double little = stretch(12_KiB), some = stretch(48_KiB), all = stretch(80_KiB);
  EXPECT_LT(little, 1.15);
  EXPECT_GT(some, 1.3);
  EXPECT_LT(some, 1.8);
  EXPECT_GT(all, 1.25 * some);
  EXPECT_DOUBLE_EQ(stretch(192_KiB), all);
}

// Half of the CUs hold a workgroup of the hog beside which no workgroup of a large tile finds room: the GEMM, of eight
// waves on all, takes at least 1.8 times as long at the same clock, and never twice, as the clock rises. One that has
// the GPU to itself but for one CU takes little longer.
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

TEST(HogTrials, StreamThroughArrays) {
  Testbed testbed(two_gpus());
  HogTrial trial;
  trial.arrays = {0, 0, {}, 4};
  EXPECT_THAT(why_impossible(testbed, Trial(trial)), HasSubstr("at least one array"));
  trial.hog = Hog::compute;
  trial.beside = models::GemmShape{512, 512, 512};
  EXPECT_EQ(why_impossible(testbed, Trial(trial)), "");
}

TEST(StreamTrials, SayWhyTheyAreImpossible) {
  Testbed testbed(two_gpus());
  EXPECT_THAT(why_impossible(testbed, Trial(StreamAndCopiesTrial{{}, 1_MiB, true, 2})), HasSubstr("gpu0 and gpu1"));
  EXPECT_THAT(why_impossible(testbed, Trial(StreamAndCopiesTrial{{}, 1_MiB, false, 1})), HasSubstr("sends nothing"));
  EXPECT_THAT(why_impossible(testbed, Trial(StreamAndCopiesTrial{StreamTrial{0, 0, 1_MiB, {}}, 1_MiB})),
              HasSubstr("at least one array"));
  EXPECT_THAT(why_impossible(testbed, Trial(StreamAndCollectiveTrial{{0, 0, 1_MiB, {}}, {}})),
              HasSubstr("at least one array"));
}

}  // namespace
}  // namespace c3sim::study
