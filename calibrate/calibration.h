// The fit of a platform to isolated measurements, step by step: a few parameters of kind `fitted`, then the next few,
// each to the runs that show them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/observation.h"
#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

struct FittedParameter {
  std::string path;
  std::string before;  // as the base has it
  std::string after;
  std::string low, high;  // its range
  std::string source;
  bool at_limit = false;  // it ended where its range ends
};

struct FittedStep {
  std::string name;
  std::size_t parameters = 0;       // fitted in this step; without any it only shows how good the others are
  std::vector<Observation> before;  // of the base
  std::vector<Observation> after;   // of the fitted platform, all steps done
};

struct Calibration {
  std::string platform;  // name
  std::string text;      // of the fitted file: the base with other values and sources
  std::vector<FittedParameter> parameters;
  std::vector<std::string> kept;  // parameters of kind `fitted` that no measurement reached
  std::vector<FittedStep> steps;  // that have measurements
};

// Fits every parameter of `base` that is of kind `fitted` and belongs to a step with measurements, by least squares
// within its range on the logarithm of predicted over measured; within a step every quantity observed of every kind of
// run weighs the same, however many rows it has. All of them start in the middle of their ranges, whatever `base` says
// of them: fitting a fitted file gives the same file again. Parameters of the file's base keep their values: copy their
// lines to fit them. Calls `progress` after each step. Throws sim::ConfigError
// where there is nothing to fit, a step has fewer observations than parameters, a parameter is not on one line of the
// file or has a range in another unit, or the platform cannot run what was measured.
Calibration calibrate(const std::filesystem::path& base, std::span<const Reading> files,
                      const std::function<void(std::size_t done, std::size_t of)>& progress = {},
                      std::span<const std::filesystem::path> config_folders = {});

}  // namespace c3sim::calibrate
