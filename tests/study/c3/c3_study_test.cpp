#include "study/c3/c3_study.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace c3sim::study {
namespace {

using models::CollectiveKind;
using sim::operator""_us;

// A scenario whose GEMM takes 100 us and whose collective `collective`, run at once in `makespan`.
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

TEST(C3Study, AnOperationIsLongFromMoreThanTheRatioOn) {
  EXPECT_EQ(classify(116_us, 100_us, 1.15), LengthClass::g_long);
  EXPECT_EQ(classify(114_us, 100_us, 1.15), LengthClass::gc_equal);
  EXPECT_EQ(classify(100_us, 114_us, 1.15), LengthClass::gc_equal);
  EXPECT_EQ(classify(100_us, 116_us, 1.15), LengthClass::c_long);
}

TEST(C3Study, FractionOfIdealIsZeroForSerialAndOneForTheLonger) {
  EXPECT_DOUBLE_EQ(result(CollectiveKind::all_gather, LengthClass::gc_equal, 60_us, 160_us).c3.fraction_of_ideal(),
                   0.0);
  EXPECT_DOUBLE_EQ(result(CollectiveKind::all_gather, LengthClass::gc_equal, 60_us, 100_us).c3.fraction_of_ideal(),
                   1.0);
}

TEST(C3Study, SpeedupsAreAveragedWithinGroupsFirst) {
  // One group holds two scenarios with speedups 200/125 = 1.6 and 200/200 = 1 (mean 1.3), another holds one with
  // 150/100 = 1.5. Over groups: (1.3 + 1.5) / 2 = 1.4, where over scenarios it would be 4.1 / 3. The ideals are 2 and
  // 1.5, so 1.75 over groups, and the fraction is 0.4 / 0.75. The scenarios' own fractions are 0.6, 0 and 1:
  // mean 1.6/3.
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
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};
  const ResultTable by_strategy = strategy_table(study_of_one_pair(), results);
  ASSERT_EQ(by_strategy.rows().size(), 1U);
  // Columns: strategy, of ideal, published, mean of scenarios, speedup, published (not said), highest, published,
  // ideal.
  EXPECT_EQ(by_strategy.rows()[0][0], Cell(std::string("c3_sp")));
  EXPECT_NEAR(std::get<double>(by_strategy.rows()[0][1]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(by_strategy.rows()[0][2]), 42.0, 1e-9);
  EXPECT_EQ(by_strategy.rows()[0][5], Cell());
  EXPECT_EQ(by_strategy.rows()[0][7], Cell(1.3));
}

TEST(C3StudyTables, ClassesWithoutAScenarioStayBlank) {
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};
  const ResultTable by_class = class_table(study_of_one_pair(), results);
  const std::vector<Cell>& row = by_class.rows().at(0);
  EXPECT_EQ(row[2], Cell());  // G-long
  EXPECT_EQ(row[3], Cell());  // C-long
  EXPECT_NEAR(std::get<double>(row[4]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5]), 38.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[6]), 67.0, 1e-9);
}

// The heuristic reserves 32 CUs as the sweep does, and 16 where it takes 64: 110 us instead of 100 are a loss of 10 %.
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

// One bar for the group that has a scenario, of speedup 1.6 where 2 would be ideal.
TEST(C3StudyCharts, SpeedupsAreDrawnByGroupBesideTheIdeal) {
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};
  const BarChart kernels = speedup_chart(study_of_one_pair(), results, PaperFigure::kernels);
  EXPECT_EQ(kernels.series, (std::vector<std::string>{"c3_sp", "ideal"}));
  ASSERT_EQ(kernels.bars.size(), 1U);
  EXPECT_EQ(kernels.bars[0].label, "all_gather GC-equal");
  EXPECT_NEAR(kernels.bars[0].values[0].value(), 1.6, 1e-12);
  EXPECT_NEAR(kernels.bars[0].values[1].value(), 2.0, 1e-12);
  // 38 to 67 % of the ideal gain of 1.
  EXPECT_NEAR(kernels.bars[0].published[0].value().low, 1.38, 1e-12);
  EXPECT_NEAR(kernels.bars[0].published[0].value().high, 1.67, 1e-12);
  EXPECT_FALSE(kernels.bars[0].published[1].has_value());
  EXPECT_EQ(speedup_chart(study_of_one_pair(), results, PaperFigure::copy_engines).series,
            (std::vector<std::string>{"ideal"}));
}

// Over two classes, with speedups of 1.6 and 1.5: 1.55, where 1.2 was published.
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
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};
  C3Study study = study_of_one_pair();
  study.strategies.push_back(Strategy::serial);  // 0 by definition
  const BarChart chart = fraction_chart(study, results, "x");
  ASSERT_EQ(chart.bars.size(), 1U);
  EXPECT_EQ(chart.bars[0].label, "c3_sp");
  EXPECT_NEAR(chart.bars[0].values[0].value(), 60.0, 1e-9);
  EXPECT_NEAR(chart.bars[0].published[0].value().low, 42.0, 1e-9);
  study.published.clear();
  EXPECT_FALSE(fraction_chart(study, results, "x").bars[0].published[0].has_value());
}

TEST(C3StudyCharts, StandWithTheirTables) {
  const std::vector results{result(CollectiveKind::all_gather, LengthClass::gc_equal, 100_us, 125_us)};
  const Results answer = study_results(study_of_one_pair(), results, "x");
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

}  // namespace
}  // namespace c3sim::study
