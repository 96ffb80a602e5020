// These tests look at the figures of trials: runs back to back and from rest, on the machine whose governor holds a
// mean and on the one where it acts at once; a GEMM and a collective at once; a GEMM that a gather feeds.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "study/play/power_meter.h"
#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_GiB;
using sim::operator""_KiB;
using sim::operator""_us;
using sim::operator""_MiB;

constexpr models::GemmShape cb4{18432, 8192, 16384};

models::PlatformSpec by(models::Protocol protocol, models::PlatformSpec platform) {
  platform.host.protocol = protocol;
  return platform;
}

double time_of(const models::PlatformSpec& platform, const GemmTrial& trial) {
  return figure(platform, trial, Figure::time);
}

models::CollectiveSpec all_reduce() {
  models::CollectiveSpec spec = collective(models::Backend::rccl, models::CollectiveKind::all_reduce, 0.28125 * 1_GiB);
  spec.gpus = 8;
  return spec;
}

// Returns the mean time of the later half of `times` runs that follow each other from rest.
double settled(const models::PlatformSpec& platform, const Schedule& once, std::size_t times) {
  Schedule all;
  for (std::size_t run = 0; run < times; ++run) {
    for (Operation operation : once) {
      for (std::size_t& earlier : operation.after) earlier += run * once.size();
      for (std::size_t before = 0; run > 0 && before < once.size(); ++before) {
        operation.after.push_back((run - 1) * once.size() + before);
      }
      all.push_back(std::move(operation));
    }
  }
  Testbed testbed(by(models::Protocol::shot, platform));
  const std::vector<Span>& spans = testbed.run(all).operations;
  const std::size_t half = times / 2;
  sim::Time end_of_half{0};
  for (std::size_t i = 0; i < half * once.size(); ++i) end_of_half = std::max(end_of_half, spans[i].end);
  return sim::to_seconds(testbed.run(all).makespan() - end_of_half).value() / static_cast<double>(times - half);
}

Schedule c3(const models::PlatformSpec& platform, Strategy strategy, sim::Bytes bytes) {
  const Scenario scenario{.name = "test", .gemm = cb4, .bytes = bytes};
  return {operation_of(cb4), operation_of(collective_of(scenario, strategy, platform))};
}

// The runs go through the governor's loop for three seconds. Its dead band of 1 % of power is 0.4 % of the clock.
TEST(SteadyProtocol, IsWhatRepetitionComesTo) {
  const models::PlatformSpec platform = models::h200();
  Testbed testbed(platform);
  for (const Schedule& once :
       {Schedule{operation_of(cb4)}, c3(platform, Strategy::conccl, 2_GiB), c3(platform, Strategy::c3_base, 2_GiB)}) {
    const double time = sim::to_seconds(testbed.run(once).makespan()).value();
    const double repeated = settled(platform, once, static_cast<std::size_t>(3.0 / time));
    EXPECT_NEAR(time, repeated, 0.005 * repeated);
  }
}

TEST(SteadyProtocol, DrawsTheCapOnAverageOrLess) {
  const models::PlatformSpec platform = models::h200();
  const Figures steady = all_of(platform, GemmTrial{.shape = cb4});
  EXPECT_NEAR(steady.at(Figure::power), platform.gpu.power.cap.value(), 1.0);
  const Figures small = all_of(platform, GemmTrial{.shape = {512, 512, 512}});
  EXPECT_LT(small.at(Figure::power), 0.5 * platform.gpu.power.cap.value());
  EXPECT_DOUBLE_EQ(small.at(Figure::clock), platform.gpu.power.highest_clock.value());
}

// A cap that acts at once needs one simulation alone, so the protocols do not differ.
TEST(SteadyProtocol, IsOneRunWhereTheCapActsAtOnce) {
  const models::PlatformSpec platform = models::mi300x({"gpu.power.governor=at_once", "gpu.power.links_awake_for=0s"});
  const Schedule both = c3(platform, Strategy::c3_base, 2_GiB);
  Testbed testbed(platform);
  const Timeline& timeline = testbed.run(both);
  EXPECT_FALSE(timeline.ceiling.has_value());
  for (const models::Protocol protocol : {models::Protocol::shot, models::Protocol::rounds}) {
    EXPECT_EQ(Testbed(by(protocol, platform)).run(both).makespan(), timeline.makespan());
  }
}

