#include "models/machine/power.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

// The round machine's power with a cap that bites and a price for every byte.
PowerSpec tight() {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(300.0);
  spec.matrix_clock = sim::Hertz(1.5e9);
  spec.l2_energy = sim::JoulesPerByte(1e-12);
  spec.cache_energy = sim::JoulesPerByte(2e-12);
  spec.hbm_energy = sim::JoulesPerByte(4e-12);
  spec.link_energy = sim::JoulesPerByte(8e-12);
  return spec;
}

// A governor over one memory system and one link, and the work that it is to feed.
class GovernedGpu {
 public:
  explicit GovernedGpu(const PowerSpec& spec)
      : memory_(round_memory(), network_, "gpu0"),
        link_(network_.add_resource({"link", 1e12, {}})),
        governor_(spec, network_, memory_, {link_}) {
    network_.add_regulator([this] { return governor_.regulate(); });
  }

  PowerGovernor& governor() { return governor_; }
  sim::ResourceNetwork& network() { return network_; }
  const Memory& memory() const { return memory_; }
  sim::ResourceNetwork::ResourceId link() const { return link_; }

  // Matrix work of so many operations per cycle that needs no memory.
  sim::ResourceNetwork::ActivityId set_matrix_work(double flops_per_cycle) {
    sim::ActivitySpec work;
    work.amount = 1e18;
    work.cap = 1e15;  // until the governor knows of it
    work_ = network_.start(work, [this] { governor_.remove_work(work_); });
    governor_.set_matrix_work(work_, flops_per_cycle);
    return work_;
  }
  // The same of vector work, of one operation a unit.
  void set_vector_work(double flops_per_cycle, Bend bend = {}) {
    sim::ActivitySpec work;
    work.amount = 1e18;
    work.cap = 1e15;  // until the governor knows of it
    work_ = network_.start(work, [this] { governor_.remove_work(work_); });
    governor_.set_vector_work(work_, flops_per_cycle, 1.0, bend);
  }
  void add_traffic(sim::ResourceNetwork::ResourceId resource, double bytes_per_second, double bytes = 1e15) {
    sim::ActivitySpec stream;
    stream.amount = bytes;
    stream.usages = {{resource, 1.0}};
    stream.cap = bytes_per_second;
    network_.start(stream, [] {});
  }
  std::vector<double> powers_at_ms(const std::vector<double>& times) {
    std::vector<double> powers;
    for (const double ms : times) {
      simulator_.schedule(sim::to_time(sim::Seconds(ms * 1e-3)),
                          [this, &powers] { powers.push_back(governor_.power().value()); });
    }
    simulator_.run();
    return powers;
  }
  // What `look` finds once the clock has settled.
  template <class Look>
  double settled(Look look) {
    double seen = 0.0;
    simulator_.schedule(simulator_.now() + sim::Time(1), [&seen, &look] { seen = look(); });
    simulator_.run();
    return seen;
  }
  double settled_clock() {
    return settled([this] { return governor_.clock().value(); });
  }
  double settled_power() {
    return settled([this] { return governor_.power().value(); });
  }

 private:
  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
  Memory memory_;
  sim::ResourceNetwork::ResourceId link_;
  PowerGovernor governor_;
  sim::ResourceNetwork::ActivityId work_ = 0;
};

// 100 W idle and 20 W of the clock tree, all of it at the highest clock.
TEST(PowerGovernor, AnIdleGpuDrawsIdleAndClockTreePowerAtTheHighestClock) {
  GovernedGpu gpu(tight());
  EXPECT_DOUBLE_EQ(gpu.governor().clock().value(), 2e9);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 120.0);
}

