// Tests how the time of GPUs is divided.
#include "calibrate/replay/occupancy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "study/play/timeline.h"
#include "tests/calibrate/readers/kineto_trace.h"

namespace c3sim::calibrate {
namespace {

using std::chrono::microseconds;

// GPUs compute from 0 to 10 and from 20 to 30 and communicate from 5 to 25: 10 run beside compute, 10 are exposed. The
// GPU is busy for 30 of 40 if a copy ends the run at 40 after 10 of nothing.
TEST(Occupancy, PartsCommunicationByWhatRunsBesideIt) {
  const std::vector<Stretch> stretches{{microseconds(0), microseconds(10), false},
                                       {microseconds(5), microseconds(25), true},
                                       {microseconds(20), microseconds(30), false},
                                       {microseconds(39), microseconds(40), false}};
  const Occupancy all = occupancy_of(stretches);
  EXPECT_EQ(all.span, microseconds(40));
  EXPECT_EQ(all.compute, microseconds(21));
  EXPECT_EQ(all.communication, microseconds(20));
  EXPECT_EQ(all.overlapped, microseconds(10));
  EXPECT_EQ(all.exposed(), microseconds(10));
  EXPECT_EQ(all.idle(), microseconds(9));
  const std::vector<Stretch> exposed = exposed_communication(stretches);
  ASSERT_EQ(exposed.size(), 1u);
  EXPECT_EQ(exposed[0].begin, microseconds(10));
  EXPECT_EQ(exposed[0].end, microseconds(20));
}

// Sets of moments say the same of two steps whose work may lie anywhere.
RC_GTEST_PROP(Occupancy, IsWhatSetsOfMomentsSay, ()) {
  const auto numbers = *rc::gen::container<std::vector<std::array<int, 3>>>(
      rc::gen::container<std::array<int, 3>>(rc::gen::inRange(0, 40)));
  std::vector<Stretch> stretches;
  std::array<study::BusyTimes, 2> compute, communication;
  for (const auto& [begin, length, kind] : numbers) {
    const auto step = static_cast<std::size_t>(kind % 2);
    const bool communicates = kind % 3 == 0;
    stretches.push_back({sim::Time(begin), sim::Time(begin + length), communicates, step});
    study::add_busy((communicates ? communication : compute)[step], sim::Time(begin), sim::Time(begin + length));
  }
  const study::BusyTimes all_compute = compute[0] + compute[1];
  const study::BusyTimes all_communication = communication[0] + communication[1];
  const std::vector<Occupancy> steps = occupancies_of({{0, stretches}}, 2);
  for (const std::size_t step : {std::size_t{0}, std::size_t{1}}) {
    const study::BusyTimes span(hull(compute[step] + communication[step]));
    RC_ASSERT(steps[step].span == study::length_of(span));
    RC_ASSERT(steps[step].busy == study::length_of(span & (all_compute + all_communication)));
    RC_ASSERT(steps[step].compute == study::length_of(compute[step]));
    RC_ASSERT(steps[step].communication == study::length_of(communication[step]));
    RC_ASSERT(steps[step].overlapped == study::length_of(communication[step] & all_compute));
  }
  const Occupancy whole = occupancy_of(stretches);
  RC_ASSERT(whole.busy == study::length_of(all_compute + all_communication));
  study::BusyTimes exposed;
  for (const Stretch& one : exposed_communication(stretches)) study::add_busy(exposed, one.begin, one.end);
  RC_ASSERT(exposed == all_communication - all_compute);
}

// The first gap ends as soon as the host has launched, the second one long after that.
TEST(Occupancy, TellsGapsOfTheHostFromOthers) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 5, 10, 1);
  trace.call("hipLaunchKernel", 50, 1, 2).kernel("gemm", 0, 55, 10, 2);
  trace.call("hipLaunchKernel", 52, 1, 3).kernel("gemm", 0, 100, 10, 3);
  const Profile profile = trace.read();
  const std::vector<IdleGap> gaps = idle_gaps(profile, steps_of(profile));
  ASSERT_EQ(gaps.size(), 2u);
  EXPECT_EQ(gaps[0].end - gaps[0].begin, microseconds(40));
  EXPECT_TRUE(gaps[0].by_host);
  EXPECT_FALSE(gaps[1].by_host);
}

using StepsWork = std::vector<std::pair<std::string, std::vector<std::size_t>>>;
StepsWork work_of_steps(const Trace& trace) {
  StepsWork work;
  for (const StepWork& step : steps_of(trace.read())) work.emplace_back(step.name, step.work);
  return work;
}

