// The experiment file of a study of C3: pairs of a GEMM and an array size, collectives, strategies, and what was
// published of them. configs/experiments/conccl.yaml is the example. A pair may do without `class`, the published one:
// it then belongs to the class that its predicted times make it. `splits: fine` has sweeps of reservations try none and
// every multiple of the XCDs instead of the paper's powers of two. `longer_by` is 1.15 unless given.
#pragma once

#include "sim/config/config_section.h"
#include "study/c3/c3_study.h"

namespace c3sim::study {

// Reads a study for the platform of the testbed; what is wrong is recorded with the section. The caller has read
// `platform` and `protocol` and finishes the configuration.
C3Study read_c3_study(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
