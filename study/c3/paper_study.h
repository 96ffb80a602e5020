// Experiment files may hold the study of a paper, which asks many questions and compares the answers with published
// figures: T3's or FiCCO's.
#pragma once

#include <functional>
#include <string>

#include "sim/config/config_section.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/results.h"

namespace c3sim::study {

struct PaperStudy {
  std::string size;  // what would run: "ficco: 16 GEMMs by 10 schedules"
  // Returns tables of predicted and published figures. `losses` asks for losses by cause as well, where they take extra
  // runs. Results do not depend on the number of threads, `jobs` (0: one per core).
  std::function<Results(Testbed& testbed, bool losses, const Progress& progress, int jobs)> run;
};

// Returns whether a file holds a paper's study rather than a list of operations.
inline bool holds_paper_study(sim::Section root) { return root.has("schedules") || root.has("sublayers"); }

// Reads a study of FiCCO: name, gemms: {NAME: MxNxK} (per GPU; n counts tokens) and schedules: all, or a list of names.
// Its tables are "results", "best" and "heuristic".
PaperStudy read_finer_grain_study(sim::Section root, const Testbed& testbed);

// Reads a study of T3: name, tokens, models: {NAME: {hidden, gpus: [8, 16], large}}, sublayers: {NAME: contraction},
// fused: {NAME: {trigger, path, stores, tiles, near_memory, arbitration}}, cus_apart: [8, 16], summaries of
// its table of results (study/report/table_summary.h). Its tables are "results", those and "bytes".
PaperStudy read_sublayer_study(sim::Section root, const Testbed& testbed);

// Reads the study in a file for the testbed's platform; faults are recorded with the section. The caller has read the
// machine and finishes the configuration.
inline PaperStudy read_paper_study(sim::Section root, const Testbed& testbed) {
  return root.has("schedules") ? read_finer_grain_study(root, testbed) : read_sublayer_study(root, testbed);
}

}  // namespace c3sim::study
