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

// Returns how much a quantity changes in each row, in percent, at both ends of each parameter's range; parameters that
// move it most come first. `quantity` is the key of a numeric column in the first table that `ask` returns. Several
// threads call `ask` at once. Throws sim::ConfigError if there is no such column.
NamedTable sensitivity_of(const std::string& quantity, const Platform& platform,
                          const std::function<Results(Testbed& testbed)>& ask, const Progress& progress = {});

}  // namespace c3sim::study
