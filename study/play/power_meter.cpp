#include "study/play/power_meter.h"

#include <algorithm>
#include <cmath>

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
  node.network().add_observer([note, &governor, &node](sim::Time since, sim::Time until) {
    if (since < node.work_ended()) {
      note({since, std::min(until, node.work_ended()), governor.power(), governor.reported_clock()});
    }
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

namespace {
constexpr double close = 5e-4;  // relative distance of mean power from the cap that counts as meeting it
constexpr int most_runs = 16;
}  // namespace

// Each step is a secant through the last run, as in the governor's loop: power above rest is assumed to grow with the
// cube of the clock. From the second run on, the slope between two runs replaces that assumption.
ClockSearch settle_clock(const models::PowerSpec& spec, const std::function<SteadyRun(sim::Hertz ceiling)>& run) {
  SteadyRun seen = run(spec.highest_clock);
  if (seen.power <= (1.0 + close) * spec.cap) return ClockSearch::settled;
  double low = spec.lowest_clock.value();
  double high = spec.highest_clock.value();
  double clock = seen.clock_at_work.value();
  double slope = 1.0;  // minus d log(step to cap) / d log(clock)
  for (int runs = 1; runs < most_runs; ++runs) {
    const double step = std::log(spec.step_to_cap(seen.power));
    double next = clock * std::exp(step / slope);
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    seen = run(sim::Hertz(next));
    if (std::abs(seen.power / spec.cap - 1.0) <= close) return ClockSearch::settled;
    (seen.power > spec.cap ? high : low) = next;
    const double change = std::log(spec.step_to_cap(seen.power)) - step;
    constexpr double least_slope = 0.1;
    slope = std::max(least_slope, -change / std::log(next / clock));
    clock = next;
  }
  if (high > (1.0 + close) * low) return ClockSearch::given_up;
  return low > spec.lowest_clock.value() ? ClockSearch::settled : ClockSearch::above_cap;
}

}  // namespace c3sim::study