// Work belongs to the step that launched it, though it runs when the next one has begun.
TEST(Occupancy, CountsWorkForTheStepThatLaunchedIt) {
  Trace trace;
  trace.step(0, 0, 100).step(1, 100, 100);
  trace.call("hipLaunchKernel", 90, 5, 1).kernel("gemm", 0, 120, 10, 1);
  trace.call("hipLaunchKernel", 150, 5, 2).kernel("gemm", 0, 160, 10, 2);
  EXPECT_EQ(work_of_steps(trace), (StepsWork{{"ProfilerStep#0", {0}}, {"ProfilerStep#1", {1}}}));
}

// The launches of the first two are not in the trace. The first, on stream 5, ran before anything that was launched
// there; the second lies in what the trace marks as the work of step 0 on the GPU; the fourth, on stream 6, follows
// what step 1 launched there, but the host was within step 0 still when it began.
TEST(Occupancy, CountsWorkWithoutALaunchForTheStepThatTheGpuIsMarkedWith) {
  Trace trace;
  trace.step(0, 0, 100).step(1, 100, 100);
  trace.other(R"({"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#0","pid":0,"tid":7,"ts":220,"dur":80})");
  trace.kernel("old", 5, 10, 10, 71).kernel("within", 5, 230, 10, 72);
  trace.call("hipLaunchKernel", 150, 5, 1).kernel("gemm", 6, 310, 10, 1).kernel("lost", 6, 330, 10, 73);
  EXPECT_EQ(work_of_steps(trace),
            (StepsWork{{"before the first step", {0}}, {"ProfilerStep#0", {1}}, {"ProfilerStep#1", {2, 3}}}));
}

// If neither launches nor marks on the GPU are known, work belongs to the step within which it began.
TEST(Occupancy, CountsWorkOfATraceWithoutLaunchesByItsBegin) {
  Trace trace;
  trace.step(0, 0, 100);
  trace.kernel("a", 5, 10, 10).kernel("b", 5, 120, 10);
  EXPECT_EQ(work_of_steps(trace), (StepsWork{{"ProfilerStep#0", {0}}}));
}

// The first step computes from 0 to 10 and from 40 to 50, the second communicates from 5 to 30 and computes from 50 to
// 60: both find the GPU idle from 30 to 40 alone, and 5 of the communication are hidden by the first step's work.
const std::vector<Stretch> two_steps{{microseconds(0), microseconds(10), false, 0},
                                     {microseconds(5), microseconds(30), true, 1},
                                     {microseconds(40), microseconds(50), false, 0},
                                     {microseconds(50), microseconds(60), false, 1}};

TEST(Occupancy, OfAStepCountsWhatOthersDoBesideIt) {
  const std::vector<Occupancy> steps = occupancies_of({{0, two_steps}}, 2);
  EXPECT_EQ(steps[0].span, microseconds(50));
  EXPECT_EQ(steps[0].compute, microseconds(20));
  EXPECT_EQ(steps[0].communication, microseconds(0));
  EXPECT_EQ(steps[0].idle(), microseconds(10));
  EXPECT_EQ(steps[1].span, microseconds(55));
  EXPECT_EQ(steps[1].compute, microseconds(10));
  EXPECT_EQ(steps[1].overlapped, microseconds(5));
  EXPECT_EQ(steps[1].exposed(), microseconds(20));
  EXPECT_EQ(steps[1].idle(), microseconds(10));
}

// Work on another GPU hides nothing of the second step.
TEST(Occupancy, OfAStepIsThatOfItsOwnGpu) {
  const std::vector<Occupancy> steps =
      occupancies_of({{0, {two_steps[0], two_steps[2]}}, {1, {two_steps[1], two_steps[3]}}}, 2);
  EXPECT_EQ(steps[0].idle(), microseconds(30));
  EXPECT_EQ(steps[1].overlapped, microseconds(0));
}

// Kernels of both steps alternate: nothing runs from 20 to 30 alone, a gap that the second step's kernel ends.
TEST(Occupancy, FindsNoGapWhereAnotherStepKeepsTheGpuBusy) {
  Trace trace;
  trace.step(0, 0, 3).step(1, 3, 3);
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 5, 5, 1);
  trace.call("hipLaunchKernel", 3, 1, 2).kernel("gemm", 1, 10, 5, 2);
  trace.call("hipLaunchKernel", 1, 1, 3).kernel("gemm", 0, 15, 5, 3);
  trace.call("hipLaunchKernel", 4, 1, 4).kernel("gemm", 1, 30, 5, 4);
  const Profile profile = trace.read();
  const std::vector<IdleGap> gaps = idle_gaps(profile, steps_of(profile));
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].step, 1u);
  EXPECT_EQ(gaps[0].end - gaps[0].begin, microseconds(10));
}

}  // namespace
}  // namespace c3sim::calibrate
