#include "study/sweep/sweep_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "study/answers.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_results.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto collective_study = R"(name: engines
about: How many?
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, value: sdma}
  - {of: bytes, values: [1MiB, 64MiB]}
  - {of: gpu.sdma.engines, values: [4, 9, 16]}
cases: [bytes]
constraints: [{of: time_us, at_most: 1 ms}]
objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
charts: [{x: gpu.sdma.engines, y: time_us}]
)";

// A platform that lives as long as the study, which refers to none of it but is asked with it.
struct Read {
  Platform platform = mi300x();
  Platforms platforms{platform};
  std::optional<SweepStudy> study;
};

void read(Read& into, const std::string& text, std::optional<sim::Config> experiment = {}, StudyLimits limits = {}) {
  sim::Config config = sim::Config::from_text(text, "study.yaml");
  into.study = read_sweep_study(config.root(), into.platforms, std::move(experiment), limits);
  config.finish();
}

std::string fault(const std::string& text, StudyLimits limits = {}) {
  Read into;
  try {
    read(into, text, {}, limits);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

Results results_of(Read& asked, int jobs, std::string* csv = nullptr) {
  SweepStore store({}, {"d", "study", asked.study->columns()});
  Distribution distribution{.make_answerer =
                                [&asked] {
                                  return
                                      [&asked, machines = std::make_shared<MachineCache>(asked.platforms)](
                                          std::uint64_t index) { return answer_point(*asked.study, *machines, index); };
                                },
                            .size = asked.study->points.size(),
                            .digest = "d",
                            .jobs = jobs};
  EXPECT_TRUE(run(distribution, store));
  const SweepResults results(*asked.study, store, asked.platform);
  std::ostringstream out;
  results.write_csv(out);
  if (csv != nullptr) *csv = out.str();
  return results.results();
}

std::vector<Cell> column_of(const ResultTable& table, const std::string& key) {
  const auto place = std::ranges::find(table.columns(), key, &Column::key) - table.columns().begin();
  std::vector<Cell> cells;
  for (const auto& row : table.rows()) cells.push_back(row.at(static_cast<std::size_t>(place)));
  return cells;
}

TEST(SweepStudy, AxesOfThePlatformComeFirst) {
  Read asked;
  read(asked, collective_study);
  EXPECT_EQ(asked.study->points.axes().front().name, "gpu.sdma.engines");
  EXPECT_EQ(asked.study->points.size(), 6u);
}

TEST(SweepStudy, APointIsAnsweredAsTheSameQuestionIs) {
  Read asked;
  read(asked, collective_study);
  const Results results = results_of(asked, 1);
  CollectiveQuestion question{.collective = models::CollectiveKind::all_gather,
                              .backend = models::Backend::sdma,
                              .sizes = {sim::Bytes(67108864.0)}};
  Testbed testbed(mi300x({"gpu.sdma.engines=9"}).spec);
  // Points are (4, 1MiB), (4, 64MiB), (9, 1MiB), (9, 64MiB) ...
  EXPECT_EQ(column_of(results.tables[0].table, "time_us")[3],
            Cell(sim::to_microseconds(ask(testbed, question).results.front().time)));
}

TEST(SweepStudy, ResultsAreTheSameBytesForAnyNumberOfThreads) {
  Read asked;
  read(asked, collective_study);
  std::string one;
  std::string three;
  results_of(asked, 1, &one);
  results_of(asked, 3, &three);
  EXPECT_EQ(one, three);
  EXPECT_THAT(one, StartsWith("point,gpu.sdma.engines,bytes,time_us,busbw_GBps"));
}

// Seven links need seven engines beside the host's two: nine are as fast as sixteen, four slower. So fronts hold 4 and
// 9 at both sizes, and more engines than nine change nothing.
TEST(SweepStudy, FrontsAreOfCasesAndSentencesSayWhatMoreBuys) {
  Read asked;
  read(asked, collective_study);
  const Results results = results_of(asked, 2);
  EXPECT_THAT(column_of(results.tables[0].table, "on_front"),
              ElementsAre(Cell(true), Cell(true), Cell(true), Cell(true), Cell(false), Cell(false)));
  EXPECT_THAT(results.notes, Contains(AllOf(HasSubstr("from 9 on"), HasSubstr("stays within 1 %"))));
  EXPECT_THAT(results.notes, Contains(HasSubstr("4 on the Pareto fronts of their cases")));
  EXPECT_EQ(results.tables[1].key, "best");
  EXPECT_EQ(results.tables[1].table.rows().size(), 2u);  // two cases, a quantity to minimize
  EXPECT_EQ(results.tables[2].key, "inputs");
  ASSERT_EQ(results.tables[0].charts.size(), 1u);
  const auto& chart = std::get<ScatterChart>(results.tables[0].charts[0]);
  EXPECT_TRUE(chart.joined);
  EXPECT_EQ(chart.series.size(), 2u);
}

TEST(SweepStudy, ConstraintsKeepPointsOffTheFront) {
  Read asked;
  std::string text = collective_study;
  text.replace(text.find("1 ms"), 4, "20 us");
  read(asked, text);
  const Results results = results_of(asked, 1);
  EXPECT_THAT(column_of(results.tables[0].table, "on_front"), testing::Each(Cell(false)));
  EXPECT_THAT(results.notes, Contains(HasSubstr("0 meet the constraints")));
}

TEST(SweepStudy, WhatIsImpossibleIsAnAnswer) {
  Read asked;
  read(asked, R"(name: variants
ask: collective
axes:
  - {of: collective, values: [all_gather, all_to_all]}
  - {of: backend, value: sdma}
  - {of: bytes, value: 1MiB}
  - {of: variant, values: [pcpy, swap]}
)");
  const Results results = results_of(asked, 1);
  EXPECT_THAT(results.notes, Contains(AllOf(HasSubstr("4 points, of which 1 are impossible"),
                                            HasSubstr("variant swap does not exist for all_gather"))));
}

TEST(SweepStudy, AnExperimentIsPlayedOnEveryMachine) {
  Read asked;
  read(asked, R"(name: hop
ask: run
experiment: hop.yaml
axes: [{of: gpu.sdma.payload_rate, values: [24 GB/s, 48 GB/s]}]
)",
       sim::Config::from_text("name: hop\noperations:\n  - {name: a, stream: s, copy: {from: 0, to: 1, bytes: 64MiB}}\n"
                              "  - {name: b, stream: t, copy: {from: 1, to: 2, bytes: 64MiB}}\n",
                              "hop.yaml"));
  const Results results = results_of(asked, 1);
  const std::vector<Cell> ends = column_of(results.tables[0].table, "a.end_us");
  ASSERT_EQ(ends.size(), 2u);
  // 64 MiB at 24 GB/s take 2796 us, at 48 half of that; some microseconds more each.
  EXPECT_NEAR(std::get<double>(ends[0]) - std::get<double>(ends[1]), 1398.0, 20.0);
}

// Shards over one link at a time are slower than no overlap at all, pieces over all links faster.
TEST(SweepStudy, TheGreatestSpeedupOfAnExperimentIsOverTheSameUncut) {
  Read asked;
  read(asked, R"(name: pair
ask: run
experiment: pair.yaml
axes: [{of: schedule, values: [serial_rccl, shard_overlap, finer_hetero_fused_1d]}]
objectives: [{maximize: speedup}]
)",
       sim::Config::from_text("name: pair\nparameters: {schedule: serial_rccl}\noperations:\n"
                              "  - {name: a, stream: s, dependent: {gemm: 7168x16384x8192, schedule: $(schedule)}}\n",
                              "pair.yaml"));
  const Results results = results_of(asked, 1);
  const std::vector<Cell> speedups = column_of(results.tables[0].table, "speedup");
  ASSERT_EQ(speedups.size(), 3u);
  EXPECT_EQ(speedups[0], Cell()) << "nothing can overlap";
  EXPECT_LT(std::get<double>(speedups[1]), 1.0);
  EXPECT_GT(std::get<double>(speedups[2]), 1.0);
  EXPECT_EQ(column_of(results.tables[0].table, "on_front"), (std::vector<Cell>{false, false, true}));
}

