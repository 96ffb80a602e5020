// Runs back to back and from rest, on the machine whose governor holds a mean and on the one where it acts at once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <vector>

#include "study/ask/trial.h"
#include "study/run/testbed.h"
#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using sim::operator""_GiB;
using sim::operator""_us;
using sim::operator""_MiB;

constexpr models::GemmShape cb4{18432, 8192, 16384};

models::PlatformSpec as_shot(models::PlatformSpec platform) {
  platform.host.protocol = models::Protocol::shot;
  return platform;
}

// The mean time of the later half of so many runs, one behind the other from rest.
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
  Testbed testbed(as_shot(platform));
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

// Three seconds of runs through the governor's loop. Its dead band of 1 % of power is 0.4 % of the clock.
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

// One simulation is all there is to it, and protocols do not differ.
TEST(SteadyProtocol, IsOneRunWhereTheCapActsAtOnce) {
  models::PlatformSpec platform = models::mi300x({"gpu.power.governor=at_once", "gpu.power.links_awake_for=0s"});
  const Schedule both = c3(platform, Strategy::c3_base, 2_GiB);
  Testbed testbed(platform);
  const Timeline& timeline = testbed.run(both);
  EXPECT_FALSE(timeline.ceiling.has_value());
  Testbed from_rest(as_shot(platform));
  EXPECT_EQ(from_rest.run(both).makespan(), timeline.makespan());
  platform.host.protocol = models::Protocol::rounds;
  Testbed in_rounds(platform);
  EXPECT_EQ(in_rounds.run(both).makespan(), timeline.makespan());
}

models::PlatformSpec in_rounds(models::PlatformSpec platform) {
  platform.host.protocol = models::Protocol::rounds;
  return platform;
}

// An all-reduce, and when the host knows of its end a GEMM.
GemmTrial behind_all_reduce(int n) {
  GemmTrial trial{.shape = {n, n, n}};
  trial.before = Before::collective;
  trial.collective.kind = models::CollectiveKind::all_reduce;
  trial.collective.bytes = 0.28125 * 1_GiB;
  return trial;
}

double time_of(const models::PlatformSpec& platform, const GemmTrial& trial) {
  return all_of(platform, trial).at(Figure::time);
}

// The governor undershoots behind a phase of low power, but not before a GEMM of 1.6 ms has ended.
TEST(RoundsProtocol, AGemmBehindACollectiveMeetsTheUndershoot) {
  const models::PlatformSpec platform = models::mi300x();
  for (const auto& [n, least, most] : {std::tuple{12288, 1.03, 1.12}, std::tuple{8192, 0.95, 1.02}}) {
    GemmTrial awake = behind_all_reduce(n);
    awake.before = Before::traffic;
    const double slower = time_of(in_rounds(platform), behind_all_reduce(n)) / time_of(platform, awake);
    EXPECT_GT(slower, least) << n;
    EXPECT_LT(slower, most) << n;
  }
}

TEST(RoundsProtocol, IsWhatRoundsFromRestComeTo) {
  const models::PlatformSpec platform = models::mi300x();
  models::CollectiveSpec reduce;
  reduce.kind = models::CollectiveKind::all_reduce;
  reduce.gpus = platform.gpus;
  reduce.bytes = 0.28125 * 1_GiB;
  Schedule once{operation_of(reduce), operation_of(DelaySpec{}), operation_of(models::GemmShape{12288, 12288, 12288}),
                operation_of(DelaySpec{})};
  for (std::size_t place = 1; place < once.size(); ++place) once[place].after = {place - 1};
  Testbed testbed(in_rounds(platform));
  const double time = sim::to_seconds(testbed.run(once).makespan()).value();
  EXPECT_NEAR(time, settled(platform, once, 24), 0.01 * time);
}

