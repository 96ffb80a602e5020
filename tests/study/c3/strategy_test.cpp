#include "study/c3/strategy.h"

#include "study/program/scenario.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;
using sim::operator""_us;

const Scenario pair{"small", {4096, 4096, 4096}, models::CollectiveKind::all_gather, 64_MiB};

class StrategyTest : public testing::Test {
 protected:
  C3Result run(Strategy strategy) { return run_strategy(testbed_, pair, strategy); }

  Testbed testbed_{mi300x().spec};
};

// A GEMM of 100 us beside a collective of 60 us.
TEST(C3Results, FractionOfIdealIsZeroForSerialAndOneForTheLonger) {
  C3Result result;
  result.isolated_gemm = 100_us;
  result.isolated_collective = 60_us;
  result.makespan = 160_us;
  EXPECT_DOUBLE_EQ(result.fraction_of_ideal(), 0.0);
  result.makespan = 100_us;
  EXPECT_DOUBLE_EQ(result.fraction_of_ideal(), 1.0);
}

// The pair is too short for the clock to fall. In series it saves, against both alone, the launch of the collective,
// which the GEMM hides, and the host's look at the end of the GEMM.
TEST_F(StrategyTest, SerialTakesWhatBothTakeInTurn) {
  const C3Result result = run(Strategy::serial);
  const models::HostSpec& host = testbed_.platform().host;
  EXPECT_EQ(result.collective_start, result.gemm - host.kernel_notice);
  EXPECT_EQ(result.makespan, result.collective);
  const sim::Time saved = result.isolated_sum() - result.makespan;
  EXPECT_GE(saved, sim::Time::zero());
  EXPECT_LE(saved, host.kernel_launch + host.kernel_notice);
}

// The power cap of an H200 slows a GEMM alone in a loop more than a GEMM that takes turns with a collective.
TEST(SerialTest, IsFasterThanTheLoopsOfBothWhereTheGemmHoldsTheCap) {
  Testbed testbed(h200().spec);
  const Scenario capped{"capped", {8192, 28672, 8192}, models::CollectiveKind::all_gather, sim::Bytes(4e9)};
  const C3Result result = run_strategy(testbed, capped, Strategy::serial);
  EXPECT_LT(result.makespan, result.isolated_sum());
  EXPECT_GT(result.makespan, std::max(result.isolated_gemm, result.isolated_collective));
}

// The GEMM ends before the collective's last launch, so that the order of the two changes nothing.
TEST(SerialTest, WaitsForTheLastGpuAsAConcurrentRunDoes) {
  Testbed testbed(h200().spec);
  const Scenario brief{"brief", {2048, 1024, 512}, models::CollectiveKind::all_to_all, sim::Bytes(65536.0)};
  EXPECT_EQ(run_strategy(testbed, brief, Strategy::serial).makespan,
            run_strategy(testbed, brief, Strategy::c3_base).makespan);
}

// A node at rest has links asleep, whose power the GEMM alone has as well as the GEMM before the collective.
TEST(SerialTest, IsNoFasterThanItsGemmAloneFromRest) {
  Testbed testbed(mi300x({"host.protocol=shot"}).spec);
  const Scenario scenario{"", {16384, 2048, 16384}, models::CollectiveKind::all_to_all, sim::Bytes(262144.0)};
  const C3Result result = run_strategy(testbed, scenario, Strategy::serial);
  EXPECT_GE(result.makespan, result.isolated_gemm);
}

TEST_F(StrategyTest, NoStrategyBeatsTheLongerOfItsOwnOperations) {
  for (const Strategy strategy : all_strategies()) {
    const C3Result result = run(strategy);
    // Reserving CUs can speed a GEMM up by better sharing of caches, though by no more than a few percent.
    const sim::Time longer = std::max(result.isolated_gemm, result.collective_alone);
    EXPECT_GE(sim::to_seconds(result.makespan), 0.95 * sim::to_seconds(longer)) << to_string(strategy);
    EXPECT_EQ(result.makespan, std::max(result.gemm, result.collective)) << to_string(strategy);
  }
}

TEST_F(StrategyTest, TheBestIsTheFastestOfTheKernelStrategies) {
  sim::Time fastest = sim::Time::max();
  for (const Strategy strategy : {Strategy::c3_base, Strategy::c3_sp, Strategy::c3_rp, Strategy::c3_sp_rp}) {
    fastest = std::min(fastest, run(strategy).makespan);
  }
  const C3Result best = run(Strategy::c3_best);
  EXPECT_EQ(best.makespan, fastest);
  EXPECT_EQ(best.strategy, Strategy::c3_best);
  EXPECT_EQ(run(best.chosen).makespan, fastest);
}

TEST_F(StrategyTest, AReservationIsTheFastestOfThoseTried) {
  const C3Result best = run(Strategy::c3_rp);
  EXPECT_THAT(cu_reservations(testbed_.platform()), Contains(best.reserved_cus));
  const Operation& gemm = best.schedule[0];
  const Operation& collective = best.schedule[1];
  EXPECT_EQ(collective.mask, (models::CuMask{0, best.reserved_cus / 8}));
  EXPECT_EQ(gemm.mask, (models::CuMask{best.reserved_cus / 8, 38}));
}

TEST_F(StrategyTest, NothingIsReservedWhereNothingWouldBeLeftAndThatIsSaid) {
  Testbed tiny(mi300x({"gpu.cus_per_xcd=1"}).spec);
  EXPECT_THAT(cu_reservations(tiny.platform()), IsEmpty());
  const C3Result reserving = run_strategy(tiny, pair, Strategy::c3_rp);
  EXPECT_EQ(reserving.makespan, run_strategy(tiny, pair, Strategy::c3_base).makespan);
  EXPECT_THAT(reservation_warnings(tiny, std::vector{reserving}), ElementsAre(HasSubstr("c3_rp reserves nothing")));
}

