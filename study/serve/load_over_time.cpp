#include "study/serve/load_over_time.h"

#include <algorithm>

namespace c3sim::study {

namespace {

void add_times(LoadSample& sum, double factor, const LoadSample& load) {
  sum.waiting += factor * load.waiting;
  sum.running += factor * load.running;
  sum.cache += factor * load.cache;
}

}  // namespace

void LoadOverTime::add(sim::Time from, sim::Time to, const LoadSample& load) {
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

std::vector<LoadSample> LoadOverTime::samples() const {
  std::vector<LoadSample> means;
  for (const LoadSample& sum : sums_) {
    add_times(means.emplace_back(), 1.0 / sim::to_seconds(interval_).value(), sum);
  }
  return means;
}

}  // namespace c3sim::study
