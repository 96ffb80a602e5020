#include "study/power_meter.h"

#include <algorithm>

namespace c3sim::study {

void PowerMeter::attach(models::Node& node, sim::Time from) {
  models::PowerGovernor& governor = node.gpu(0).governor(models::Tenant::gemm);
  idle_power_ = governor.power();
  idle_clock_ = governor.reported_clock();
  node.network().add_observer([this, &governor, from](sim::Time since, sim::Time until) {
    const sim::Seconds held = sim::to_seconds(until - std::min(until, std::max(since, from)));
    busy_ += held;
    energy_ += governor.power() * held;
    cycles_ += governor.reported_clock() * held;
  });
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
