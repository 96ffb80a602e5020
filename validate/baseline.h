// What simple rules would have predicted: a simulator that does not beat them is not worth its name.
#pragma once

#include <vector>

#include "validate/evaluation.h"

namespace c3sim::validate {

// Gives every case its baselines. Those of concurrent runs start from what was measured of each operation alone, which
// is more than a simulator knows. The constant factor of a case is the geometric mean over the cases of its suite that
// have the same kind of trial, strategy and figure: those with role calibrate; where there are none, all but the case
// itself, so that the rule has even seen predictions.
void add_baselines(std::vector<Case>& cases, const Platforms& platforms);

// Which operation of a case a figure is about: "both", "GEMM", "collective", or the kind of an isolated trial.
std::string operation_of(const Case& one);
// Under which strategy it ran: "c3_sp", "shard_overlap"; empty where it ran alone.
std::string strategy_of(const Case& one);

}  // namespace c3sim::validate
