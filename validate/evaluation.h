// From tables to cases, and from cases to predictions.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "study/run/parallel.h"
#include "study/run/platform_file.h"
#include "study/uncertainty/ensemble.h"
#include "validate/case.h"

namespace c3sim::validate {

// The cases of measurements: one for every figure that was seen. `band` is that of figures without their own. Repeated
// measurements of the same within a group give each other their spread, where they have none.
std::vector<Case> cases_of(std::span<const calibrate::Measurement> measurements, const std::string& suite,
                           const std::string& platform, double band);

// The platform that a machine is. Throws sim::ConfigError.
using Platforms = std::function<study::Platform(const Machine& machine)>;

// Predicts every case, each trial once. The result does not depend on the number of jobs.
void predict(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Gives every predicted case its interval: each trial is run once on each machine that its platform may be. Returns
// what the ensembles of the platforms warn of, each warning once. The result does not depend on the number of jobs.
std::vector<std::string> add_intervals(std::vector<Case>& cases, const Platforms& platforms,
                                       const study::Sampling& sampling, int jobs, const study::Progress& progress = {});

// What simple rules would have predicted: a simulator that does not beat them is not worth its name.

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
