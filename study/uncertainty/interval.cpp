#include "study/uncertainty/interval.h"

#include <algorithm>
#include <cstddef>

#include "study/uncertainty/quantile.h"

namespace c3sim::study {

namespace {

double percentile(const std::vector<double>& sorted, double share) {
  return value_at(sorted, share * static_cast<double>(sorted.size()) - 0.5);
}

}  // namespace

std::optional<Interval> interval_of(std::vector<double> values) {
  constexpr double tail = 0.05;
  if (values.size() < fewest_draws) return std::nullopt;
  std::ranges::sort(values);
  if (values.front() == values.back()) return std::nullopt;
  return Interval{percentile(values, tail), percentile(values, 1.0 - tail)};
}

}  // namespace c3sim::study
