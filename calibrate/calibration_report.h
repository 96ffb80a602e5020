// What a fit did, as tables.
#pragma once

#include <span>

#include "calibrate/calibration.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

// Tables "results" (each fitted parameter before and after, with its error), "residuals" (of each group of
// measurements, median and worst before and after, and where rows are held out of the fit), "correlations", "spreads"
// and "files" (rows read, left out and rejected), with charts of residuals over size. A warning for each parameter that
// is not identified, or ended where its range ends, for those that no measurement reached, and for rows that are
// rejected or far from all others.
study::Results report(const Calibration& calibration, std::span<const Reading> files);

}  // namespace c3sim::calibrate
