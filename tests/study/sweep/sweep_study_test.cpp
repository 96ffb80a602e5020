#include "study/sweep/sweep_study.h"

#include <sstream>

#include "study/ask/answers.h"
#include "study/step/step.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_results.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

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
  std::optional<SweepStudy> study{};
};

void read(Read& into, const std::string& text, std::optional<sim::Config> experiment = {}, StudyLimits limits = {}) {
  sim::Config config = sim::Config::from_text(text, "study.yaml");
  into.study = read_sweep_study(config.root(), into.platforms, std::move(experiment), limits);
  config.finish();
}

std::string fault_of_study(const std::string& text, StudyLimits limits = {},
                           std::optional<sim::Config> experiment = {}) {
  Read into;
  try {
    read(into, text, std::move(experiment), limits);
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
                            .jobs = jobs};
  EXPECT_TRUE(run(distribution, store));
  const SweepResults results(*asked.study, store, asked.platforms);
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
  CollectiveTrial trial;
  trial.spec.backend = models::Backend::sdma;
  trial.spec.bytes = sim::Bytes(67108864.0);
  Testbed testbed(mi300x({"gpu.sdma.engines=9"}).spec);
  // Points are (4, 1MiB), (4, 64MiB), (9, 1MiB), (9, 64MiB) ...
  EXPECT_EQ(column_of(results.tables[0].table, "time_us")[3],
            Cell(sim::to_microseconds(ask(testbed, trial).results.front().time)));
}

TEST(SweepStudy, AStepIsAskedByItsOptions) {
  Read asked;
  read(asked, R"(name: steps
about: Which?
ask: step
axes:
  - {of: model, value: llama3-8b}
  - {of: phase, value: decode}
  - {of: layers, value: 2}
  - {of: graph, value: yes}
  - {of: context, value: 1024}
  - {of: tp, values: [1, 3, 8]}
objectives: [{minimize: time_us}]
)");
  const Results results = results_of(asked, 1);
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = 2;
  question.graph = true;
  question.context = 1024;
  question.tp = 8;
  const StepResult alone = ask(asked.platform.spec, question, read_operators(folders));
  // 32 heads are not shared out by three GPUs: that point is impossible, which is an answer, too.
  EXPECT_THAT(column_of(results.tables[0].table, "time_us"), Contains(Cell(sim::to_microseconds(alone.time))));
  EXPECT_EQ(results.tables[0].table.rows().size(), 3u);
}

// No text is no choice, as on the command line; of a word that needs one it is a fault, in quotes.
TEST(SweepStudy, WhatIsChosenMayBeNothing) {
  const std::string study = R"(name: steps
about: Which?
ask: step
axes:
  - {of: model, value: llama3-8b}
  - {of: phase, value: decode}
  - {of: layers, value: 1}
  - {of: context, value: 1024}
  - {of: graph, value: yes}
  - {of: tp, values: [8, 4]}
  - {of: chosen, values: ["", out_all_reduce=sdma]}
objectives: [{minimize: time_us}]
)";
  Read asked;
  read(asked, study);
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = 1;
  question.context = 1024;
  question.graph = true;
  question.tp = 8;
  const StepResult plain = ask(mi300x().spec, question, read_operators(folders));
  EXPECT_EQ(column_of(results_of(asked, 1).tables[0].table, "time_us")[0], Cell(sim::to_microseconds(plain.time)));
  std::string without = study;
  without.replace(without.find("[8, 4]"), 6, "[8, \"\"]");
  EXPECT_THAT(fault_of_study(without), HasSubstr("axes[5].values: '': "));
}

