// A step as far as a platform and measurements go, and its fit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit_errors.h"
#include "calibrate/fit/robust_fit.h"
#include "calibrate/fit/step.h"
#include "calibrate/fit/unknown.h"
#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

struct Task {
  const Step* step = nullptr;
  std::vector<Unknown> unknowns;  // to be fitted
  std::vector<Unknown> vague;     // not identified: they keep the base's value
  std::vector<const Measurement*> measurements;
  Solution solution;  // of the unknowns; empty before a fit
  FitErrors errors;
  std::vector<double> held_out;       // residuals of rows where they are left out, see held_out_residuals
  std::vector<std::size_t> outliers;  // rows that lie so far off that they were left next to no say

  std::string source() const;  // "isolated.csv: a streaming kernel"
};

// The steps that have measurements, in their order. A parameter of kind fitted is in the first that may find it.
std::vector<Task> tasks_for(const PlatformText& platform, std::span<const Reading> files);

// Finds the task's unknowns and writes them into the platform: from several starting points where it has no solution
// yet, else from that. With fewer observations than unknowns, all are set aside. Throws sim::ConfigError where the
// solver gives up.
void fit(Task& task, PlatformText& platform, int jobs);

// The last fit: also sets aside what the measurements do not identify, at the value that the base has, and tells how
// sure the rest is, all that other steps found taken as certain.
void fit_with_errors(Task& task, PlatformText& platform, int jobs);

// Writes the task's unknowns, and their errors where asked to, into the platform.
void write(const Task& task, PlatformText& platform, bool with_errors = false);

}  // namespace c3sim::calibrate
