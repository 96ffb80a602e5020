// Running at once has a cost: a run takes longer than the longer of its operations would take alone, and each operation
// takes longer in it than alone. Walls hide this cost wherever one operation is much the longer, so it is
// judged by itself: as a sum over the runs of a table, since the cost of a single run may be next to nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/uncertainty/interval.h"
#include "validate/case.h"

namespace c3sim::validate {

// A figure as measured and as predicted.
struct Beside {
  double measured = 0.0;
  double predicted = 0.0;
};

// One GEMM beside one collective. Times are in seconds.
struct CostOfRun {
  std::string where;             // file:line
  std::optional<Beside> wall{};  // beyond the longer of the two alone; negative where company makes a run shorter
  std::optional<Beside> gemm{};  // of its time alone, how much longer it took: 0.25 where it took 1.25 times as long
  std::optional<Beside> collective{};
};

// The runs of one group of one suite.
struct Cost {
  std::string suite;
  std::string group;
  calibrate::Role role = calibrate::Role::unlisted;
  std::vector<CostOfRun> runs;

  // Sums over the runs whose walls were measured.
  Beside wall() const;
  std::size_t walls() const;
  // Predicted over measured of these sums; none where the measured runs cost nothing.
  std::optional<double> ratio() const;
  // The ratio lies here in nine of ten samples of as many runs, drawn from these runs with replacement (the bootstrap
  // of Efron, Annals of Statistics 7, 1979). The draws are the same every time. Fewer than three runs have no interval.
  std::optional<study::Interval> ratio_interval() const;
  // Means over the runs in which the operation's time was measured; none where there is no such run.
  std::optional<Beside> mean_stretch(std::optional<Beside> CostOfRun::*operation) const;
};

// The costs of all predicted runs of a GEMM beside a collective whose times alone were measured, by suite, role and
// group: first all of a suite and role, whose group is empty, then each group. Runs one after the other are none.
std::vector<Cost> costs_of(std::span<const Case> cases);

}  // namespace c3sim::validate
