// A study of C3 in tables: what was predicted beside what was published.
#pragma once

#include <span>
#include <string>

#include "study/c3/c3_study.h"
#include "study/report/results.h"

namespace c3sim::study {

// One row per strategy: averages over all scenarios.
ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective and strategy: percent of ideal by class, beside the published range over the classes.
ResultTable class_table(const C3Study& study, std::span<const StudyResult> results);

// One row per pair: how long each operation takes alone, and which is the longer one as predicted and as published.
ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective: for how many scenarios the heuristic reserves as many CUs as the sweep of c3_sp_rp finds
// best, and how much longer than that it takes at most. No row without both strategies.
ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results);

// The tables above behind that of all results, which text leaves out, with their charts.
Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

}  // namespace c3sim::study
