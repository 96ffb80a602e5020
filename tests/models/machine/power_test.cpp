// These tests check the power that a GPU draws, the clock that its governor sets, and the loops that move the clock or
// the power limit.
#include "models/machine/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "models/machine/governor_loop.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

// Returns the round machine's power with a cap that bites and a price for every byte.
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

sim::Time at_ms(double ms) { return sim::to_time(sim::Seconds(ms * 1e-3)); }

// A GovernedGpu is a governor over one memory system and one link, with the work that runs on them.
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

  // Starts matrix work of the given operations per cycle, which needs no memory.
  sim::ResourceNetwork::ActivityId set_matrix_work(double flops_per_cycle) {
    start_work([this] { governor_.remove_work(work_); });
    governor_.set_matrix_work(work_, flops_per_cycle);
    return work_;
  }
  // Starts vector work of the given operations per cycle, with one operation a unit.
  void set_vector_work(double flops_per_cycle, Bend bend = {}) {
    start_work([this] { governor_.remove_work(work_); });
    governor_.set_vector_work(work_, flops_per_cycle, 1.0, bend);
  }
  void add_traffic(sim::ResourceNetwork::ResourceId resource, double bytes_per_second, double bytes = 1e15) {
    sim::ActivitySpec stream{.amount = bytes, .usages = {{resource, 1.0}}, .cap = bytes_per_second};
    network_.start(stream, [] {});
  }
  // Runs matrix work of 1e5 operations per cycle, or of `flops_per_cycle`, between two times.
  void work_between(double from_ms, double until_ms, double flops_per_cycle = 1e5) {
    at(from_ms, [this, flops_per_cycle] {
      start_work([] {});
      governor_.set_matrix_work(work_, flops_per_cycle);
    });
    at(until_ms, [this] {
      network_.set_cap(work_, 1e30);  // what is left takes no time
      governor_.remove_work(work_);
    });
  }
  void at(double ms, std::function<void()> action) {
    simulator_.schedule(at_ms(ms), [kept = &actions_.emplace_back(std::move(action))] { (*kept)(); });
  }
  // Returns what `look` finds at each of the times.
  std::vector<double> seen_at_ms(const std::vector<double>& times, const std::function<double()>& look) {
    std::vector<double> seen;
    for (const double ms : times) at(ms, [&seen, &look] { seen.push_back(look()); });
    simulator_.run();
    return seen;
  }
  // Returns what `look` finds once the clock has settled.
  auto settled(const auto& look) { return seen_at_once(simulator_, look); }
  double settled_clock() {
    return settled([this] { return governor_.clock().value(); });
  }
  double settled_power() {
    return settled([this] { return governor_.power().value(); });
  }

 private:
  void start_work(sim::EventAction at_end) {
    sim::ActivitySpec work;
    work.amount = 1e18;
    work.cap = 1e15;  // until the governor knows of it
    work_ = network_.start(work, at_end);
  }

  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
  Memory memory_;
  sim::ResourceNetwork::ResourceId link_;
  PowerGovernor governor_;
  sim::ResourceNetwork::ActivityId work_ = 0;
  std::deque<std::function<void()>> actions_;
};

TEST(PowerSpec, ActsAtOnceUnlessItsLoopHasABurstToHold) {
  EXPECT_FALSE(mi300x({"gpu.power.cap=600W"}).gpu.power.acts_at_once());
  EXPECT_TRUE(mi300x({"gpu.power.burst_limit=600W"}).gpu.power.acts_at_once());
  EXPECT_TRUE(mi300x({"gpu.power.governor=at_once"}).gpu.power.acts_at_once());
}

// The step is the cube root of the allowed power above rest, 200 W, over the drawn power above rest, 400 W.
TEST(PowerSpec, StepsByTheCubeRootOfPowerAboveRest) {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(320.0);
  EXPECT_DOUBLE_EQ(spec.step_to_cap(sim::Watts(520.0)), std::cbrt(0.5));
  EXPECT_DOUBLE_EQ(spec.step_to_cap(spec.cap), 1.0);
}

