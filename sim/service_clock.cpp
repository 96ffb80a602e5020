#include "sim/service_clock.h"

#include <algorithm>
#include <limits>

namespace c3sim::sim {

namespace {
bool later(const ServiceClock::Mark& a, const ServiceClock::Mark& b) {
  return a.at > b.at || (a.at == b.at && a.activity > b.activity);
}
}  // namespace

void ServiceClock::advance(Time now) {
  if (now == since_) return;
  const double attained = service(now);
  units_ += members_ * (attained - service_);
  service_ = attained;
  since_ = now;
}

void ServiceClock::set_rate(Time now, double rate) {
  advance(now);
  rate_ = rate;
}

ServiceClock::Mark ServiceClock::enter(Time now, double amount, std::uint64_t activity, std::uint32_t entry) {
  advance(now);
  ++members_;
  marks_.push_back({service_ + amount, activity, entry});
  const Mark mark = marks_.back();
  std::push_heap(marks_.begin(), marks_.end(), later);
  return mark;
}

double ServiceClock::leave(Time now, double mark) {
  advance(now);
  --members_;
  return std::max(0.0, mark - service_);
}

void ServiceClock::finish(Time now, double mark) {
  advance(now);
  --members_;
  units_ += mark - service_;
}

void ServiceClock::drop_first() {
  std::pop_heap(marks_.begin(), marks_.end(), later);
  marks_.pop_back();
}

Time ServiceClock::when(double mark) const {
  const double to_go = mark - service_;
  // A remainder within the rounding error of the clock counts as zero, as it must not cost an extra picosecond.
  if (to_go <= 4 * std::numeric_limits<double>::epsilon() * service_) return since_;
  const Time wait = to_time(Seconds(to_go / rate_));
  return wait < Time::max() - since_ ? since_ + wait : Time::max();
}

void ServiceClock::reset(Time now) {
  service_ = units_ = rate_ = 0.0;
  since_ = now;
  members_ = 0;
  marks_.clear();
}

}  // namespace c3sim::sim
