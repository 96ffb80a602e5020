// Says how certain an answer is by asking the question of other machines: of all draws of what the platform may be, for
// intervals, and of machines at both ends of each parameter's range, for sensitivities.
#pragma once

#include <functional>
#include <string>

#include "study/ask/questions.h"
#include "study/play/platform_file.h"
#include "study/report/results.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// Adds the intervals of the results' times, and the ensemble's warnings, to an answer of the platform itself.
// Strategies that search (c3_rp and the like for CUs to reserve, c3_best for a strategy) search anew on every machine.
// Results that the platform was not fitted to get intervals at least as wide as its validation error. Uses `jobs`
// threads, or one per core if `jobs` is 0; the intervals do not depend on it.
template <class Result>
void add_intervals(Answer<Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress = {}, int jobs = 0);

// Asks a machine for the same answer again. Several threads call it at once, each with its own testbed.
using Again = std::function<Results(Testbed& testbed)>;

// Returns how much a quantity changes in each row at both ends of the range of each parameter that was assumed, fitted
// or probed; parameters that move it most come first, and those that move nothing visibly are counted. `quantity` is
// the key of a column that has a number in all rows of a table of the answer. Fractions change by points, without rows
// of strategy serial, and other quantities by percent. Throws sim::ConfigError if there is no such column.
NamedTable sensitivity_of(const std::string& quantity, const Platform& platform, const Again& ask,
                          const Progress& progress = {});

}  // namespace c3sim::study