// A kernel that streams, on some CUs and on all; what no kernel is said by is a fault of the point.
TEST(SweepStudy, AKernelIsAskedByItsOptions) {
  const std::string text =
      "name: kernels\nask: kernel\naxes:\n  - {of: read, value: 64MiB}\n  - {of: write, value: 32MiB}\n"
      "  - {of: cus, values: [152, 304]}\n";
  Read asked;
  read(asked, text);
  const Results results = results_of(asked, 1);
  models::ElementwiseSpec kernel;
  kernel.read = sim::Bytes(67108864.0);
  kernel.written = sim::Bytes(33554432.0);
  Testbed testbed(asked.platform.spec);
  const Answer<WorkResult> alone =
      ask(testbed, Question(std::vector{KernelTrial{kernel, 152}, KernelTrial{kernel, 304}}));
  EXPECT_THAT(column_of(results.tables[0].table, "time_us"),
              ElementsAre(Cell(sim::to_microseconds(alone.results[0].time)),
                          Cell(sim::to_microseconds(alone.results[1].time))));
  EXPECT_THAT(fault_of_study("name: a\nask: kernel\naxes: [{of: element, values: [2B, 4B]}]\n"),
              HasSubstr("is missing: --elements are those of an operator"));
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
  EXPECT_EQ(results.tables[2].key, "choices");
  EXPECT_EQ(results.tables[3].key, "inputs");
  ASSERT_EQ(results.tables[0].charts.size(), 1u);
  const auto& chart = std::get<ScatterChart>(results.tables[0].charts[0]);
  EXPECT_TRUE(chart.joined);
  EXPECT_EQ(chart.series.size(), 2u);
}

// Of the two sizes the chart leaves one, whose curve needs no name beside that of the quantity.
TEST(SweepStudy, AChartMayShowOneValueOfAnAxis) {
  std::string text = collective_study;
  const std::string charts = "y: time_us}";
  text.replace(text.find(charts), charts.size(), "y: time_us, only: [bytes=64MiB]}");
  Read asked;
  read(asked, text);
  const Results results = results_of(asked, 2);
  const auto& chart = std::get<ScatterChart>(results.tables[0].charts.at(0));
  ASSERT_EQ(chart.series.size(), 1u);
  EXPECT_EQ(chart.series[0].points.size(), 3u);
  EXPECT_THAT(chart.title, HasSubstr(", bytes 64MiB"));
  text.replace(text.find("bytes=64"), 8, "bytes=32");
  EXPECT_THAT(fault_of_study(text), HasSubstr("axis bytes has no value '32MiB'"));
  text.replace(text.find("bytes=32MiB"), 11, "size");
  EXPECT_THAT(fault_of_study(text), HasSubstr("'size' names no axis that varies: AXIS=VALUE is accepted"));
}

// Kernels are faster at 64 KiB, where engines wait for their commands, and engines at 1 GiB: a tie of one each. Sixteen
// engines are more than peers, so that more are as good at both sizes.
TEST(SweepStudy, TiesAndWhatMakesNoDifferenceAreTold) {
  Read asked;
  read(asked, R"(name: ties
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, values: [rccl, sdma]}
  - {of: bytes, values: [64KiB, 1GiB]}
  - {of: gpu.sdma.engines, values: [16, 32]}
cases: [bytes]
objectives: [{minimize: time_us}]
)");
  const Results results = results_of(asked, 1);
  EXPECT_THAT(results.notes, Contains("gpu.sdma.engines makes no difference that counts."));
  EXPECT_THAT(results.notes,
              Contains(HasSubstr("4 on the Pareto fronts of their cases, 2 of them as ties within 1 %")));
  EXPECT_THAT(
      column_of(results.tables[0].table, "on_front"),
      ElementsAre(Cell(true), Cell(false), Cell(false), Cell(true), Cell(true), Cell(false), Cell(false), Cell(true)));
  EXPECT_THAT(column_of(results.tables[1].table, "choice"),
              ElementsAre(Cell("tie: gpu.sdma.engines 16, backend rccl; gpu.sdma.engines 32, backend rccl"),
                          Cell("tie: gpu.sdma.engines 16, backend sdma; gpu.sdma.engines 32, backend sdma")));
  EXPECT_THAT(results.notes, Contains(AllOf(HasSubstr("Of backend, best or within 1 % of the best of 2 cases: "),
                                            HasSubstr("rccl in 1, at worst "), HasSubstr("sdma in 1, at worst "))));
  EXPECT_EQ(results.tables.at(2).key, "choices");
}