// Returns a GEMM that is launched when the host knows that an all-reduce has ended.
GemmTrial behind_all_reduce(int n) {
  GemmTrial trial{.shape = {n, n, n}};
  trial.before = Before::collective;
  trial.collective = all_reduce();
  return trial;
}

GemmTrial behind_traffic(int n) { return {.shape = {n, n, n}, .before = Before::traffic}; }

struct Slower {
  int n;
  double least, most;
};

// The governor undershoots after a phase of low power, but not before a GEMM of 1.6 ms has ended.
TEST(RoundsProtocol, AGemmBehindACollectiveMeetsTheUndershoot) {
  const models::PlatformSpec platform = models::mi300x();
  for (const auto& [n, least, most] : {Slower{12288, 1.03, 1.12}, Slower{8192, 0.95, 1.02}}) {
    const double slower =
        time_of(by(models::Protocol::rounds, platform), behind_all_reduce(n)) / time_of(platform, behind_traffic(n));
    EXPECT_GT(slower, least) << n;
    EXPECT_LT(slower, most) << n;
  }
}

TEST(RoundsProtocol, IsWhatRoundsFromRestComeTo) {
  const models::PlatformSpec platform = models::mi300x();
  Schedule once{operation_of(all_reduce()), operation_of(DelaySpec{}),
                operation_of(models::GemmShape{12288, 12288, 12288}), operation_of(DelaySpec{})};
  for (std::size_t place = 1; place < once.size(); ++place) once[place].after = {place - 1};
  Testbed testbed(by(models::Protocol::rounds, platform));
  const double time = sim::to_seconds(testbed.run(once).makespan()).value();
  EXPECT_NEAR(time, settled(platform, once, 24), 0.01 * time);
}

// Links that have carried data draw their power, and another GEMM ran before, so that operands which the cache would
// hold are cold.
TEST(Before, TrafficMakesAGemmSlower) {
  const auto slower = [](int n, const models::PlatformSpec& platform) {
    return time_of(platform, behind_traffic(n)) / time_of(platform, {.shape = {n, n, n}});
  };
  for (const auto& [n, least, most] : {Slower{4096, 1.0, 1.06}, Slower{16384, 1.02, 1.05}}) {
    EXPECT_GT(slower(n, models::mi300x()), least) << n;
    EXPECT_LT(slower(n, models::mi300x()), most) << n;
  }
  EXPECT_GT(slower(4096, models::mi300x({"gpu.gemm.library=work_stealing"})), 1.02);
}

// From rest only the burst limit bounds power, and the first launch waits for the GPU to wake.
TEST(ShotProtocol, IsFasterButForWakingUp) {
  const models::PlatformSpec platform = models::h200();
  const double steady = time_of(platform, {.shape = cb4});
  const double first = time_of(platform, {.shape = cb4, .nth = 0});
  const double second = time_of(platform, {.shape = cb4, .nth = 1});
  const sim::Time launch = platform.host.wake_up + platform.host.kernel_launch;  // the second one is queued
  EXPECT_NEAR(first - second, sim::to_seconds(launch).value(), 1e-6);
  EXPECT_LT(second, 0.9 * steady);
  EXPECT_DOUBLE_EQ(time_of(by(models::Protocol::shot, platform), {.shape = cb4}), first);
  EXPECT_NEAR(time_of(platform, {.shape = cb4, .nth = 60}), steady, 0.005 * steady);
}

// docs/experiments.md says how the order of launches matters: the kernel listed first has the SMs and the other one
// those that fall free, back to back and from rest. Each kernel takes hardly longer than alone where it comes first,
// and waits for the other where it comes second.
TEST(ShotProtocol, TheOrderOfLaunchesDecidesWhoGetsTheCus) {
  const Operation gemm = operation_of(models::GemmShape{8192, 8192, 8192});
  models::CollectiveSpec spec = collective(models::Backend::rccl, models::CollectiveKind::all_gather, 2_GiB);
  spec.gpus = 8;
  const Operation gather = operation_of(spec);
  for (const models::PlatformSpec& platform : {models::h200(), by(models::Protocol::shot, models::h200())}) {
    Testbed testbed(platform);
    const std::vector<Span> gemm_first = testbed.run({gemm, gather}).operations;
    const std::vector<Span> gather_first = testbed.run({gather, gemm}).operations;
    const auto seconds = [](sim::Time time) { return sim::to_seconds(time).value(); };
    const double gemm_alone = seconds(testbed.alone(gemm.work));
    const double gather_alone = seconds(testbed.alone(gather.work));
    EXPECT_LT(seconds(gemm_first[0].end), 1.1 * gemm_alone);
    EXPECT_GT(seconds(gemm_first[1].end), gather_alone + 0.5 * gemm_alone);
    EXPECT_LT(seconds(gather_first[0].end), 1.15 * gather_alone);
    EXPECT_GT(seconds(gather_first[1].end), 1.1 * gemm_alone);
  }
}

