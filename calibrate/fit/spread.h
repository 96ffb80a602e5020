// How far measurements lie off a fitted platform: the model's own error, which no parameter explains.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/observation.h"
#include "calibrate/fit/task.h"

namespace c3sim::calibrate {

// Of one sort of work between two sizes, as the list `fitted_to` of a platform has it.
struct Spread {
  std::string work;       // "copy", "rccl_all_gather", "gemm"
  double smallest = 0.0;  // bytes: of the copy, of the whole array of one GPU, of each matrix of a GEMM
  double largest = 0.0;
  double deviation = 0.0;  // of measured over predicted time; 0 where only shares of a time were seen
  std::string source;

  // "  - {name: copy, smallest: {...}, ...}", in lines.
  std::string row() const;
};

// Of the work that a task was fitted to, as it is labelled: the usual engines, channels and CUs, by the library and on
// the GPUs that the platform has, by decade of bytes, of GEMMs those of the smallest matrix: small work is off by
// latencies, large work by rates. The deviation is that of a normal distribution whose interval of 90 % holds as many
// of the times that the fit listened to: its `outliers` do not count, unless a bin has no majority of others, for then
// it is the model that is off.
std::vector<Spread> spreads_of(const Task& task, const PlatformText& fitted, std::span<const Observation> outliers,
                               int jobs);

}  // namespace c3sim::calibrate
