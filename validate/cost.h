// Running at once has a cost: a run takes longer than the longer of its operations would take alone, and each operation
// takes longer in it than alone. Walls hide this cost wherever one operation is much the longer, so it is
// judged by itself: as a sum over the runs of a table, since the cost of a single run may be next to nothing. Alone is
// by the protocol of the run, as measured and as predicted: where both operations were also run one after the other in
// the same loop, either as it was there; else as it was in a loop of its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/result_table.h"
#include "study/report/statistics.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

// A figure as measured and as predicted.
struct Beside {
  double measured = 0.0;
  double predicted = 0.0;
};

// One GEMM beside one collective, or either beside a hog. Times are in seconds.
struct CostOfRun {
  std::string where;             // file:line
  std::string what;              // the trial in words
  std::optional<Beside> wall{};  // beyond the longer of the two alone; negative where company makes a run shorter
  std::optional<Beside> gemm{};  // of its time alone, how much longer it took: 0.25 where it took 1.25 times as long
  std::optional<Beside> collective{};
  std::optional<Beside> unprobed{};  // the wall, predicted without probes, where that was asked for
  std::vector<double> parts{};       // of the predicted wall, by mechanism, where they were asked for
};

// The longer of the two operations of a run alone, by its protocol; none of runs that are not at once, or where either
// is not known.
std::optional<Beside> cost_alone_of(const Case& one);

// The runs of one table, or of one group, of one suite.
struct Cost {
  std::string suite;
  std::string table;  // its file; empty of a group and of all of a suite
  std::string group;
  calibrate::Role role = calibrate::Role::unlisted;
  std::vector<CostOfRun> runs;

  bool is_of_all() const { return table.empty() && group.empty(); }
  bool is_of_a_group() const { return !group.empty(); }
  std::string name() const;  // "all of it", the group, or "table t.csv"

  // Sums over the runs whose walls were measured.
  Beside wall() const;
  std::size_t walls() const;
  // Predicted over measured of these sums; none where the measured runs cost nothing.
  std::optional<double> ratio() const;
  // The ratio lies here in nine of ten samples of as many runs, drawn from these runs with replacement (the bootstrap
  // of Efron, Annals of Statistics 7, 1979). The draws are the same every time. Fewer than three runs have no interval.
  std::optional<study::Interval> ratio_interval() const;
  // The same of what is predicted without probes; none where that was not asked for.
  std::optional<double> ratio_unprobed() const;
  // Sums over the same runs, by mechanism; empty where they were not asked for.
  std::vector<double> parts() const;
  // Means over the runs in which the operation's time was measured; none where there is no such run.
  std::optional<Beside> mean_stretch(std::optional<Beside> CostOfRun::*operation) const;
};

// The costs of all predicted runs of a GEMM beside a collective whose times alone were measured, by suite and role:
// first all of them, without a table and a group, then each group, then each table. Runs one after the other are none.
std::vector<Cost> costs_of(std::span<const Case> cases);

// What running at once would cost, by prediction, on machines that are not what their platform files say: without one
// after another of the mechanisms of interference, and without what probes told of these.

// Splits the predicted cost of every run of a GEMM beside a collective whose wall was measured over the mechanisms by
// which tenants share, as study/explain/slowdown.h splits a slowdown: they are switched off one after the other until
// none is left, in the order of models::Mechanism and in reverse, and the part of each is the mean of what its two
// steps gain. Takes each run twice as many times as there are mechanisms.
void split_costs(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Predicts the same costs once more, with parameters of kind `probed` as they are without probes.
void predict_unprobed(std::vector<Case>& cases, const Platforms& platforms, int jobs,
                      const study::Progress& progress = {});

// Tables of the costs of all of a suite, its groups and its tables; of the predicted ones what each mechanism makes,
// empty where nobody asked; and of the groups run by run.
study::ResultTable cost_table(std::span<const Case> cases);
study::ResultTable cost_part_table(std::span<const Case> cases);
study::ResultTable cost_run_table(std::span<const Case> cases);

}  // namespace c3sim::validate
