#include "models/machine/power_limit_loop.h"

#include <algorithm>
#include <cmath>

namespace c3sim::models {

namespace {
constexpr double lowest_level = 0.1;
constexpr double nothing_else = 1.001;  // power up to this multiple of that at rest counts as rest
}  // namespace

PowerLimitLoop::State PowerLimitLoop::at_rest(const PowerSpec& spec) {
  return {spec.level_of(spec.burst_limit), spec.at_rest() / spec.cap, sim::Time(0), sim::Joules(0.0)};
}

PowerLimitLoop::PowerLimitLoop(const PowerSpec& spec, sim::ResourceNetwork& network, PowerGovernor& governor,
                               const State& state)
    : spec_(spec),
      network_(network),
      simulator_(network.simulator()),
      governor_(governor),
      record_(spec.at_rest()),
      last_step_(simulator_.now() - state.since_step),
      filtered_(state.filtered),
      level_(state.level) {
  if (state.since_step > sim::Time::zero()) {
    record_.add(last_step_, simulator_.now(), state.drawn / sim::to_seconds(state.since_step));
  }
  governor_.set_limit(spec.limit_at(level_));
  network.add_observer([this](sim::Time since, sim::Time until) { record_.add(since, until, governor_.power()); });
  network.add_regulator([this] {
    if (!steps_ && at_work()) wake();
    return false;
  });
}

bool PowerLimitLoop::at_work() const {
  return governor_.power() > nothing_else * (spec_.at_rest() + spec_.links_awake);
}

// Makes up for steps that were left out at rest. After some tens of them further steps move nothing.
void PowerLimitLoop::make_up() {
  constexpr std::int64_t most = 64;
  const std::int64_t missed = (simulator_.now() - last_step_) / spec_.period;
  for (std::int64_t i = 0; i < std::min(missed, most); ++i) {
    move(i == 0 ? record_.mean(last_step_, last_step_ + spec_.period) : spec_.at_rest());
  }
  last_step_ += missed * spec_.period;
}

PowerLimitLoop::State PowerLimitLoop::state() {
  network_.regulate_anew();  // closes the stretch that ends now
  if (!steps_) make_up();
  const sim::Time now = simulator_.now();
  const sim::Time since = now - last_step_;
  const bool begins = since == sim::Time::zero();
  return {level_, filtered_, since, begins ? sim::Joules(0.0) : record_.mean(last_step_, now) * sim::to_seconds(since)};
}

void PowerLimitLoop::wake() {
  steps_ = true;
  make_up();
  simulator_.schedule(simulator_.now(), [this] { governor_.set_limit(spec_.limit_at(level_)); });
  simulator_.schedule(last_step_ + spec_.period, [this] { step(); });
}

void PowerLimitLoop::step() {
  network_.regulate_anew();  // closes the stretch that ends now
  const sim::Time now = simulator_.now();
  move(record_.mean(last_step_, now));
  record_.forget_before(now);
  last_step_ = now;
  governor_.set_limit(spec_.limit_at(level_));
  steps_ = at_work();
  if (steps_) simulator_.schedule(now + spec_.period, [this] { step(); });
}

void PowerLimitLoop::move(sim::Watts mean) {
  const double before = filtered_;
  const double share = 1.0 - std::exp(-(sim::to_seconds(spec_.period) / sim::to_seconds(spec_.window)));
  filtered_ += share * (mean / spec_.cap - filtered_);
  const double step = spec_.integral_gain * (1.0 - filtered_) - spec_.proportional_gain * (filtered_ - before);
  level_ = std::clamp(level_ + step, lowest_level, spec_.level_of(spec_.burst_limit));
}

}  // namespace c3sim::models
