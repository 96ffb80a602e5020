// What a fit may read: the guard between measurements and parameters. A fit that could read what it is to predict would
// prove nothing.
#pragma once

#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// The isolated measurements of a reading, and its probes. What is marked as a prediction is left out, and so are GEMMs
// of formats with a rate of their own (gpu.gemm.precisions), to which nothing is fitted, unless the table says of which
// library they are; a concurrent run that nothing
// marks as either is a fault, and rejected like a row that cannot be read. Of a probe a fit sees how many times as long
// as alone the run and its operations took, and none of its times: how fast the machine is, isolated runs tell.
Reading admit_to_fit(Reading reading);

// Why a reading has no measurement, reason by reason.
std::string why_nothing_is_left(const Reading& reading);

// Throws sim::ConfigError with all that was rejected where nothing is left to fit to.
void require_measurements(const std::vector<Reading>& files);

}  // namespace c3sim::calibrate
