// Tells how much of an answer, usually a fraction of ideal, is due to one property of a platform: a mechanism of
// interference, or a parameter that was assumed, fitted or probed.
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

using Fractions = std::vector<double>;  // fractions of ideal by strategy, or values of another quantity
// A question to every platform. Several threads ask it concurrently, each with its own testbed.
using FractionsOf = std::function<Fractions(Testbed&)>;

// Returns the strategies that overlap: what `serial` gains or loses is not due to overlap.
std::vector<Strategy> strategies_that_vary(std::span<const Strategy> strategies);
FractionsOf question_of(const Scenario& scenario, std::vector<Strategy> strategies);

// Returns the answer of the platform, followed by those without one mechanism each, in the order of
// models::all_mechanisms. mechanism_table shows a row for each answer, with percent of ideal by strategy.
std::vector<Fractions> leave_mechanisms_out(const models::PlatformSpec& platform, const FractionsOf& question,
                                            const Progress& progress = {});
NamedTable mechanism_table(std::span<const Strategy> strategies, std::span<const Fractions> answers);

// Holds the answers at both ends of the range of a parameter that was assumed, fitted or probed. An answer is absent
// where other parameters rule that end out, or where the machine cannot do there what is asked.
struct Sensitivity {
  std::string parameter;
  std::string low;
  std::string high;
  std::optional<Fractions> at_low;
  std::optional<Fractions> at_high;

  // Return the range of answers over both ends and `base`: of one strategy, and of the strategy with the largest range.
  double swing(const Fractions& base, std::size_t strategy) const;
  double largest_swing(const Fractions& base) const;
};
struct SensitivityAnswer {
  Fractions base;
  std::vector<Sensitivity> parameters;  // the largest swing first
};
SensitivityAnswer vary_parameters(const Platform& platform, const FractionsOf& question, const Progress& progress = {});
// Returns one row for each parameter with an effect: its largest swing, and the change at either end by strategy, in
// percentage points.
NamedTable sensitivity_table(std::span<const Strategy> strategies, const SensitivityAnswer& answer);
// Returns the table for any quantity, whose values have these names; changes are in percent of each base value.
NamedTable sensitivity_table(std::span<const std::string> names, const std::string& quantity, SensitivityAnswer answer);

}  // namespace c3sim::study
