// What the simulator says of a measured run, on a node that has nothing else to do.
#pragma once

#include "calibrate/measurement.h"
#include "study/testbed.h"

namespace calibrate {

struct Prediction {
  sim::Seconds time;
  sim::Watts power;  // of one board, mean over the run
  sim::Hertz clock;  // likewise
};

// Simulates what the measurement was made of. Throws sim::ConfigError, with the measurement's place, where the
// platform cannot run it.
Prediction predict(study::Testbed& testbed, const Measurement& measurement);

}  // namespace calibrate
