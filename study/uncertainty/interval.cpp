#include "study/uncertainty/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "study/report/statistics.h"

namespace c3sim::study {

std::optional<Interval> interval_of(std::vector<double> values) {
  constexpr double tail = 0.05;
  if (values.size() < fewest_draws) return std::nullopt;
  std::ranges::sort(values);
  if (values.front() == values.back()) return std::nullopt;
  const auto percentile = [&](double share) {
    return value_at(values, share * static_cast<double>(values.size()) - 0.5);
  };
  return Interval{percentile(tail), percentile(1.0 - tail)};
}

std::optional<Interval> at_least(std::optional<Interval> interval, double predicted, double error) {
  if (error <= 0.0) return interval;
  const auto [low, high] = std::minmax({predicted * std::exp(-error), predicted * std::exp(error)});
  if (!interval) return Interval{low, high};
  return Interval{std::min(interval->low, low), std::max(interval->high, high)};
}

}  // namespace c3sim::study
