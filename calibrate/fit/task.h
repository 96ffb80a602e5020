// Defines which isolated measurements identify which parameters on any machine, step by step, and fits a task: a step
// for one platform and the measurements at hand.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/robust_fit.h"
#include "calibrate/fit/step_residuals.h"
#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// A Target is a parameter that a step can find. `*` in its path in place of a list index stands for the entry that a
// measurement uses: gpu.gemm.libraries.*.efficiency is that of the library whose GEMM was measured.
struct Target {
  std::string_view path;
  std::string_view shown_by;  // the measurements that distinguish it from the others of its step

  static constexpr std::string_view entry = ".*";
  // Returns the path of its list, "gpu.gemm.libraries"; empty if it is in no list.
  std::string_view list() const {
    const std::size_t end = path.find(entry);
    return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
  }
};

struct Step {
  std::string_view name;  // its group of measurements, which the `source` of its parameters names
  std::vector<Target> targets;
  bool (*takes)(const Measurement&);
  std::size_t valleys = 2;  // starting points to solve from: more where the machine chooses among algorithms
  // A step of probes takes the rows of role probe, which no other step does, and finds all parameters of kind `probed`.
  bool is_of_probes = false;
};

// Returns the steps in the order in which they are fitted: launches before the work that they launch, links before the
// collectives that use them. A parameter that several steps could find is found by the first that has measurements.
std::span<const Step> steps();

struct Task {
  const Step* step = nullptr;
  std::string library;            // the only library whose kernels were measured; empty: any
  std::vector<Unknown> unknowns;  // to be fitted
  std::vector<Unknown> vague;     // not identified: they keep their values in the base
  std::vector<const Measurement*> measurements;
  Solution solution;  // values of the unknowns; empty before a fit
  FitErrors errors;
  std::vector<double> held_out;       // residuals of rows held out of the fit, see held_out_residuals
  std::vector<std::size_t> outliers;  // indices of rows so far off that they have almost no weight

  std::string name() const;    // "a streaming kernel", or "attention, cudnn" for one library
  std::string source() const;  // "isolated.csv: a streaming kernel"
};

// Returns a task per step with measurements, in order. A `fitted` parameter belongs to the first that may find it.
std::vector<Task> tasks_for(const PlatformText& platform, std::span<const Reading> files);

// Finds the task's unknowns and writes them into the platform. Starts from the task's solution or, without one, from
// several points. With fewer observations than unknowns, all are set aside. Throws sim::ConfigError where the solver
// does not converge.
void fit(Task& task, PlatformText& platform, int jobs);

// Fits the task for the last time: also sets aside, at their values in the base, unknowns that the measurements do not
// identify, and computes the errors of the others as if the results of other steps were exact.
void fit_with_errors(Task& task, PlatformText& platform, int jobs);

// Writes the task's unknowns, and with `with_errors` their errors, into the platform.
void write(const Task& task, PlatformText& platform, bool with_errors = false);

// Turns the errors of fitted tasks, each computed alone, into joint ones: a step finds its unknowns at the values that
// other steps found, and inherits their errors. If D is how far the unknowns move when others do, and C the covariance
// of each step alone, errors e = D e + (alone) have the covariance (1 - D)^-1 C (1 - D)^-T. Widens, or narrows, errors
// and intervals accordingly. Returns the correlations of all unknowns, in the order of the tasks. Uses `jobs` threads;
// 0: all cores.
Eigen::MatrixXd join_errors(std::span<Task> tasks, const PlatformText& fitted, int jobs);

// A Spread is the model's own error, which no parameter explains, for one sort of work between two sizes. The list
// `fitted_to` of a platform has a row for each.
struct Spread {
  std::string work;       // "copy", "rccl_all_gather", "gemm"
  double smallest = 0.0;  // bytes of a copy, of the whole array of one GPU, or of a matrix of a GEMM
  double largest = 0.0;
  double deviation = 0.0;  // standard deviation of measured over predicted time; 0 where only shares were seen
  std::string source;

  // Returns its entry in the list, in lines: "  - name: copy", "    smallest: {...}" and so on.
  std::string row() const;
};

// Returns the spreads of the work that a task was fitted to, by name and decade of bytes, since latencies dominate
// small work and rates large work; for a GEMM the smallest matrix counts. Work on other engines, channels, CUs, GPUs or
// libraries than the platform's usual ones is ignored. The deviation is that of a normal distribution whose 90 %
// interval holds as many of the times that the fit used. `outliers` do not count, unless they are the majority of a
// bin: then the model itself is off.
std::vector<Spread> spreads_of(const Task& task, const PlatformText& fitted, std::span<const Observation> outliers,
                               int jobs);

}  // namespace c3sim::calibrate
