#include "calibrate/readers/repeated_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace c3sim::calibrate {

namespace {

// The least value that this share of them does not exceed.
double percentile(std::vector<double>& values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  Spread spread;
  spread.median = percentile(values, 0.5);
  spread.low = percentile(values, 0.1);
  spread.high = percentile(values, 0.9);
  return spread;
}

// In the order in which they begin, each is held against the one of those before it that ends last: others that it
// meets lie within that one, and are beside it already.
std::vector<bool> is_beside_others(const std::vector<Stay>& stays) {
  constexpr double share = 0.01;
  std::vector<std::size_t> order(stays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {},
                    [&stays](std::size_t i) { return std::tuple(stays[i].gpu, stays[i].begin, stays[i].end, i); });
  std::vector<double> shared(stays.size());
  std::size_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t here = order[i];
    const bool is_first_of_gpu = i == 0 || stays[here].gpu != stays[last].gpu;
    const double both = std::min(stays[here].end, stays[last].end) - stays[here].begin;
    if (!is_first_of_gpu && both > 0.0) {
      shared[here] += both;
      shared[last] += both;
    }
    if (is_first_of_gpu || stays[here].end > stays[last].end) last = here;
  }
  std::vector<bool> beside(stays.size());
  for (std::size_t i = 0; i < stays.size(); ++i) beside[i] = shared[i] > share * (stays[i].end - stays[i].begin);
  return beside;
}

}  // namespace c3sim::calibrate
