#include "models/machine/governor_loop.h"

#include <algorithm>
#include <cmath>

namespace c3sim::models {

void PowerRecord::add(sim::Time since, sim::Time until, sim::Watts power) {
  if (marks_.empty()) marks_.push_back({since, sim::Joules(0.0)});
  marks_.push_back({until, marks_.back().energy + power * sim::to_seconds(until - marks_.back().time)});
}

PowerRecord PowerRecord::moved(sim::Time by) const {
  PowerRecord record = *this;
  for (Mark& mark : record.marks_) mark.time += by;
  return record;
}

sim::Joules PowerRecord::energy_until(sim::Time time) const {
  const auto after = std::ranges::upper_bound(marks_, time, {}, &Mark::time);
  if (marks_.empty()) return at_rest_ * sim::to_seconds(time);
  if (after == marks_.begin()) return after->energy - at_rest_ * sim::to_seconds(after->time - time);
  const Mark& before = *(after - 1);
  const sim::Seconds since = sim::to_seconds(time - before.time);
  if (after == marks_.end()) return before.energy + at_rest_ * since;
  return before.energy + (after->energy - before.energy) * (since / sim::to_seconds(after->time - before.time));
}

// Energy is piecewise linear in time, so the window with the highest mean begins or ends at a mark.
sim::Watts PowerRecord::highest_mean(sim::Time since, sim::Time until, sim::Time width) const {
  if (until - since <= width) return mean(since, until);
  sim::Watts highest = std::max(mean(since, since + width), mean(until - width, until));
  for (const Mark& mark : marks_) {
    if (mark.time >= since && mark.time + width <= until) {
      highest = std::max(highest, mean(mark.time, mark.time + width));
    }
    if (mark.time - width >= since && mark.time <= until) {
      highest = std::max(highest, mean(mark.time - width, mark.time));
    }
  }
  return highest;
}

namespace {
constexpr double lowest_level = 0.1;
constexpr double nothing_else = 1.001;  // power up to this multiple of that at rest counts as rest
}  // namespace

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
