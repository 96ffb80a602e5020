// These tests check that a step follows from what let it begin, whatever the process waited at.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/gate.h"
#include "sim/simulator.h"
#include "sim/trace.h"

namespace c3sim::sim {
namespace {

Task<> work(Simulator& simulator, std::string track, Time duration) {
  OpenStep step(simulator);
  co_await simulator.delay(duration);
  step.end(track, "work");
}

Task<> work_and_open(Simulator& simulator, std::string track, Time duration, Gate& gate) {
  co_await work(simulator, std::move(track), duration);
  gate.open();
}

Task<> work_behind(Simulator& simulator, std::string track, Time duration, Gate& gate) {
  co_await gate.wait();
  co_await work(simulator, std::move(track), duration);
}

Task<> work_with(Simulator& simulator, std::string track, Time duration, Semaphore& permit) {
  co_await permit.acquire();
  co_await work(simulator, std::move(track), duration);
  permit.release();
}

using Tracks = std::vector<std::string>;

// Holds a simulator that records its steps.
struct Recorded {
  Simulator simulator;
  StepLog log;
  Gate gate{simulator, "gate"};
  Semaphore permit{simulator, "permit", 1};

  Recorded() { simulator.record(log); }
  // Returns the tracks of the critical path between two times, after the run.
  Tracks path(Time begin, Time end) {
    simulator.run();
    Tracks tracks;
    for (const StepLog::StepId id : log.critical_path(begin, end)) tracks.push_back(log.step(id).track);
    return tracks;
  }
};

TEST(StepLog, AStepFollowsFromWhoeverOpenedItsGate) {
  Recorded run;
  run.simulator.spawn("slow", work_and_open(run.simulator, "slow", Time(7), run.gate));
  run.simulator.spawn("quick", work(run.simulator, "quick", Time(5)));
  run.simulator.spawn("last", work_behind(run.simulator, "last", Time(2), run.gate));
  EXPECT_EQ(run.path(Time(0), Time(9)), (Tracks{"slow", "last"}));
  EXPECT_EQ(run.log.step(run.log.size()).begin, Time(7));
  EXPECT_EQ(run.log.step(run.log.size()).end, Time(9));
}

// Three processes share one permit in turn: 3 + 4 + 5. A path begins with the step in progress and ends with the last
// step that ended before the path's end.
TEST(StepLog, AStepFollowsFromWhoeverHeldItsPermit) {
  Recorded run;
  run.simulator.spawn("a", work_with(run.simulator, "a", Time(3), run.permit));
  run.simulator.spawn("b", work_with(run.simulator, "b", Time(4), run.permit));
  run.simulator.spawn("c", work_with(run.simulator, "c", Time(5), run.permit));
  EXPECT_EQ(run.path(Time(0), Time(12)), (Tracks{"a", "b", "c"}));
  EXPECT_EQ(run.path(Time(5), Time(12)), (Tracks{"b", "c"}));
  EXPECT_EQ(run.path(Time(0), Time(7)), (Tracks{"a", "b"}));
  EXPECT_EQ(run.path(Time(0), Time(9)), (Tracks{"a", "b"}));
}

TEST(StepLog, ASignalUnderWayIsAStepOfItsOwn) {
  Recorded run;
  schedule_step(
      run.simulator, Time(6), [&run] { run.gate.open(); }, "wire", "under way");
  run.simulator.spawn("receiver", work_behind(run.simulator, "receiver", Time(1), run.gate));
  EXPECT_EQ(run.path(Time(0), Time(7)), (Tracks{"wire", "receiver"}));
}

TEST(StepLog, ActionsAtTheEndOfAnInstantFollowFromWhatAskedForThem) {
  const auto ask = [](Simulator& simulator, Gate& gate) -> Task<> {
    co_await work(simulator, "first", Time(4));
    simulator.at_end_of_instant([&gate] { gate.open(); });
  };
  Recorded run;
  run.simulator.spawn("ask", ask(run.simulator, run.gate));
  run.simulator.spawn("second", work_behind(run.simulator, "second", Time(1), run.gate));
  EXPECT_EQ(run.path(Time(0), Time(5)), (Tracks{"first", "second"}));
}

TEST(StepLog, WhatIsShownLetsNothingBegin) {
  const auto show = [](Simulator& simulator) -> Task<> {
    OpenStep whole(simulator);
    co_await work(simulator, "part", Time(4));
    whole.show("whole", "picture");
    co_await work(simulator, "end", Time(1));
  };
  Recorded run;
  run.simulator.spawn("show", show(run.simulator));
  EXPECT_EQ(run.path(Time(0), Time(5)), (Tracks{"part", "end"}));
  EXPECT_EQ(run.log.size(), 3U);
}

TEST(StepLog, RecordingChangesNothing) {
  const auto events = [](bool recorded) {
    Simulator simulator;
    StepLog log;
    if (recorded) simulator.record(log);
    Semaphore permit(simulator, "permit", 1);
    simulator.spawn("a", work_with(simulator, "a", Time(3), permit));
    simulator.spawn("b", work_with(simulator, "b", Time(4), permit));
    simulator.run();
    return std::pair(simulator.now(), simulator.events_executed());
  };
  EXPECT_EQ(events(true), events(false));
}

// Returns the text of a trace after its writer is destroyed.
template <class Write>
std::string trace_text(Write write) {
  std::ostringstream out;
  {
    PerfettoTrace trace(out);
    write(trace);
  }
  return out.str();
}

TEST(PerfettoTrace, TracksSlicesAndCountersAreWrittenInTheOrderOfTheCalls) {
  EXPECT_EQ(trace_text([](PerfettoTrace&) {}), std::string(PerfettoTrace::beginning) + "\n]}\n");
  const std::string text = trace_text([](PerfettoTrace& trace) {
    const auto sdma = trace.add_track("gpu0", "sdma3");
    const auto kernels = trace.add_track("gpu0", "kernels");
    const auto other = trace.add_track("gpu1", "kernels");
    trace.slice(sdma, "copy", Time(1'500'000), Time(3'500'001));
    trace.slice(kernels, "gemm", Time(0), Time(0));
    trace.counter(other, "HBM GB/s", Time(2'000'000), 0.1);
  });
  EXPECT_EQ(text, std::string(PerfettoTrace::beginning) + R"(
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"gpu0"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"sdma3"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"kernels"}},
{"ph":"M","pid":2,"tid":0,"name":"process_name","args":{"name":"gpu1"}},
{"ph":"M","pid":2,"tid":3,"name":"thread_name","args":{"name":"kernels"}},
{"ph":"X","pid":1,"tid":1,"ts":1.500000,"dur":2.000001,"name":"copy"},
{"ph":"X","pid":1,"tid":2,"ts":0.000000,"dur":0.000000,"name":"gemm"},
{"ph":"C","pid":2,"ts":2.000000,"name":"HBM GB/s","args":{"value":0.1}}
]}
)");
}

