// A study of C3 in tables and charts: what was predicted beside what was published.
#pragma once

#include <span>
#include <string>

#include "study/c3/c3_study.h"
#include "study/report/chart.h"
#include "study/report/results.h"

namespace c3sim::study {

// One row per result, without clock, power and fidelity; for people, rows that are slower than one after the other are
// marked.
ResultTable c3_table(std::span<const C3Result> results);

// A sentence about those that are; empty where none is.
std::string losses_of(std::span<const C3Result> results);

// One row per strategy: averages over all scenarios.
ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective and strategy: percent of ideal by class, beside the published range over the classes.
ResultTable class_table(const C3Study& study, std::span<const StudyResult> results);

// One row per pair: how long each operation takes alone, and which is the longer one as predicted and as published.
ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective: for how many scenarios the heuristic reserves as many CUs as the sweep of c3_sp_rp finds
// best, and how much longer than that it takes at most. No row without both strategies.
ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results);

// Percent of ideal by strategy.
BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// Mean speedup by collective and class, and over the classes, beside the ideal: of the strategies on kernels, or of
// those on copy engines beside c3_base, as Figures 8 and 10 of the paper show them. The published range of fractions
// over the classes becomes one of speedups by each class's own ideal.
enum class PaperFigure { kernels, copy_engines };
BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure);

// The tables above behind that of all results, which text leaves out, with their charts.
Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

}  // namespace c3sim::study
