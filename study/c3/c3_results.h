// Runs many trials of C3 at once and shows their results in columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/c3/strategy.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/table_of.h"

namespace c3sim::study {

// Runs trials, which must be possible on the platform. Results are in the order of the trials and do not depend on the
// number of threads, `jobs` (0: one per core).
std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress = {},
                              int jobs = 1);

// Returns the columns of a table of such results, without clock, power and fidelity. Texts mark results slower than
// serial execution.
std::vector<Shown<C3Result>> shown_of(std::span<const C3Result> results);

// Returns a sentence about results that are slower than serial execution; empty where none is.
std::string losses_of(std::span<const C3Result> results);

}  // namespace c3sim::study