// The levels draw 1, 2, 4 and 8 pJ/B at 1e11 B/s, beside 100 W of an idle GPU and 20 W of the clock tree at the highest
// clock.
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

// Links draw 10 W however little moves, and for 1 ms after 1 ms of traffic; or they always draw it.
TEST(PowerGovernor, LinksDrawPowerFromTheFirstByteOnAndStayAwakeForAWhile) {
  PowerSpec spec = tight();
  spec.links_awake = sim::Watts(10.0);
  GovernedGpu gpu(spec);
  EXPECT_DOUBLE_EQ(gpu.governor().power().value(), 120.0);
  gpu.add_traffic(gpu.link(), 1.0);
  EXPECT_NEAR(gpu.settled_power(), 130.0, 1e-9);
  GovernedGpu kept_awake(spec);
  kept_awake.governor().keep_links_awake();
  EXPECT_DOUBLE_EQ(kept_awake.governor().power().value(), 130.0);
  spec.links_awake_for = at_ms(1.0);
  GovernedGpu awake(spec);
  awake.add_traffic(awake.link(), 1.0, 1e-3);
  const std::vector<double> powers =
      awake.seen_at_ms({0.5, 1.5, 2.5}, [&awake] { return awake.governor().power().value(); });
  EXPECT_NEAR(powers[0], 130.0, 1e-9);
  EXPECT_NEAR(powers[1], 130.0, 1e-9);
  EXPECT_DOUBLE_EQ(powers[2], 120.0);
}

