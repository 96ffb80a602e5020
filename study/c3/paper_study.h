// The studies of papers: an experiment file that asks many questions at once, with what was published of the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "study/c3/variation.h"
#include "study/report/results.h"
#include "study/run/parallel.h"
#include "study/run/testbed.h"

namespace c3sim::study {

struct PaperStudy {
  std::string size;  // what would run, in words: "conccl: 15 pairs with 2 collectives by 9 strategies"
  // Tables of what was predicted beside what was published. `losses`: also what is lost to what, where that takes runs
  // of its own. Results do not depend on the number of threads (`jobs`, or one per core where that is 0).
  std::function<Results(Testbed& testbed, bool losses, const Progress& progress, int jobs)> run;
  // Of a study of C3, what to ask of variations of the platform (study/c3/variation.h).
  std::vector<Strategy> vary = {};
  FractionsOf question = {};
};

// Whether the file holds one, rather than a list of operations.
bool holds_paper_study(sim::Section root);

// The study of a file that holds one, for the platform of the testbed; what is wrong is recorded with the section. The
// caller has read the machine and finishes the configuration.
PaperStudy read_paper_study(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
