// Laws of the loop that moves the limit of power, on work that draws 100 + 100 f^3 W at f GHz: the cap of 200 W is met
// at 1 GHz, and the burst limit of 300 W at 1.26 GHz.
#include "models/machine/power_limit_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

constexpr double at_burst_limit = 1.2599;  // GHz

PowerSpec limited() {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(200.0);
  spec.burst_limit = sim::Watts(300.0);
  spec.clock_tree = sim::Watts(0.0);
  spec.voltage_exponent = 2.0;
  spec.matrix_clock = spec.highest_clock;
  spec.governor = GovernorPolicy::power_limit;
  spec.window = sim::Time(1'600'000'000);
  spec.period = sim::Time(1'000'000'000);
  spec.integral_gain = 0.11;
  spec.proportional_gain = 1.05;
  return spec;
}

sim::Time at_ms(double ms) { return sim::to_time(sim::Seconds(ms * 1e-3)); }

// Matrix work that comes and goes under the loop, of a GPU that was at rest.
class LimitedLoad {
 public:
  explicit LimitedLoad(const PowerSpec& spec)
      : memory_(round_memory(), network_, "gpu0"), governor_(spec, network_, memory_, {}) {
    network_.add_regulator([this] { return governor_.regulate(); });
    loop_.emplace(spec, network_, governor_, PowerLimitLoop::at_rest(spec));
  }
  void work(double from_ms, double until_ms) {
    simulator_.schedule(at_ms(from_ms), [this] {
      sim::ActivitySpec spec;
      spec.amount = 1e18;
      spec.cap = 1e15;
      work_ = network_.start(spec, [] {});
      governor_.set_matrix_work(work_, 1e5);
    });
    simulator_.schedule(at_ms(until_ms), [this] {
      network_.set_cap(work_, 1e30);  // what is left takes no time
      governor_.remove_work(work_);
    });
  }
  void look_at(double ms) {
    simulator_.schedule(at_ms(ms), [this] { clocks_.push_back(governor_.clock().value() * 1e-9); });
  }
  void remember_at(double ms) {
    simulator_.schedule(at_ms(ms), [this] { state_ = loop_->state(); });
  }
  const std::vector<double>& run() {
    simulator_.run();
    return clocks_;
  }
  const PowerLimitLoop::State& state() const { return state_; }

 private:
  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
  Memory memory_;
  PowerGovernor governor_;
  std::optional<PowerLimitLoop> loop_;
  sim::ResourceNetwork::ActivityId work_ = 0;
  std::vector<double> clocks_;
  PowerLimitLoop::State state_;
};

std::vector<double> clocks_of(const PowerSpec& spec, double until_ms, const std::vector<double>& looks_ms) {
  LimitedLoad load(spec);
  load.work(0.0, until_ms);
  for (const double ms : looks_ms) load.look_at(ms);
  return load.run();
}

TEST(PowerLimitLoop, ALoadBeginsAtTheBurstLimit) {
  EXPECT_NEAR(clocks_of(limited(), 1.0, {0.5})[0], at_burst_limit, 2e-3);
}

TEST(PowerLimitLoop, UndershootsBehindRestAndComesBackToTheCap) {
  const std::vector<double> clocks = clocks_of(limited(), 80.0, {0.5, 2.5, 3.5, 6.5, 79.5});
  EXPECT_LT(clocks[1], 0.92);
  EXPECT_GT(clocks[3], clocks[1]);
  EXPECT_NEAR(clocks[4], 1.0, 2e-2);
}

// One step by hand: power of 300 W for a period passes the filter to 1 - exp(-1/1.6) of its way from 0.5 to 1.5.
TEST(PowerLimitLoop, AStepFollowsPowerAndItsChange) {
  const double share = 1.0 - std::exp(-1.0 / 1.6);
  const double filtered = 0.5 + share * (1.5 - 0.5);
  const double level = std::cbrt(2.0) + 0.11 * (1.0 - filtered) - 1.05 * (filtered - 0.5);
  EXPECT_NEAR(clocks_of(limited(), 1.9, {1.5})[0], level, 3e-3);
}

TEST(PowerLimitLoop, RestIsForgottenAfterLong) {
  const PowerSpec spec = limited();
  LimitedLoad again(spec);
  again.work(0.0, 30.0);
  again.work(230.0, 235.0);
  again.look_at(232.5);
  EXPECT_NEAR(again.run()[0], clocks_of(spec, 5.0, {2.5})[0], 5e-3);
}

TEST(PowerLimitLoop, RemembersThePartOfAStep) {
  LimitedLoad load(limited());
  load.work(0.0, 0.4);
  load.remember_at(0.7);
  load.run();
  EXPECT_EQ(load.state().since_step, at_ms(0.7));
  EXPECT_NEAR(load.state().drawn.value(), (0.4 * 300.0 + 0.3 * 100.0) * 1e-3, 1e-3);
  EXPECT_NEAR(load.state().filtered, 0.5, 1e-12);
}

TEST(PowerLimitLoop, StepsThatRestLeftOutAreMadeUpFor) {
  LimitedLoad load(limited());
  load.work(0.0, 10.0);
  load.remember_at(60.3);
  load.run();
  EXPECT_EQ(load.state().since_step, at_ms(0.3));
  EXPECT_NEAR(load.state().filtered, 0.5, 1e-6);
  EXPECT_NEAR(load.state().level, std::cbrt(2.0), 1e-9);
}

TEST(PowerSpec, RefusesALimitThatNothingMoves) {
  EXPECT_THROW(mi300x({"gpu.power.integral_gain=0"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.power.governor=sometimes"}), sim::ConfigError);
  EXPECT_THROW(mi300x({"gpu.power.links_awake_for=2h"}), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::models