// Links that have carried data draw their power, and no operand is where the GEMM before left it.
TEST(Before, TrafficMakesAGemmSlower) {
  for (const auto& [n, least, most] : {std::tuple{4096, 1.0, 1.06}, std::tuple{16384, 1.02, 1.05}}) {
    const GemmTrial loop{.shape = {n, n, n}};
    GemmTrial awake = loop;
    awake.before = Before::traffic;
    const double slower = time_of(models::mi300x(), awake) / time_of(models::mi300x(), loop);
    EXPECT_GT(slower, least) << n;
    EXPECT_LT(slower, most) << n;
  }
}

TEST(Before, OperandsOfAnotherGemmAreColdWhereTheCacheWouldHoldThem) {
  const models::PlatformSpec platform = models::mi300x({"gpu.gemm.library=work_stealing"});
  const GemmTrial loop{.shape = {4096, 4096, 4096}};
  GemmTrial awake = loop;
  awake.before = Before::traffic;
  EXPECT_GT(time_of(platform, awake), 1.02 * time_of(platform, loop));
}

// From rest only the burst limit holds, and the first launch waits for the GPU to wake.
TEST(ShotProtocol, IsFasterButForWakingUp) {
  const models::PlatformSpec platform = models::h200();
  const auto time = [&platform](GemmTrial trial) { return figure(platform, trial, Figure::time); };
  const double steady = time({.shape = cb4});
  const double first = time({.shape = cb4, .nth = 0});
  const double second = time({.shape = cb4, .nth = 1});
  const sim::Time launch = platform.host.wake_up + platform.host.kernel_launch;  // the second one is queued
  EXPECT_NEAR(first - second, sim::to_seconds(launch).value(), 1e-6);
  EXPECT_LT(second, 0.9 * steady);
  EXPECT_DOUBLE_EQ(figure(as_shot(platform), GemmTrial{.shape = cb4}, Figure::time), first);
  EXPECT_NEAR(time({.shape = cb4, .nth = 60}), steady, 0.005 * steady);
}

