#include "study/interval.h"

#include <algorithm>
#include <cstddef>

namespace c3sim::study {

namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const double last = static_cast<double>(sorted.size()) - 1.0;
  const double place = std::clamp(share * static_cast<double>(sorted.size()) - 0.5, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
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
