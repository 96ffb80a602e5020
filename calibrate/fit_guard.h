// Guards a fit from measurements that it must not read: a fit to the runs that the model is to predict would prove
// nothing.
#pragma once

#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// Returns the reading with its isolated measurements and probes alone. Leaves out rows marked as predictions, and GEMMs
// in formats with a rate of their own (gpu.gemm.precisions), to which nothing is fitted, unless the table names the
// library that ran them. A concurrent run without either mark becomes a fault, like a row that cannot be read. A probe
// keeps only the ratios of its times to the times alone: how fast the machine is, isolated runs show.
Reading admit_to_fit(Reading reading);

// Returns why a reading has no measurement: each reason with its number of rows.
std::string why_nothing_is_left(const Reading& reading);

// Throws sim::ConfigError with every rejected row if no file has a measurement left.
void require_measurements(const std::vector<Reading>& files);

}  // namespace c3sim::calibrate
