// Intervals beside answers: the question asked again of every machine that a platform may be.
#pragma once

#include "study/ask/questions.h"
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

}  // namespace c3sim::study
