// Fits a platform to isolated measurements, step by step: each step fits a few parameters of kind `fitted` to the runs
// that show them, and reports how uncertain they remain.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/task.h"
#include "calibrate/readers/measurement.h"
#include "study/play/parallel.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

struct FittedParameter {
  std::string path;
  std::string step;                // name of the step that fits it
  std::string before;              // value in the base platform
  std::string after;               // fitted value; equal to `before` where it is not identified
  std::string error = {};          // standard error; empty where it is not identified
  std::string from = {}, to = {};  // ends of the 95 % interval; empty where it is not identified
  std::string low, high;           // ends of its range
  std::string source;
  std::string shown_by;     // the measurements that would identify it
  bool identified = true;   // the measurements constrain it more than its range does
  bool at_limit = false;    // the best value is an end of the range
  bool by_profile = false;  // interval and error come from its likelihood profile
};

// A Correlation is that of the errors of two fitted parameters, of any steps.
struct Correlation {
  std::string first;
  std::string second;
  double value = 0.0;
};

struct FittedStep {
  std::string name;
  std::size_t parameters = 0;         // number fitted in this step; a step with 0 only checks the other steps
  std::vector<Observation> before;    // predictions of the base
  std::vector<Observation> after;     // predictions of the fitted platform, after all steps
  std::vector<double> held_out;       // residuals of rows held out of the fit, a fifth of the rows at a time
  std::vector<Observation> outliers;  // rows to which the robust loss gives almost no weight
};

struct Calibration {
  std::string platform;  // its name
  std::string text;      // fitted file: the base with other values, errors and sources
  std::vector<FittedParameter> parameters;
  std::vector<Correlation> correlations;  // those of at least 0.05 in magnitude
  std::vector<Spread> spreads;
  std::vector<std::string> kept;  // parameters of kind `fitted` or `probed` that no measurement reached
  std::vector<FittedStep> steps;  // only steps that have measurements
};

struct CalibrationOptions {
  int jobs = 0;              // threads; 0: all cores. The result does not depend on it
  study::Progress progress;  // in percent
  std::vector<std::filesystem::path> config_folders;
  std::vector<std::string> assignments;  // "gpus=4" sets a value of the base and the fitted file, which is not fitted
};

// Fits every parameter of `base` that is of kind `fitted` or `probed` and belongs to a step with measurements, by
// robust least squares within its range (calibrate/fit/robust_fit.h). The fit ignores the values that `base` has for
// them, and repeats steps until none moves another: a fit of a fitted file gives the same file again. Parameters that
// the measurements do not identify keep the value of `base`: they are set aside one by one, the vaguest first, or all
// of a step with fewer observations than parameters. Parameters of files that `base` builds on are fitted, too, and
// written into the fitted file. Throws sim::ConfigError where there is nothing to fit, a step does not converge, a
// range has another unit than its value, or the platform cannot run a measured trial.
Calibration calibrate(const std::filesystem::path& base, std::span<const Reading> files,
                      const CalibrationOptions& options = {});

// Returns the tables "results" (each fitted parameter before and after, with its error), "residuals" (of each group of
// measurements, median and worst before and after, and where rows are held out of the fit), "correlations", "spreads"
// and "files" (rows read, left out and rejected), with charts of residuals over size. Warns of each parameter that is
// not identified or ended at a limit of its range, of parameters that no measurement reached, and of rows that are
// rejected or far from all others.
study::Results report(const Calibration& calibration, std::span<const Reading> files);

}  // namespace c3sim::calibrate
