#include "models/machine/clock_loop.h"

#include <algorithm>
#include <cmath>

namespace c3sim::models {

ClockLoop::State ClockLoop::at_rest(const PowerSpec& spec) {
  return {spec.highest_clock, sim::Joules(0.0), PowerRecord(spec.at_rest())};
}

ClockLoop::ClockLoop(const PowerSpec& spec, sim::ResourceNetwork& network, PowerGovernor& governor, const State& state)
    : spec_(spec),
      network_(network),
      simulator_(network.simulator()),
      governor_(governor),
      record_(state.record.moved(simulator_.now())),
      noted_until_(simulator_.now()),
      excess_(state.excess) {
  governor_.set_ceiling(state.ceiling);
  if (state.next_step) step_at(simulator_.now() + *state.next_step);
  network.add_observer([this](sim::Time, sim::Time until) { note(noted_until_, until); });
  network.add_regulator([this] {
    if (!next_step_) foresee_start();
    return false;
  });
}

void ClockLoop::note(sim::Time since, sim::Time until) {
  const sim::Watts power = governor_.power();
  record_.add(since, until, power);
  record_.forget_before(until - spec_.window);
  excess_ = std::max(sim::Joules(0.0), excess_ + (power - spec_.cap) * sim::to_seconds(until - since));
  noted_until_ = until;
}

// Rates and power may still change at this instant. A start foreseen too early is foreseen anew when it is due.
void ClockLoop::foresee_start() {
  const sim::Watts over = governor_.power() - spec_.cap;
  if (over <= sim::Watts(0.0)) return;
  const sim::Seconds left = std::max(sim::Joules(0.0), spec_.start_energy - excess_) / over;
  const sim::Time wait = sim::to_time(left);
  if (wait >= start_due_ - simulator_.now()) return;
  const sim::Time due = simulator_.now() + wait;
  start_due_ = due;
  simulator_.schedule(due, [this, due] { start_if_due(due); });
}

void ClockLoop::start_if_due(sim::Time due) {
  if (due != start_due_) return;  // an earlier start was foreseen since
  start_due_ = sim::Time::max();
  const sim::Time now = simulator_.now();
  const sim::Joules excess = excess_ + (governor_.power() - spec_.cap) * sim::to_seconds(now - noted_until_);
  constexpr double rounding = 1e-6;
  if (excess < (1.0 - rounding) * spec_.start_energy) return foresee_start();
  step();
}

void ClockLoop::step_at(sim::Time time) {
  next_step_ = time;
  simulator_.schedule(time, [this] { step(); });
}

ClockLoop::State ClockLoop::state() {
  network_.regulate_anew();  // closes the stretch that ends now
  const sim::Time now = simulator_.now();
  State state{governor_.ceiling(), excess_, record_.moved(-now)};
  if (next_step_) state.next_step = *next_step_ - now;
  return state;
}

void ClockLoop::step() {
  network_.regulate_anew();  // closes the stretch that ends now
  const sim::Watts mean = record_.mean(simulator_.now() - spec_.window, simulator_.now());
  const double off = mean / spec_.cap - 1.0;
  const bool slowed = governor_.ceiling() < spec_.highest_clock;
  if (off <= spec_.dead_band && !slowed) {
    next_step_.reset();
    excess_ = sim::Joules(0.0);
    return;
  }
  if (std::abs(off) > spec_.dead_band) {
    // A step down begins at the clock that the burst limit already allows.
    const sim::Hertz from = off > 0.0 ? std::min(governor_.ceiling(), governor_.clock_at_work()) : governor_.ceiling();
    governor_.set_ceiling(std::clamp(spec_.step_to_cap(mean) * from, spec_.lowest_clock, spec_.highest_clock));
  }
  step_at(simulator_.now() + spec_.period);
}

}  // namespace c3sim::models
