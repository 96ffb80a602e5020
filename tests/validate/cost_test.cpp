#include "validate/cost.h"

#include <numeric>

#include "models/platform/interference.h"
#include "tests/testing.h"
#include "tests/text_file.h"
#include "tests/validate/libraries.h"
#include "validate/evaluation.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using ::testing::Optional;

struct Seen {
  Figure figure = Figure::time;
  double measured = 0.0;
  double predicted = 0.0;
};

// One run of a GEMM of 2 s beside a collective of 4 s, which take 1.9 and 3.8 s by prediction.
std::vector<Case> run(const std::string& where, const std::vector<Seen>& all_seen,
                      study::Strategy strategy = study::Strategy::c3_sp) {
  std::vector<Case> cases;
  for (const Seen& seen : all_seen) {
    Case one;
    one.suite = "s";
    one.group = "g";
    one.where = where;
    one.role = calibrate::Role::predict;
    one.trial = study::C3Trial{.scenario = {}, .strategy = strategy};
    one.figure = seen.figure;
    one.measured = seen.measured;
    one.predicted = seen.predicted;
    one.alone = {.gemm = 2.0, .collective = 4.0};
    one.alone_predicted = {.gemm = 1.9, .collective = 3.8};
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<Case> together(const std::vector<std::vector<Case>>& runs) {
  std::vector<Case> cases;
  for (const auto& one : runs) cases.insert(cases.end(), one.begin(), one.end());
  return cases;
}

TEST(Cost, IsWhatARunTakesBeyondTheLongerOfItsOperationsAlone) {
  const std::vector<Cost> costs = costs_of(run("t.csv:1", {{Figure::time, 5.0, 4.4}}));
  ASSERT_THAT(costs, SizeIs(3));  // all of the suite, its one group and its one table
  for (const Cost& cost : costs) {
    EXPECT_EQ(cost.walls(), 1U);
    EXPECT_DOUBLE_EQ(cost.wall().measured, 5.0 - 4.0);
    EXPECT_DOUBLE_EQ(cost.wall().predicted, 4.4 - 3.8);
    EXPECT_THAT(cost.ratio(), Optional(DoubleNear(0.6, 1e-12)));
  }
  EXPECT_EQ(costs[0].group, "");
  EXPECT_EQ(costs[1].group, "g");
  EXPECT_EQ(costs[2].table, "t.csv");
  EXPECT_EQ(costs[0].name(), "all of it");
  EXPECT_EQ(costs[1].name(), "g");
  EXPECT_EQ(costs[2].name(), "table t.csv");
}

TEST(Cost, OfAnOperationIsHowMuchLongerThanAloneItTakes) {
  // The GEMM takes 2.5 s instead of 2, by prediction 2.28 instead of 1.9; the collective 4.8 and 4.18.
  const std::vector<Cost> costs =
      costs_of(run("t.csv:1", {{Figure::gemm_time, 2.5, 2.28}, {Figure::collective_time, 4.8, 4.18}}));
  ASSERT_THAT(costs, SizeIs(3));
  const auto gemm = costs[0].mean_stretch(&CostOfRun::gemm);
  const auto collective = costs[0].mean_stretch(&CostOfRun::collective);
  ASSERT_TRUE(gemm && collective);
  EXPECT_NEAR(gemm->measured, 0.25, 1e-12);
  EXPECT_NEAR(gemm->predicted, 0.2, 1e-12);
  EXPECT_NEAR(collective->measured, 0.2, 1e-12);
  EXPECT_NEAR(collective->predicted, 0.1, 1e-12);
  EXPECT_EQ(costs[0].walls(), 0U);
  EXPECT_FALSE(costs[0].ratio());
}

// 1 and 0 s of cost, of which 0.6 and 0.2 are predicted: the run that costs nothing has no ratio, the sum has 0.8.
TEST(Cost, OfAGroupIsASum) {
  const std::vector<Cost> costs =
      costs_of(together({run("t.csv:1", {{Figure::time, 5.0, 4.4}}), run("t.csv:2", {{Figure::time, 4.0, 4.0}})}));
  ASSERT_THAT(costs, SizeIs(3));
  EXPECT_EQ(costs[0].walls(), 2U);
  EXPECT_THAT(costs[0].ratio(), Optional(DoubleNear(0.8, 1e-12)));
  EXPECT_FALSE(costs[0].ratio_interval());  // two runs say nothing of their spread
}

TEST(Cost, SamplesLieBetweenTheRunsThatGainMostAndLeast) {
  const auto cost_with = [](double second, double third) {
    return costs_of(together({run("t.csv:1", {{Figure::time, 5.0, 4.4}}), run("t.csv:2", {{Figure::time, 5.0, second}}),
                              run("t.csv:3", {{Figure::time, 5.0, third}})}))
        .front();
  };
  const auto alike = cost_with(4.4, 4.4).ratio_interval();
  ASSERT_TRUE(alike);
  EXPECT_NEAR(alike->low, 0.6, 1e-12);
  EXPECT_NEAR(alike->high, 0.6, 1e-12);
  // Ratios of 0.6, 0.4 and 1 each: samples of three hold one of them alone in 1 of 27 draws, too few for either end.
  const Cost spread = cost_with(4.2, 4.8);
  const auto interval = spread.ratio_interval();
  ASSERT_TRUE(interval);
  EXPECT_GE(interval->low, 0.4);
  EXPECT_LE(interval->high, 1.0);
  EXPECT_TRUE(interval->holds(*spread.ratio()));
  EXPECT_EQ(interval, cost_with(4.2, 4.8).ratio_interval());  // the same every time
}

TEST(Cost, IsOfNoRunOneAfterTheOther) {
  EXPECT_THAT(costs_of(run("t.csv:1", {{Figure::time, 6.0, 5.7}}, study::Strategy::serial)), IsEmpty());
}

// In turn the GEMM takes 1.5 s and the collective 3, by prediction 1.6 and 3.2: of a run of 5 s, predicted 4.4, the
// cost is 2 and 1.2, and not 1 and 0.6. Measured in turn alone, or predicted alone, nothing is known of it.
TEST(Cost, IsOverWhatTheOperationsTakeInTurnWhereThatIsKnown) {
  std::vector<Case> cases = run("t.csv:1", {{Figure::time, 5.0, 4.4}, {Figure::gemm_time, 3.0, 2.4}});
  for (Case& one : cases) {
    one.alone.gemm_in_turn = 1.5;
    one.alone.collective_in_turn = 3.0;
  }
  EXPECT_DOUBLE_EQ(costs_of(cases).front().wall().measured, 5.0 - 4.0);
  for (Case& one : cases) {
    one.alone_predicted.gemm_in_turn = 1.6;
    one.alone_predicted.collective_in_turn = 3.2;
  }
  const Cost cost = costs_of(cases).front();
  EXPECT_DOUBLE_EQ(cost.wall().measured, 5.0 - 3.0);
  EXPECT_DOUBLE_EQ(cost.wall().predicted, 4.4 - 3.2);
  EXPECT_NEAR(cost.mean_stretch(&CostOfRun::gemm)->measured, 3.0 / 1.5 - 1.0, 1e-12);
  EXPECT_NEAR(cost.mean_stretch(&CostOfRun::gemm)->predicted, 2.4 / 1.6 - 1.0, 1e-12);
}

// Beside a hog there is no wall, but the operation is longer than alone.
TEST(Cost, OfAnOperationBesideAHogIsItsOwn) {
  std::vector<Case> cases = run("t.csv:1", {{Figure::gemm_time, 3.0, 2.28}});
  cases.front().trial = study::HogTrial{};
  const Cost cost = costs_of(cases).front();
  EXPECT_EQ(cost.walls(), 0U);
  EXPECT_NEAR(cost.mean_stretch(&CostOfRun::gemm)->measured, 0.5, 1e-12);
}

TEST(Cost, NeedsThePrediction) {
  std::vector<Case> cases = run("t.csv:1", {{Figure::time, 5.0, 4.4}});
  cases.front().predicted.reset();
  EXPECT_THAT(costs_of(cases), IsEmpty());
}

// A GEMM of two waves beside an all-reduce, whatever they were measured to take.
std::vector<Case> a_pair(const std::string& platform) {
  calibrate::Measurement measurement;
  measurement.file = "t.csv";
  measurement.line = 2;
  study::C3Trial trial;
  trial.scenario.gemm = {4096, 4096, 4096};
  trial.scenario.collective = models::CollectiveKind::all_reduce;
  trial.scenario.bytes = sim::Bytes(64.0 * 1024 * 1024);
  trial.strategy = study::Strategy::c3_sp;
  measurement.trial = trial;
  measurement.seen = {{.figure = Figure::time, .value = 1e-3}, {.figure = Figure::gemm_time, .value = 4e-4}};
  measurement.alone = {.gemm = 3e-4, .collective = 5e-4};
  std::vector<Case> cases = cases_of(std::vector{measurement}, "s", platform, 0.1);
  predict(cases, shipped_platform, 1);
  return cases;
}

// Of a machine without any mechanism nothing is left but the order of launches.
TEST(CostsByMechanism, AddUpToWhatGoesAwayWithoutAny) {
  std::vector<Case> cases = a_pair("mi300x");
  split_costs(cases, shipped_platform, 1);
  ASSERT_EQ(cases[0].cost_parts.size(), models::sharing_mechanisms.size());
  EXPECT_TRUE(cases[1].cost_parts.empty()) << "of a GEMM's time";
  const Platforms without_any = [](const Machine& machine) {
    study::Beside asked;
    for (const models::Mechanism mechanism : models::sharing_mechanisms) asked.without.add(mechanism);
    return study::beside(shipped_platform(machine), asked);
  };
  std::vector<Case> bare = cases;
  predict(bare, without_any, 1);
  const double with = *cases[0].predicted - cost_alone_of(cases[0])->predicted;
  const double without = *bare[0].predicted - cost_alone_of(bare[0])->predicted;
  const double parts = std::accumulate(cases[0].cost_parts.begin(), cases[0].cost_parts.end(), 0.0);
  EXPECT_GT(parts, 0.0);
  EXPECT_NEAR(parts, with - without, 1e-12);
  const Cost cost = costs_of(cases).front();
  EXPECT_EQ(cost.parts(), cases[0].cost_parts) << "of one run";
}

// A platform on which probes have told that a workgroup of a collective starts 3 us late, where 0 us is assumed.
TEST(CostsWithoutProbes, AreThoseOfTheValuesBesideProbedOnes) {
  const std::string launch =
      "gpu:\n  memory: {l2: {wait: {value: 0 ns, source: t, kind: assumed, range: [0 ns, 1 ns]}}}\n"
      "  dispatch:\n    workgroup_launch: {value: 3 us, source: t, kind: probed, range: [0 us, 3 us]";
  const std::string head = "base: mi300x\nname: {value: probed, source: t, kind: measured}\n";
  std::vector<Case> cases = a_pair(written("probed_launch.yaml", head + launch + ", alternatives: [0 us]}\n").string());
  predict_unprobed(cases, shipped_platform, 1);
  const std::vector<Case> blind = a_pair(written("blind_launch.yaml", head + launch + "}\n").string());
  const auto cost_with = [&cases](const std::string& assignment) {
    std::vector<Case> assigned = cases;
    for (Case& one : assigned) one.machine.changes = {"gpu.dispatch.workgroup_launch=" + assignment};
    predict(assigned, shipped_platform, 1);
    return *assigned[0].predicted - cost_alone_of(assigned[0])->predicted;
  };
  EXPECT_EQ(cases[0].predicted, blind[0].predicted);
  EXPECT_THAT(cases[0].cost_unprobed, Optional(cost_with("0 us")));
  EXPECT_NE(cases[0].cost_unprobed, cost_with("3 us"));
  EXPECT_FALSE(cases[1].cost_unprobed) << "of a GEMM's time";
  EXPECT_TRUE(costs_of(cases).front().ratio_unprobed().has_value());
  // What the user tries comes last.
  const double tried = cost_with("1 us");
  for (Case& one : cases) one.machine.changes = {"gpu.dispatch.workgroup_launch=1 us"};
  predict_unprobed(cases, shipped_platform, 1);
  EXPECT_THAT(cases[0].cost_unprobed, Optional(tried));
}

}  // namespace
}  // namespace c3sim::validate