// Made up: at 1 MiB both cost the same but for 0.03 %, which speaks for none; at 64 MiB one costs 1.6 times the other.
TEST(ChoiceTally, NamesTheWorstRegretOfEachChoiceAndCountsTies) {
  Read asked;
  read(asked, R"(name: tally
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, values: [rccl, sdma]}
  - {of: bytes, values: [1MiB, 64MiB]}
cases: [bytes]
objectives: [{minimize: time_us}]
)");
  ChoiceTally tally(*asked.study);
  const std::vector<double> costs{100.0, 160.0, 100.03, 100.0};  // the last axis is the fastest
  for (std::uint64_t i = 0; i < 4; ++i) tally.add(asked.study->points.point(i), {costs[i]});
  const ResultTable table = tally.table().table;
  EXPECT_THAT(column_of(table, "value"), ElementsAre(Cell("rccl"), Cell("sdma")));
  EXPECT_THAT(column_of(table, "best_in"), ElementsAre(Cell(std::int64_t{1}), Cell(std::int64_t{2})));
  EXPECT_THAT(column_of(table, "alone_in"), ElementsAre(Cell(std::int64_t{0}), Cell(std::int64_t{1})));
  EXPECT_NEAR(std::get<double>(column_of(table, "worst_regret_percent")[0]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(column_of(table, "worst_regret_percent")[1]), 0.03, 1e-9);
  EXPECT_THAT(column_of(table, "worst_case"), ElementsAre(Cell("64MiB"), Cell("1MiB")));
  EXPECT_THAT(tally.sentences(),
              ElementsAre("Of backend, best or within 1 % of the best of 2 cases: sdma in 2 (alone in 1), at worst "
                          "0.03 % behind; rccl in 1 (never alone), at worst 60 % behind."));
}

// 105 lies within 90 to 110, and 100 within 95 to 116: nobody can tell which is better. Without intervals 5 % count.
TEST(ChoiceTally, WhatLiesWithinEachOthersIntervalsIsATie) {
  Read asked;
  read(asked, R"(name: tally
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, values: [rccl, sdma]}
  - {of: bytes, value: 1MiB}
objectives: [{minimize: time_us}]
)");
  const auto sentences = [&](const Cost& one, const Cost& other) {
    ChoiceTally tally(*asked.study);
    tally.add(asked.study->points.point(0), one);
    tally.add(asked.study->points.point(1), other);
    return tally.sentences();
  };
  EXPECT_THAT(sentences({100.0, 90.0, 110.0}, {105.0, 95.0, 116.0}),
              ElementsAre("backend makes no difference that counts."));
  EXPECT_THAT(sentences({100.0}, {105.0}), ElementsAre("Of backend: rccl best; sdma 5 % behind."));
}

// 13 engine counts by 2 sizes by 2 collectives are beyond 12 curves: a panel for each size, coloured by what matters
// more, prelaunch by far less than the collective's variant.
TEST(SweepStudy, ManyCurvesBecomePanelsWithTheFrontMarked) {
  Read asked;
  read(asked, R"(name: many
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, value: sdma}
  - {of: bytes, values: [64KiB, 64MiB]}
  - {of: variant, values: [pcpy, b2b]}
  - {of: prelaunch, values: [no, yes]}
  - {of: host.doorbell, values: [0.1us, 0.2us]}
  - {of: gpu.sdma.engines, values: [4, 9]}
cases: [bytes]
objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
charts: [{x: gpu.sdma.engines, y: time_us}]
)");
  const Results results = results_of(asked, 1);
  ASSERT_EQ(results.tables[0].charts.size(), 2u);
  for (const Chart& drawn : results.tables[0].charts) {
    const auto& panel = std::get<ScatterChart>(drawn);
    EXPECT_TRUE(panel.is_panel && panel.joined);
    EXPECT_THAT(panel.title, HasSubstr(": bytes 64"));
    EXPECT_EQ(panel.series.size(), 2u);
    EXPECT_THAT(panel.series.front().points.front().label, HasSubstr("point "));
  }
  const auto& large = std::get<ScatterChart>(results.tables[0].charts[1]);
  EXPECT_EQ(large.legend, "variant");  // on one engine instead of seven
  EXPECT_EQ(large.marks, "on the Pareto front of time_us and gpu.sdma.engines, by case");
  EXPECT_THAT(large.caption, HasSubstr("the best of all that differ in host.doorbell, prelaunch"));
  // pcpy is faster with 9 engines, and with 4 still faster than b2b on one: both of its points are on the front.
  EXPECT_EQ(large.series[0].name, "pcpy");
  EXPECT_TRUE(large.series[0].points[0].marked && large.series[0].points[1].marked);
  EXPECT_FALSE(large.series[1].points[0].marked);
}