TEST(SweepStudy, FaultsNamePlacesAndNearestNames) {
  const std::string errors = fault(R"(name: bad
ask: c3
axes:
  - {of: gpu.sdma.engine, values: [3, 4]}
  - {of: gem, value: 1}
  - {of: strategy, values: [c3_bas]}
  - {of: fabric.link_rate, from: 48 GB/s, to: 96 GB/s}
  - {of: fabric.link_rate, value: 48 GB/s}
  - {of: platform, value: mi300}
cases: [byte]
objectives: [{minimize: anything}]
constraints: [{of: anything, at_most: 3}]
)");
  for (const char* const part :
       {"study.yaml:4:27: axes[0].values: 3: gpu.sdma.engine", "did you mean 'gpu.sdma.engines'?",
        "'gem' is no word of this question; did you mean 'gemm'?", "did you mean 'c3_base'?",
        "no axis says 'collective', which 'c3' asks for", "'fabric.link_rate' has two ends and nothing between",
        "an axis 'fabric.link_rate' is there already", "no platform is named 'mi300'", "'byte' is no axis"}) {
    EXPECT_THAT(errors, HasSubstr(part));
  }
  EXPECT_THAT(errors, Not(HasSubstr("unknown key")));
}

TEST(SweepStudy, FaultsOfGoalsNameWhatThereIs) {
  std::string text = collective_study;
  text.replace(text.find("minimize: time_us"), 17, "minimize: tim_us ");
  EXPECT_THAT(fault(text),
              HasSubstr("'tim_us' is neither an axis that varies nor a quantity; did you mean 'time_us'?"));
  text = collective_study;
  text.replace(text.find("1 ms"), 4, "1 W ");
  EXPECT_THAT(fault(text), HasSubstr("'1 W' is no bound of 'time_us': a number with its unit, such as 1 us"));
  text = collective_study;
  text.replace(text.find(", at_most: 1 ms"), 15, "");
  EXPECT_THAT(fault(text), HasSubstr("at_least or at_most is due"));
}

