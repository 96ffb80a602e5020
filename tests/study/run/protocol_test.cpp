// What the protocols time of an operation that is asked about by itself.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "study/run/power_meter.h"
#include "study/run/testbed.h"
#include "tests/models/model_fixture.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Backend;
using models::CollectiveKind;
using sim::operator""_MiB;
using sim::operator""_KiB;

double microseconds(const Work& work, const std::vector<std::string>& assignments) {
  return sim::to_microseconds(Testbed(h200(assignments).spec).alone(work));
}

const models::CollectiveSpec small_gather = collective(Backend::rccl, CollectiveKind::all_gather, 64_KiB);

// The launch of 12 us and the notice of 2 us are what the host sees beside the kernel, here of a GEMM too short for the
// power cap; a stream has the gap instead.
TEST(Protocols, AStreamAndAProfilerDoNotSeeLaunchAndNotice) {
  const models::GemmShape small_gemm{512, 512, 512};
  const std::vector<std::string> round{"host.kernel_launch=12us", "host.kernel_notice=2us"};
  const auto with = [&round](std::initializer_list<std::string> more) {
    std::vector<std::string> all = round;
    all.insert(all.end(), more);
    return all;
  };
  const double steady = microseconds(small_gemm, round);
  EXPECT_NEAR(microseconds(small_gemm, with({"host.kernel_time=true"})), steady - 14.0, 1e-3);
  EXPECT_NEAR(microseconds(small_gemm, with({"host.protocol=stream", "host.kernel_gap=1us"})), steady - 13.0, 1e-3);
  EXPECT_NEAR(microseconds(small_gemm, with({"host.protocol=graph", "host.graph_kernel_gap=3us"})), steady - 11.0,
              1e-3);
  EXPECT_NEAR(microseconds(small_gemm, with({"host.protocol=stream", "host.kernel_gap=1us", "host.kernel_time=true"})),
              steady - 14.0, 1e-3);
}

// Behind a barrier each further GPU's part is late; those of a stream keep together by themselves.
TEST(Protocols, CollectivesBehindABarrierWaitForTheLastLaunch) {
  const std::vector<std::string> skewed{"host.collective_skew=2us"};
  const std::vector<std::string> at_once{"host.collective_skew=0us"};
  EXPECT_NEAR(microseconds(small_gather, skewed) - microseconds(small_gather, at_once), 7 * 2.0, 1e-3);
  EXPECT_NEAR(microseconds(small_gather, {"host.collective_skew=2us", "host.protocol=stream"}),
              microseconds(small_gather, {"host.collective_skew=0us", "host.protocol=stream"}), 1e-3);
}

// What takes less than its launch by a thread that does nothing else comes as often as that; one thread for eight GPUs
// takes eight times as long.
TEST(Protocols, AStreamIsNoFasterThanItsHostLaunches) {
  const std::vector<std::string> per_gpu{"host.protocol=stream", "host.collective_interval=20us"};
  EXPECT_NEAR(microseconds(small_gather, per_gpu), 20.0, 1e-6);
  EXPECT_NEAR(microseconds(small_gather, {"host.protocol=stream", "host.collective_interval=20us", "host.threads=one"}),
              160.0, 1e-6);
}

TEST(Protocols, CopyEnginesThatTheHostDrivesAreNoStream) {
  const models::CollectiveSpec by_engines = collective(Backend::sdma, CollectiveKind::all_gather, 1_MiB);
  Testbed stream(h200({"host.protocol=stream"}).spec);
  EXPECT_THAT(stream.why_impossible(by_engines), HasSubstr("the protocols steady, shot and rounds are accepted"));
  EXPECT_THAT(stream.why_impossible(models::SdmaCopySpec{0, 1, 1_MiB, {}}), HasSubstr("which no stream hides"));
  EXPECT_THAT(stream.why_impossible(small_gather), IsEmpty());
  Testbed profiled(h200({"host.kernel_time=true"}).spec);
  EXPECT_THAT(profiled.why_impossible(by_engines), HasSubstr("copy engines run no kernel"));
  models::CollectiveSpec of_graph = small_gather;
  of_graph.graph = true;
  EXPECT_THAT(stream.why_impossible(of_graph), HasSubstr("--protocol graph is accepted"));
}

