// How sure an answer is, by asking the question again of other machines: of every one that the platform may be, for
// intervals, and of those at the ends of each parameter's range, for how far the answer moves.
#pragma once

#include <functional>
#include <string>

#include "study/ask/questions.h"
#include "study/play/platform_file.h"
#include "study/report/results.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// Adds the intervals of the results' times, and the ensemble's warnings, to an answer of the platform itself. What a
// strategy searches for (c3_rp and the like: CUs to reserve; c3_best: a strategy) it searches for anew on every
// machine. What the platform was not fitted to is no surer than its own validation says. `jobs` threads, one per core
// where that is 0; the intervals do not depend on it.
void add_intervals(Answer<WorkResult>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress = {}, int jobs = 0);
void add_intervals(Answer<C3Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress = {}, int jobs = 0);

// The table of one quantity, by its key among the numbers of the first table of what `ask` answers: of every row its
// change, in percent, at both ends of each range, parameters that move it most first. Several threads ask at once.
// Throws sim::ConfigError where the answer has no such quantity.
NamedTable sensitivity_of(const std::string& quantity, const Platform& platform,
                          const std::function<Results(Testbed& testbed)>& ask, const Progress& progress = {});

}  // namespace c3sim::study
