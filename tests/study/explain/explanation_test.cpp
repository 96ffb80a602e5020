// These tests explain the time of runs: critical paths, bottlenecks, slowdowns by mechanism, traces.
#include "study/explain/explanation.h"

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Mechanism;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_us;

models::CollectiveSpec engine_gather(sim::Bytes bytes, models::SdmaVariant variant = models::SdmaVariant::pcpy) {
  models::CollectiveSpec spec = collective(models::Backend::sdma, models::CollectiveKind::all_gather, bytes);
  spec.variant = variant;
  return spec;
}

// Returns the time in microseconds from an answer about one collective.
double time_of_answer(const Results& results) { return std::get<double>(results.tables.front().table.rows()[0][6]); }

// The next tests follow critical paths.

struct ExplainedPath {
  double time_us = 0.0;
  std::vector<std::vector<Cell>> steps;  // run, track, step, subject, start, time, bounded by
  std::vector<std::vector<Cell>> parts;  // run, step, steps, time, percent
};

ExplainedPath explained_path(const models::CollectiveSpec& spec, const std::vector<std::string>& assignments = {}) {
  Testbed testbed(mi300x(assignments).spec);
  const Results results = answer_collectives(testbed, std::span(&spec, 1));
  const std::vector<NamedTable> tables = critical_paths(testbed, results.runs);
  return {time_of_answer(results), tables.at(0).table.rows(), tables.at(1).table.rows()};
}

double sum(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
  double total = 0.0;
  for (const auto& row : rows) total += std::get<double>(row[column]);
  return total;
}

std::vector<std::string> texts(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(std::get<std::string>(row[column]));
  return texts;
}

std::string bound_of_data(const ExplainedPath& explanation) {
  for (const auto& row : explanation.steps) {
    if (std::get<std::string>(row[2]) == "data") return std::get<std::string>(row[6]);
  }
  return "no data on the path";
}

TEST(CriticalPath, PartsSumToTheWholeWithNothingLeftUnrecorded) {
  for (const auto backend : {models::Backend::rccl, models::Backend::sdma}) {
    for (const auto kind : {models::CollectiveKind::all_gather, models::CollectiveKind::all_to_all}) {
      for (const sim::Bytes bytes : {1_KiB, 256_MiB}) {
        const ExplainedPath explanation = explained_path(collective(backend, kind, bytes));
        EXPECT_NEAR(sum(explanation.steps, 5), explanation.time_us, 1e-9 * explanation.time_us);
        EXPECT_NEAR(sum(explanation.parts, 3), explanation.time_us, 1e-9 * explanation.time_us);
        EXPECT_NEAR(sum(explanation.parts, 4), 100.0, 1e-9);
        EXPECT_THAT(texts(explanation.parts, 1), Not(Contains("not recorded")));
      }
    }
  }
}

TEST(CriticalPath, OfRcclIsLaunchPlacementLatencyTransferAndNotice) {
  const ExplainedPath explanation =
      explained_path(collective(models::Backend::rccl, models::CollectiveKind::all_reduce, 256_KiB),
                     {"host.kernel_launch=6 us", "rccl.protocols.ll.step_latency=250 ns"});
  EXPECT_THAT(texts(explanation.steps, 2),
              ElementsAre("launch kernel", "placement of channels", "latency of steps", "data", "notice kernel end"));
  // The times are host.kernel_launch, gpu.dispatch.workgroup_launch, 14 rccl.protocols.ll.step_latency, kernel_notice.
  for (const auto& [step, us] : std::map<std::size_t, double>{{0, 6.0}, {1, 1.0}, {2, 14 * 0.25}, {4, 2.0}}) {
    EXPECT_DOUBLE_EQ(std::get<double>(explanation.steps.at(step)[5]), us) << step;
  }
  EXPECT_EQ(std::get<std::string>(explanation.steps[2][3]), "ll");
  EXPECT_THAT(bound_of_data(explanation), HasSubstr("link gpu"));
}

TEST(CriticalPath, SaysWhatBoundedACopy) {
  const auto bound = [](const std::string& assignment) {
    return bound_of_data(explained_path(engine_gather(256_MiB), {assignment}));
  };
  EXPECT_THAT(bound("fabric.link_rate=45 GB/s"), HasSubstr("link gpu"));
  EXPECT_THAT(bound("gpu.sdma.payload_rate=40 GB/s"), HasSubstr("engine payload rate gpu"));
  EXPECT_THAT(bound("gpu.memory.hbm.peak_rate=300 GB/s"), AnyOf(HasSubstr("HBM gpu"), HasSubstr("latency of memory")));
  EXPECT_THAT(bound("gpu.sdma.bytes_in_flight=16KiB"), HasSubstr("latency"));
}

