// Judges the cost of running at once: a run takes longer than the longer of its operations alone, and each operation
// takes longer than alone. Wall times hide this cost if one operation is much longer than the other, so the cost is
// judged by itself, summed over the runs of a table, since it may be next to nothing in a single run. Times alone
// follow the protocol of the run: times in a loop of both operations one after the other if these are known as measured
// and as predicted, or else times in a loop of the operation alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/result_table.h"
#include "study/report/statistics.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

// Beside holds the measured and the predicted value of a figure.
struct Beside {
  double measured = 0.0;
  double predicted = 0.0;
};

// Returns the time of the longer operation of a run alone, by the protocol of the run, or nothing if the operations do
// not run at once or if a time is unknown.
std::optional<Beside> cost_alone_of(const Case& one);

// A Cost is that of one run of a GEMM with a collective, or of either with a hog, or of all runs of a whole suite, of a
// group or of a table. Times are in seconds.
struct Cost {
  enum class Of { suite, group, table };

  std::string suite;
  calibrate::Role role = calibrate::Role::unlisted;
  Of of = Of::suite;
  std::string name;                  // "all of it", the group, or "table t.csv"
  std::string where{}, what{};       // of one run: file:line, and the trial in words
  std::optional<Beside> wall{};      // time beyond the longer operation alone; negative if a run is shorter; a sum
  std::optional<Beside> unprobed{};  // the wall, predicted without probes, if requested for each; a sum
  std::optional<Beside> gemm{};  // slowdown of the GEMM, less one: 0.25 if it took 1.25 times as long as alone; a mean
  std::optional<Beside> collective{};  // slowdown of the collective, less one; a mean
  std::vector<double> parts{};         // of the predicted wall, by mechanism, if requested; sums
  std::vector<Cost> runs{};            // none of one run

  // Returns predicted over measured wall, or nothing if the measured runs cost nothing; also without probes.
  std::optional<double> ratio() const;
  std::optional<double> ratio_unprobed() const;
  // Returns the 90 % interval of the ratio by resampling the runs with replacement (the bootstrap of Efron, Annals of
  // Statistics 7, 1979). The draws are always the same. Fewer than three runs have no interval.
  std::optional<study::Interval> ratio_interval() const;
  std::vector<Beside> walls() const;  // of the runs whose walls were measured
};

// Returns the costs of all predicted runs of a GEMM at once with a collective whose times alone were measured, by suite
// and role: first of the whole suite, then of each group, then of each table.
std::vector<Cost> costs_of(std::span<const Case> cases);

// The following functions predict costs on machines that differ from their platform files: without some mechanisms of
// interference, or with the values that these have without probes.

// Splits the predicted cost of every run of a GEMM with a collective whose wall was measured over the mechanisms by
// which tenants share, as study/explain/explanation.h splits a slowdown: the mechanisms are switched off one by one
// until none is left, in the order of models::Mechanism and in reverse, and the part of each is the mean of what its
// two steps gain. Simulates each run twice as many times as there are mechanisms.
void split_costs(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Predicts the costs that split_costs() splits, with parameters of kind `probed` at their values without probes.
void predict_unprobed(std::vector<Case>& cases, const Platforms& platforms, int jobs,
                      const study::Progress& progress = {});

// Return tables of the costs of suites, groups and tables; of the parts of the predicted costs by mechanism, which is
// empty if these were not requested; and of the runs of each group one by one.
study::ResultTable cost_table(std::span<const Case> cases);
study::ResultTable cost_part_table(std::span<const Case> cases);
study::ResultTable cost_run_table(std::span<const Case> cases);

}  // namespace c3sim::validate
