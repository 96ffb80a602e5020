// These tests check studies of pairs: their averages, tables and charts, and the files that ask for them.
#include "study/c3/c3_study.h"

#include <sstream>

#include "sim/config/config.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::CollectiveKind;
using sim::operator""_us;

// Returns a result in which the GEMM alone takes 100 us, the collective alone `collective` and both at once `makespan`.
StudyResult result(CollectiveKind kind, LengthClass length_class, sim::Time collective, sim::Time makespan) {
  StudyResult result;
  result.c3.scenario = {"pair", {1024, 1024, 1024}, kind, sim::Bytes(1024.0)};
  result.c3.strategy = Strategy::c3_sp;
  result.c3.isolated_gemm = 100_us;
  result.c3.isolated_collective = collective;
  result.c3.makespan = makespan;
  result.length_class = length_class;
  return result;
}

// The pair of 100 us each takes 125 us: a speedup of 1.6 where 2 would be ideal, which is 60 % of the ideal gain.
const std::vector<StudyResult> of_one_pair{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};

TEST(C3Study, AnOperationIsLongFromMoreThanTheRatioOn) {
  for (const auto& [gemm, collective, expected] : {std::tuple(116_us, 100_us, LengthClass::g_long),
                                                   {114_us, 100_us, LengthClass::gc_equal},
                                                   {100_us, 114_us, LengthClass::gc_equal},
                                                   {100_us, 116_us, LengthClass::c_long}}) {
    EXPECT_EQ(classify(gemm, collective, 1.15), expected);
  }
}

TEST(C3Study, FractionOfIdealIsZeroForSerialAndOneForTheLonger) {
  const auto fraction = [](sim::Time makespan) {
    return result(CollectiveKind::all_gather, LengthClass::gc_equal, 60_us, makespan).c3.fraction_of_ideal();
  };
  EXPECT_DOUBLE_EQ(fraction(160_us), 0.0);
  EXPECT_DOUBLE_EQ(fraction(100_us), 1.0);
}

TEST(C3Study, SpeedupsAreAveragedWithinGroupsFirst) {
  // One group holds two scenarios with speedups 200/125 = 1.6 and 200/200 = 1 (mean 1.3); another group holds one with
  // 150/100 = 1.5. The mean over groups is (1.3 + 1.5) / 2 = 1.4, where the mean over scenarios would be 4.1 / 3. The
  // ideals are 2 and 1.5, so 1.75 over groups, and the fraction is 0.4 / 0.75. The scenarios' own fractions are 0.6, 0
  // and 1: mean 1.6/3.
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us),
                            result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 200_us),
                            result(CollectiveKind::all_to_all, LengthClass::g_long, 50_us, 100_us)};
  const Average mean = average(results, {Strategy::c3_sp, {}, {}});
  EXPECT_NEAR(mean.speedup, 1.4, 1e-12);
  EXPECT_NEAR(mean.ideal_speedup, 1.75, 1e-12);
  EXPECT_NEAR(mean.fraction_of_ideal, 0.4 / 0.75, 1e-12);
  EXPECT_NEAR(mean.mean_fraction, 1.6 / 3.0, 1e-12);
  EXPECT_NEAR(mean.highest_speedup, 1.6, 1e-12);
  EXPECT_EQ(mean.scenarios, 3U);
}

TEST(C3Study, AnAverageTakesOnlyWhatIsSelected) {
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us),
                            result(CollectiveKind::all_to_all, LengthClass::g_long, 50_us, 100_us)};
  EXPECT_NEAR(average(results, {Strategy::c3_sp, CollectiveKind::all_gather, {}}).speedup, 1.6, 1e-12);
  EXPECT_NEAR(average(results, {Strategy::c3_sp, {}, LengthClass::g_long}).speedup, 1.5, 1e-12);
  EXPECT_EQ(average(results, {Strategy::conccl, {}, {}}).scenarios, 0U);
  EXPECT_EQ(average(results, {Strategy::conccl, {}, {}}).speedup, 0.0);
}

C3Study study_of_one_pair() {
  C3Study study;
  study.name = "one";
  study.pairs = {{"pair", {1024, 1024, 1024}, sim::Bytes(1024.0), LengthClass::gc_equal}};
  study.collectives = {CollectiveKind::all_gather};
  study.strategies = {Strategy::c3_sp};
  study.published[{Strategy::c3_sp, {}}] = {.fraction = 0.42, .highest_speedup = 1.3};
  study.published[{Strategy::c3_sp, CollectiveKind::all_gather}] = {.lowest_fraction = 0.38, .highest_fraction = 0.67};
  return study;
}