// The next tests name what holds operations back.

std::string explained(models::PlatformSpec platform, const Schedule& schedule) {
  Testbed testbed(std::move(platform));
  const std::vector<NamedRun> runs{{"run", schedule}};
  std::ostringstream csv;
  explain(testbed, runs).write_csv(csv);
  return csv.str();
}

// HBM holds back a kernel that memory bounds, also where a part of HBM is set apart for collectives, or where HBM is
// apart in a counterfactual machine. Small tiles ask more of the L2s than the L2s give at the clock of the CUs.
TEST(Explanation, NamesTheLevelThatHoldsAnOperationBack) {
  struct Row {
    models::PlatformSpec platform;
    Schedule schedule;
    std::string told;
  };
  models::PlatformSpec partitioned = mi300x().spec;
  partitioned.gpu.memory.collective_channels = 0.25;
  models::PlatformSpec apart = mi300x().spec;
  apart.without.add(Mechanism::hbm);
  models::PlatformSpec loads = mi300x().spec;
  loads.rccl.access = models::RcclAccess::load;
  const Schedule kernel{operation("kernel", models::ElementwiseSpec{1024_MiB, 512_MiB, {}})};
  const Schedule gemms{operation("first", gemm_4096), operation("second", gemm_4096)};
  const auto gather = collective(models::Backend::rccl, models::CollectiveKind::all_gather, sim::Bytes(1e9));
  for (const Row& row :
       {Row{mi300x().spec, kernel, "run,element-wise kernel,HBM,"},
        Row{partitioned, kernel, "run,element-wise kernel,HBM,"}, Row{apart, kernel, "run,element-wise kernel,HBM,"},
        Row{mi300x_conccl().spec, {operation("a", models::GemmShape{16384, 106496, 8192})}, "run,GEMM,L2,"},
        Row{loads, {operation("a", gather)}, "run,RCCL,reads of other GPUs under way,"},
        Row{mi300x().spec, gemms, "run,GEMM first,"}, Row{mi300x().spec, gemms, "run,GEMM second,"}}) {
    EXPECT_THAT(explained(row.platform, row.schedule), AllOf(HasSubstr(row.told), Not(HasSubstr("XCD ports"))));
  }
}

// The next tests read traces.

struct Slice {
  double begin, end;
  std::string name;
};
using Slices = std::map<std::string, std::vector<Slice>>;  // by track

// Times are written to the picosecond and read as doubles.
constexpr double last_digits_us = 1e-6;

// Returns the slices in the trace of these runs, of which no two on one track may overlap.
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
    std::ranges::sort(list, {}, &Slice::begin);
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_GE(list[i].begin, list[i - 1].end - last_digits_us) << track << ": " << list[i].name;
    }
  }
  return slices;
}

TEST(RunTrace, ACollectiveHasATrackPerThreadQueueEngineAndLinkAndACopyItsOwn) {
  Testbed testbed(mi300x().spec);
  const Slices slices = traced(testbed, answer_collectives(testbed, std::array{engine_gather(64_KiB)}));
  EXPECT_EQ(slices.at("host.thread0").size(), 56U * 3U + 56U);  // per copy: two commands, a doorbell and a word
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
  const Slices of_copy = traced(testbed, tables_of(testbed, CopyTrial{{.from = 0, .to = 1, .bytes = 1_MiB}}));
  EXPECT_EQ(of_copy.at("gpu0.sdma14").size(), 1U);
  EXPECT_EQ(of_copy.at("gpu0.sdma14").front().name, "data: packet 0 COPY_LINEAR of gpu0.sdma14.queue0");
  EXPECT_EQ(of_copy.count("gpu0.link_to_gpu1"), 1U);
}

// An engine is one data mover: it streams one copy at a time, however many wait, and has one track in the trace.
TEST(RunTrace, AnEngineStreamsOneCopyAtATime) {
  Testbed testbed(mi300x().spec);
  const std::array specs{engine_gather(64_KiB, models::SdmaVariant::b2b)};
  const Slices slices = traced(testbed, answer_collectives(testbed, specs));
  const std::string engine = "gpu0.sdma" + std::to_string(testbed.platform().gpu.sdma.recommended_engine(0, 1));
  EXPECT_EQ(slices.at(engine).size(), 7U);
  EXPECT_EQ(slices.count(engine + " (2)"), 0U);
}

