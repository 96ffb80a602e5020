// Results of strategies as a table.
#pragma once

#include <span>

#include "study/c3/strategy.h"
#include "study/report/result_table.h"

namespace c3sim::study {

// One row per result, without clock, power and fidelity; for people, rows that are slower than one after the other are
// marked.
ResultTable c3_table(std::span<const C3Result> results);

}  // namespace c3sim::study
