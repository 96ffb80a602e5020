#include "study/sweep/sweep_study.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "study/ask/answers.h"
#include "study/step/step.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_results.h"
#include "tests/config_fault.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

// Returns a study of all-gathers by these backends, with `more` axes and other entries.
std::string gathers(const std::string& backends, const std::string& more) {
  return "name: test\nask: collective\naxes:\n  - {of: collective, value: all_gather}\n  - {of: backend, values: [" +
         backends + "]}\n" + more;
}

const std::string engines_study = gathers("sdma", R"(  - {of: bytes, values: [1MiB, 64MiB]}
  - {of: gpu.sdma.engines, values: [4, 9, 16]}
cases: [bytes]
constraints: [{of: time_us, at_most: 1 ms}]
objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
charts: [{x: gpu.sdma.engines, y: time_us}]
)");

// Returns a study that runs an experiment.
std::string runs(const std::string& more) { return "name: test\nask: run\nexperiment: test.yaml\n" + more; }

Platform in_folders(const std::vector<std::string>& assignments = {}) {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", assignments, folders);
}

SweepStudy read_study(const std::string& text, const std::string& experiment, Platforms& platforms) {
  sim::Config config = sim::Config::from_text(text, "study.yaml");
  std::optional<sim::Config> run;
  if (!experiment.empty()) run = sim::Config::from_text(experiment, "test.yaml");
  SweepStudy study = read_sweep_study(config.root(), platforms, std::move(run), 100'000);
  config.finish();
  return study;
}

// Holds a study and the platforms on which it is asked.
struct AskedStudy {
  explicit AskedStudy(const std::string& text, const std::string& experiment = {}, const Platform& platform = mi300x())
      : platforms(platform), study(read_study(text, experiment, platforms)) {}

  Results results(int jobs = 1, std::string* csv = nullptr) const {
    SweepStore store({}, {"d", "study", study.columns()});
    const auto make_answerer = [this] {
      return [this, machines = std::make_shared<MachineCache>(platforms)](std::uint64_t index) {
        return answer_point(study, *machines, index);
      };
    };
    EXPECT_TRUE(run({.make_answerer = make_answerer, .size = study.points.size(), .jobs = jobs}, store));
    Results results = sweep_results(study, store, platforms);
    std::ostringstream out;
    results.long_files.front().write(out);
    if (csv != nullptr) *csv = out.str();
    results.long_files.clear();  // which refer to the store
    return results;
  }

  Platforms platforms;
  SweepStudy study;
};

std::vector<Cell> column_of(const ResultTable& table, const std::string& key) {
  std::vector<Cell> cells;
  for (const auto& row : table.rows()) cells.push_back(row.at(place_of(table.columns(), key)));
  return cells;
}

// Returns the cells of a column of the table of all points.
std::vector<Cell> points_of(const Results& results, const std::string& key) {
  return column_of(results.tables.at(0).table, key);
}

double number_at(const Results& results, const std::string& key, std::size_t row) {
  return std::get<double>(points_of(results, key).at(row));
}

const ScatterChart& scatter_of(const Results& results, std::size_t place = 0) {
  return std::get<ScatterChart>(results.tables.at(0).charts.at(place));
}

// Axes of the platform come first: points are (4, 1MiB), (4, 64MiB), (9, 1MiB), (9, 64MiB) ...
TEST(SweepStudy, APointIsAnsweredAsTheSameQuestionIs) {
  const AskedStudy asked(engines_study);
  EXPECT_EQ(asked.study.points.axes().front().name, "gpu.sdma.engines");
  EXPECT_EQ(asked.study.points.size(), 6u);
  const CollectiveTrial trial{
      collective(models::Backend::sdma, models::CollectiveKind::all_gather, sim::Bytes(67108864.0))};
  Testbed testbed(mi300x({"gpu.sdma.engines=9"}).spec);
  EXPECT_EQ(number_at(asked.results(), "time_us", 3), sim::to_microseconds(ask(testbed, trial).results.front().time));
}

// An empty text chooses nothing, as on the command line. Three GPUs cannot share out 32 heads: those points are
// impossible, which is an answer, too.
TEST(SweepStudy, AStepIsAskedByItsOptionsOfWhichWhatIsChosenMayBeNothing) {
  const std::string study = R"(name: steps
ask: step
axes:
  - {of: model, value: llama3-8b}
  - {of: phase, value: decode}
  - {of: layers, value: 1}
  - {of: context, value: 1024}
  - {of: graph, value: yes}
  - {of: tp, values: [8, 3]}
  - {of: chosen, values: ["", out_all_reduce=sdma]}
objectives: [{minimize: time_us}]
)";
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = 1;
  question.context = 1024;
  question.graph = true;
  question.tp = 8;
  const Platform platform = mi300x();
  const LayerTemplates templates(folders);
  const StepResult plain = ask({platform.spec, templates}, question);
  const std::vector<Cell> times = points_of(AskedStudy(study).results(), "time_us");
  EXPECT_EQ(times.at(0), Cell(sim::to_microseconds(plain.time)));
  EXPECT_EQ(times.at(2), Cell());
  EXPECT_EQ(times.size(), 4u);
}

