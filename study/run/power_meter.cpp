#include "study/run/power_meter.h"

#include <algorithm>

namespace c3sim::study {

void PowerMeter::count(const Held& held, sim::Time from) {
  const sim::Seconds time = sim::to_seconds(held.until - std::min(held.until, std::max(held.since, from)));
  busy_ += time;
  energy_ += held.power * time;
  cycles_ += held.clock * time;
}

template <class Note>
void PowerMeter::watch(models::Node& node, int gpu, Note note) {
  models::PowerGovernor& governor = node.gpu(gpu).governor(models::Tenant::gemm);
  idle_power_ = governor.power();
  idle_clock_ = governor.reported_clock();
  node.network().add_observer([note, &governor](sim::Time since, sim::Time until) {
    note({since, until, governor.power(), governor.reported_clock()});
  });
}

void PowerMeter::attach(models::Node& node) {
  watch(node, 0, [this](const Held& held) { count(held, sim::Time::zero()); });
}

void PowerMeter::record(models::Node& node, int gpu) {
  watch(node, gpu, [this](const Held& held) { recorded_.push_back(held); });
}

void PowerMeter::count_from(sim::Time from) {
  for (const Held& held : recorded_) count(held, from);
}

PowerMeter::Drawn& PowerMeter::Drawn::operator+=(const Drawn& more) {
  energy += more.energy;
  cycles += more.cycles;
  return *this;
}

PowerMeter::Drawn PowerMeter::between(sim::Time since, sim::Time until) const {
  Drawn drawn;
  sim::Seconds at_rest = sim::to_seconds(until - since);
  auto held = std::ranges::upper_bound(recorded_, since, {}, &Held::until);
  for (; held != recorded_.end() && held->since < until; ++held) {
    const sim::Seconds time = sim::to_seconds(std::min(held->until, until) - std::max(held->since, since));
    drawn += {held->power * time, held->clock * time};
    at_rest -= time;
  }
  drawn += this->at_rest(at_rest);
  return drawn;
}

sim::Watts PowerMeter::mean_power(sim::Seconds time) const {
  if (time <= sim::Seconds(0.0)) return idle_power_;
  return (energy_ + idle_power_ * (time - busy_)) / time;
}

sim::Hertz PowerMeter::mean_clock(sim::Seconds time) const {
  if (time <= sim::Seconds(0.0)) return idle_clock_;
  return sim::Hertz((cycles_ + idle_clock_ * (time - busy_)) / time.value());
}

sim::Hertz PowerMeter::clock_at_work(sim::Seconds time, sim::Seconds at_rest) const {
  const sim::Seconds at_work = time - at_rest;
  if (at_work <= sim::Seconds(0.0)) return idle_clock_;
  return sim::Hertz((mean_clock(time) * time - idle_clock_ * at_rest) / at_work.value());
}

}  // namespace c3sim::study
