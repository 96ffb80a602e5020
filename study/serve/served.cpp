#include "study/serve/served.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace c3sim::study {

namespace {

// Returns the logarithmic width of a place, whose ends differ from its middle by the largest error.
double step() { return std::log1p(Latencies::largest_error) * 2.0; }

constexpr int no_time = std::numeric_limits<int>::min();

void add_times(ServerLoad& sum, double factor, const ServerLoad& load) {
  sum.waiting += factor * load.waiting;
  sum.running += factor * load.running;
  sum.cache += factor * load.cache;
}

}  // namespace

void Latencies::add(sim::Time time) {
  const double seconds = sim::to_seconds(time).value();
  ++counts_[time <= sim::Time(0) ? no_time : static_cast<int>(std::floor(std::log(seconds) / step()))];
  ++count_;
  sum_ += seconds;
}

sim::Time Latencies::mean() const {
  return count_ == 0 ? sim::Time(0) : sim::to_time(sim::Seconds(sum_ / static_cast<double>(count_)));
}

sim::Time Latencies::quantile(double share) const {
  const auto due = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (const auto& [place, times] : counts_) {
    seen += times;
    if (seen < due) continue;
    if (place == no_time) return sim::Time(0);
    return sim::to_time(sim::Seconds(std::exp((static_cast<double>(place) + 0.5) * step())));
  }
  return sim::Time(0);
}

void LoadOverTime::add(sim::Time from, sim::Time to, const ServerLoad& load) {
  while (to > static_cast<std::int64_t>(most) * interval_) {
    interval_ *= 2;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (i % 2 == 1) add_times(sums_[i / 2], 1.0, sums_[i]);
      if (i % 2 == 0 && i > 0) sums_[i / 2] = sums_[i];
    }
    sums_.resize((sums_.size() + 1) / 2);
  }
  while (from < to) {
    const auto place = static_cast<std::size_t>(from / interval_);
    const sim::Time end = std::min(to, (static_cast<std::int64_t>(place) + 1) * interval_);
    if (sums_.size() <= place) sums_.resize(place + 1);
    add_times(sums_[place], sim::to_seconds(end - from).value(), load);
    from = end;
  }
}

std::vector<ServerLoad> LoadOverTime::samples() const {
  std::vector<ServerLoad> means;
  for (const ServerLoad& sum : sums_) {
    add_times(means.emplace_back(), 1.0 / sim::to_seconds(interval_).value(), sum);
  }
  return means;
}

double Served::per_second(std::int64_t count) const {
  return static_cast<double>(count) / std::max(sim::to_seconds(duration()).value(), 1e-12);
}

}  // namespace c3sim::study
