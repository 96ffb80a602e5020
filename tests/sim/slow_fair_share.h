// A slow and obvious second version of the engine's fluid model, which tests compare with the fast one. It uses dense
// matrices, one bottleneck and one event at a time, and neither classes nor picoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace c3sim {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

namespace slow {

struct Flow {
  std::vector<double> coefficients;  // There is one for each resource, 0 if the flow does not use it.
  double weight = 1.0;
  double cap = infinity;
  double amount = 0.0;
  double start = 0.0;
};

// Fills progressively: all rates grow in proportion to their weights until a flow meets its cap or a full resource.
inline std::vector<double> fair_rates(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  std::vector<double> rates(flows.size(), 0.0);
  std::vector<bool> stopped(flows.size(), false);
  std::size_t growing = flows.size();
  long double level = 0.0L;
  while (growing > 0) {
    long double stop = std::numeric_limits<long double>::infinity();
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!stopped[i]) stop = std::min(stop, static_cast<long double>(flows[i].cap) / flows[i].weight);
    }
    std::vector<long double> full_at(capacities.size(), std::numeric_limits<long double>::infinity());
    for (std::size_t r = 0; r < capacities.size(); ++r) {
      long double left = capacities[r];
      long double growth = 0.0L;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        if (stopped[i]) left -= static_cast<long double>(flows[i].coefficients[r]) * rates[i];
        if (!stopped[i]) growth += static_cast<long double>(flows[i].coefficients[r]) * flows[i].weight;
      }
      if (growth > 0.0L) full_at[r] = std::max(level, left / growth);
      stop = std::min(stop, full_at[r]);
    }
    level = stop;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (stopped[i]) continue;
      bool stops = static_cast<long double>(flows[i].cap) / flows[i].weight <= level;
      for (std::size_t r = 0; r < capacities.size(); ++r)
        stops |= flows[i].coefficients[r] > 0.0 && full_at[r] <= level;
      if (!stops) continue;
      stopped[i] = true;
      rates[i] = static_cast<double>(level * flows[i].weight);
      --growing;
    }
  }
  return rates;
}

// Returns when each flow ends. Rates are constant between two starts or ends.
inline std::vector<double> finishing_times(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> ended(flows.size(), never);
  std::vector<long double> left;
  for (const Flow& flow : flows) left.push_back(flow.amount);
  long double now = 0.0L;
  for (;;) {
    std::vector<Flow> live;
    std::vector<std::size_t> index;
    long double next = never;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (ended[i] < never) continue;
      if (flows[i].start > now) {
        next = std::min<long double>(next, flows[i].start);
      } else {
        live.push_back(flows[i]);
        index.push_back(i);
      }
    }
    const std::vector<double> rates = fair_rates(capacities, live);
    std::size_t first = live.size();
    for (std::size_t k = 0; k < live.size(); ++k) {
      const long double end = now + left[index[k]] / rates[k];
      if (end <= next) {
        next = end;
        first = k;
      }
    }
    if (next == never) return ended;
    for (std::size_t k = 0; k < live.size(); ++k) left[index[k]] -= rates[k] * (next - now);
    now = next;
    if (first < live.size()) ended[index[first]] = static_cast<double>(now);
  }
}

}  // namespace slow
}  // namespace c3sim