TEST(SweepStudy, LegendsNameTheirParameter) {
  Read asked;
  read(asked, collective_study);
  const Results results = results_of(asked, 1);
  EXPECT_EQ(std::get<ScatterChart>(results.tables[0].charts[0]).legend, "bytes");
}

// The MI355X's engines take commands of the GPU today, the MI300X's of the host.
TEST(SweepStudy, EachPlatformTellsItsValuesAndWhereACaseChangesNothing) {
  Read asked;
  asked.platforms = Platforms(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}, folders));
  read(asked, R"(name: machines
ask: collective
axes:
  - {of: platform, values: [mi300x, mi355x]}
  - {of: collective, value: all_gather}
  - {of: backend, value: sdma}
  - {of: bytes, value: 1MiB}
  - name: commands
    cases: [{name: today}, {name: gpu, set: [gpu.sdma.submitted_by=gpu]}]
cases: [platform]
objectives: [{minimize: time_us}]
)");
  const Results results = results_of(asked, 1);
  EXPECT_EQ(results.platform, "mi300x, mi355x");
  const auto inputs = std::ranges::find(results.tables, "inputs", &NamedTable::key);
  ASSERT_NE(inputs, results.tables.end());
  EXPECT_THAT(column_of(inputs->table, "today_mi300x"), ElementsAre(Cell("host")));
  EXPECT_THAT(column_of(inputs->table, "today_mi355x"), ElementsAre(Cell("gpu")));
  EXPECT_THAT(results.notes, Contains("On mi355x, commands gpu changes nothing: the machine is so today."));
}

// 20 draws of a platform that tells of errors; and at least as wide as what the file says of its own validation.
TEST(SweepStudy, IntervalsAreAskedForByAWord) {
  const auto answer = [](const std::string& error) {
    Read asked;
    asked.platforms = Platforms(fitted(launch_and_notice + error));
    read(asked, R"(name: sure
ask: gemm
uncertainty: 20
axes:
  - {of: gemm, values: [512x512x512, 1024x1024x1024]}
  - {of: gpu.power.cap, times: [1, 0.9]}
cases: [gemm]
objectives: [{minimize: time_us}]
charts: [{x: gpu.power.cap, y: time_us}]
)");
    return results_of(asked, 2);
  };
  const Results results = answer("");
  const ResultTable& table = results.tables[0].table;
  const auto number = [&table](const char* key, std::size_t row) {
    return std::get<double>(column_of(table, key).at(row));
  };
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_LT(number("time_p5_us", row), number("time_us", row));
    EXPECT_GT(number("time_p95_us", row), number("time_us", row));
    EXPECT_LT(number("time_p95_us", row), 1.3 * number("time_us", row));
  }
  EXPECT_TRUE(std::get<ScatterChart>(results.tables[0].charts[0]).series[0].points[0].y_low.has_value());
  // Half as long again, and by that factor less: the platform was fitted to no such size.
  const std::string wide = "{value: 0.5, source: \"s\", kind: measured, range: [0, 1]}";
  const ResultTable wider =
      answer("unfitted_errors: {alone: " + wide + ", beside: " + wide + ", steps: " + wide + "}\n").tables[0].table;
  EXPECT_NEAR(std::get<double>(column_of(wider, "time_p95_us")[0]), 1.5 * number("time_us", 0), 1e-6);
  EXPECT_NEAR(std::get<double>(column_of(wider, "time_p5_us")[0]), number("time_us", 0) / 1.5, 1e-6);
}

