#include "study/explain/run_trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;

struct Slice {
  double begin, end;
  std::string name;
};
using Slices = std::map<std::string, std::vector<Slice>>;  // by track

Slices traced(Testbed& testbed, const Results& results) {
  std::ostringstream out;
  {
    sim::PerfettoTrace sink(out);
    trace_runs(testbed, results.runs, sink);
  }
  std::map<int, std::string> tracks;
  Slices slices;
  const auto trace = nlohmann::json::parse(out.str());
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    slices[tracks.at(event["tid"])].push_back({begin, begin + event["dur"].get<double>(), event["name"]});
  }
  for (auto& [track, list] : slices) {
    std::sort(list.begin(), list.end(), [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
  }
  return slices;
}

// Times are written to the picosecond and read as doubles.
constexpr double last_digits_us = 1e-6;

void expect_no_overlap(const Slices& slices) {
  for (const auto& [track, list] : slices) {
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_GE(list[i].begin, list[i - 1].end - last_digits_us) << track << ": " << list[i].name;
    }
  }
}

models::CollectiveSpec traced_gather(models::SdmaVariant variant) {
  models::CollectiveSpec spec;
  spec.backend = models::Backend::sdma;
  spec.variant = variant;
  spec.bytes = 64_KiB;
  return spec;
}

TEST(RunTrace, ACollectiveHasATrackPerThreadQueueEngineAndLink) {
  Testbed testbed(mi300x().spec);
  const std::array specs{traced_gather(models::SdmaVariant::pcpy)};
  const Slices slices = traced(testbed, answer_collectives(testbed, specs));
  expect_no_overlap(slices);
  EXPECT_EQ(slices.at("host.thread0").size(), 56U * 3U + 56U);  // two commands and a doorbell each; a word each
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int peer = 0; peer < 8; ++peer) {
      if (peer == gpu) continue;
      const int number = testbed.platform().gpu.sdma.recommended_engine(gpu, peer);
      const std::string engine = "gpu" + std::to_string(gpu) + ".sdma" + std::to_string(number);
      ASSERT_EQ(slices.count(engine), 1U) << engine;
      EXPECT_EQ(slices.at(engine).size(), 1U) << "one copy";
      EXPECT_EQ(slices.count(engine + ".queue0"), 1U);
      EXPECT_EQ(slices.count("gpu" + std::to_string(gpu) + ".link_to_gpu" + std::to_string(peer)), 1U);
    }
  }
}

// One data mover: however many copies wait, an engine streams one at a time, and so has one line of the picture.
TEST(RunTrace, AnEngineStreamsOneCopyAtATime) {
  Testbed testbed(mi300x().spec);
  const std::array specs{traced_gather(models::SdmaVariant::b2b)};
  const Slices slices = traced(testbed, answer_collectives(testbed, specs));
  expect_no_overlap(slices);
  const std::string engine = "gpu0.sdma" + std::to_string(testbed.platform().gpu.sdma.recommended_engine(0, 1));
  EXPECT_EQ(slices.at(engine).size(), 7U);
  EXPECT_EQ(slices.count(engine + " (2)"), 0U);
}

// Nothing is drawn of what was queued before the clock started.
TEST(RunTrace, SlicesLieWithinTheRun) {
  Testbed testbed(mi300x().spec);
  std::array specs{traced_gather(models::SdmaVariant::bcst)};
  specs[0].prelaunch = true;
  const Results results = answer_collectives(testbed, specs);
  const double time_us = std::get<double>(results.tables.front().table.rows()[0][6]);
  for (const auto& [track, list] : traced(testbed, results)) {
    EXPECT_GE(list.front().begin, 0.0) << track;
    EXPECT_LE(list.back().end, time_us + last_digits_us) << track;
  }
}

TEST(RunTrace, ACopyHasItsTracks) {
  Testbed testbed(mi300x().spec);
  const Slices slices = traced(testbed, tables_of(testbed, CopyTrial{{.from = 0, .to = 1, .bytes = 1_MiB}}));
  expect_no_overlap(slices);
  EXPECT_EQ(slices.at("gpu0.sdma14").size(), 1U);
  EXPECT_EQ(slices.at("gpu0.sdma14").front().name, "data: packet 0 COPY_LINEAR of gpu0.sdma14.queue0");
  EXPECT_EQ(slices.count("gpu0.link_to_gpu1"), 1U);
}

TEST(RunTrace, ComputeAndCommunicationHaveTheirStreamsAndKernels) {
  Testbed testbed(mi300x().spec);
  const Scenario scenario{"small", {8192, 8192, 8192}, models::CollectiveKind::all_gather, 256_MiB};
  const Slices slices = traced(testbed, answer_c3(testbed, scenario, std::array{Strategy::c3_sp}));
  expect_no_overlap(slices);
  for (const char* const track :
       {"stream compute", "stream communication", "gpu0.gemm", "gpu0.rccl", "host.launcher0", "gpu0.link_to_gpu1"}) {
    EXPECT_EQ(slices.count(track), 1U) << track;
  }
}

}  // namespace
}  // namespace c3sim::study
