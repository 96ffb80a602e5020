#include "validate/counterfactual.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>

#include "models/platform/interference.h"
#include "validate/cost.h"

namespace c3sim::validate {

namespace {

using models::sharing_mechanisms;
constexpr std::size_t mechanisms = sharing_mechanisms.size();

bool tells_a_cost(const Case& one) { return one.figure == study::Figure::time && cost_alone_of(one).has_value(); }

// Copies of the cases that meet the condition, and which they are.
struct Some {
  std::vector<Case> cases;
  std::vector<std::size_t> places;
};

Some some_of(const std::vector<Case>& cases, const std::function<bool(const Case&)>& meets) {
  Some some;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!meets(cases[i])) continue;
    some.cases.push_back(cases[i]);
    some.places.push_back(i);
  }
  return some;
}

// Of machines without these mechanisms.
Platforms without(const Platforms& platforms, std::span<const models::Mechanism> left_out) {
  return [&platforms, left_out](const Machine& machine) {
    study::Platform platform = platforms(machine);
    study::Beside asked = platform.asked;
    for (const models::Mechanism mechanism : left_out) asked.without.add(mechanism);
    return study::beside(std::move(platform), std::move(asked));
  };
}

// Beyond the longer of the two alone, by prediction.
std::vector<double> predicted_costs(Some some, const Platforms& platforms, int jobs,
                                    const study::Progress& progress = {}) {
  predict(some.cases, platforms, jobs, progress);
  std::vector<double> costs;
  for (const Case& one : some.cases) costs.push_back(one.predicted.value_or(0.0) - cost_alone_of(one)->predicted);
  return costs;
}

}  // namespace

void split_costs(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  const Some some = some_of(cases, tells_a_cost);
  const std::span all(sharing_mechanisms);
  std::vector<std::vector<double>> without_first;  // so many of them
  std::vector<std::vector<double>> without_last;
  for (std::size_t k = 0; k <= mechanisms; ++k) {
    without_first.push_back(predicted_costs(some, without(platforms, all.first(k)), jobs));
    const bool is_known = k == 0 || k == mechanisms;
    without_last.push_back(is_known ? without_first.back()
                                    : predicted_costs(some, without(platforms, all.last(k)), jobs));
    if (progress) progress(k + 1, mechanisms + 1);
  }
  for (std::size_t i = 0; i < some.places.size(); ++i) {
    std::vector<double>& parts = cases[some.places[i]].cost_parts;
    for (std::size_t m = 0; m < mechanisms; ++m) {
      const double forwards = without_first[m][i] - without_first[m + 1][i];
      const double backwards = without_last[mechanisms - m - 1][i] - without_last[mechanisms - m][i];
      parts.push_back(0.5 * (forwards + backwards));
    }
  }
}

void predict_unprobed(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  const auto unprobed = [&platforms](Machine machine) {
    std::vector<std::string> values;
    for (const sim::Parameter& parameter : platforms(machine).parameters) {
      if (parameter.kind != "probed" || parameter.alternatives.empty()) continue;
      values.push_back(parameter.path + "=" + parameter.alternatives.front());
    }
    // Before what the user tries, which comes last.
    machine.changes.insert(machine.changes.begin(), values.begin(), values.end());
    return platforms(machine);
  };
  const Some some = some_of(cases, tells_a_cost);
  const std::vector<double> costs = predicted_costs(some, unprobed, jobs, progress);
  for (std::size_t i = 0; i < costs.size(); ++i) cases[some.places[i]].cost_unprobed = costs[i];
}

}  // namespace c3sim::validate
