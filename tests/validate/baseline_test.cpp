#include <fmt/format.h>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"
#include "validate/evaluation.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using study::Strategy;
using ::testing::Eq;
using ::testing::Optional;
using sim::operator""_us;
using sim::operator""_MiB;

testing::Matcher<std::optional<double>> near(double value) { return Optional(DoubleNear(value, rounding * value)); }

std::vector<Case> with_baselines(std::vector<Case> cases) {
  for (Case& one : cases) one.machine.platform = "mi300x";
  add_baselines(cases, shipped_platform);
  return cases;
}
Baselines baselines_of(const Case& one) { return with_baselines({one}).at(0).baselines; }

// A GEMM of 5 s and a collective of 3 s, alone.
Case pair(Strategy strategy, Figure figure, sim::Time delay = sim::Time(0)) {
  Case one = measured(6.0, {}, figure);
  study::C3Trial trial;
  trial.strategy = strategy;
  trial.scenario.collective = models::CollectiveKind::all_reduce;
  trial.scenario.bytes = 64_MiB;
  trial.scenario.delay = delay;
  one.trial = trial;
  one.suite = "s";
  one.alone = {.gemm = 5.0, .collective = 3.0, .tiles = {}};
  return one;
}

constexpr sim::Time second = 1000000_us;

// At once a run takes the longer of the two and one after the other the sum. The second of them waits for the first,
// and its own time counts from its launch: under c3_base the collective, under c3_sp the GEMM. Launched 1 s later, the
// GEMM ends at 1 + 5 at once; one after the other it waits for second 3, ends at 8, and took 7 since its launch.
// Launched at 4 s it waits for nobody, and all ends at 9.
TEST(Baselines, OfTwoOperationsCountWhoWaitsForWhom) {
  struct Row {
    Strategy strategy;
    Figure figure;
    int delay;  // in s
    double perfect, serial;
  };
  const std::vector<Row> rows{{Strategy::c3_base, Figure::time, 0, 5.0, 8.0},
                              {Strategy::c3_base, Figure::over_longer, 0, 1.0, 8.0 / 5.0},
                              {Strategy::c3_base, Figure::gemm_time, 0, 5.0, 5.0},
                              {Strategy::c3_base, Figure::collective_time, 0, 3.0, 8.0},
                              {Strategy::c3_sp, Figure::gemm_time, 0, 5.0, 8.0},
                              {Strategy::c3_sp, Figure::collective_time, 0, 3.0, 3.0},
                              {Strategy::c3_sp, Figure::gemm_stretch, 0, 1.0, 8.0 / 5.0},
                              {Strategy::c3_sp, Figure::time, 1, 6.0, 8.0},
                              {Strategy::c3_sp, Figure::gemm_time, 1, 5.0, 7.0},
                              {Strategy::c3_sp, Figure::gemm_time, 4, 5.0, 5.0},
                              {Strategy::c3_sp, Figure::time, 4, 9.0, 9.0}};
  for (const Row& row : rows) {
    const Baselines baselines = baselines_of(pair(row.strategy, row.figure, row.delay * second));
    SCOPED_TRACE(fmt::format("{}, {}, {} s", to_string(row.strategy), study::form_of(row.figure).key, row.delay));
    EXPECT_THAT(baselines.perfect, near(row.perfect));
    EXPECT_THAT(baselines.serial, near(row.serial));
  }
}

TEST(Baselines, OfAGatherThatFeedsAGemmBeginWithTheGather) {
  Case one = pair(Strategy::c3_base, Figure::time);
  one.trial = study::DependentTrial{.shape = {8, 8, 8}, .schedule = study::dependent_schedule("shard_overlap")};
  EXPECT_THAT(baselines_of(one).perfect, near(5.0));
  EXPECT_THAT(baselines_of(one).serial, near(8.0));
}

TEST(Baselines, NeedWhatWasMeasuredAlone) {
  Case one = pair(Strategy::c3_sp, Figure::gemm_time);
  one.alone.collective.reset();
  EXPECT_THAT(baselines_of(one).perfect, near(5.0));
  EXPECT_THAT(baselines_of(one).serial, Eq(std::nullopt));
  one.figure = Figure::time;
  EXPECT_THAT(baselines_of(one).perfect, Eq(std::nullopt));
  one.alone = {};
  EXPECT_THAT(baselines_of(one).perfect, Eq(std::nullopt));
  EXPECT_THAT(baselines_of(one).constant, Eq(std::nullopt));
}

