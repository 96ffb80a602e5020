// A study of C3 in charts: what was predicted, with marks for what was published.
#pragma once

#include <span>
#include <string>

#include "study/c3/c3_study.h"
#include "study/report/chart.h"

namespace c3sim::study {

// Percent of ideal by strategy.
BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// Mean speedup by collective and class, and over the classes, beside the ideal: of the strategies on kernels, or of
// those on copy engines beside c3_base, as Figures 8 and 10 of the paper show them. The published range of fractions
// over the classes becomes one of speedups by each class's own ideal.
enum class PaperFigure { kernels, copy_engines };
BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure);

}  // namespace c3sim::study