// The kernel streams through memory on some CUs and on all.
TEST(SweepStudy, AKernelIsAskedByItsOptions) {
  const AskedStudy asked(
      "name: kernels\nask: kernel\naxes:\n  - {of: read, value: 64MiB}\n  - {of: write, value: 32MiB}\n"
      "  - {of: cus, values: [152, 304]}\n");
  const models::ElementwiseSpec kernel{sim::Bytes(67108864.0), sim::Bytes(33554432.0), {}};
  Testbed testbed(mi300x().spec);
  const Answer<WorkResult> alone =
      ask(testbed, Question(std::vector{KernelTrial{kernel, 152}, KernelTrial{kernel, 304}}));
  EXPECT_THAT(points_of(asked.results(), "time_us"), ElementsAre(Cell(sim::to_microseconds(alone.results[0].time)),
                                                                 Cell(sim::to_microseconds(alone.results[1].time))));
}

TEST(SweepStudy, AChartHasACurveForEachCaseForAnyNumberOfThreads) {
  const AskedStudy asked(engines_study);
  std::string one_thread;
  std::string three_threads;
  const Results results = asked.results(1, &one_thread);
  asked.results(3, &three_threads);
  EXPECT_EQ(one_thread, three_threads) << "to the byte";
  ASSERT_EQ(results.tables[0].charts.size(), 1u);
  EXPECT_TRUE(scatter_of(results).joined);
  EXPECT_EQ(scatter_of(results).series.size(), 2u);
  EXPECT_EQ(scatter_of(results).legend, "bytes");
}

// The chart keeps one of two sizes. Its only curve needs no name other than that of the quantity.
TEST(SweepStudy, AChartMayShowOneValueOfAnAxis) {
  const Results results =
      AskedStudy(replaced(engines_study, "y: time_us}", "y: time_us, only: [bytes=64MiB]}")).results(2);
  ASSERT_EQ(scatter_of(results).series.size(), 1u);
  EXPECT_EQ(scatter_of(results).series[0].points.size(), 3u);
  EXPECT_THAT(scatter_of(results).title, HasSubstr(", bytes 64MiB"));
}