// After 30 ms of rest the governor's loop has not started in any GEMM: each takes as long as the first one.
TEST(GemmsWithPauses, AreFromRestIfThePauseIsLong) {
  const models::PlatformSpec platform = models::h200();
  const GemmTrial paused{.shape = cb4, .pause = 30'000_us};
  const Figures figures = all_of(platform, paused);
  EXPECT_DOUBLE_EQ(figures.at(Figure::time), time_of(platform, {.shape = cb4, .nth = 0}));
  EXPECT_NEAR(figures.at(Figure::clock), platform.gpu.power.highest_clock.value(), 1.0);
  const double share = figures.at(Figure::time) / (figures.at(Figure::time) + 30e-3);
  EXPECT_LT(figures.at(Figure::power), 121.0 + share * (platform.gpu.power.burst_limit.value() - 121.0));
}

// The time of a group is the mean over its places. After 10 ms of rest the first GEMMs are faster than in a loop.
TEST(GemmsWithPauses, InGroupsAreTimedByTheirPlace) {
  const models::PlatformSpec platform = models::h200();
  const GemmTrial group{.shape = cb4, .pause = 10'000_us, .group = 8};
  std::vector<double> times;
  for (int place = 0; place < 8; ++place) {
    GemmTrial one = group;
    one.nth = place;
    times.push_back(time_of(platform, one));
  }
  EXPECT_NEAR(time_of(platform, group), std::accumulate(times.begin(), times.end(), 0.0) / 8.0, 1e-9);
  EXPECT_LT(times[1], 0.97 * time_of(platform, {.shape = cb4}));
}

// Awake links take 42 W from a GEMM that the cap holds back, and the caches hold other operands.
TEST(GemmsWithPauses, AreSlowerOnAwakeLinks) {
  const models::PlatformSpec platform = models::mi300x();
  GemmTrial trial{.shape = {16384, 16384, 16384}, .pause = 1'000_us, .group = 5};
  trial.nth = 4;
  const double asleep = time_of(platform, trial);
  trial.before = Before::traffic;
  const double awake = time_of(platform, trial);
  EXPECT_GT(awake, 1.01 * asleep);
  EXPECT_LT(awake, 1.06 * asleep);
}

// A pause of 0.1 ms hardly lets anything cool, so the GEMM takes about as long as a steady one.
TEST(GemmsWithPauses, AreSteadyIfThePauseIsShort) {
  const models::PlatformSpec platform = models::h200();
  const double steady = time_of(platform, {.shape = cb4});
  const Figures paused = all_of(platform, GemmTrial{.shape = cb4, .pause = 100_us});
  EXPECT_NEAR(paused.at(Figure::time), steady, 0.02 * steady);
  EXPECT_NEAR(paused.at(Figure::power), platform.gpu.power.cap.value(), 0.011 * platform.gpu.power.cap.value());
}

// The next tests compare what the protocols time of an operation that is asked about by itself.

double microseconds(const Work& work, const std::vector<std::string>& assignments) {
  return sim::to_microseconds(Testbed(h200(assignments).spec).alone(work));
}

const models::CollectiveSpec small_gather =
    collective(models::Backend::rccl, models::CollectiveKind::all_gather, 64_KiB);

// The host sees a launch of 12 us and a notice of 2 us around the kernel, here a GEMM too short for the power cap; a
// stream has the gap instead.
TEST(Protocols, AStreamAndAProfilerDoNotSeeLaunchAndNotice) {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"host.kernel_launch=12us", "host.kernel_notice=2us"});
    return microseconds(models::GemmShape{512, 512, 512}, more);
  };
  const double steady = with({});
  EXPECT_NEAR(with({"host.kernel_time=true"}), steady - 14.0, 1e-3);
  EXPECT_NEAR(with({"host.protocol=stream", "host.kernel_gap=1us"}), steady - 13.0, 1e-3);
  EXPECT_NEAR(with({"host.protocol=graph", "host.graph_kernel_gap=3us"}), steady - 11.0, 1e-3);
  EXPECT_NEAR(with({"host.protocol=stream", "host.kernel_gap=1us", "host.kernel_time=true"}), steady - 14.0, 1e-3);
}