TEST(C3StudyTables, StandBesideThePublishedFigures) {
  const ResultTable by_strategy = strategy_table(study_of_one_pair(), of_one_pair);
  ASSERT_EQ(by_strategy.rows().size(), 1U);
  // The columns are strategy, of ideal, published, mean of scenarios, speedup, published (not stated), highest,
  // published, ideal.
  const std::vector<Cell>& row = by_strategy.rows()[0];
  EXPECT_EQ(row[0], Cell(std::string("c3_sp")));
  EXPECT_NEAR(std::get<double>(row[1]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[2]), 42.0, 1e-9);
  EXPECT_EQ(row[5], Cell());
  EXPECT_EQ(row[7], Cell(1.3));
  // In the table by class, the classes without a scenario, G-long and C-long, stay blank.
  const ResultTable by_class = class_table(study_of_one_pair(), of_one_pair);
  const std::vector<Cell>& classes = by_class.rows().at(0);
  EXPECT_EQ(classes[2], Cell());
  EXPECT_EQ(classes[3], Cell());
  EXPECT_NEAR(std::get<double>(classes[4]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(classes[5]), 38.0, 1e-9);
  EXPECT_NEAR(std::get<double>(classes[6]), 67.0, 1e-9);
}

// The heuristic reserves 32 CUs where the sweep does, and 16 where the sweep takes 64: 110 us instead of 100 lose 10 %.
TEST(C3StudyTables, TheHeuristicIsHeldAgainstTheSweep) {
  std::vector<StudyResult> results;
  const auto add = [&](const std::string& pair, Strategy strategy, int cus, sim::Time makespan) {
    results.push_back(result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, makespan));
    results.back().c3.scenario.name = pair;
    results.back().c3.strategy = strategy;
    results.back().c3.reserved_cus = cus;
  };
  add("pair", Strategy::c3_sp_rp, 32, 120_us);
  add("pair", Strategy::heuristic, 32, 120_us);
  add("other", Strategy::c3_sp_rp, 64, 100_us);
  add("other", Strategy::heuristic, 16, 110_us);
  C3Study study = study_of_one_pair();
  study.pairs.push_back(study.pairs.front());
  study.pairs.back().name = "other";
  const std::vector<Cell> row = heuristic_table(study, results).rows().at(0);
  EXPECT_EQ(row[1], Cell(std::int64_t{2}));
  EXPECT_EQ(row[2], Cell(std::int64_t{1}));
  EXPECT_NEAR(std::get<double>(row[3]), 10.0, 1e-9);
  results.resize(1);
  EXPECT_TRUE(heuristic_table(study, results).rows().empty());
}

// The chart has one bar for the group that has a scenario, with a speedup of 1.6 where 2 would be ideal.
TEST(C3StudyCharts, SpeedupsAreDrawnByGroupBesideTheIdeal) {
  const BarChart kernels = speedup_chart(study_of_one_pair(), of_one_pair, PaperFigure::kernels);
  EXPECT_EQ(kernels.series, (std::vector<std::string>{"c3_sp", "ideal"}));
  ASSERT_EQ(kernels.bars.size(), 1U);
  EXPECT_EQ(kernels.bars[0].label, "all_gather GC-equal");
  EXPECT_NEAR(kernels.bars[0].values[0].value(), 1.6, 1e-12);
  EXPECT_NEAR(kernels.bars[0].values[1].value(), 2.0, 1e-12);
  // The published fractions are 38 to 67 % of the ideal gain of 1.
  EXPECT_NEAR(kernels.bars[0].published[0].value().low, 1.38, 1e-12);
  EXPECT_NEAR(kernels.bars[0].published[0].value().high, 1.67, 1e-12);
  EXPECT_FALSE(kernels.bars[0].published[1].has_value());
  EXPECT_EQ(speedup_chart(study_of_one_pair(), of_one_pair, PaperFigure::copy_engines).series,
            (std::vector<std::string>{"ideal"}));
}

// The mean of two classes with speedups of 1.6 and 1.5 is 1.55, where 1.2 was published.
TEST(C3StudyCharts, ThePublishedSpeedupStandsAtTheMeanOfTheClasses) {
  C3Study study = study_of_one_pair();
  study.published[{Strategy::c3_sp, CollectiveKind::all_gather}].speedup = 1.2;
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us),
                            result(CollectiveKind::all_gather, LengthClass::g_long, 50_us, 100_us)};
  const BarChart chart = speedup_chart(study, results, PaperFigure::kernels);
  ASSERT_EQ(chart.bars.size(), 3U);
  EXPECT_EQ(chart.bars[2].label, "all_gather mean");
  EXPECT_NEAR(chart.bars[2].values[0].value(), 1.55, 1e-12);
  EXPECT_EQ(chart.bars[2].published[0].value().low, 1.2);
  EXPECT_EQ(chart.bars[2].published[0].value().high, 1.2);
}

