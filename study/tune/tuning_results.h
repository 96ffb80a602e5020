// What tuning found, for people: tables, charts and sentences.
#pragma once

#include "study/report/results.h"
#include "study/tune/tuning.h"

namespace c3sim::study {

// Tables "choices" (every decision), "rules" (how good simple rules are), "thresholds" (engines or kernels), "tuner"
// (lines for RCCL) and "measure" (what predictions cannot tell, and the command that would), and the files of
// tuning_files.h.
Results tuning_results(const Tuning& tuning, const models::PlatformSpec& platform);

}  // namespace c3sim::study