// The costs are made up: within 0.03 % at 1 MiB, which is a tie; 1.6 times as large for one choice at 64 MiB.
TEST(ChoiceTally, NamesTheWorstRegretOfEachChoiceAndCountsTies) {
  const AskedStudy asked(gathers("rccl, sdma", R"(  - {of: bytes, values: [1MiB, 64MiB]}
cases: [bytes]
objectives: [{minimize: time_us}]
)"));
  ChoiceTally tally(asked.study);
  const std::vector<double> costs{100.0, 160.0, 100.03, 100.0};  // the last axis is the fastest
  for (std::uint64_t i = 0; i < 4; ++i) tally.add(asked.study.points.point(i), {costs[i]});
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

// 105 lies within 90 to 110, and 100 within 95 to 116: neither choice is surely better. Without intervals 5 % count.
TEST(ChoiceTally, WhatLiesWithinEachOthersIntervalsIsATie) {
  const AskedStudy asked(gathers("rccl, sdma", "  - {of: bytes, value: 1MiB}\nobjectives: [{minimize: time_us}]\n"));
  const auto sentences = [&](const Cost& one, const Cost& other) {
    ChoiceTally tally(asked.study);
    tally.add(asked.study.points.point(0), one);
    tally.add(asked.study.points.point(1), other);
    return tally.sentences();
  };
  EXPECT_THAT(sentences({100.0, 90.0, 110.0}, {105.0, 95.0, 116.0}),
              ElementsAre("backend makes no difference that counts."));
  EXPECT_THAT(sentences({100.0}, {105.0}), ElementsAre("Of backend: rccl best; sdma 5 % behind."));
}

// Two sizes, variants, launches and doorbells make 2^4 curves, more than 12. Each size gets a panel, coloured by the
// axis that matters most: prelaunch matters far less than the variant.
TEST(SweepStudy, ManyCurvesBecomePanelsWithTheFrontMarked) {
  const Results results = AskedStudy(gathers("sdma", R"(  - {of: bytes, values: [64KiB, 64MiB]}
  - {of: variant, values: [pcpy, b2b]}
  - {of: prelaunch, values: [no, yes]}
  - {of: host.doorbell, values: [0.1us, 0.2us]}
  - {of: gpu.sdma.engines, values: [4, 9]}
cases: [bytes]
objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
charts: [{x: gpu.sdma.engines, y: time_us}]
)"))
                              .results();
  ASSERT_EQ(results.tables[0].charts.size(), 2u);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    const ScatterChart& panel = scatter_of(results, place);
    EXPECT_TRUE(panel.is_panel && panel.joined);
    EXPECT_THAT(panel.title, HasSubstr(": bytes 64"));
    EXPECT_EQ(panel.series.size(), 2u);
    EXPECT_THAT(panel.series.front().points.front().label, HasSubstr("point "));
  }
  const ScatterChart& large = scatter_of(results, 1);
  EXPECT_EQ(large.legend, "variant");  // One variant uses one engine instead of seven.
  EXPECT_EQ(large.marks, "on the Pareto front of time_us and gpu.sdma.engines, by case");
  EXPECT_THAT(large.caption, HasSubstr("the best of all that differ in host.doorbell, prelaunch"));
  // pcpy is faster with 9 engines, and even with 4 faster than b2b on one: both of its points are on the front.
  EXPECT_EQ(large.series[0].name, "pcpy");
  EXPECT_TRUE(large.series[0].points[0].marked && large.series[0].points[1].marked);
  EXPECT_FALSE(large.series[1].points[0].marked);
}

// Intervals follow from 20 draws of a platform with errors, and are at least as wide as the file's validation errors.
TEST(SweepStudy, IntervalsAreAskedForByAWord) {
  const auto answer = [](const std::string& error) {
    const std::string study = R"(name: sure
ask: gemm
uncertainty: 20
axes:
  - {of: gemm, values: [512x512x512, 1024x1024x1024]}
  - {of: gpu.power.cap, times: [1, 0.9]}
cases: [gemm]
objectives: [{minimize: time_us}]
charts: [{x: gpu.power.cap, y: time_us}]
)";
    return AskedStudy(study, {}, fitted(launch_and_notice + error)).results(2);
  };
  const Results results = answer("");
  for (std::size_t row = 0; row < 4; ++row) {
    const double time = number_at(results, "time_us", row);
    EXPECT_LT(number_at(results, "time_p5_us", row), time);
    EXPECT_GT(number_at(results, "time_p95_us", row), time);
    EXPECT_LT(number_at(results, "time_p95_us", row), 1.3 * time);
  }
  EXPECT_TRUE(scatter_of(results).series[0].points[0].y_low.has_value());
  // The interval reaches a factor of 1.5 up and down: the platform was fitted to no such size.
  const std::string wide = "{value: 0.5, source: \"s\", kind: measured, range: [0, 1]}";
  const Results wider = answer("unfitted_errors: {alone: " + wide + ", beside: " + wide + ", steps: " + wide + "}\n");
  EXPECT_NEAR(number_at(wider, "time_p95_us", 0), 1.5 * number_at(results, "time_us", 0), 1e-6);
  EXPECT_NEAR(number_at(wider, "time_p5_us", 0), number_at(results, "time_us", 0) / 1.5, 1e-6);
}

TEST(SweepStudy, DrawnPointsHaveChartsOfMediansAndSentences) {
  const Results results = AskedStudy(gathers("sdma", R"(  - {of: bytes, from: 32MiB, to: 1GiB, scale: log}
  - {of: prelaunch, values: [no, yes]}
cases: [prelaunch]
charts: [{x: bytes, y: time_us}, {x: fidelity, y: time_us}]
sampling: {method: sobol, points: 160}
)"))
                              .results(2);
  ASSERT_EQ(results.tables[0].charts.size(), 1u);
  ASSERT_EQ(scatter_of(results).series.size(), 2u);
  EXPECT_EQ(scatter_of(results).series[1].name, "yes");
  // Each mark stands for 20 of 80 points.
  const std::vector<ScatterPoint>& marks = scatter_of(results).series[0].points;
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

TEST(SweepStudy, AnExperimentIsPlayedOnEveryMachine) {
  const AskedStudy asked(runs("axes: [{of: gpu.sdma.payload_rate, values: [24 GB/s, 48 GB/s]}]\n"),
                         "name: hop\noperations:\n  - {name: a, stream: s, copy: {from: 0, to: 1, bytes: 64MiB}}\n"
                         "  - {name: b, stream: t, copy: {from: 1, to: 2, bytes: 64MiB}}\n");
  const Results results = asked.results();
  // 64 MiB at 24 GB/s take 2796 us, at 48 GB/s half of that; both take some microseconds more.
  EXPECT_NEAR(number_at(results, "a.end_us", 0) - number_at(results, "a.end_us", 1), 1398.0, 20.0);
}

// While a file is missing, a point has no answer. It has one when the file is back.
TEST(SweepStudy, APointWhoseFilesAreGoneHasNoAnswer) {
  const std::filesystem::path configs = testing::TempDir() + "sweep_study_test";
  std::filesystem::remove_all(configs);
  std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
  const AskedStudy asked(runs("axes: [{of: word, values: [rmsnorm, nothing]}]\n"),
                         "name: named\nparameters: {word: rmsnorm}\noperations:\n"
                         "  - {name: a, stream: s, kernel: {operator: $(word), elements: 1024}}\n",
                         read_platform(configs / "platforms" / "mi300x.yaml", {}, std::vector{configs}));
  MachineCache machines(asked.platforms);
  EXPECT_EQ(answer_point(asked.study, machines, 0).fault, "");
  EXPECT_THAT(answer_point(asked.study, machines, 1).fault, HasSubstr("'nothing' is not known"));
  std::filesystem::rename(configs / "operators.yaml", configs / "gone.yaml");
  EXPECT_THAT(config_fault([&] { answer_point(asked.study, machines, 1); }),
              HasSubstr("operators.yaml: cannot be read any more"));
  std::filesystem::rename(configs / "gone.yaml", configs / "operators.yaml");
  EXPECT_THAT(answer_point(asked.study, machines, 1).fault, HasSubstr("'nothing' is not known"));
  std::filesystem::remove_all(configs);
}

TEST(SweepStudy, FullMachinesOfAnAxisAreAskedWhatTheStudysOwnIs) {
  const auto time = [](std::optional<models::LaunchMode> launch, const std::string& axis,
                       const std::vector<std::string>& set = {}) {
    const AskedStudy asked("name: launches\nask: gemm\naxes:\n" + axis + "  - {of: gemm, value: 8192x8192x8192}\n", {},
                           beside(in_folders(set), {.launch = launch}));
    return number_at(asked.results(), "time_us", 0);
  };
  const std::string axis = "  - {of: platform, value: mi300x}\n";
  EXPECT_EQ(time(models::LaunchMode::graph, axis), time(models::LaunchMode::graph, ""));
  EXPECT_NE(time(models::LaunchMode::graph, axis), time({}, axis));
  const std::vector<std::string> slow{"host.kernel_launch=500us"};
  EXPECT_EQ(time({}, axis, slow), time({}, "", slow));
  EXPECT_NE(time({}, axis, slow), time({}, axis));
}

// The study of ConCCL has all 15 pairs by two collectives under nine strategies. c3_best is the best of the four by
// kernels, serial gains nothing, and the averages follow from the points: over the pairs within a collective and a
// class, then over those.
TEST(ShippedStudies, FullConcclAveragesItsPointsForAnyNumberOfThreads) {
  std::ifstream file(C3SIM_SOURCE_DIR "/configs/studies/conccl.yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(text.find("platform: "), std::string("platform: mi300x_conccl\n").size());
  const AskedStudy asked(text, "", mi300x_conccl());
  const Results results = asked.results(3);
  std::ostringstream on_three, on_one;
  write(results, Format::json, on_three);
  write(asked.results(1), Format::json, on_one);
  EXPECT_EQ(on_three.str(), on_one.str());
  const std::vector<Cell> strategies = points_of(results, "strategy");
  ASSERT_EQ(strategies.size(), 270u);
  std::map<std::string, std::map<std::string, std::vector<double>>> speedups;  // by strategy, and collective and class
  for (std::size_t row = 0; row < strategies.size(); ++row) {
    const std::string group =
        word_of(points_of(results, "collective")[row]) + word_of(points_of(results, "published_class")[row]);
    speedups[word_of(strategies[row])][group].push_back(number_at(results, "speedup", row));
  }
  const ResultTable& by_strategy = results.table("by_strategy")->table;
  const std::vector<Cell> averages = column_of(by_strategy, "speedup");
  for (std::size_t row = 0; row < averages.size(); ++row) {
    const auto& groups = speedups.at(word_of(column_of(by_strategy, "strategy")[row]));
    double sum = 0.0;
    for (const auto& [group, values] : groups) sum += mean(values) / static_cast<double>(groups.size());
    EXPECT_EQ(groups.size(), 6u);
    EXPECT_NEAR(std::get<double>(averages[row]), sum, 1e-9);
  }
  for (const auto& [group, best] : speedups.at("c3_best")) {
    for (std::size_t pair = 0; pair < best.size(); ++pair) {
      double of_four = 0.0;
      for (const char* const one : {"c3_base", "c3_sp", "c3_rp", "c3_sp_rp"}) {
        of_four = std::max(of_four, speedups.at(one).at(group)[pair]);
      }
      EXPECT_EQ(best[pair], of_four);
    }
  }
  EXPECT_NEAR(std::get<double>(averages.at(0)), 1.0, 0.01) << "serial";
}

// The tests below check that shipped studies scale the platforms' present values, however often these are refitted.

// Returns what is wrong with a value that repeats a platform's own, or an empty text. A value within 3 % of today's,
// but not equal to it, is an old copy. A copy of a measured or fitted value goes stale with the next fit. Ends of
// ranges and the values between them are no copies.
std::string stale_copy(const Assignment& assignment, const Platform& platform) {
  const sim::Parameter* const parameter = parameter_of(platform, assignment);
  if (assignment.scales || parameter == nullptr) return {};
  const auto today = read_number(parameter->value);
  const auto asked = read_number(assignment.value);
  if (!today || !asked || today->base == 0.0) return {};
  const double off = std::abs(asked->base / today->base - 1.0);
  const bool moves = parameter->kind == "fitted" || parameter->kind == "measured";
  if (off > 0.03 || (off < 1e-9 && !moves)) return {};
  return fmt::format("{}={} repeats {}, which {} has today: a scale (times, *=) is meant", assignment.name,
                     assignment.value, parameter->value, platform.spec.name);
}

TEST(ShippedStudies, ScaleWhatPlatformsHaveInsteadOfRepeatingIt) {
  const Platform platform = mi300x();
  std::size_t studies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(C3SIM_SOURCE_DIR "/configs/studies")) {
    ++studies;
    sim::Config config = sim::Config::from_file(entry.path());
    for (sim::Section& section : config.root().list("axes")) {
      const SweepAxis axis = read_axis(section);
      const bool is_share = axis.dimension == sim::Dimension::number;
      if (section.has("of") && section.has("from")) continue;
      for (const AxisValue& value : axis.values) {
        for (const Assignment& assignment : value.assignments) {
          EXPECT_EQ(stale_copy(assignment, platform), "") << entry.path();
          EXPECT_FALSE(is_share && assignment.name != axis.name && is_of_platform(assignment) && !assignment.scales)
              << entry.path() << ": " << axis.name << " " << value.label << " is a share of today's values, of which "
              << assignment.name << " is not scaled";
        }
      }
    }
  }
  EXPECT_GT(studies, 0u);
}

// The studies once had these copies: a doorbell of 0.1275 us for three quarters of 0.12, a link of 48.5 GB/s.
TEST(ShippedStudies, ACopyThatWentStaleIsNoticed) {
  const Platform platform = mi300x();
  EXPECT_NE(stale_copy({"fabric.link_rate", "48.5 GB/s"}, platform), "");
  EXPECT_NE(stale_copy({"gpu.memory.hbm.peak_rate", "5.3 TB/s"}, platform), "");
  EXPECT_EQ(stale_copy({"fabric.link_rate", "64 GB/s"}, platform), "");
  EXPECT_EQ(stale_copy({"gpu.power.cap", "750 W"}, platform), "") << "a data sheet's";
}

// Half of 0.1 us is 0.05 us; a policy cannot be halved.
TEST(Platforms, ScaleTheirOwnValues) {
  const Platforms platforms(mi300x({"host.doorbell=0.1us"}));
  const std::vector<Assignment> half{{"host.doorbell", "0.5", true}};
  EXPECT_THAT(Platforms::texts(platforms.base(), half), testing::ElementsAre("host.doorbell=0.05 us"));
  const Platform named = mi300x({"host.doorbell=0.05us"});
  const auto gather = collective(models::Backend::sdma, models::CollectiveKind::all_gather, sim::Bytes(65536.0));
  EXPECT_EQ(Testbed(platforms.with(half)).alone(gather), Testbed(named.spec).alone(gather));
  EXPECT_THROW(platforms.with(std::vector{Assignment{"gpu.dispatch.policy", "0.5", true}}), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
