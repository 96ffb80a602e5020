// Does a step follow from what let it begin, whatever the process waited at?
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/gate.h"
#include "sim/open_step.h"
#include "sim/semaphore.h"
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

std::vector<std::string> tracks(const StepLog& log, Time begin, Time end) {
  std::vector<std::string> tracks;
  for (const StepLog::StepId id : log.critical_path(begin, end)) tracks.push_back(log.step(id).track);
  return tracks;
}

using Tracks = std::vector<std::string>;

TEST(StepLog, AStepFollowsFromWhoeverOpenedItsGate) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  Gate gate(simulator, "gate");
  simulator.spawn("slow", work_and_open(simulator, "slow", Time(7), gate));
  simulator.spawn("quick", work(simulator, "quick", Time(5)));
  simulator.spawn("last", work_behind(simulator, "last", Time(2), gate));
  simulator.run();
  EXPECT_EQ(tracks(log, Time(0), Time(9)), (Tracks{"slow", "last"}));
  EXPECT_EQ(log.step(log.size()).begin, Time(7));
  EXPECT_EQ(log.step(log.size()).end, Time(9));
}

// Three processes share one permit, in turn: 3 + 4 + 5.
TEST(StepLog, AStepFollowsFromWhoeverHeldItsPermit) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  Semaphore permit(simulator, "permit", 1);
  simulator.spawn("a", work_with(simulator, "a", Time(3), permit));
  simulator.spawn("b", work_with(simulator, "b", Time(4), permit));
  simulator.spawn("c", work_with(simulator, "c", Time(5), permit));
  simulator.run();
  EXPECT_EQ(tracks(log, Time(0), Time(12)), (Tracks{"a", "b", "c"}));
}

TEST(StepLog, ASignalUnderWayIsAStepOfItsOwn) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  Gate gate(simulator, "gate");
  schedule_step(
      simulator, Time(6), [&gate] { gate.open(); }, "wire", "under way");
  simulator.spawn("receiver", work_behind(simulator, "receiver", Time(1), gate));
  simulator.run();
  EXPECT_EQ(tracks(log, Time(0), Time(7)), (Tracks{"wire", "receiver"}));
}

TEST(StepLog, ActionsAtTheEndOfAnInstantFollowFromWhatAskedForThem) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  Gate gate(simulator, "gate");
  struct Ask {
    static Task<> run(Simulator& simulator, Gate& gate) {
      co_await work(simulator, "first", Time(4));
      simulator.at_end_of_instant([&gate] { gate.open(); });
    }
  };
  simulator.spawn("ask", Ask::run(simulator, gate));
  simulator.spawn("second", work_behind(simulator, "second", Time(1), gate));
  simulator.run();
  EXPECT_EQ(tracks(log, Time(0), Time(5)), (Tracks{"first", "second"}));
}

TEST(StepLog, WhatIsShownLetsNothingBegin) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  struct Show {
    static Task<> run(Simulator& simulator) {
      OpenStep whole(simulator);
      co_await work(simulator, "part", Time(4));
      whole.show("whole", "picture");
      co_await work(simulator, "end", Time(1));
    }
  };
  simulator.spawn("show", Show::run(simulator));
  simulator.run();
  EXPECT_EQ(log.size(), 3U);
  EXPECT_EQ(tracks(log, Time(0), Time(5)), (Tracks{"part", "end"}));
}

TEST(StepLog, APathBeginsWithTheStepThatWasUnderWay) {
  Simulator simulator;
  StepLog log;
  simulator.record(log);
  Semaphore permit(simulator, "permit", 1);
  for (const char* const name : {"a", "b", "c"}) {
    simulator.spawn(name, work_with(simulator, name, Time(10), permit));
  }
  simulator.run();
  EXPECT_EQ(tracks(log, Time(15), Time(30)), (Tracks{"b", "c"}));
  EXPECT_EQ(tracks(log, Time(0), Time(20)), (Tracks{"a", "b"}));
  EXPECT_EQ(tracks(log, Time(0), Time(25)), (Tracks{"a", "b"}));  // the last that ended before
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

TEST(PerfettoTrace, TheTextIsCompleteWhenTheWriterIsDestroyed) {
  std::ostringstream out;
  { const PerfettoTrace trace(out); }
  EXPECT_EQ(out.str(), std::string(PerfettoTrace::beginning) + "\n]}\n");
}

TEST(PerfettoTrace, TracksSlicesAndCountersAreWrittenInTheOrderOfTheCalls) {
  std::ostringstream out;
  {
    PerfettoTrace trace(out);
    const auto sdma = trace.add_track("gpu0", "sdma3");
    const auto kernels = trace.add_track("gpu0", "kernels");
    const auto other = trace.add_track("gpu1", "kernels");
    trace.slice(sdma, "copy", Time(1'500'000), Time(3'500'001));
    trace.slice(kernels, "gemm", Time(0), Time(0));
    trace.counter(other, "HBM GB/s", Time(2'000'000), 0.1);
  }
  EXPECT_EQ(out.str(), std::string(PerfettoTrace::beginning) + R"(
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

// 10^18 + 1 ps are 10^12 us and 10^-6 us: more digits than a double has.
TEST(PerfettoTrace, NoPicosecondIsLostInALongRun) {
  std::ostringstream out;
  {
    PerfettoTrace trace(out);
    trace.counter(trace.add_track("g", "t"), "c", Time(1'000'000'000'000'000'001), 1);
  }
  EXPECT_NE(out.str().find("\"ts\":1000000000000.000001,"), std::string::npos);
}

TEST(PerfettoTrace, NamesAreEscaped) {
  std::ostringstream out;
  {
    PerfettoTrace trace(out);
    trace.add_track("g", "a\"b\\c\nd");
  }
  EXPECT_NE(out.str().find(R"("a\"b\\c\u000ad")"), std::string::npos);
}

TEST(PerfettoTrace, WhatCannotBeDrawnIsRefused) {
  std::ostringstream out;
  PerfettoTrace trace(out);
  const auto track = trace.add_track("g", "t");
  EXPECT_THROW(trace.slice(track, "s", Time(2), Time(1)), InternalError);
  EXPECT_THROW(trace.slice(track, "s", Time(-1), Time(1)), InternalError);
  EXPECT_THROW(trace.counter(track, "c", Time(1), std::numeric_limits<double>::infinity()), InternalError);
  EXPECT_THROW(trace.counter(TraceSink::Track{9}, "c", Time(1), 1.0), InternalError);
}

}  // namespace
}  // namespace c3sim::sim