// After a barrier each further GPU starts its part later by the skew; parts on a stream keep together by themselves.
TEST(Protocols, CollectivesBehindABarrierWaitForTheLastLaunch) {
  const auto skewed_by = [](const std::string& skew, const std::string& protocol) {
    return microseconds(small_gather, {"host.collective_skew=" + skew, "host.protocol=" + protocol});
  };
  EXPECT_NEAR(skewed_by("2us", "steady") - skewed_by("0us", "steady"), 7 * 2.0, 1e-3);
  EXPECT_NEAR(skewed_by("2us", "stream"), skewed_by("0us", "stream"), 1e-3);
}

// A collective that is shorter than its launch starts once per launch; one host thread for eight GPUs takes eight times
// as long per launch.
TEST(Protocols, AStreamIsNoFasterThanItsHostLaunches) {
  std::vector<std::string> stream{"host.protocol=stream", "host.collective_interval=20us"};
  EXPECT_NEAR(microseconds(small_gather, stream), 20.0, 1e-6);
  stream.emplace_back("host.threads=one");
  EXPECT_NEAR(microseconds(small_gather, stream), 160.0, 1e-6);
}

// Over six of eight GPUs the library has a channel for each of the four rings that its search finds; over four GPUs it
// has 24 channels over three links per GPU. The measured times are 4.9 ms and 1.2 ms.
TEST(Subsets, OfAMeshHaveTheRingsThatTheLibraryFinds) {
  const auto milliseconds = [](int gpus) {
    Testbed testbed(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi355x.yaml", {}).spec);
    models::CollectiveSpec spec = collective(models::Backend::rccl, models::CollectiveKind::all_reduce, 128_MiB);
    spec.gpus = gpus;
    return 1e-3 * sim::to_microseconds(testbed.alone(spec));
  };
  EXPECT_NEAR(milliseconds(4), 1.2, 0.12);
  EXPECT_NEAR(milliseconds(6), 4.9, 0.5);
}

// A load draws 120 W plus `watts` at 1 GHz, which grow with the power `exponent` of the clock up to 1.5 GHz.
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

// The load draws 200 W above rest at 1 GHz and follows the cube law that the search assumes.
TEST(SteadyClock, TakesOneRunFarFromTheCapAndTwoWherePowerGrowsWithTheCubeOfTheClock) {
  EXPECT_EQ(tried({50.0}), std::vector{spec().highest_clock.value()});
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

// Links stay awake for 2.7 s after a collective; the energy that they draw after the run is not the run's.
RC_GTEST_PROP(MeanPower, IsNoMoreThanTheBoardMayDrawByAnyProtocol, ()) {
  const auto protocol = *rc::gen::element<std::string>("steady", "shot", "rounds", "stream", "graph");
  const models::PlatformSpec platform = mi300x({"host.protocol=" + protocol}).spec;
  const auto side = *rc::gen::element<std::int64_t>(1024, 4096, 8192);
  const auto backend = *rc::gen::element(models::Backend::rccl, models::Backend::sdma);
  const sim::Bytes bytes = *rc::gen::inRange(1, 128) * sim::Bytes(1 << 20);
  Schedule both{operation_of(collective(backend, models::CollectiveKind::all_gather, bytes)),
                operation_of(models::GemmShape{side, side, side})};
  RC_ASSERT(Testbed(platform).run(both).means.power <= platform.gpu.power.burst_limit);
}

// At 0.1 % over the cap at any clock each step is small, and sixteen steps neither meet the cap nor reach the lowest
// clock.
TEST(SteadyClock, SaysThatItDidNotSettleOrThatNoClockKeepsTheCap) {
  const auto search = [](const Load& load) {
    return settle_clock(spec(), [&](sim::Hertz ceiling) { return load.at(ceiling); });
  };
  EXPECT_EQ(search({200.32, 0.0}), ClockSearch::given_up);
  EXPECT_EQ(search({200.0}), ClockSearch::settled);
  EXPECT_EQ(search({1e9, 0.0}), ClockSearch::above_cap);
  const std::vector<double> ceilings = tried({1e9, 0.0});
  EXPECT_LE(ceilings.size(), 16u);
  EXPECT_LT(ceilings.back(), 1.01 * spec().lowest_clock.value());
}

// The next tests run a GEMM and a collective at once.

const C3Trial c3_pair{{"", {4096, 4096, 8192}, models::CollectiveKind::all_gather, 64_MiB}, Strategy::c3_base};

double on_mi300x(const Trial& trial, Figure asked = Figure::time) { return figure(mi300x().spec, trial, asked); }

// Returns the time of a GEMM on `cus` CUs, by default all, when links have carried data.
double gemm_alone(const models::GemmShape& shape, std::optional<int> cus = {}) {
  return on_mi300x(GemmTrial{.shape = shape, .cus = cus, .before = Before::traffic});
}

// The yardstick is the longer of the two operations alone, with the collective that the strategy runs.
TEST(C3Trials, AreHeldAgainstTheirOperationsAlone) {
  for (const models::GemmShape& shape : {models::GemmShape{4096, 4096, 8192}, models::GemmShape{256, 256, 256}}) {
    const double gemm = gemm_alone(shape);
    for (const Strategy strategy : {Strategy::c3_base, Strategy::c3_sp, Strategy::conccl}) {
      SCOPED_TRACE(to_string(strategy));
      C3Trial trial = c3_pair;
      trial.scenario.gemm = shape;
      trial.strategy = strategy;
      const Figures both = all_of(mi300x().spec, trial);
      const double alone =
          on_mi300x(strategy == Strategy::conccl ? gather_by_engines(64_MiB) : gather(models::Backend::rccl, 64_MiB));
      EXPECT_EQ(gemm > alone, shape == c3_pair.scenario.gemm);
      EXPECT_DOUBLE_EQ(both.at(Figure::gemm_stretch), both.at(Figure::gemm_time) / gemm);
      EXPECT_DOUBLE_EQ(both.at(Figure::over_longer), both.at(Figure::time) / std::max(gemm, alone));
      EXPECT_DOUBLE_EQ(both.at(Figure::time), std::max(both.at(Figure::gemm_time), both.at(Figure::collective_time)))
          << "both are launched at the start";
    }
  }
}

// The second operation is launched after the first has ended, so it takes as long as alone on the given channels or
// CUs; the run takes the delay in addition.
TEST(C3Trials, TimeEachOperationFromItsOwnLaunch) {
  C3Trial trial = c3_pair;
  trial.scenario.delay = 10000_us;
  const double gemm = gemm_alone(c3_pair.scenario.gemm);
  CollectiveTrial gathers = gather(models::Backend::rccl, 64_MiB);
  const double alone = on_mi300x(gathers);
  const Figures gemm_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::collective_time), alone);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::time), 10000.0 * us + alone);
  trial.scenario.channels = gathers.spec.channels = 2;
  EXPECT_DOUBLE_EQ(on_mi300x(trial, Figure::collective_time), on_mi300x(gathers));
  trial.scenario.channels = {};
  trial.strategy = Strategy::c3_sp;
  const Figures collective_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_time), gemm);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_stretch), 1.0);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::time), 10000.0 * us + gemm);
  trial.strategy = Strategy::c3_sp_rp;
  trial.scenario.reserved = 64;
  EXPECT_DOUBLE_EQ(on_mi300x(trial, Figure::gemm_time), gemm_alone(c3_pair.scenario.gemm, 304 - 64));
}