// Over six of eight GPUs the library has a channel for each of the four rings that its search finds, over four it has
// 24 for three links of each: 4.9 ms and 1.2 were measured.
TEST(Subsets, OfAMeshHaveTheRingsThatTheLibraryFinds) {
  const auto milliseconds = [](int gpus) {
    Testbed testbed(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi355x.yaml", {}).spec);
    models::CollectiveSpec spec = collective(Backend::rccl, CollectiveKind::all_reduce, 128_MiB);
    spec.gpus = gpus;
    return 1e-3 * sim::to_microseconds(testbed.alone(spec));
  };
  EXPECT_NEAR(milliseconds(4), 1.2, 0.12);
  EXPECT_NEAR(milliseconds(6), 4.9, 0.5);
}

// A run that draws 120 W and so much at 1 GHz, growing with this power of its clock, up to 1.5 GHz.
struct Load {
  double watts = 0.0;
  double exponent = 3.0;

  SteadyRun at(sim::Hertz ceiling) const {
    const double clock = std::min(ceiling.value(), 1.5e9);
    return {sim::Watts(120.0 + watts * std::pow(clock * 1e-9, exponent)), sim::Hertz(clock)};
  }
};

models::PowerSpec spec() {
  models::PowerSpec spec = models::round_power();
  spec.cap = sim::Watts(320.0);
  return spec;
}

std::vector<double> tried(const Load& load) {
  std::vector<double> ceilings;
  settle_clock(spec(), [&](sim::Hertz ceiling) {
    ceilings.push_back(ceiling.value());
    return load.at(ceiling);
  });
  return ceilings;
}

TEST(SteadyClock, TakesOneRunWhereNothingComesNearTheCap) {
  EXPECT_EQ(tried({50.0}), std::vector{spec().highest_clock.value()});
}

// 200 W above rest at 1 GHz: the law of the loop is that of the load.
TEST(SteadyClock, TakesTwoRunsWherePowerGrowsWithTheCubeOfTheClock) {
  const std::vector<double> ceilings = tried({200.0});
  EXPECT_EQ(ceilings.size(), 2u);
  EXPECT_NEAR(ceilings.back(), 1e9, 1e6);
}

RC_GTEST_PROP(SteadyClock, MeetsTheCapInAFewRunsWhateverPowerGrowsWith, ()) {
  const Load load{1.0 * *rc::gen::inRange(100, 2000), 0.5 * *rc::gen::inRange(1, 9)};
  RC_PRE(load.at(spec().highest_clock).power > spec().cap && load.at(spec().lowest_clock).power < spec().cap);
  const std::vector<double> ceilings = tried(load);
  RC_ASSERT(ceilings.size() <= 8u);
  RC_ASSERT(std::abs(load.at(sim::Hertz(ceilings.back())).power / spec().cap - 1.0) < 1e-3);
}

// Links stay awake for 2.7 s behind a collective: what they draw then is not the run's.
RC_GTEST_PROP(MeanPower, IsNoMoreThanTheBoardMayDrawByAnyProtocol, ()) {
  const auto protocol = *rc::gen::element<std::string>("steady", "shot", "rounds", "stream", "graph");
  const models::PlatformSpec platform = mi300x({"host.protocol=" + protocol}).spec;
  const auto side = *rc::gen::element<std::int64_t>(1024, 4096, 8192);
  const auto backend = *rc::gen::element(Backend::rccl, Backend::sdma);
  const sim::Bytes bytes = *rc::gen::inRange(1, 128) * sim::Bytes(1 << 20);
  Schedule both{operation_of(collective(backend, CollectiveKind::all_gather, bytes)),
                operation_of(models::GemmShape{side, side, side})};
  RC_ASSERT(Testbed(platform).run(both).means.power <= platform.gpu.power.burst_limit);
}

// Board power of 0.1 % over the cap at any clock: each step is a small one, and sixteen of them neither meet the cap
// nor come to the lowest clock.
TEST(SteadyClock, SaysThatItDidNotSettle) {
  const auto settles = [](const Load& load) {
    return settle_clock(spec(), [&](sim::Hertz ceiling) { return load.at(ceiling); });
  };
  EXPECT_FALSE(settles({200.32, 0.0}));
  EXPECT_TRUE(settles({200.0}));
  EXPECT_TRUE(settles({1e9, 0.0})) << "known: at the lowest clock";
}

TEST(SteadyClock, GivesUpWhereNoClockKeepsTheCap) {
  const std::vector<double> ceilings = tried({1e9, 0.0});
  EXPECT_LE(ceilings.size(), 16u);
  EXPECT_LT(ceilings.back(), 1.01 * spec().lowest_clock.value());
}

}  // namespace
}  // namespace c3sim::study
