// This file tells how much of an answer, most often of a fraction of ideal, is owed to one thing about a platform: to a
// mechanism of interference, or to a parameter that was assumed or fitted.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/c3/strategy.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/report/results.h"

namespace c3sim::study {

using Fractions = std::vector<double>;  // of ideal, by strategy; or values of another quantity
// What is asked of every platform. Several threads ask at once, each with a testbed of its own.
using FractionsOf = std::function<Fractions(Testbed&)>;

// Strategies that run both at once: what serial gains or loses is no overlap.
std::vector<Strategy> strategies_that_vary(std::span<const Strategy> strategies);
FractionsOf question_of(const Scenario& scenario, std::vector<Strategy> strategies);

// The answers of platforms without one mechanism each, in the order of models::all_mechanisms, behind that of the
// platform itself. One row each; percent of ideal by strategy.
std::vector<Fractions> leave_mechanisms_out(const models::PlatformSpec& platform, const FractionsOf& question,
                                            const Progress& progress = {});
NamedTable mechanism_table(std::span<const Strategy> strategies, std::span<const Fractions> answers);

// A parameter of kind assumed or fitted, and the answers at the ends of its range; none where the rest of the platform
// rules that end out.
struct Sensitivity {
  std::string parameter;
  std::string low;
  std::string high;
  std::optional<Fractions> at_low;
  std::optional<Fractions> at_high;

  // How far it moves over the two ends and `base`; of one strategy, and of the one that moves most.
  double swing(const Fractions& base, std::size_t strategy) const;
  double largest_swing(const Fractions& base) const;
};
struct SensitivityAnswer {
  Fractions base;
  std::vector<Sensitivity> parameters;  // by largest swing, then by name
};
SensitivityAnswer vary_parameters(const Platform& platform, const FractionsOf& question, const Progress& progress = {});
// One row for each parameter that moves anything: largest swing, and by strategy the change at either end, in points of
// percent.
NamedTable sensitivity_table(std::span<const Strategy> strategies, const SensitivityAnswer& answer);
// The same of any quantity, whose values have these names: changes are in percent of each as it is.
NamedTable sensitivity_table(std::span<const std::string> names, const std::string& quantity, SensitivityAnswer answer);

}  // namespace c3sim::study
