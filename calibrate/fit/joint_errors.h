// How sure the steps of a fit are together: each finds its unknowns at the values that others have found for theirs,
// and is as wrong as these make it.
#pragma once

#include <Eigen/Core>
#include <span>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/task.h"

namespace c3sim::calibrate {

// Of fitted tasks whose errors are those of each alone: with D how far the unknowns move when others' do, and C the
// covariance of each step alone, errors e = D e + (alone), so that their covariance is (1 - D)^-1 C (1 - D)^-T. Errors
// and intervals of the tasks are widened, or narrowed, to that. Returned are the correlations of all unknowns, tasks in
// their order. `jobs` threads; 0: all cores.
Eigen::MatrixXd join_errors(std::span<Task> tasks, const PlatformText& fitted, int jobs);

}  // namespace c3sim::calibrate