TEST(SweepStudy, ExplodingGridsAreCountedAndRefused) {
  const std::string text = R"(name: big
ask: gemm
axes:
  - {of: gemm, value: 8192x8192x8192}
  - {of: gpu.power.cap, from: 500 W, to: 1000 W, step: 10 W}
  - {of: cus, from: 8, to: 304, step: 8}
)";
  // 51 caps, 38 counts.
  EXPECT_THAT(fault(text, {1000}), HasSubstr("1938 points, of which 1000 are accepted: --most-points takes more"));
  EXPECT_EQ(fault(text, {1938}), "");
}

TEST(SweepStudy, AnUnknownQuestionIsTheOnlyFaultThatItMakes) {
  std::string text = collective_study;
  text.replace(text.find("ask: collective"), 15, "ask: colective ");
  EXPECT_EQ(
      fault(text),
      "study.yaml:3:6: ask: 'colective' is not one of c3, gemm, collective, copy, run; did you mean 'collective'?");
}

TEST(SweepStudy, EmptyStudiesAndImpossibleOnesAreRefused) {
  EXPECT_THAT(fault("name: a\nask: gemm\naxes: []\n"), HasSubstr("at least one axis is needed"));
  EXPECT_THAT(fault("name: a\nask: run\naxes: [{of: gpus, value: 8}]\n"),
              HasSubstr("the file of an experiment is due"));
  EXPECT_THAT(fault(R"(name: a
ask: collective
axes: [{of: collective, value: all_gather}, {of: bytes, value: 1MiB}, {of: backend, value: sdma}, {of: variant, value: swap}]
)"),
              HasSubstr("none of the first 1 points is possible: variant swap does not exist for all_gather"));
}

TEST(SweepStudy, PlatformsAreAnAxis) {
  Read asked;
  asked.platforms = Platforms(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {},
                                            std::vector<std::filesystem::path>{C3SIM_SOURCE_DIR "/configs"}));
  read(asked, R"(name: machines
ask: gemm
axes:
  - {of: platform, values: [mi300x, h200]}
  - {of: gemm, value: 8192x8192x8192}
)");
  const std::vector<Cell> times = column_of(results_of(asked, 1).tables[0].table, "time_us");
  ASSERT_EQ(times.size(), 2u);
  EXPECT_NE(times[0], times[1]);
}

}  // namespace
}  // namespace c3sim::study