// Times of power and of what has no rule.
TEST(Baselines, OfPowerAreNone) {
  EXPECT_THAT(baselines_of(pair(Strategy::c3_sp, Figure::power)).perfect, Eq(std::nullopt));
  EXPECT_THAT(baselines_of(pair(Strategy::c3_sp, Figure::power)).serial, Eq(std::nullopt));
}

// Of 304 CUs 32 go to channels: 304 tiles, one wave on all, take two on 272.
TEST(Baselines, CountWholeWavesOfTiles) {
  Case one = pair(Strategy::c3_sp, Figure::gemm_time);
  one.alone.tiles = 304.0;
  std::get<study::C3Trial>(one.trial).scenario.channels = 32;
  EXPECT_THAT(baselines_of(one).waves, near(2.0 * 5.0));
  one.figure = Figure::gemm_stretch;
  EXPECT_THAT(baselines_of(one).waves, near(2.0));
  // 1184 tiles: ceil(1184/304) = 4 waves, ceil(1184/272) = 5.
  one.alone.tiles = 1184.0;
  EXPECT_THAT(baselines_of(one).waves, near(5.0 / 4.0));
  one.figure = Figure::collective_time;
  EXPECT_THAT(baselines_of(one).waves, Eq(std::nullopt));
}

// mi300x.yaml gives an all-gather 56 channels: ceil(304/248) = 2.
TEST(Baselines, TakeTheLibrarysChannelsWhereNoneAreGiven) {
  Case one = pair(Strategy::c3_sp, Figure::gemm_stretch);
  one.alone.tiles = 304.0;
  auto& scenario = std::get<study::C3Trial>(one.trial).scenario;
  scenario.collective = models::CollectiveKind::all_gather;
  ASSERT_EQ(shipped_platform({"mi300x", {}}).spec.rccl.channels(scenario.collective, {}), 56);
  EXPECT_THAT(baselines_of(one).waves, near(2.0));
  // 200 tiles fit beside them at once.
  one.alone.tiles = 200.0;
  EXPECT_THAT(baselines_of(one).waves, near(1.0));
}

// 16 CUs are reserved, which leaves 288: 608 tiles take 3 waves instead of 2, and 576 still 2. On the 248 CUs that
// channels leave where nothing is reserved, 576 take 3.
TEST(Baselines, TakeReservedCusFromTheGemmUnderStrategiesThatReserve) {
  Case one = pair(Strategy::c3_sp_rp, Figure::gemm_stretch);
  one.alone.tiles = 608.0;
  auto& scenario = std::get<study::C3Trial>(one.trial).scenario;
  scenario.channels = 56;
  scenario.reserved = 16;
  EXPECT_THAT(baselines_of(one).waves, near(3.0 / 2.0));
  one.alone.tiles = 576.0;
  EXPECT_THAT(baselines_of(one).waves, near(1.0));
  // c3_sp reserves nothing, whatever is written there.
  std::get<study::C3Trial>(one.trial).strategy = Strategy::c3_sp;
  EXPECT_THAT(baselines_of(one).waves, near(3.0 / 2.0));
}

TEST(Baselines, OnEnginesOrOneAfterTheOtherLoseNoCus) {
  for (const Strategy strategy : {Strategy::conccl, Strategy::conccl_rp, Strategy::serial}) {
    Case one = pair(strategy, Figure::gemm_stretch);
    one.alone.tiles = 304.0;
    EXPECT_THAT(baselines_of(one).waves, near(1.0)) << to_string(strategy);
  }
}

// On 152 of 304 CUs: 304 tiles take two waves instead of one, so twice the time on all of them.
TEST(Baselines, OfAGemmOnFewerCusAreWholeWavesToo) {
  Case one = measured(9.0, {});
  one.trial = study::GemmTrial{.shape = {8192, 8192, 8192}, .cus = 152};
  one.alone = {.gemm = 5.0, .collective = {}, .tiles = 304.0};
  EXPECT_THAT(baselines_of(one).waves, near(10.0));
  EXPECT_THAT(baselines_of(one).perfect, Eq(std::nullopt));
  one.figure = Figure::flop_rate;
  EXPECT_THAT(baselines_of(one).waves, Eq(std::nullopt));
}

