#include "study/explain/slowdown.h"

#include <cmath>
#include <numeric>

#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Mechanism;
using sim::operator""_MiB;
using sim::operator""_us;

const Scenario all_to_all{"small", {8192, 8192, 8192}, models::CollectiveKind::all_to_all, 128_MiB};

std::vector<Slowdown> of(Strategy strategy, const models::PlatformSpec& platform = mi300x().spec) {
  Testbed testbed(platform);
  return split_slowdowns(platform, answer_c3(testbed, all_to_all, std::array{strategy}).runs);
}

const Slowdown& slowdown_of(const std::vector<Slowdown>& slowdowns, const std::string& name) {
  return *std::find_if(slowdowns.begin(), slowdowns.end(), [&](const Slowdown& s) { return s.operation == name; });
}

double percent(const Slowdown& slowdown, Mechanism mechanism) {
  return slowdown.percent(slowdown.parts[static_cast<std::size_t>(mechanism)]);
}

TEST(Slowdown, PartsAndRestAddUpToTheWhole) {
  for (const Strategy strategy : all_strategies()) {
    for (const Slowdown& slowdown : of(strategy)) {
      const sim::Time sum = std::accumulate(slowdown.parts.begin(), slowdown.parts.end(), slowdown.rest());
      EXPECT_EQ(slowdown.alone + sum, slowdown.together) << to_string(strategy);
    }
  }
}

// The host launches one after the other: a kernel takes 6 us, seven copies seven doorbells 0.76 us apart. Channels on
// too few CUs are another matter: the second round waits for a first one that the clock slows down, which belongs to
// both.
TEST(Slowdown, WhatNoMechanismExplainsIsTheOrderOfLaunches) {
  for (const Strategy strategy : all_strategies()) {
    for (const Slowdown& slowdown : of(strategy)) {
      const bool in_rounds = percent(slowdown, Mechanism::dispatch_wait) > 50.0 && slowdown.operation == "collective";
      if (in_rounds && strategy != Strategy::c3_base) continue;
      EXPECT_LE(std::abs(sim::to_microseconds(slowdown.rest())), 7.0) << to_string(strategy) << slowdown.operation;
    }
  }
}

sim::Time part(const Slowdown& slowdown, Mechanism mechanism) {
  return slowdown.parts[static_cast<std::size_t>(mechanism)];
}

// But for what the GPU remembers: links are awake, and caches cold. The second one is queued behind the first, and
// launched in its time.
TEST(Slowdown, OneAfterTheOtherIsSlowerByWhatCameBeforeAlone) {
  const std::vector<Slowdown> serial = of(Strategy::serial);
  ASSERT_EQ(serial.size(), 2u);
  EXPECT_GT(percent(serial[0], Mechanism::awake), 1.0);
  EXPECT_GT(percent(serial[0], Mechanism::cold), 0.3);
  EXPECT_EQ(serial[0].together - serial[0].alone,
            part(serial[0], Mechanism::awake) + part(serial[0], Mechanism::cold) + serial[0].rest());
  EXPECT_LE(std::abs(serial[0].rest().count()), 1);  // halves of a picosecond
  EXPECT_EQ(serial[1].together, serial[1].alone - mi300x().spec.host.kernel_launch);
}

// Behind a GEMM that refills its CUs a collective waits for the tail of the GEMM, which loses next to nothing to it
// (docs/decisions.md 3); launched first, it waits for nothing, and the GEMM loses its CUs.
TEST(Slowdown, TheOrderOfLaunchesDecidesWhoWaitsForCus) {
  const std::vector<Slowdown> base = of(Strategy::c3_base);
  EXPECT_GT(percent(slowdown_of(base, "collective"), Mechanism::dispatch_wait), 50.0);
  EXPECT_LT(percent(slowdown_of(base, "gemm"), Mechanism::cu_loss), 3.0);
  const std::vector<Slowdown> first = of(Strategy::c3_sp);
  EXPECT_EQ(percent(slowdown_of(first, "collective"), Mechanism::dispatch_wait), 0.0);
  EXPECT_GT(percent(slowdown_of(first, "gemm"), Mechanism::cu_loss), 5.0);
}

// A governor that undershoots tells in rounds alone, and parts still add up to what is measured against a loop.
TEST(Slowdown, WhatCameBeforeIsToldFromSharing) {
  models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(percent(slowdown_of(of(Strategy::conccl, platform), "gemm"), Mechanism::undershoot), 0.0);
  platform.host.protocol = models::Protocol::rounds;
  const std::vector<Slowdown> in_rounds = of(Strategy::c3_sp, platform);
  const Slowdown& gemm = slowdown_of(in_rounds, "gemm");
  EXPECT_GT(std::abs(percent(gemm, Mechanism::undershoot)), 0.3) << "below 0 where pauses let it burst";
  EXPECT_GT(percent(gemm, Mechanism::clock), 1.0);
  EXPECT_LT(std::abs(gemm.percent(gemm.rest())), 1.0);
  EXPECT_EQ(gemm.alone + std::accumulate(gemm.parts.begin(), gemm.parts.end(), gemm.rest()), gemm.together);
}

// Engines take no CUs, have no clock, and lie below the L2s.
TEST(Slowdown, OnCopyEnginesNothingIsLostToCusOrL2) {
  for (const Slowdown& slowdown : of(Strategy::conccl)) {
    for (const Mechanism mechanism : {Mechanism::cu_loss, Mechanism::dispatch_wait, Mechanism::l2, Mechanism::link}) {
      EXPECT_EQ(percent(slowdown, mechanism), 0.0) << slowdown.operation << to_string(mechanism);
    }
  }
}

TEST(Slowdown, AMachineWithoutAMechanismOwesItNothing) {
  models::PlatformSpec platform = mi300x().spec;
  platform.without.add(Mechanism::dispatch_wait);
  for (const Slowdown& slowdown : of(Strategy::c3_base, platform)) {
    EXPECT_EQ(percent(slowdown, Mechanism::dispatch_wait), 0.0);
  }
}

// Alone in 100 us, together in 125: 20 % L2, -5 % clock, and so 10 % of the rest.
TEST(SlowdownTables, AreInPercentOfTheTimeAlone) {
  Slowdown slowdown{"c3_sp", "gemm", 100_us, 125_us, {}};
  slowdown.parts[static_cast<std::size_t>(Mechanism::l2)] = 20_us;
  slowdown.parts[static_cast<std::size_t>(Mechanism::clock)] = -5_us;
  const std::vector<Cell> row = slowdown_table(std::array{slowdown}).rows().at(0);
  // Columns: run, operation, alone, together, slowdown, the mechanisms, rest.
  EXPECT_NEAR(std::get<double>(row[4]), 25.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5 + static_cast<std::size_t>(Mechanism::l2)]), 20.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5 + static_cast<std::size_t>(Mechanism::clock)]), -5.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row.back()), 10.0, 1e-9);
  const BarChart chart = slowdown_chart(std::array{slowdown}, "a pair");
  EXPECT_EQ(chart.series.size(), chart.bars.at(0).values.size());
  EXPECT_EQ(chart.series.at(static_cast<std::size_t>(Mechanism::l2)), "l2");
  EXPECT_EQ(chart.bars.at(0).label, "c3_sp gemm");
}

}  // namespace
}  // namespace c3sim::study