// The trace draws nothing that was queued before the clock started.
TEST(RunTrace, SlicesLieWithinTheRun) {
  Testbed testbed(mi300x().spec);
  std::array specs{engine_gather(64_KiB, models::SdmaVariant::bcst)};
  specs[0].prelaunch = true;
  const Results results = answer_collectives(testbed, specs);
  const double time_us = time_of_answer(results);
  for (const auto& [track, list] : traced(testbed, results)) {
    EXPECT_GE(list.front().begin, 0.0) << track;
    EXPECT_LE(list.back().end, time_us + last_digits_us) << track;
  }
}

TEST(RunTrace, ComputeAndCommunicationHaveTheirStreamsAndKernels) {
  Testbed testbed(mi300x().spec);
  const Scenario scenario{"small", {8192, 8192, 8192}, models::CollectiveKind::all_gather, 256_MiB};
  const Slices slices = traced(testbed, answer_c3(testbed, scenario, std::array{Strategy::c3_sp}));
  for (const char* const track :
       {"stream compute", "stream communication", "gpu0.gemm", "gpu0.rccl", "host.launcher0", "gpu0.link_to_gpu1"}) {
    EXPECT_EQ(slices.count(track), 1U) << track;
  }
}

// The next tests split slowdowns by mechanism.

const Scenario all_to_all{"small", {8192, 8192, 8192}, models::CollectiveKind::all_to_all, 128_MiB};

std::vector<Slowdown> slowdowns_of(Strategy strategy, const models::PlatformSpec& platform = mi300x().spec) {
  Testbed testbed(platform);
  return split_slowdowns(platform, answer_c3(testbed, all_to_all, std::array{strategy}).runs);
}

const Slowdown& slowdown_of(const std::vector<Slowdown>& slowdowns, const std::string& name) {
  return *std::ranges::find(slowdowns, name, &Slowdown::operation);
}

sim::Time part(const Slowdown& slowdown, Mechanism mechanism) {
  return slowdown.parts[static_cast<std::size_t>(mechanism)];
}
double percent(const Slowdown& slowdown, Mechanism mechanism) { return slowdown.percent(part(slowdown, mechanism)); }

// The host launches one operation after the other: a kernel takes 6 us, seven copies seven doorbells 0.76 us apart.
// Channels on too few CUs are exempt: their second round waits for a first one that the clock slows down, which belongs
// to both mechanisms.
TEST(Slowdown, PartsAddUpToTheWholeWithARestThatIsTheOrderOfLaunches) {
  for (const Strategy strategy : all_strategies()) {
    for (const Slowdown& slowdown : slowdowns_of(strategy)) {
      SCOPED_TRACE(std::string(to_string(strategy)) + " " + slowdown.operation);
      const sim::Time sum = std::accumulate(slowdown.parts.begin(), slowdown.parts.end(), slowdown.rest());
      EXPECT_EQ(slowdown.alone + sum, slowdown.together);
      const bool in_rounds = percent(slowdown, Mechanism::dispatch_wait) > 50.0 && slowdown.operation == "collective";
      if (in_rounds && strategy != Strategy::c3_base) continue;
      EXPECT_LE(std::abs(sim::to_microseconds(slowdown.rest())), 7.0);
    }
  }
}

// In series each operation only meets what the GPU keeps from the other one: awake links and cold caches. The second
// operation is queued after the first, and launched in its time.
TEST(Slowdown, OneAfterTheOtherIsSlowerByWhatCameBeforeAlone) {
  const std::vector<Slowdown> serial = slowdowns_of(Strategy::serial);
  ASSERT_EQ(serial.size(), 2u);
  EXPECT_GT(percent(serial[0], Mechanism::awake), 1.0);
  EXPECT_GT(percent(serial[0], Mechanism::cold), 0.3);
  EXPECT_EQ(serial[0].together - serial[0].alone,
            part(serial[0], Mechanism::awake) + part(serial[0], Mechanism::cold) + serial[0].rest());
  EXPECT_LE(std::abs(serial[0].rest().count()), 1);  // rounding by halves of a picosecond
  EXPECT_EQ(serial[1].together, serial[1].alone - mi300x().spec.host.kernel_launch);
}