TEST(PowerSpec, RefusesALoopWithoutTime) {
  EXPECT_THROW(mi300x({"gpu.power.window=0s"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.power.period=2s"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.power.dead_band=0.6"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.power.start_energy=10W"}), sim::ConfigError);
  EXPECT_FALSE(mi300x({"gpu.power.cap=600W"}).gpu.power.acts_at_once());
  EXPECT_TRUE(mi300x({"gpu.power.burst_limit=600W"}).gpu.power.acts_at_once());
  EXPECT_TRUE(mi300x({"gpu.power.governor=at_once"}).gpu.power.acts_at_once());
}

// The cube root of what is allowed above rest, 200 W, over what was drawn, 400 W.
TEST(PowerSpec, StepsByTheCubeRootOfPowerAboveRest) {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(320.0);
  EXPECT_DOUBLE_EQ(spec.step_to_cap(sim::Watts(520.0)), std::cbrt(0.5));
  EXPECT_DOUBLE_EQ(spec.step_to_cap(spec.cap), 1.0);
}

// 1e11 B/s at 1, 2, 4 and 8 pJ/B.
TEST(PowerGovernor, EveryLevelDrawsItsOwnEnergyPerByte) {
  const std::vector<double> watts{0.1, 0.2, 0.4, 0.8};
  for (std::size_t level = 0; level < watts.size(); ++level) {
    GovernedGpu gpu(tight());
    const std::vector<sim::ResourceNetwork::ResourceId> resources{gpu.memory().l2(), gpu.memory().levels()[1].resource,
                                                                  gpu.memory().hbm(), gpu.link()};
    gpu.add_traffic(resources[level], 1e11);
    EXPECT_NEAR(gpu.settled_power(), 120.0 + watts[level], 1e-9);
  }
}

// 10 W however little moves.
TEST(PowerGovernor, LinksDrawPowerFromTheFirstByteOn) {
  PowerSpec spec = tight();
  spec.links_awake = sim::Watts(10.0);
  GovernedGpu gpu(spec);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 120.0);
  gpu.add_traffic(gpu.link(), 1.0);
  EXPECT_NEAR(gpu.settled_power(), 130.0, 1e-9);
}

// For 1 ms after traffic of 1 ms.
TEST(PowerGovernor, LinksStayAwakeForAWhile) {
  PowerSpec spec = tight();
  spec.links_awake = sim::Watts(10.0);
  spec.links_awake_for = sim::Time(1'000'000'000);
  GovernedGpu gpu(spec);
  gpu.add_traffic(gpu.link(), 1.0, 1e-3);
  const std::vector<double> powers = gpu.powers_at_ms({0.5, 1.5, 2.5});
  EXPECT_NEAR(powers[0], 130.0, 1e-9);
  EXPECT_NEAR(powers[1], 130.0, 1e-9);
  EXPECT_DOUBLE_EQ(powers[2], 120.0);
}

TEST(PowerGovernor, LinksCanBeKeptAwake) {
  PowerSpec spec = tight();
  spec.links_awake = sim::Watts(10.0);
  GovernedGpu gpu(spec);
  gpu.governor().keep_links_awake();
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 130.0);
}

// 2 W each at the highest clock.
TEST(PowerGovernor, BusyWorkgroupsDrawPowerWhileTheyAreThere) {
  GovernedGpu gpu(tight());
  gpu.governor().add_busy_workgroups(10);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 140.0);
  gpu.governor().add_busy_workgroups(-10);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 120.0);
}

// Ten CUs at 3 W beside 120 W at the rated clock.
TEST(PowerGovernor, CusThatStreamDrawPowerWhileTheyDo) {
  PowerSpec spec = tight();
  spec.streaming_cu = sim::Watts(3.0);
  GovernedGpu gpu(spec);
  gpu.governor().add_streaming_cus(10.0);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 150.0);
  gpu.governor().add_streaming_cus(-10.0);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 120.0);
}

// 1e5 flops a cycle at f GHz are f * 1e14 flop/s of 1 pJ at any clock: 100 + 10 f + 100 f = 300 at f = 20 / 11, which
// the matrix clock does not bound.
TEST(PowerGovernor, ArithmeticOfVectorsIsHeldUnderTheCap) {
  PowerSpec spec = tight();
  spec.vector_energy = sim::JoulesPerFlop(1e-12);
  GovernedGpu gpu(spec);
  gpu.set_vector_work(1e5);
  EXPECT_NEAR(gpu.settled_clock(), 20.0 / 11.0 * 1e9, 2e9 * clock_step);
}

// Memory alone would let 1e14 flop/s through, and a unit takes the hypotenuse of both times: f / sqrt(1 + f^2) * 1e14
// flop/s of 1 pJ.
TEST(PowerGovernor, WorkThatMemoryBendsIsHeldUnderTheCap) {
  PowerSpec spec = tight();
  spec.cap = sim::Watts(190.0);
  spec.vector_energy = sim::JoulesPerFlop(1e-12);
  GovernedGpu gpu(spec);
  gpu.set_vector_work(1e5, {1e14, 2.0});
  EXPECT_NEAR(gpu.settled_power(), 190.0, 0.4);
  GovernedGpu again(spec);
  again.set_vector_work(1e5, {1e14, 2.0});
  const double f = again.settled_clock() / 1e9;
  EXPECT_NEAR(100.0 + 10.0 * f + 100.0 * f / std::hypot(1.0, f), 190.0, 0.4);
}