TEST(SweepStudy, DrawnPointsHaveChartsOfMediansAndSentences) {
  Read asked;
  read(asked, R"(name: drawn
ask: collective
axes:
  - {of: collective, value: all_gather}
  - {of: backend, value: sdma}
  - {of: bytes, from: 32MiB, to: 1GiB, scale: log}
  - {of: prelaunch, values: [no, yes]}
cases: [prelaunch]
charts: [{x: bytes, y: time_us}, {x: fidelity, y: time_us}]
sampling: {method: sobol, points: 160}
)");
  const Results results = results_of(asked, 2);
  ASSERT_EQ(results.tables[0].charts.size(), 1u);
  const auto& chart = std::get<ScatterChart>(results.tables[0].charts[0]);
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[1].name, "yes");
  // 80 points in marks of 20.
  const std::vector<ScatterPoint>& marks = chart.series[0].points;
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks.front().label, "20 points");
  EXPECT_LT(*marks.front().y_low, marks.front().y);
  EXPECT_GT(*marks.front().y_high, marks.front().y);
  // Over five doublings the marks lie at 1/8, 3/8, 5/8 and 7/8: from 49.4 to 664 MiB. A gather takes 94 us at 16 MiB
  // and 2933 us at 1 GiB (README), so 49 us and 2.82 us for each MiB: 188 and 1920 us, 10.2 times as long.
  EXPECT_NEAR(marks.back().y / marks.front().y, 10.2, 0.4);
  EXPECT_THAT(results.notes, Contains(AllOf(HasSubstr("Over the whole range of bytes, the median time becomes"),
                                            HasSubstr("times what it was at first, by case."))));
  EXPECT_THAT(results.notes, Contains("time_us by fidelity is not drawn: no point has a number of both."));
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

// Two copies, of which the second waits for the first; `bytes` is doubled.
sim::Config relay() {
  return sim::Config::from_text(R"(name: relay
parameters: {bytes: 1MiB, both: $(2 * bytes)}
operations:
  - {name: first, stream: s, copy: {from: 0, to: 1, bytes: $(both)}}
  - {name: second, stream: t, after: [first], copy: {from: 1, to: 2, bytes: $(both)}}
  - {name: third, stream: u, after: [second], copy: {from: 2, to: 3, bytes: $(both)}}
)",
                                "relay.yaml");
}

std::string relay_study(const std::string& more) {
  return "name: relays\nask: run\nexperiment: relay.yaml\naxes: [{of: bytes, values: [1MiB, 64MiB]}]\n" + more;
}

std::vector<std::string> shown(const ResultTable& table) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns()) {
    if (column.in_text) keys.push_back(column.key);
  }
  return keys;
}

// Three operations have three quantities each, beside the makespan, the time on one stream and the speedup.
TEST(SweepStudy, TablesOfManyOperationsShowTheMakespanAndWhatTheStudyIsAbout) {
  Read asked;
  read(asked, relay_study("constraints: [{of: second.end_us, at_most: 1 s}]\n"), relay());
  const Results results = results_of(asked, 1);
  EXPECT_THAT(shown(results.tables[0].table),
              ElementsAre("point", "bytes", "makespan_us", "second.end_us", "meets_constraints"));
  EXPECT_EQ(results.tables[0].table.columns().size(), 15u);  // files have all
  EXPECT_THAT(results.notes, Contains(HasSubstr("Tables show 2 of 12 quantities: `columns` in the study chooses")));
}

TEST(SweepStudy, ColumnsAreChosenInTheirOrder) {
  Read asked;
  read(asked, relay_study("columns: [third.time, makespan_us]\n"), relay());
  EXPECT_THAT(shown(results_of(asked, 1).tables[0].table),
              ElementsAre("point", "bytes", "third.time_us", "makespan_us"));
  EXPECT_EQ(fault_of_study(relay_study("columns: [makespan]\n"), {}, relay()), "");
  EXPECT_THAT(fault_of_study(relay_study("columns: [makspan_us]\n"), {}, relay()),
              HasSubstr("study.yaml:5:1: columns: 'makspan_us' is no quantity; did you mean 'makespan_us'?"));
  EXPECT_THAT(fault_of_study(relay_study("columns: []\n"), {}, relay()), HasSubstr("at least one quantity is due"));
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

// What is gone for a moment is no answer: the same point has one when it is back.
TEST(SweepStudy, APointWhoseFilesAreGoneHasFailed) {
  const std::filesystem::path configs = testing::TempDir() + "sweep_study_test";
  std::filesystem::remove_all(configs);
  std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
  Read asked{.platform = read_platform(configs / "platforms" / "mi300x.yaml", {}, std::vector{configs})};
  read(asked, R"(name: named
ask: run
experiment: named.yaml
axes: [{of: word, values: [rmsnorm, nothing]}]
)",
       sim::Config::from_text("name: named\nparameters: {word: rmsnorm}\noperations:\n"
                              "  - {name: a, stream: s, kernel: {operator: $(word), elements: 1024}}\n",
                              "named.yaml"));
  MachineCache machines(asked.platforms);
  EXPECT_EQ(answer_point(*asked.study, machines, 0).fault, "");
  PointAnswer unknown = answer_point(*asked.study, machines, 1);
  EXPECT_THAT(unknown.fault, HasSubstr("no operator is named 'nothing'"));
  EXPECT_FALSE(unknown.failed);
  std::filesystem::rename(configs / "operators.yaml", configs / "gone.yaml");
  unknown = answer_point(*asked.study, machines, 1);
  EXPECT_TRUE(unknown.failed);
  EXPECT_THAT(unknown.fault, AllOf(HasSubstr("cannot read"), HasSubstr("operators.yaml (")));
  std::filesystem::rename(configs / "gone.yaml", configs / "operators.yaml");
  EXPECT_FALSE(answer_point(*asked.study, machines, 1).failed);
  std::filesystem::remove_all(configs);
}

