// Which isolated measurements identify which parameters, on any machine, step by step; a step as far as a platform and
// measurements go, and its fit.
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

// What a step can find. A path with `*` in place of the index of a list stands for the entry that a measurement uses:
// gpu.gemm.libraries.*.efficiency is that of the library whose GEMM was measured.
struct Target {
  std::string_view path;
  std::string_view shown_by;  // the measurements that tell it from the others of its step

  static constexpr std::string_view entry = ".*";
  // "gpu.gemm.libraries"; empty of what is of no list.
  std::string_view list() const {
    const std::size_t end = path.find(entry);
    return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
  }
};

struct Step {
  std::string_view name;  // of its group of measurements: what the `source` of its parameters will say
  std::vector<Target> targets;
  bool (*takes)(const Measurement&);
  std::size_t valleys = 2;  // starting points that are followed down: more where the machine chooses among ways
  // Whether it takes rows of role probe, which no other step does, and finds every parameter of kind `probed`.
  bool is_of_probes = false;
};

// In the order in which they are fitted: what is launched after its launch, collectives after the links they use. A
// parameter that several steps could find is found by the first that has measurements.
std::span<const Step> steps();

struct Task {
  const Step* step = nullptr;
  std::string library;            // whose kernels alone were measured; empty: of any
  std::vector<Unknown> unknowns;  // to be fitted
  std::vector<Unknown> vague;     // not identified: they keep the base's value
  std::vector<const Measurement*> measurements;
  Solution solution;  // of the unknowns; empty before a fit
  FitErrors errors;
  std::vector<double> held_out;       // residuals of rows where they are left out, see held_out_residuals
  std::vector<std::size_t> outliers;  // rows that lie so far off that they were left next to no say

  std::string name() const;    // "a streaming kernel", or "attention, cudnn" of one library
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

// How sure the steps of a fit are together: each finds its unknowns at the values that others have found for theirs,
// and is as wrong as these make it.

// Of fitted tasks whose errors are those of each alone: with D how far the unknowns move when others' do, and C the
// covariance of each step alone, errors e = D e + (alone), so that their covariance is (1 - D)^-1 C (1 - D)^-T. Errors
// and intervals of the tasks are widened, or narrowed, to that. Returned are the correlations of all unknowns, tasks in
// their order. `jobs` threads; 0: all cores.
Eigen::MatrixXd join_errors(std::span<Task> tasks, const PlatformText& fitted, int jobs);

// How far measurements lie off a fitted platform: the model's own error, which no parameter explains.

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
