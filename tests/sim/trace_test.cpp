#include "sim/trace.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>

#include "sim/check.h"

namespace c3sim::sim {
namespace {

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
