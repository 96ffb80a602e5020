// What a fit did, as tables.
#pragma once

#include <span>

#include "calibrate/calibration.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

// Tables "results" (each fitted parameter before and after), "residuals" (of each group of measurements, median and
// worst before and after) and "files" (rows read and left out, and why); a warning for each parameter that ended where
// its range ends, and one for those that no measurement reached.
study::Results report(const Calibration& calibration, std::span<const Reading> files);

}  // namespace c3sim::calibrate