// In addition to 120 W, ten workgroups draw 2 W each at the highest clock and ten CUs 3 W each at the rated clock.
TEST(PowerGovernor, BusyWorkgroupsAndStreamingCusDrawPowerWhileTheyAreThere) {
  PowerSpec spec = tight();
  spec.streaming_cu = sim::Watts(3.0);
  GovernedGpu gpu(spec);
  const auto power = [&gpu] { return gpu.governor().power().value(); };
  gpu.governor().add_busy_workgroups(10);
  EXPECT_DOUBLE_EQ(power(), 140.0);
  gpu.governor().add_busy_workgroups(-10);
  EXPECT_DOUBLE_EQ(power(), 120.0);
  gpu.governor().add_streaming_cus(10.0);
  EXPECT_DOUBLE_EQ(power(), 150.0);
  gpu.governor().add_streaming_cus(-10.0);
  EXPECT_DOUBLE_EQ(power(), 120.0);
  // Observers see the power of each stretch: what is added later does not count in it.
  std::vector<double> powers;
  gpu.network().add_observer([&](sim::Time, sim::Time) { powers.push_back(power()); });
  gpu.at(1.0, [&gpu] { gpu.governor().add_busy_workgroups(10); });
  gpu.at(2.0, [&gpu] { gpu.governor().add_streaming_cus(10.0); });
  gpu.seen_at_ms({3.0}, power);
  EXPECT_THAT(powers, testing::ElementsAre(120.0, 140.0));
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

TEST(Bend, OfAPlatformMayBeNoneOrOneBehindTheOther) {
  EXPECT_EQ(mi300x({"gpu.streams.knee=0"}).gpu.streams.knee, 0.0);
  EXPECT_EQ(mi300x({"gpu.streams.knee=1"}).gpu.streams.knee, 1.0);
}

// Times of 1/3 and 1/4 add up to 7/12; their hypotenuse is 5/12.
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

struct Clock {
  const char* claim;
  std::function<void(PowerSpec&)> change;
  std::function<void(GovernedGpu&)> work;
  double hertz;
  double relative = clock_step;
};

void matrix_work(GovernedGpu& gpu) { gpu.set_matrix_work(1e5); }
void matrix_work_and_traffic(GovernedGpu& gpu) {
  gpu.set_matrix_work(1e5);
  gpu.add_traffic(gpu.memory().hbm(), 1e12);
}

// 1e5 flops a cycle at f GHz are f * 1e14 flop/s of f pJ each by matrix pipes, and of 1 pJ by vector units.
TEST(PowerGovernor, TheClockSettlesWherePowerMeetsTheCap) {
  const auto as_is = [](PowerSpec&) {};
  const std::vector<Clock> clocks{
      // 100 + 10 f + 100 f^2 = 300 at f = (-10 + sqrt(100 + 80000)) / 200.
      {"matrix work meets the cap", as_is, matrix_work, 1.3651e9},
      // 100 + 10 f + 100 f^2 = 400 at f = (-10 + sqrt(100 + 120000)) / 200, whatever the cap is.
      {"a burst limit above the cap is what holds at once",
       [](PowerSpec& spec) {
         spec.matrix_clock = sim::Hertz(1.8e9);
         spec.burst_limit = sim::Watts(400.0);
       },
       matrix_work, 1.6829e9},
      // 100 + 10 f + 100 f = 300 at f = 20 / 11, which the matrix clock does not bound.
      {"vector work meets the cap", [](PowerSpec& spec) { spec.vector_energy = sim::JoulesPerFlop(1e-12); },
       [](GovernedGpu& gpu) { gpu.set_vector_work(1e5); }, 20.0 / 11.0 * 1e9, 1.1 * clock_step},
      // 1e12 B/s at 40 pJ/B leave 160 of the 200 W: 100 f^2 + 10 f = 160 at f = (-10 + sqrt(100 + 64000)) / 200.
      {"what traffic burns computation loses", [](PowerSpec& spec) { spec.hbm_energy = sim::JoulesPerByte(40e-12); },
       matrix_work_and_traffic, 1.2159e9},
      // 1e4 flops a cycle draw 22.5 W at 1.5 GHz: the cap allows more, the pipes do not.
      {"matrix work never runs above the matrix clock", as_is, [](GovernedGpu& gpu) { gpu.set_matrix_work(1e4); },
       1.5e9, 4e-16},
      {"without matrix work the clock is the highest", as_is,
       [](GovernedGpu& gpu) { gpu.add_traffic(gpu.memory().hbm(), 1e12); }, 2e9, 4e-16},
      // Idle power and 250 W of traffic alone are more than 300 W.
      {"a cap that cannot be kept leaves the lowest clock",
       [](PowerSpec& spec) { spec.hbm_energy = sim::JoulesPerByte(250e-12); }, matrix_work_and_traffic, 0.1e9}};
  for (const Clock& expected : clocks) {
    PowerSpec spec = tight();
    expected.change(spec);
    GovernedGpu gpu(spec);
    expected.work(gpu);
    EXPECT_NEAR(gpu.settled_clock(), expected.hertz, expected.relative * expected.hertz) << expected.claim;
  }
  GovernedGpu gpu(tight());
  gpu.set_matrix_work(1e5);
  // Power changes by (10 f + 200 f^2) W per relative change of the clock: 386 W.
  EXPECT_NEAR(gpu.settled_power(), 300.0, 386.0 * clock_step);
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

TEST(PowerGovernor, TheClockReturnsWhenMatrixWorkHasEnded) {
  GovernedGpu gpu(tight());
  gpu.set_matrix_work(1e5);
  EXPECT_LT(gpu.settled_clock(), 1.4e9);  // goes on until the work is done
  gpu.add_traffic(gpu.link(), 1e9);
  EXPECT_DOUBLE_EQ(gpu.settled_clock(), 2e9);
}

RC_GTEST_PROP(PowerMonotony, MorePerCycleOrMoreTrafficNeverRaisesTheClockAndNeverBreaksTheCap, ()) {
  const double flops_per_cycle = 1e3 * *rc::gen::inRange(1, 1000);
  const double traffic = 1e10 * *rc::gen::inRange(1, 80);
  const auto state = [](double flops, double bytes) {
    GovernedGpu gpu(tight());
    gpu.set_matrix_work(flops);
    gpu.add_traffic(gpu.memory().hbm(), bytes);
    return gpu.settled([&gpu] { return std::pair(gpu.governor().clock().value(), gpu.governor().power().value()); });
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
      // This leaves out what is always drawn: 100 W and the clock tree.
      const double clock = gpu.governor().clock().value();
      return (gpu.governor().power().value() - 100.0 - 20.0 * clock / 2e9) / gpu.network().rate(work);
    });
  };
  RC_ASSERT(watts_per_flop_rate(cap) <= watts_per_flop_rate(cap + 50.0) * (1.0 + 2.0 * clock_step));
}

