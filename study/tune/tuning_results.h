// What tuning found, for people: tables, charts and sentences.
#pragma once

#include <string>
#include <vector>

#include "study/report/results.h"
#include "study/tune/tuning.h"

namespace c3sim::study {

// Tables "choices" (every decision), "rules" (how good simple rules are), "thresholds" (engines or kernels), "tuner"
// (lines for RCCL) and "measure" (what predictions cannot tell, and the command that would), and the files of
// tuning_files.h.
Results tuning_results(const Tuning& tuning, const models::PlatformSpec& platform);

// What tuning found, to carry away: files for libraries, programs and shells.

// decisions.yaml   the rules on static sizes, leaf by leaf
// decisions.h      the same as C++17 functions without any include
// rccl_tuner_gfx942.csv (of another fabric than MI300X's: nccl_tuner.csv)   lines for the library's own CSV tuner
// environment.sh   thresholds between kernels and engines
// measure.sh       the runs that would decide what predictions leave open, of pairs those in plan.csv
std::vector<TextFile> tuning_files(const Tuning& tuning, const models::PlatformSpec& platform);

// Commands that measure what predictions leave open, and what each would decide.
struct OpenQuestion {
  std::string about;    // "all_gather alone, 16 MiB to 40 MiB: by kernels"
  std::string command;  // of rccl-tests, TransferBench or c3sim-measure
};
std::vector<OpenQuestion> open_questions(const Tuning& tuning, const models::PlatformSpec& platform);

}  // namespace c3sim::study