TEST(C3StudyCharts, FractionsStandBesideThePublishedOnesIfAny) {
  C3Study study = study_of_one_pair();
  study.strategies.push_back(Strategy::serial);  // 0 by definition
  const BarChart chart = fraction_chart(study, of_one_pair, "x");
  ASSERT_EQ(chart.bars.size(), 1U);
  EXPECT_EQ(chart.bars[0].label, "c3_sp");
  EXPECT_NEAR(chart.bars[0].values[0].value(), 60.0, 1e-9);
  EXPECT_NEAR(chart.bars[0].published[0].value().low, 42.0, 1e-9);
  study.published.clear();
  EXPECT_FALSE(fraction_chart(study, of_one_pair, "x").bars[0].published[0].has_value());
}

TEST(C3StudyCharts, StandWithTheirTables) {
  const Results answer = study_results(study_of_one_pair(), of_one_pair, "x");
  for (const NamedTable& named : answer.tables) {
    for (const Column& column : named.table.columns()) EXPECT_FALSE(column.key == "published_speedup") << named.key;
  }
  EXPECT_EQ(answer.title, "one on x");
  EXPECT_EQ(answer.tables[1].key, "by_strategy");
  EXPECT_EQ(answer.tables[1].charts.size(), 1U);
  EXPECT_EQ(answer.tables[2].key, "by_class");
  EXPECT_EQ(answer.tables[2].charts.size(), 1U);  // no strategy on copy engines
}

TEST(C3StudyTables, PairsShowTheClassThatFollowsFromTheirTimes) {
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 50_us, 125_us)};
  const std::vector<Cell> row = pair_table(study_of_one_pair(), results).rows().at(0);
  EXPECT_EQ(row[1], Cell(std::string("GC-equal")));
  EXPECT_EQ(row[2], Cell(100.0));
  EXPECT_EQ(row[4], Cell(std::string("G-long")));
}

class C3StudyFileTest : public testing::Test {
 protected:
  C3Study read(sim::Config config) {
    sim::Section root = config.root();
    root.text("platform");
    C3Study study = read_c3_study(root, testbed_);
    config.finish();
    return study;
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(C3StudyFileTest, APairWithoutAClassBelongsToTheOneOfItsTimes) {
  C3Study study;
  study.pairs = {{"long", {8192, 8192, 8192}, sim::Bytes(1048576.0), {}}};
  study.collectives = {models::CollectiveKind::all_gather};
  study.strategies = {Strategy::serial};
  EXPECT_EQ(run_study(testbed_, study).front().length_class, LengthClass::g_long);
}

TEST_F(C3StudyFileTest, WhatAStrategyCannotDoIsLeftOutWithAWarning) {
  const C3Study study = read(sim::Config::from_text(
      "name: small\nplatform: mi300x\ngemms: {cb1: 2048x2048x2048}\ncollectives: [all_gather, reduce_scatter]\n"
      "strategies: [serial, conccl]\npairs:\n  - {gemm: cb1, bytes: 64MiB}\n  - {gemm: cb1, bytes: 8MiB}\n",
      "test.yaml"));
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_THAT(study.warnings.front(), HasSubstr("reduce_scatter is left out of conccl: copy engines do not reduce"));
  const std::vector<StudyResult> results = run_study(testbed_, study);
  EXPECT_EQ(results.size(), 6u);  // two pairs: all-gather twice, reduce-scatter once
  const ResultTable classes = class_table(study, results);
  const std::vector<Cell>& conccl = classes.rows().at(3);
  EXPECT_EQ(conccl.at(0), Cell(std::string("reduce_scatter")));
  EXPECT_EQ(conccl.at(7), Cell()) << "no speedup of what was not run";
}

// Threads share no state that an answer depends on.
TEST_F(C3StudyFileTest, AStudyIsTheSameOnAnyNumberOfThreads) {
  C3Study study;
  study.pairs = {{"a", {4096, 4096, 4096}, sim::Bytes(67108864.0), {}},
                 {"b", {2048, 8192, 2048}, sim::Bytes(16777216.0), LengthClass::c_long}};
  study.collectives = {models::CollectiveKind::all_gather, models::CollectiveKind::all_to_all};
  study.strategies.assign(all_strategies().begin(), all_strategies().end());
  const auto csv = [&](int jobs) {
    Testbed testbed(testbed_.platform());
    std::ostringstream out;
    write(study_results(study, run_study(testbed, study, {}, jobs), "mi300x"), Format::json, out);
    return out.str();
  };
  const std::string on_one = csv(1);
  EXPECT_EQ(csv(2), on_one);
  EXPECT_EQ(csv(5), on_one);
}

}  // namespace
}  // namespace c3sim::study