// Without barriers a collective takes longer by half of the GEMM's remaining time, unless it outlasts the GEMM.
// Channels that wait hold no more CUs than before, but hold them longer.
TEST(C3Trials, SeeGpusDriftApartWithoutBarriers) {
  for (const sim::Bytes bytes : {64_MiB, 4096_MiB}) {
    C3Trial trial = c3_pair;
    trial.scenario.gemm = {16384, 16384, 8192};
    trial.scenario.bytes = bytes;
    trial.strategy = Strategy::c3_sp;
    trial.scenario.delay = 10_us;
    const Figures with = all_of(mi300x().spec, trial);
    trial.scenario.barrier = Barrier::none;
    const Figures without = all_of(mi300x().spec, trial);
    if (bytes == 4096_MiB) {
      for (const Figure time : {Figure::time, Figure::gemm_time, Figure::collective_time}) {
        EXPECT_EQ(without.at(time), with.at(time));
      }
      continue;
    }
    const double gemm_end = 10.0 * us + without.at(Figure::gemm_time);
    const double own = with.at(Figure::collective_time);
    EXPECT_NEAR(without.at(Figure::collective_time), own + 0.5 * (gemm_end - own), 0.02 * gemm_end);
    EXPECT_GT(without.at(Figure::gemm_time), with.at(Figure::gemm_time));
  }
}

