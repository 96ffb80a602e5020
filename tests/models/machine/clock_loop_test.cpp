// Laws of the loop that holds mean power under the cap, on work that draws 100 + 100 f^3 W at f GHz: the cap of 200 W
// is met at 1 GHz, and the burst limit of 437.5 W at 1.5 GHz.
#include "models/machine/clock_loop.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

constexpr double flops_per_cycle = 1e5;

sim::Time milliseconds(double ms) { return sim::to_time(sim::Seconds(ms * 1e-3)); }

// It starts after 10 ms, as the burst limit lies 237.5 W above the cap.
PowerSpec loop_power() {
  PowerSpec spec = round_power();
  spec.cap = sim::Watts(200.0);
  spec.burst_limit = sim::Watts(437.5);
  spec.clock_tree = sim::Watts(0.0);
  spec.voltage_exponent = 2.0;
  spec.matrix_clock = spec.highest_clock;
  spec.window = milliseconds(10.0);
  spec.period = milliseconds(20.0);
  spec.dead_band = 0.01;
  spec.start_energy = sim::Joules(2.375);
  return spec;
}

// Matrix work under a governor and its loop.
class Load {
 public:
  Load(const PowerSpec& spec, double flops)
      : memory_(round_memory(), network_, "gpu0"), governor_(spec, network_, memory_, {}) {
    network_.add_regulator([this] { return governor_.regulate(); });
    loop_.emplace(spec, network_, governor_);
    sim::ActivitySpec work;
    work.amount = 1e18;
    work.cap = 1e15;
    work_ = network_.start(work, [] {});
    governor_.set_matrix_work(work_, flops);
  }
  void end_at(double ms) {
    simulator_.schedule(milliseconds(ms), [this] {
      network_.set_cap(work_, 1e30);  // what is left takes no time
      governor_.remove_work(work_);
    });
  }
  void look_at(double ms) {
    simulator_.schedule(milliseconds(ms), [this] { clocks_.push_back(governor_.clock().value() * 1e-9); });
  }
  // Clocks in GHz when they were looked at.
  const std::vector<double>& run() {
    simulator_.run();
    return clocks_;
  }

 private:
  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
  Memory memory_;
  PowerGovernor governor_;
  std::optional<ClockLoop> loop_;
  sim::ResourceNetwork::ActivityId work_ = 0;
  std::vector<double> clocks_;
};

// Of work from 0 to `end_ms`.
std::vector<double> run(const PowerSpec& spec, double end_ms, const std::vector<double>& looks_ms,
                        double flops = flops_per_cycle) {
  Load load(spec, flops);
  load.end_at(end_ms);
  for (const double ms : looks_ms) load.look_at(ms);
  return load.run();
}

void expect_clocks(const std::vector<double>& clocks, const std::vector<double>& gigahertz) {
  ASSERT_EQ(clocks.size(), gigahertz.size());
  for (std::size_t i = 0; i < gigahertz.size(); ++i) {
    EXPECT_NEAR(clocks[i], gigahertz[i], 1.5 * clock_step * gigahertz[i]) << i;
  }
}

// One step is enough: the cube root of 100 over 337.5 is a third less clock.
TEST(ClockLoop, HoldsTheLimitAtOnceAndTheCapOnceItHasStarted) {
  expect_clocks(run(loop_power(), 100.0, {0.1, 9.9, 10.1, 50.0, 99.0}), {1.5, 1.5, 1.0, 1.0, 1.0});
}

// It starts after 5 ms, of which the window sees as much rest: 268.75 W. The cube root of 100 over 168.75 makes
// that 1.26 GHz, at which 300 W are drawn; the next step, 20 ms later, sees nothing else.
TEST(ClockLoop, AveragesOverItsWindow) {
  PowerSpec early = loop_power();
  early.start_energy = sim::Joules(0.5 * 2.375);
  expect_clocks(run(early, 100.0, {4.9, 5.1, 24.9, 25.1, 99.0}), {1.5, 1.26, 1.26, 1.0, 1.0});
}

// 268.75 W are 34 % over the cap.
TEST(ClockLoop, LeavesTheClockWithinItsDeadBand) {
  PowerSpec early = loop_power();
  early.start_energy = sim::Joules(0.5 * 2.375);
  early.dead_band = 0.35;
  EXPECT_NEAR(run(early, 100.0, {9.9}).front(), 1.5, 1.5 * clock_step);
  early.dead_band = 0.33;
  EXPECT_NEAR(run(early, 100.0, {9.9}).front(), 1.26, 1.26 * clock_step);
}

// A tenth of the work: 180 W at 2 GHz.
TEST(ClockLoop, NeverStartsUnderALoadBelowTheCap) {
  expect_clocks(run(loop_power(), 100.0, {50.0, 99.0}, 0.1 * flops_per_cycle), {2.0, 2.0});
}

// The work ends at 25 ms. At 30 ms the window has seen 5 ms at 200 W and 5 ms at rest, 150 W: the clock rises by the
// cube root of 2. At 50 ms it finds rest and lets the clock go; at 70 ms nothing is left to do, or this would run for
// ever.
TEST(ClockLoop, LetsTheClockGoAfterTheLoadAndEnds) {
  expect_clocks(run(loop_power(), 25.0, {24.0, 31.0, 51.0}), {1.0, 1.26, 2.0});
}

}  // namespace
}  // namespace c3sim::models