// Of one case the first choice is the best: nothing is gained over it, and a sentence of 1.00 times would say nothing.
TEST(SweepStudy, AFactorIsToldAsOneAndNoGainIsNotTold) {
  Read asked;
  read(asked, R"(name: rates
ask: collective
axes:
  - {of: gpu.sdma.payload_rate, times: [1, 0.5]}
  - {of: collective, value: all_gather}
  - {of: backend, value: sdma}
  - {of: bytes, value: 64MiB}
objectives: [{minimize: time_us}]
)");
  const Results said = results_of(asked, 1);
  EXPECT_THAT(column_of(said.tables[1].table, "choice"), ElementsAre(Cell("gpu.sdma.payload_rate 1 x today")));
  EXPECT_THAT(said.notes, Not(Contains(HasSubstr("times that of"))));
  EXPECT_THAT(said.notes, Contains(HasSubstr("0.5 x today")));
}

TEST(SweepStudy, FailuresAreTheLastSentence) {
  Read asked;
  read(asked, collective_study);
  SweepStore store({}, {"d", "study", asked.study->columns()});
  MachineCache machines(asked.platforms);
  for (std::uint64_t index = 0; index < 6; ++index) {
    PointAnswer answer = answer_point(*asked.study, machines, index);
    if (index > 3) {
      answer.fault = "cannot read kernels/rocblas.csv";
      answer.failed = true;
    }
    store.add(std::vector{answer});
  }
  const SweepResults results(*asked.study, store, asked.platforms);
  EXPECT_EQ(results.failures(), 2u);
  const Results said = results.results();
  EXPECT_EQ(
      said.notes.back(),
      "2 of 6 points failed and have no answer (the first, point 4: cannot read kernels/rocblas.csv): where --out "
      "keeps the others, the same command with --resume asks for these again.");
  EXPECT_THAT(said.notes, Not(Contains(HasSubstr("impossible"))));
  EXPECT_EQ(column_of(said.tables[0].table, "fault")[5], Cell("cannot read kernels/rocblas.csv"));
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

TEST(SweepStudy, FullMachinesOfAnAxisAreAskedWhatTheStudysOwnIs) {
  const auto time = [](std::optional<models::LaunchMode> launch, const std::string& axis,
                       const std::vector<std::string>& set = {}) {
    Read asked;
    asked.platforms = Platforms(
        beside(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", set, folders), {.launch = launch}));
    read(asked, "name: launches\nask: gemm\naxes:\n" + axis + "  - {of: gemm, value: 8192x8192x8192}\n");
    return column_of(results_of(asked, 1).tables[0].table, "time_us").at(0);
  };
  const std::string axis = "  - {of: platform, value: mi300x}\n";
  EXPECT_EQ(time(models::LaunchMode::graph, axis), time(models::LaunchMode::graph, ""));
  EXPECT_NE(time(models::LaunchMode::graph, axis), time({}, axis));
  const std::vector<std::string> slow{"host.kernel_launch=500us"};
  EXPECT_EQ(time({}, axis, slow), time({}, "", slow));
  EXPECT_NE(time({}, axis, slow), time({}, axis));
}

}  // namespace
}  // namespace c3sim::study