// After a GEMM that refills its CUs a collective waits for the GEMM's tail, and the GEMM loses next to nothing to it
// (docs/decisions.md 3). Launched first, the collective waits for nothing, and the GEMM loses its CUs.
TEST(Slowdown, TheOrderOfLaunchesDecidesWhoWaitsForCus) {
  const std::vector<Slowdown> base = slowdowns_of(Strategy::c3_base);
  EXPECT_GT(percent(slowdown_of(base, "collective"), Mechanism::dispatch_wait), 50.0);
  EXPECT_LT(percent(slowdown_of(base, "gemm"), Mechanism::cu_loss), 3.0);
  const std::vector<Slowdown> first = slowdowns_of(Strategy::c3_sp);
  EXPECT_EQ(percent(slowdown_of(first, "collective"), Mechanism::dispatch_wait), 0.0);
  EXPECT_GT(percent(slowdown_of(first, "gemm"), Mechanism::cu_loss), 5.0);
}

// A governor that undershoots shows in rounds alone, and parts still add up to what is measured against a loop.
TEST(Slowdown, WhatCameBeforeIsToldFromSharing) {
  models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(percent(slowdown_of(slowdowns_of(Strategy::conccl, platform), "gemm"), Mechanism::undershoot), 0.0);
  platform.host.protocol = models::Protocol::rounds;
  const std::vector<Slowdown> in_rounds = slowdowns_of(Strategy::c3_sp, platform);
  const Slowdown& gemm = slowdown_of(in_rounds, "gemm");
  EXPECT_GT(std::abs(percent(gemm, Mechanism::undershoot)), 0.3) << "below 0 where pauses let it burst";
  EXPECT_GT(percent(gemm, Mechanism::clock), 1.0);
  EXPECT_LT(std::abs(gemm.percent(gemm.rest())), 1.0);
  EXPECT_EQ(gemm.alone + std::accumulate(gemm.parts.begin(), gemm.parts.end(), gemm.rest()), gemm.together);
}

// Engines take no CUs, have no clock, and lie below the L2s. A machine without a mechanism loses nothing to it.
TEST(Slowdown, WhatDoesNotMatterTakesNothing) {
  const auto expect_nothing_lost_to = [](std::initializer_list<Mechanism> none,
                                         const std::vector<Slowdown>& slowdowns) {
    for (const Slowdown& slowdown : slowdowns) {
      for (const Mechanism one : none) EXPECT_EQ(percent(slowdown, one), 0.0) << slowdown.operation << to_string(one);
    }
  };
  expect_nothing_lost_to({Mechanism::cu_loss, Mechanism::dispatch_wait, Mechanism::l2, Mechanism::link},
                         slowdowns_of(Strategy::conccl));
  models::PlatformSpec platform = mi300x().spec;
  platform.without.add(Mechanism::dispatch_wait);
  expect_nothing_lost_to({Mechanism::dispatch_wait}, slowdowns_of(Strategy::c3_base, platform));
}

// The GEMM takes 100 us alone and 125 us together: 20 % by L2, -5 % by clock, and so 10 % by the rest.
TEST(SlowdownTables, AreInPercentOfTheTimeAlone) {
  Slowdown slowdown{"c3_sp", "gemm", 100_us, 125_us, std::vector<sim::Time>(models::all_mechanisms.size())};
  slowdown.parts[static_cast<std::size_t>(Mechanism::l2)] = 20_us;
  slowdown.parts[static_cast<std::size_t>(Mechanism::clock)] = -5_us;
  const NamedTable named = slowdown_table(std::array{slowdown}, "a pair");
  const std::vector<Cell> row = named.table.rows().at(0);
  // The columns are run, operation, alone, together, slowdown, the mechanisms, rest.
  EXPECT_NEAR(std::get<double>(row[4]), 25.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5 + static_cast<std::size_t>(Mechanism::l2)]), 20.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5 + static_cast<std::size_t>(Mechanism::clock)]), -5.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row.back()), 10.0, 1e-9);
  const auto& chart = std::get<BarChart>(named.charts.at(0));
  EXPECT_EQ(chart.series.size(), chart.bars.at(0).values.size());
  EXPECT_EQ(chart.series.at(static_cast<std::size_t>(Mechanism::l2)), "l2");
  EXPECT_EQ(chart.bars.at(0).label, "c3_sp gemm");
}

}  // namespace
}  // namespace c3sim::study
