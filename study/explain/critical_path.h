// What the end of a run waited for: from its last step back to its first, each found from the record of what let it
// begin.
#pragma once

#include <span>
#include <vector>

#include "study/report/results.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// Plays each run again. Two tables: "critical_path" has a row per step (who was at it, what it did to what, when, and
// what bounded it if it moved data); "critical_path_parts" adds them up by kind. Of each run the times fill the
// makespan: a gap that no step accounts for would be a row of kind "not recorded". Text shows every step only of a
// single run.
std::vector<NamedTable> critical_paths(const Testbed& testbed, std::span<const NamedRun> runs);

}  // namespace c3sim::study
