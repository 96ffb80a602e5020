// The fit of a platform to isolated measurements, step by step: a few parameters of kind `fitted`, then the next few,
// each to the runs that show them, with what the fit does not know of them.
#pragma once

#include <filesystem>
#include <functional>
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
  std::string step;                // by name
  std::string before;              // as the base has it
  std::string after;               // the same where the measurements do not identify it
  std::string error = {};          // standard error; empty where it is not identified
  std::string from = {}, to = {};  // interval of 95 %; empty where it is not identified
  std::string low, high;           // its range
  std::string source;
  std::string shown_by;     // the measurements that would identify it
  bool identified = true;   // the measurements say more of it than its range
  bool at_limit = false;    // it ended where its range ends
  bool by_profile = false;  // interval and error are those of its likelihood profile
};

// Of two parameters of a step.
struct Correlation {
  std::string first;
  std::string second;
  double value = 0.0;
};

struct FittedStep {
  std::string name;
  std::size_t parameters = 0;         // fitted in this step; without any it only shows how good the others are
  std::vector<Observation> before;    // of the base
  std::vector<Observation> after;     // of the fitted platform, all steps done
  std::vector<double> held_out;       // residuals of the rows where a fifth of them is left out of the fit by turns
  std::vector<Observation> outliers;  // rows that were left next to no say
};

struct Calibration {
  std::string platform;  // name
  std::string text;      // of the fitted file: the base with other values, errors and sources
  std::vector<FittedParameter> parameters;
  std::vector<Correlation> correlations;  // beyond 0.05
  std::vector<Spread> spreads;
  std::vector<std::string> kept;  // parameters of kind `fitted` that no measurement reached
  std::vector<FittedStep> steps;  // that have measurements
};

struct CalibrationOptions {
  int jobs = 0;              // threads; 0: all cores. The fit does not depend on it
  study::Progress progress;  // in percent
  std::vector<std::filesystem::path> config_folders;
  std::vector<std::string> assignments;  // to the base, "gpus=4": in the fitted file, too, and not fitted
};

// Fits every parameter of `base` that is of kind `fitted` and belongs to a step with measurements, by robust least
// squares within its range (calibrate/fit/robust_fit.h). All start afresh, whatever `base` says of them, and every step
// is fitted twice, so that steps before see those behind: fitting a fitted file gives the same file again. What the
// measurements do not identify keeps the value that `base` has, one parameter after the other, the vaguest first; all
// of a step with fewer observations than parameters. Parameters of files that it
// stands on are fitted as its own, and get a place in it. Throws sim::ConfigError where there is nothing to fit, a step
// does not converge, a range has another unit than its value, or the platform cannot run what was measured.
Calibration calibrate(const std::filesystem::path& base, std::span<const Reading> files,
                      const CalibrationOptions& options = {});

// What a fit did, as tables.

// Tables "results" (each fitted parameter before and after, with its error), "residuals" (of each group of
// measurements, median and worst before and after, and where rows are held out of the fit), "correlations", "spreads"
// and "files" (rows read, left out and rejected), with charts of residuals over size. A warning for each parameter that
// is not identified, or ended where its range ends, for those that no measurement reached, and for rows that are
// rejected or far from all others.
study::Results report(const Calibration& calibration, std::span<const Reading> files);

}  // namespace c3sim::calibrate