// What docs/experiments.md says of the order of launches: the kernel listed first has the SMs, the other one those that
// fall free; back to back and from rest. So either takes hardly longer than alone where it is first, and waits for the
// other where it is second.
TEST(ShotProtocol, TheOrderOfLaunchesDecidesWhoGetsTheCus) {
  const Operation gemm = operation_of(models::GemmShape{8192, 8192, 8192});
  models::CollectiveSpec spec = collective(models::Backend::rccl, models::CollectiveKind::all_gather, 2_GiB);
  spec.gpus = 8;
  const Operation gather = operation_of(spec);
  for (const models::PlatformSpec& platform : {models::h200(), as_shot(models::h200())}) {
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

// After 30 ms of rest the loop has never started: all are as the first.
TEST(GemmsWithPauses, AreFromRestIfThePauseIsLong) {
  const models::PlatformSpec platform = models::h200();
  const GemmTrial paused{.shape = cb4, .pause = 30'000_us};
  const Figures figures = all_of(platform, paused);
  EXPECT_DOUBLE_EQ(figures.at(Figure::time), figure(platform, GemmTrial{.shape = cb4, .nth = 0}, Figure::time));
  EXPECT_NEAR(figures.at(Figure::clock), platform.gpu.power.highest_clock.value(), 1.0);
  const double share = figures.at(Figure::time) / (figures.at(Figure::time) + 30e-3);
  EXPECT_LT(figures.at(Figure::power), 121.0 + share * (platform.gpu.power.burst_limit.value() - 121.0));
}

// The mean over a group is that of its places; after 10 ms of rest the first ones are faster than in a loop.
TEST(GemmsWithPauses, InGroupsAreTimedByTheirPlace) {
  const models::PlatformSpec platform = models::h200();
  const GemmTrial group{.shape = cb4, .pause = 10'000_us, .group = 8};
  const auto time_of = [&](int place) {
    GemmTrial one = group;
    one.nth = place;
    return figure(platform, one, Figure::time);
  };
  double sum = 0.0;
  for (int place = 0; place < 8; ++place) sum += time_of(place);
  EXPECT_NEAR(figure(platform, group, Figure::time), sum / 8.0, 1e-9);
  EXPECT_LT(time_of(1), 0.97 * figure(platform, GemmTrial{.shape = cb4}, Figure::time));
}

// Awake links take 42 W from a GEMM that the cap holds back, and other operands are not in the caches.
TEST(GemmsWithPauses, AreSlowerOnAwakeLinks) {
  const models::PlatformSpec platform = models::mi300x();
  GemmTrial trial{.shape = {16384, 16384, 16384}, .pause = 1'000_us, .group = 5};
  trial.nth = 4;
  const double asleep = figure(platform, trial, Figure::time);
  trial.before = Before::traffic;
  const double awake = figure(platform, trial, Figure::time);
  EXPECT_GT(awake, 1.01 * asleep);
  EXPECT_LT(awake, 1.06 * asleep);
}

// A pause of 0.1 ms hardly lets anything cool: about as steady.
TEST(GemmsWithPauses, AreSteadyIfThePauseIsShort) {
  const models::PlatformSpec platform = models::h200();
  const double steady = figure(platform, GemmTrial{.shape = cb4}, Figure::time);
  const Figures paused = all_of(platform, GemmTrial{.shape = cb4, .pause = 100_us});
  EXPECT_NEAR(paused.at(Figure::time), steady, 0.02 * steady);
  EXPECT_NEAR(paused.at(Figure::power), platform.gpu.power.cap.value(), 0.011 * platform.gpu.power.cap.value());
}

// Nothing but what is asked decides who is fast: GPUs are alike, and so are equal copies.

constexpr double rounding_us = 1e-3;  // of sums in another order

const models::PlatformSpec& four_h200() {
  static const models::PlatformSpec platform = h200({"gpus=4"}).spec;
  return platform;
}

const models::PlatformSpec& four_mi300x() {
  static const models::PlatformSpec platform = mi300x({"gpus=4"}).spec;
  return platform;
}

std::vector<int> any_order(std::size_t count) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  return order;
}

Operation copy_of(int from, int to, bool pull, sim::Bytes bytes, sim::Time delay = {}) {
  models::SdmaCopySpec copy;
  copy.from = from;
  copy.to = to;
  copy.bytes = bytes;
  copy.pull = pull;
  copy.host_threads = models::HostThreads::per_gpu;
  Operation operation = operation_of(copy);
  operation.delay = delay;
  return operation;
}

// Copies between GPUs, some behind others, beside streams of some GPUs.
Schedule any_schedule(int gpus) {
  Schedule schedule;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const int from = *rc::gen::inRange(0, gpus);
    const int to = (from + *rc::gen::inRange(1, gpus)) % gpus;
    schedule.push_back(copy_of(from, to, *rc::gen::inRange(0, 4) > 0, *rc::gen::inRange(1, 16) * 1_MiB,
                               *rc::gen::inRange(0, 2) * 7_us));
    const std::size_t place = schedule.size() - 1;
    if (place > 0 && *rc::gen::inRange(0, 2) == 0) schedule[place].after = {*rc::gen::inRange<std::size_t>(0, place)};
  }
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const models::ElementwiseSpec stream{*rc::gen::inRange(1, 64) * 1_MiB, 8_MiB, {}, *rc::gen::element(0, 8, 200)};
    Operation operation = operation_of(stream);
    operation.gpus = {*rc::gen::inRange(0, gpus)};
    schedule.push_back(std::move(operation));
  }
  return schedule;
}

Schedule permuted(Schedule schedule, const std::vector<int>& order) {
  const auto other = [&](int gpu) { return order[static_cast<std::size_t>(gpu)]; };
  for (Operation& operation : schedule) {
    for (int& gpu : operation.gpus) gpu = other(gpu);
    auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work);
    if (copy == nullptr) continue;
    copy->from = other(copy->from);
    copy->to = other(copy->to);
  }
  return schedule;
}

std::vector<double> ends_of(const models::PlatformSpec& platform, const Schedule& schedule) {
  Testbed testbed(platform);
  std::vector<double> ends;
  for (const Span& span : testbed.run(schedule).operations) ends.push_back(sim::to_microseconds(span.end));
  return ends;
}

void expect_equal(const std::vector<double>& one, const std::vector<double>& other, double within_us) {
  RC_ASSERT(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i] - other[i]) < within_us);
}