// The reduce-scatter of an all-reduce runs as kernels; confined to the CUs that the GEMM lacks it took twice as long.
TEST_F(StrategyTest, ConcclRpKeepsCusFromTheGemmNotFromTheCollective) {
  const Scenario scenario{"", {100, 100, 100000}, models::CollectiveKind::all_reduce, 2560_MiB};
  const C3Result with = run_strategy(testbed_, scenario, Strategy::conccl_rp);
  const C3Result without = run_strategy(testbed_, scenario, Strategy::conccl);
  EXPECT_EQ(with.reserved_cus, 8);
  EXPECT_LT(sim::to_seconds(with.makespan), 1.05 * sim::to_seconds(without.makespan));
}

TEST_F(StrategyTest, ConcclRpKeepsAsManyCusAsItIsTold) {
  Scenario scenario = pair;
  for (const int cus : {0, 16}) {
    scenario.reserved = cus;
    const C3Result result = run_strategy(testbed_, scenario, Strategy::conccl_rp);
    EXPECT_EQ(result.reserved_cus, cus);
    EXPECT_EQ(result.schedule[0].mask, reserve(testbed_.platform(), cus).gemm);
    EXPECT_EQ(result.schedule[1].mask, models::CuMask{});
  }
}

TEST_F(StrategyTest, EnginesDoTheVariantThatIsAskedForAndKernelsDoNot) {
  Scenario scenario = pair;
  scenario.variant = models::SdmaVariant::bcst;
  scenario.prelaunch = true;
  const models::CollectiveSpec engines = collective_of(scenario, Strategy::conccl, testbed_.platform());
  EXPECT_EQ(engines.variant, models::SdmaVariant::bcst);
  EXPECT_TRUE(engines.prelaunch);
  EXPECT_EQ(collective_of(scenario, Strategy::c3_sp, testbed_.platform()),
            collective_of(pair, Strategy::c3_sp, testbed_.platform()));
}

TEST_F(StrategyTest, ItIsSaidWhereASearchDidNotSettle) {
  C3Result result = run(Strategy::c3_base);
  EXPECT_THAT(settling_warnings(std::vector{result}), IsEmpty());
  result.settled = false;
  EXPECT_THAT(settling_warnings(std::vector{result}),
              ElementsAre(HasSubstr("c3_base: how long GPUs without barriers wait for each other did "
                                    "not settle in 8 runs")));
}

// Where launches are hidden the GEMM and the collective have other gaps before them, and a GEMM its start-up, but CUs
// go to the kernel that was launched first.
TEST(LaunchOrderTest, IsKeptByEveryProtocol) {
  for (const models::Protocol protocol :
       {models::Protocol::rounds, models::Protocol::stream, models::Protocol::graph}) {
    models::PlatformSpec platform = h200().spec;
    platform.host.protocol = protocol;
    Testbed testbed(platform);
    const Scenario full{"full", {8192, 8192, 8192}, models::CollectiveKind::all_gather, 512_MiB};
    const C3Result base = run_strategy(testbed, full, Strategy::c3_base);
    const C3Result first = run_strategy(testbed, full, Strategy::c3_sp);
    EXPECT_GT(base.collective, base.gemm + first.collective / 2) << to_string(protocol);
    EXPECT_LT(first.gemm, base.collective) << to_string(protocol);
    EXPECT_LT(first.collective, base.collective) << to_string(protocol);
  }
}

TEST_F(StrategyTest, ConcclRunsTheCollectiveOnCopyEnginesAgainstRcclsSerialTime) {
  const C3Result result = run(Strategy::conccl);
  EXPECT_EQ(collective_of(pair, Strategy::conccl, testbed_.platform()).backend, models::Backend::sdma);
  EXPECT_EQ(result.isolated_collective, run(Strategy::serial).isolated_collective);
  EXPECT_NE(result.collective_alone, result.isolated_collective);
  EXPECT_EQ(result.reserved_cus, 0);
}

// A split of the CUs is compared with the whole GPU; channels without a split, with the same number of channels.
TEST_F(StrategyTest, ASplitIsHeldAgainstTheLibrarysOwnChannels) {
  Scenario few = pair;
  few.channels = 8;
  few.reserved = 8;
  const C3Result whole = run_strategy(testbed_, pair, Strategy::c3_sp);
  const C3Result split = run_strategy(testbed_, few, Strategy::c3_sp_rp);
  EXPECT_EQ(split.isolated_collective, whole.isolated_collective);
  EXPECT_EQ(split.collective_alone, whole.isolated_collective);
  EXPECT_GT(run_strategy(testbed_, few, Strategy::c3_sp).isolated_collective, whole.isolated_collective);
}

TEST_F(StrategyTest, ConcclKeepsCusFromMemoryBoundGemmsOnly) {
  for (const models::GemmShape& shape : {models::GemmShape{8192, 57344, 8192}, models::GemmShape{8192, 8192, 8192}}) {
    Scenario scenario = pair;
    scenario.gemm = shape;
    EXPECT_EQ(run_strategy(testbed_, scenario, Strategy::conccl_rp).reserved_cus,
              testbed_.is_memory_bound(shape) ? 8 : 0)
        << models::to_string(shape);
  }
}

}  // namespace
}  // namespace c3sim::study