Case gemm(double seconds, std::int64_t m, calibrate::Role role) {
  Case one = measured(seconds, {});
  one.suite = "s";
  one.role = role;
  one.trial = study::GemmTrial{.shape = {m, 8192, 8192}};
  return one;
}

// Compute-bound GEMMs take a time at peak in proportion to m. Calibrate rows took 2 and 8 units of it, 4 in the
// geometric mean: of the row to predict, three times as large as the first, 12.
TEST(ConstantFactor, IsTheGeometricMeanOfCalibrateRows) {
  const auto calibrate = calibrate::Role::calibrate;
  const std::vector<Case> cases = with_baselines(
      {gemm(2.0, 8192, calibrate), gemm(16.0, 16384, calibrate), gemm(100.0, 24576, calibrate::Role::predict)});
  EXPECT_THAT(cases[0].baselines.constant, near(4.0));
  EXPECT_THAT(cases[1].baselines.constant, near(8.0));
  EXPECT_THAT(cases[2].baselines.constant, near(12.0));
}

// Without them, of each case the others tell: 8 of the first, 2 of the second.
TEST(ConstantFactor, LeavesOneOutWithoutCalibrateRows) {
  const auto predict = calibrate::Role::predict;
  const std::vector<Case> cases = with_baselines({gemm(2.0, 8192, predict), gemm(16.0, 16384, predict)});
  EXPECT_THAT(cases[0].baselines.constant, near(8.0));
  EXPECT_THAT(cases[1].baselines.constant, near(4.0));
  EXPECT_THAT(baselines_of(gemm(2.0, 8192, predict)).constant, Eq(std::nullopt));  // nobody else
}

// Slowdowns over perfect overlap (5 s) are 1.2 and, of another strategy, 2: each its own.
TEST(ConstantFactor, StandsPerSuiteOperationStrategyAndFigure) {
  std::vector<Case> cases{pair(Strategy::c3_sp, Figure::time), pair(Strategy::c3_sp, Figure::time),
                          pair(Strategy::c3_base, Figure::time), pair(Strategy::c3_sp, Figure::collective_time)};
  cases[2].measured = 10.0;
  for (Case& one : cases) one.role = calibrate::Role::calibrate;
  cases[1].role = calibrate::Role::predict;
  cases[1].alone.gemm = 10.0;
  cases = with_baselines(cases);
  EXPECT_THAT(cases[1].baselines.constant, near(1.2 * 10.0));
  EXPECT_THAT(cases[2].baselines.constant, near(10.0));
  EXPECT_THAT(cases[3].baselines.constant, near(6.0));  // of 3 s alone, 2
}

// A rate and a power are a factor of one case's over another's: 4 and 9 give 6, nothing but the figure itself known.
TEST(ConstantFactor, OfOtherFiguresIsTheirMean) {
  std::vector<Case> cases{measured(4.0, {}, Figure::power), measured(9.0, {}, Figure::power),
                          measured(1.0, {}, Figure::power)};
  for (Case& one : cases) one.role = calibrate::Role::calibrate;
  cases[2].role = calibrate::Role::predict;
  EXPECT_THAT(with_baselines(cases)[2].baselines.constant, near(6.0));
  for (Case& one : cases) one.figure = Figure::copy_share;
  EXPECT_THAT(with_baselines(cases)[2].baselines.constant, Eq(std::nullopt));  // of shares there is no factor
}

TEST(OperationOf, IsTheOneThatTheFigureIsAbout) {
  for (const auto& [figure, operation] :
       std::vector<std::pair<Figure, std::string>>{{Figure::time, "both"},
                                                   {Figure::over_longer, "both"},
                                                   {Figure::gemm_time, "GEMM"},
                                                   {Figure::gemm_stretch, "GEMM"},
                                                   {Figure::collective_time, "collective"},
                                                   {Figure::power, "board power"}}) {
    EXPECT_EQ(operation_of(pair(Strategy::c3_sp, figure)), operation);
  }
  const Case alone = gemm(1.0, 8, calibrate::Role::predict);
  EXPECT_EQ(operation_of(alone), "gemm");
  EXPECT_EQ(strategy_of(pair(Strategy::c3_sp, Figure::time)), "c3_sp");
  EXPECT_EQ(strategy_of(alone), "");
}

}  // namespace
}  // namespace c3sim::validate