RC_GTEST_PROP(Permutation, OfGpusLeavesTheTimesOfOperationsAsTheyAre, (bool nvidia)) {
  const models::PlatformSpec& platform = nvidia ? four_h200() : four_mi300x();
  const Schedule schedule = any_schedule(platform.gpus);
  const Schedule other = permuted(schedule, any_order(static_cast<std::size_t>(platform.gpus)));
  expect_equal(ends_of(platform, schedule), ends_of(platform, other), rounding_us);
}

// Pieces of a fused product go to the peers one behind the other, as they lie in a circle: whichever GPU of it is the
// first. Commands and copies that come to an engine at one instant are served one before the other: some set-ups.
RC_GTEST_PROP(Permutation, OfGpusInACircleLeavesAFusedProductAsItIs, (bool nvidia)) {
  const models::PlatformSpec& platform = nvidia ? four_h200() : four_mi300x();
  Schedule schedule = any_schedule(platform.gpus);
  schedule.push_back(operation_of(models::by_tracker({1024, 2048, 1024}, platform.gpus, platform)));
  std::vector<int> order(static_cast<std::size_t>(platform.gpus));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + *rc::gen::inRange(1, platform.gpus), order.end());
  expect_equal(ends_of(platform, schedule), ends_of(platform, permuted(schedule, order)), 10.0);
}

// Each GPU pulls as much from each of its peers at once, as listed, or in any other order of the list. A host thread
// hands its three over one after another, 3 us apart: so far may a GPU be read from earlier or later. The fast one of
// three would be hundreds of microseconds off.
RC_GTEST_PROP(Permutation, OfEqualPullsMakesNoneTheFastOne, ()) {
  const models::PlatformSpec& platform = four_h200();
  Schedule schedule;
  const sim::Bytes bytes = *rc::gen::inRange(64, 256) * 1_MiB;
  for (int gpu = 0; gpu < platform.gpus; ++gpu) {
    for (int distance = 1; distance < platform.gpus; ++distance) {
      schedule.push_back(copy_of((gpu + distance) % platform.gpus, gpu, true, bytes));
    }
  }
  Schedule shuffled;
  for (const int place : any_order(schedule.size())) shuffled.push_back(schedule[static_cast<std::size_t>(place)]);
  std::vector<double> ends = ends_of(platform, schedule);
  std::vector<double> others = ends_of(platform, shuffled);
  std::ranges::sort(ends);
  std::ranges::sort(others);
  expect_equal(ends, others, 30.0);
}

// Three pulls each way at once, one of them a microsecond later: what follows from that is some microseconds of each.
RC_GTEST_PROP(Permutation, NoPullIsTheFastOneForAMicrosecond, ()) {
  const models::PlatformSpec& platform = four_h200();
  Schedule schedule;
  for (int peer = 1; peer < platform.gpus; ++peer) schedule.push_back(copy_of(peer, 0, true, 2_MiB));
  for (int peer = 1; peer < platform.gpus; ++peer) schedule.push_back(copy_of(0, peer, true, 2_MiB));
  const std::vector<double> together = ends_of(platform, schedule);
  schedule[*rc::gen::inRange<std::size_t>(0, schedule.size())].delay = 1_us;
  const std::vector<double> apart = ends_of(platform, schedule);
  for (std::size_t i = 0; i < together.size(); ++i) RC_ASSERT(std::abs(together[i] - apart[i]) < 5.0);
}

}  // namespace
}  // namespace c3sim::study
