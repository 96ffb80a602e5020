#include "calibrate/readers/repeated_runs.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "study/report/statistics.h"

namespace c3sim::calibrate {

Percentiles percentiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&values](double share) {
    return study::value_at(values, share * static_cast<double>(values.size() - 1));
  };
  return {.median = at(0.5), .low = at(0.1), .high = at(0.9)};
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