// Both loops run work that draws 100 + 100 f^3 W at f GHz, which meets the cap of 200 W at 1 GHz.
PowerSpec of_a_loop(double burst_limit) {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(200.0);
  spec.burst_limit = sim::Watts(burst_limit);
  spec.clock_tree = sim::Watts(0.0);
  spec.voltage_exponent = 2.0;
  spec.matrix_clock = spec.highest_clock;
  return spec;
}

// Work meets the burst limit of 437.5 W at 1.5 GHz. It is 237.5 W above the cap, so the loop starts after 10 ms.
PowerSpec with_clock_loop() {
  PowerSpec spec = of_a_loop(437.5);
  spec.window = at_ms(10.0);
  spec.period = at_ms(20.0);
  spec.dead_band = 0.01;
  spec.start_energy = sim::Joules(2.375);
  return spec;
}

// Returns the clocks in GHz at the given times of work from 0 to `end_ms`.
std::vector<double> clocks_of_loop(const PowerSpec& spec, double end_ms, const std::vector<double>& looks_ms,
                                   double flops_per_cycle = 1e5) {
  GovernedGpu gpu(spec);
  const ClockLoop loop(spec, gpu.network(), gpu.governor(), ClockLoop::at_rest(spec));
  gpu.work_between(0.0, end_ms, flops_per_cycle);
  return gpu.seen_at_ms(looks_ms, [&gpu] { return gpu.governor().clock().value() * 1e-9; });
}

TEST(ClockLoop, HoldsMeanPowerUnderTheCap) {
  const PowerSpec spec = with_clock_loop();
  PowerSpec early = spec;
  early.start_energy = 0.5 * spec.start_energy;
  PowerSpec wide = early;
  wide.dead_band = 0.35;
  PowerSpec narrow = early;
  narrow.dead_band = 0.33;
  struct Row {
    const char* claim;
    PowerSpec spec;
    double end_ms;
    std::vector<double> looks_ms;
    std::vector<double> gigahertz;
    double flops_per_cycle = 1e5;
  };
  const std::vector<Row> rows{
      // One step is enough: the cube root of 100 over 337.5 lowers the clock by a third.
      {"the limit holds at once, the cap once the loop has started",
       spec,
       100.0,
       {0.1, 9.9, 10.1, 50.0, 99.0},
       {1.5, 1.5, 1.0, 1.0, 1.0}},
      // The loop starts after 5 ms, when half of its window was at rest: 268.75 W. The cube root of 100 over 168.75
      // makes the clock 1.26 GHz, at which the GPU draws 300 W; the next step, 20 ms later, sees only that power.
      {"it averages over its window", early, 100.0, {4.9, 5.1, 24.9, 25.1, 99.0}, {1.5, 1.26, 1.26, 1.0, 1.0}},
      // A mean of 268.75 W is 34 % over the cap.
      {"it leaves the clock within its dead band", wide, 100.0, {9.9}, {1.5}},
      {"it moves the clock beyond its dead band", narrow, 100.0, {9.9}, {1.26}},
      // A tenth of the work draws 180 W at 2 GHz.
      {"it never starts under a load below the cap", spec, 100.0, {50.0, 99.0}, {2.0, 2.0}, 1e4},
      // The work ends at 25 ms. At 30 ms the window has seen 5 ms at 200 W and 5 ms at rest, 150 W: the clock rises by
      // the cube root of 2. At 50 ms it finds rest and lets the clock go; at 70 ms nothing is left to do, or this would
      // run for ever.
      {"it lets the clock go after the load and ends", spec, 25.0, {24.0, 31.0, 51.0}, {1.0, 1.26, 2.0}}};
  for (const Row& row : rows) {
    const std::vector<double> clocks = clocks_of_loop(row.spec, row.end_ms, row.looks_ms, row.flops_per_cycle);
    for (std::size_t i = 0; i < row.gigahertz.size(); ++i) {
      EXPECT_NEAR(clocks[i], row.gigahertz[i], 1.5 * clock_step * row.gigahertz[i]) << row.claim << ", look " << i;
    }
  }
}