TEST(Bend, OfAPlatformIsNoneOrOneBehindTheOtherAtMost) {
  EXPECT_THROW(mi300x({"gpu.streams.knee=0.5"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.gemm.libraries[hipblaslt].knee=0.99"}), sim::ConfigError);
  EXPECT_EQ(mi300x({"gpu.streams.knee=0"}).gpu.streams.knee, 0.0);
  EXPECT_EQ(mi300x({"gpu.streams.knee=1"}).gpu.streams.knee, 1.0);
}

// Times of 1/3 and 1/4: their sum is 7/12, their hypotenuse 5/12.
TEST(Bend, AddsTimesAsPowersOfThem) {
  EXPECT_DOUBLE_EQ((Bend{3.0, 1.0}.of(4.0)), 12.0 / 7.0);
  EXPECT_DOUBLE_EQ((Bend{3.0, 2.0}.of(4.0)), 12.0 / 5.0);
  EXPECT_DOUBLE_EQ((Bend{3.0, 0.0}.of(4.0)), 4.0) << "the memory itself bounds it";
  EXPECT_DOUBLE_EQ(Bend{}.of(4.0), 4.0);
}

// Faster pipes never slow work down, and neither pipes nor memory do more than they could alone.
RC_GTEST_PROP(Bend, LiesBelowBothAndRisesWithEither, ()) {
  const auto drawn = [](int low, int high) { return static_cast<double>(*rc::gen::inRange(low, high)) / 100.0; };
  const Bend bend{drawn(1, 10'000), drawn(50, 2'000)};
  const double rate = drawn(1, 10'000);
  RC_ASSERT(bend.of(rate) <= std::min(rate, bend.bound));
  RC_ASSERT(bend.of(1.1 * rate) >= bend.of(rate));
  RC_ASSERT((Bend{1.1 * bend.bound, bend.knee}.of(rate)) >= bend.of(rate));
}

// 1e5 flops a cycle at f GHz are f * 1e14 flop/s at f pJ each. The cap is met where
// 100 + 10 f + 100 f^2 = 300: f = (-10 + sqrt(100 + 80000)) / 200 = 1.3651.
TEST(PowerGovernor, TheClockSettlesWherePowerMeetsTheCap) {
  GovernedGpu gpu(tight());
  gpu.set_matrix_work(1e5);
  EXPECT_NEAR(gpu.settled_clock(), 1.3651e9, 1.3651e9 * clock_step);
  GovernedGpu again(tight());
  again.set_matrix_work(1e5);
  // Power changes by (10 f + 200 f^2) W per relative change of the clock: 386 W.
  EXPECT_NEAR(again.settled_power(), 300.0, 386.0 * clock_step);
}

// 100 + 10 f + 100 f^2 = 400 at f = (-10 + sqrt(100 + 120000)) / 200 = 1.6829, whatever the cap is.
TEST(PowerGovernor, ABurstLimitAboveTheCapIsWhatHoldsAtOnce) {
  PowerSpec spec = tight();
  spec.matrix_clock = sim::Hertz(1.8e9);
  spec.burst_limit = sim::Watts(400.0);
  GovernedGpu gpu(spec);
  gpu.set_matrix_work(1e5);
  EXPECT_NEAR(gpu.settled_clock(), 1.6829e9, 1.6829e9 * clock_step);
}

// Cycles that the limit leaves out are not reported; the ceiling is.
TEST(PowerGovernor, ReportsTheClockThatIsSet) {
  PowerSpec spec = tight();
  spec.matrix_clock = sim::Hertz(1.8e9);
  spec.burst_limit = sim::Watts(400.0);
  spec.governor = GovernorPolicy::clock_steps;
  GovernedGpu gpu(spec);
  gpu.governor().set_ceiling(sim::Hertz(1.7e9));
  gpu.set_matrix_work(1e5);
  EXPECT_DOUBLE_EQ(gpu.settled([&gpu] { return gpu.governor().reported_clock().value(); }), 1.7e9);
  GovernedGpu at_once(tight());
  at_once.set_matrix_work(1e5);
  EXPECT_NEAR(at_once.settled([&at_once] { return at_once.governor().reported_clock().value(); }), 1.3651e9,
              1.3651e9 * clock_step);
}

TEST(PowerGovernor, NoClockIsAboveItsCeiling) {
  GovernedGpu gpu(tight());
  gpu.governor().set_ceiling(sim::Hertz(1.1e9));
  gpu.set_matrix_work(1e5);
  EXPECT_DOUBLE_EQ(gpu.settled_clock(), 1.1e9);
  EXPECT_DOUBLE_EQ(gpu.governor().clock_at_work().value(), 1.1e9);
}

TEST(PowerGovernor, MatrixWorkRunsAtTheSettledClock) {
  GovernedGpu gpu(tight());
  const auto work = gpu.set_matrix_work(1e5);
  const double rate_over_clock =
      gpu.settled([&gpu, work] { return gpu.network().rate(work) / gpu.governor().clock().value(); });
  EXPECT_NEAR(rate_over_clock, 1e5, 1e-3);
}

TEST(PowerGovernor, MatrixWorkThatIsSetAgainReplacesWhatItWas) {
  GovernedGpu gpu(tight());
  const auto work = gpu.set_matrix_work(1e5);
  gpu.governor().set_matrix_work(work, 1e4);
  EXPECT_DOUBLE_EQ(gpu.settled([&gpu, work] { return gpu.network().rate(work); }), 1e4 * 1.5e9);
}

// 1e12 B/s at 40 pJ/B leave 160 of the 200 W: 100 f^2 + 10 f = 160 at f = (-10 + sqrt(100 + 64000)) / 200 = 1.2159.
TEST(PowerGovernor, WhatTrafficBurnsComputationLoses) {
  PowerSpec spec = tight();
  spec.hbm_energy = sim::JoulesPerByte(40e-12);
  GovernedGpu gpu(spec);
  gpu.set_matrix_work(1e5);
  gpu.add_traffic(gpu.memory().hbm(), 1e12);
  EXPECT_NEAR(gpu.settled_clock(), 1.2159e9, 1.2159e9 * clock_step);
}

// 1e4 flops a cycle draw 22.5 W at 1.5 GHz: the cap allows more, the pipes do not.
TEST(PowerGovernor, MatrixWorkNeverRunsAboveTheMatrixClock) {
  GovernedGpu gpu(tight());
  gpu.set_matrix_work(1e4);
  EXPECT_DOUBLE_EQ(gpu.settled_clock(), 1.5e9);
}

TEST(PowerGovernor, WithoutMatrixWorkTheClockIsTheHighest) {
  GovernedGpu gpu(tight());
  gpu.add_traffic(gpu.memory().hbm(), 1e12);
  EXPECT_DOUBLE_EQ(gpu.settled_clock(), 2e9);
}

TEST(PowerGovernor, TheClockReturnsWhenMatrixWorkHasEnded) {
  GovernedGpu gpu(tight());
  gpu.set_matrix_work(1e5);
  EXPECT_LT(gpu.settled_clock(), 1.4e9);  // goes on until the work is done
  gpu.add_traffic(gpu.link(), 1e9);
  EXPECT_DOUBLE_EQ(gpu.settled_clock(), 2e9);
}

// Idle power and 250 W of traffic alone are more than 300 W.
TEST(PowerGovernor, ACapThatCannotBeKeptLeavesTheLowestClock) {
  PowerSpec spec = tight();
  spec.hbm_energy = sim::JoulesPerByte(250e-12);
  GovernedGpu gpu(spec);
  gpu.set_matrix_work(1e5);
  gpu.add_traffic(gpu.memory().hbm(), 1e12);
  EXPECT_NEAR(gpu.settled_clock(), 0.1e9, 0.1e9 * clock_step);
}

RC_GTEST_PROP(PowerMonotony, MorePerCycleOrMoreTrafficNeverRaisesTheClockAndNeverBreaksTheCap, ()) {
  const double flops_per_cycle = 1e3 * *rc::gen::inRange(1, 1000);
  const double traffic = 1e10 * *rc::gen::inRange(1, 80);
  const auto state = [](double flops, double bytes) {
    GovernedGpu gpu(tight());
    gpu.set_matrix_work(flops);
    gpu.add_traffic(gpu.memory().hbm(), bytes);
    std::pair<double, double> clock_and_power;
    gpu.settled([&gpu, &clock_and_power] {
      clock_and_power = {gpu.governor().clock().value(), gpu.governor().power().value()};
      return 0.0;
    });
    return clock_and_power;
  };
  const auto [clock, power] = state(flops_per_cycle, traffic);
  const double tolerance = 1.0 + 2.0 * clock_step;
  RC_ASSERT(state(2.0 * flops_per_cycle, traffic).first <= clock * tolerance);
  RC_ASSERT(state(flops_per_cycle, 1.2 * traffic).first <= clock * tolerance);
  // Power grows at most as the square of the clock, within the governor's step.
  RC_ASSERT(power <= 300.0 * (1.0 + 3.0 * clock_step));
}

// The same operations take less energy at a lower clock, and more time.
RC_GTEST_PROP(PowerMonotony, ALowerCapNeverRaisesTheEnergyOfAnOperation, ()) {
  const double cap = *rc::gen::inRange(150, 400);
  const auto watts_per_flop_rate = [](double watts) {
    PowerSpec spec = tight();
    spec.cap = sim::Watts(watts);
    GovernedGpu gpu(spec);
    const auto work = gpu.set_matrix_work(1e5);
    return gpu.settled([&gpu, work] {
      // Without what is always burnt: 100 W and the clock tree.
      const double clock = gpu.governor().clock().value();
      return (gpu.governor().power().value() - 100.0 - 20.0 * clock / 2e9) / gpu.network().rate(work);
    });
  };
  RC_ASSERT(watts_per_flop_rate(cap) <= watts_per_flop_rate(cap + 50.0) * (1.0 + 2.0 * clock_step));
}

}  // namespace
}  // namespace c3sim::models
