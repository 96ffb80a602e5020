#include "study/report/statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

namespace c3sim::study {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return std::midpoint(values[(values.size() - 1) / 2], values[values.size() / 2]);
}

double value_at(std::span<const double> sorted, double place) {
  const double within = std::clamp(place, 0.0, static_cast<double>(sorted.size() - 1));
  const auto below = static_cast<std::size_t>(within);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], within - static_cast<double>(below));
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return value_at(values, share * static_cast<double>(values.size() - 1));
}

double deviations_between(double tail, std::size_t count) {
  const auto all = static_cast<double>(count);
  const double share = ((1.0 - tail) * (all - 1.0) + 2.0 / 3.0) / (all + 1.0 / 3.0);
  return 2.0 * boost::math::quantile(boost::math::normal(), share);
}

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