// 10^18 + 1 ps are 10^12 us and 10^-6 us, which has more digits than a double.
TEST(PerfettoTrace, NoPicosecondIsLostInALongRunAndNamesAreEscaped) {
  const std::string text = trace_text([](PerfettoTrace& trace) {
    const auto track = trace.add_track("g", "a\"b\\c\nd");
    trace.counter(track, "c", Time(1'000'000'000'000'000'001), 1);
  });
  EXPECT_NE(text.find("\"ts\":1000000000000.000001,"), std::string::npos);
  EXPECT_NE(text.find(R"("a\"b\\c\u000ad")"), std::string::npos);
}

TEST(PerfettoTrace, WhatCannotBeDrawnIsRefused) {
  std::ostringstream out;
  PerfettoTrace trace(out);
  const auto track = trace.add_track("g", "t");
  EXPECT_THROW(trace.slice(track, "s", Time(2), Time(1)), InternalError);
  EXPECT_THROW(trace.slice(track, "s", Time(-1), Time(1)), InternalError);
  EXPECT_THROW(trace.counter(track, "c", Time(1), std::numeric_limits<double>::infinity()), InternalError);
  EXPECT_THROW(trace.counter(PerfettoTrace::Track{9}, "c", Time(1), 1.0), InternalError);
}

}  // namespace
}  // namespace c3sim::sim