// Work of 25 ms is cut in two runs at 24 ms. The loop steps at 30 and 50 ms, 6 and 26 ms into the second run, as it
// does in one run of the same work (the row "it lets the clock go after the load and ends").
TEST(ClockLoop, GoesOnInTheNextRunAsIfItWereOne) {
  const PowerSpec spec = with_clock_loop();
  GovernedGpu before(spec);
  ClockLoop loop(spec, before.network(), before.governor(), ClockLoop::at_rest(spec));
  before.work_between(0.0, 25.0);
  std::optional<ClockLoop::State> state;
  before.at(24.0, [&] { state = loop.state(); });
  before.seen_at_ms({}, [] { return 0.0; });
  GovernedGpu next(spec);
  const ClockLoop goes_on(spec, next.network(), next.governor(), state.value());
  next.work_between(0.0, 1.0);
  const std::vector<double> clocks =
      next.seen_at_ms({0.5, 7.0, 27.0}, [&next] { return next.governor().clock().value() * 1e-9; });
  EXPECT_NEAR(clocks[0], 1.0, 1.5 * clock_step);
  EXPECT_NEAR(clocks[1], 1.26, 2.0 * clock_step);
  EXPECT_NEAR(clocks[2], 2.0, 3.0 * clock_step);
}

// Work meets the burst limit of 300 W at 1.26 GHz.
PowerSpec with_limit_loop() {
  PowerSpec spec = of_a_loop(300.0);
  spec.governor = GovernorPolicy::power_limit;
  spec.window = at_ms(1.6);
  spec.period = at_ms(1.0);
  spec.integral_gain = 0.11;
  spec.proportional_gain = 1.05;
  return spec;
}

// A LimitedGpu is a GPU, at rest before, whose loop runs under matrix work that comes and goes.
class LimitedGpu {
 public:
  LimitedGpu() : loop_(spec_, gpu_.network(), gpu_.governor(), PowerLimitLoop::at_rest(spec_)) {}
  std::vector<double> clocks(const std::vector<double>& looks_ms) {
    return gpu_.seen_at_ms(looks_ms, [this] { return gpu_.governor().clock().value() * 1e-9; });
  }
  GovernedGpu& gpu() { return gpu_; }
  PowerLimitLoop::State state_at(double ms) {
    PowerLimitLoop::State state;
    gpu_.at(ms, [this, &state] { state = loop_.state(); });
    clocks({});
    return state;
  }

 private:
  PowerSpec spec_ = with_limit_loop();
  GovernedGpu gpu_{spec_};
  PowerLimitLoop loop_;
};

std::vector<double> clocks_under_limit(double until_ms, const std::vector<double>& looks_ms) {
  LimitedGpu limited;
  limited.gpu().work_between(0.0, until_ms);
  return limited.clocks(looks_ms);
}

// By hand, one step takes 300 W for a period through the filter: 1 - exp(-1/1.6) of its way from 0.5 to 1.5.
TEST(PowerLimitLoop, ALoadBeginsAtTheBurstLimitAndAStepFollowsPowerAndItsChange) {
  EXPECT_NEAR(clocks_under_limit(1.0, {0.5})[0], std::cbrt(2.0), 2e-3);
  const double share = 1.0 - std::exp(-1.0 / 1.6);
  const double filtered = 0.5 + share * (1.5 - 0.5);
  const double level = std::cbrt(2.0) + 0.11 * (1.0 - filtered) - 1.05 * (filtered - 0.5);
  EXPECT_NEAR(clocks_under_limit(1.9, {1.5})[0], level, 3e-3);
}

