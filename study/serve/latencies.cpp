#include "study/serve/latencies.h"

#include <cmath>
#include <limits>

namespace c3sim::study {

namespace {
// Between the middle and either end of a place lies the largest error.
double step() { return std::log1p(Latencies::largest_error) * 2.0; }

constexpr int no_time = std::numeric_limits<int>::min();
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

}  // namespace c3sim::study
