// The page of an answer.
#pragma once

#include "study/report/page.h"
#include "study/report/results.h"

namespace c3sim::study {

// Strategies, mechanisms of interference and what does operations have the same colours in every page with this
// palette; what a prediction is held against is grey.
Palette study_palette();

// The title of the answer; where it has none, that of its first table, or the platform.
std::string title_of(const Results& results);

// The charts of the answer as a whole, then one section per table with the charts that show it: first those to be read,
// then those for files, with all columns.
// Long tables can be filtered, and by their texts that recur.
Page results_page(const Results& results);

}  // namespace c3sim::study