TEST(PowerLimitLoop, UndershootsBehindRestAndComesBackToTheCap) {
  const std::vector<double> clocks = clocks_under_limit(80.0, {2.5, 6.5, 79.5});
  EXPECT_LT(clocks[0], 0.92);
  EXPECT_GT(clocks[1], clocks[0]);
  EXPECT_NEAR(clocks[2], 1.0, 2e-2);
}

TEST(PowerLimitLoop, RestIsForgottenAfterLong) {
  LimitedGpu again;
  again.gpu().work_between(0.0, 30.0);
  again.gpu().work_between(230.0, 235.0);
  EXPECT_NEAR(again.clocks({232.5})[0], clocks_under_limit(5.0, {2.5})[0], 5e-3);
}

TEST(PowerLimitLoop, RemembersThePartOfAStep) {
  LimitedGpu limited;
  limited.gpu().work_between(0.0, 0.4);
  const PowerLimitLoop::State state = limited.state_at(0.7);
  EXPECT_EQ(state.since_step, at_ms(0.7));
  EXPECT_NEAR(state.drawn.value(), (0.4 * 300.0 + 0.3 * 100.0) * 1e-3, 1e-3);
  EXPECT_NEAR(state.filtered, 0.5, 1e-12);
}

TEST(PowerLimitLoop, StepsThatRestLeftOutAreMadeUpFor) {
  LimitedGpu limited;
  limited.gpu().work_between(0.0, 10.0);
  const PowerLimitLoop::State state = limited.state_at(60.3);
  EXPECT_EQ(state.since_step, at_ms(0.3));
  EXPECT_NEAR(state.filtered, 0.5, 1e-6);
  EXPECT_NEAR(state.level, std::cbrt(2.0), 1e-9);
}

using sim::operator""_us;

// The record has 10 W at rest, 30 W for 2 us, then 60 W for 4 us.
PowerRecord record() {
  PowerRecord record(sim::Watts(10.0));
  record.add(0_us, 2_us, sim::Watts(30.0));
  record.add(2_us, 6_us, sim::Watts(60.0));
  return record;
}

TEST(PowerRecord, MeansCountRestBeforeAndAfter) {
  EXPECT_DOUBLE_EQ(record().mean(0_us, 6_us).value(), (2.0 * 30.0 + 4.0 * 60.0) / 6.0);
  EXPECT_DOUBLE_EQ(record().mean(1_us, 3_us).value(), 45.0);
  EXPECT_DOUBLE_EQ(record().mean(-2_us, 2_us).value(), 20.0);
  EXPECT_DOUBLE_EQ(record().mean(5_us, 10_us).value(), (60.0 + 4.0 * 10.0) / 5.0);
  EXPECT_DOUBLE_EQ(PowerRecord(sim::Watts(10.0)).mean(0_us, 1_us).value(), 10.0);
}

TEST(PowerRecord, TheHighestMeanIsThatOfTheBestPlacedStretch) {
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 4_us).value(), 60.0);
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 5_us).value(), (30.0 + 4.0 * 60.0) / 5.0);
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 6_us, 9_us).value(), record().mean(0_us, 6_us).value());
  EXPECT_DOUBLE_EQ(record().highest_mean(0_us, 3_us, 2_us).value(), 45.0);
}

TEST(PowerRecord, WhatIsForgottenLeavesTheRestAsItWas) {
  PowerRecord some = record();
  some.forget_before(3_us);
  EXPECT_DOUBLE_EQ(some.mean(3_us, 8_us).value(), record().mean(3_us, 8_us).value());
}

}  // namespace
}  // namespace c3sim::models
