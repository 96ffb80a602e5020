// The experiment file of a study of C3: pairs of a GEMM and an array size, collectives, strategies, and what was
// published of them. configs/experiments/conccl.yaml is the example.
#pragma once

#include "sim/config/config_section.h"
#include "study/c3_study.h"

namespace c3sim::study {

// Whether an experiment file holds a study of C3 rather than a list of operations.
bool holds_c3_study(sim::Section root);

// Reads a study for the platform of the testbed; what is wrong is recorded with the section. The caller has read
// `platform` and finishes the configuration.
C3Study read_c3_study(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