// Without barriers nothing wakes links in a loop of the GEMM alone, and what caches hold follows from its operands.
TEST(C3Trials, AreHeldAgainstALoopOfTheGemmThatHasNoBarriersOrNamesItsOperands) {
  for (const Barrier barrier : {Barrier::each, Barrier::none}) {
    for (const auto operands : {std::optional<Operands>(), std::optional(Operands::rotating)}) {
      C3Trial trial = c3_pair;
      trial.scenario.barrier = barrier;
      trial.scenario.operands = operands;
      GemmTrial alone{.shape = trial.scenario.gemm, .operands = operands};
      if (barrier == Barrier::each && !operands) alone.before = Before::traffic;
      const Figures figures = all_of(mi300x().spec, trial);
      EXPECT_DOUBLE_EQ(figures.at(Figure::gemm_time) / figures.at(Figure::gemm_stretch),
                       on_mi300x(alone, Figure::time));
    }
  }
}

TEST(C3Trials, DrawAtLeastWhatANodeAtRestDraws) {
  EXPECT_GT(on_mi300x(c3_pair, Figure::power), on_mi300x(RestTrial{}, Figure::power));
}

TEST(DependentTrials, FullTakeAtLeastAsLongAsTheirGemm) {
  const models::GemmShape shape{1024, 4096, 2048};
  const double gemm = gemm_alone(shape);
  for (const DependentSchedule schedule : all_dependent_schedules()) {
    EXPECT_GT(on_mi300x(DependentTrial{shape, schedule}), 0.99 * gemm) << to_string(schedule);
  }
  // The GEMM is queued after the all-gather, so its launch and the notice of the all-gather's end take no time.
  const double serial = on_mi300x(DependentTrial{shape, DependentSchedule{}});
  const models::HostSpec& host = mi300x().spec.host;
  const double queued = sim::to_seconds(host.kernel_launch + host.kernel_notice).value();
  const double gathering = on_mi300x(gather(models::Backend::rccl, gathered_bytes(shape)));
  EXPECT_NEAR(serial, gemm + gathering - queued, 0.01 * serial) << "one after the other";
}

// A fit may not see concurrent trials.
TEST(Trials, OfComputationAndCommunicationAtOnceAreConcurrent) {
  EXPECT_TRUE(is_concurrent(c3_pair));
  for (const DependentSchedule schedule : all_dependent_schedules()) {
    EXPECT_TRUE(is_concurrent(DependentTrial{{64, 64, 64}, schedule}));
  }
  EXPECT_TRUE(is_concurrent(StreamAndCollectiveTrial{}));
  EXPECT_TRUE(is_concurrent(StreamAndCopiesTrial{.stream = StreamTrial{}, .bytes = {}}));
  for (const Trial& trial : {Trial(RestTrial{}), Trial(EmptyKernelTrial{}), Trial(GemmTrial{}),
                             Trial(CollectiveTrial{}), Trial(CopyTrial{}), Trial(FanOutTrial{}), Trial(RemoteTrial{}),
                             Trial(StreamTrial{}), Trial(LoadTrial{}), Trial(StreamAndCopiesTrial{})}) {
    EXPECT_FALSE(is_concurrent(trial)) << kind_of(trial);
  }
}

// The suite h200 compares figures of power with validate/reference/h200x8/power.csv.
TEST(PowerOfTrials, IsLessForSmallerGathers) {
  for (CollectiveTrial trial : {gather(models::Backend::rccl, {}), gather_by_engines({})}) {
    double less = figure(models::h200(), RestTrial{}, Figure::power);
    for (const sim::Bytes bytes : {1_MiB, 64_MiB, 4_GiB}) {
      trial.spec.bytes = bytes;
      const double more = figure(models::h200(), trial, Figure::power);
      EXPECT_LT(std::exchange(less, more), more);
    }
  }
}

}  // namespace
}  // namespace c3sim::study
