// From tables to cases, and from cases to predictions. A case is one measured figure beside what the simulator says of
// it and beside what simple rules would have said.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "study/ask/trial.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/report/figure.h"
#include "study/report/statistics.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::validate {

inline constexpr double percent = 100.0;  // as which people are told shares

// What people call a suite: the user's own files have no name.
std::string suite_title(const std::string& suite);

// A real or simulated machine: a platform by its name or file, and assignments to it ("gpus=4").
struct Machine {
  std::string platform;
  std::vector<std::string> assignments;  // that measurements ask for
  std::vector<std::string> changes{};    // that the user tries, behind them

  auto operator<=>(const Machine&) const = default;
};

// What needs no simulator, in the figure's base unit.
struct Baselines {
  std::optional<double> perfect;   // both at once take as long as the longer: what most simulators assume
  std::optional<double> serial;    // one after the other
  std::optional<double> constant;  // a constant factor over the perfect one, or over peak rates, fitted to other cases
  std::optional<double> waves;     // a GEMM takes whole waves of workgroups on the CUs that are left to it
};

// The golden file keeps the prediction of a case. Of a table of many rows it keeps how far off the predictions of each
// group are instead, so that a change of all of them is a line and no page.
enum class Golden { predictions, statistics };
constexpr auto all_names(Golden) { return sim::names("predictions", "statistics"); }

struct Case {
  std::string id;     // "overlap/c3_all_reduce.csv:3/gemm_time"
  std::string suite;  // empty for files of the user
  std::string group;  // "all-reduce by size"
  std::string where;  // file:line
  calibrate::Role role = calibrate::Role::unlisted;
  Machine machine;
  study::Trial trial;
  study::Figure figure = study::Figure::time;
  Golden golden = Golden::predictions;
  int table = -1;  // of Validation::tables, which its suite says something about; -1: of none

  // Base units.
  double measured = 0.0;
  std::optional<double> low, high;  // of repetitions
  std::optional<double> predicted;
  std::optional<study::Interval>
      interval;                            // of the prediction, where it was asked for and the platform tells of errors
  std::string why_not_predicted;           // in one sentence, where it was not
  std::string why_not_scored{};            // likewise, where it is only shown beside its prediction: it has no error
  double band = 0.0;                       // relative, or in points
  std::map<std::string, double> others{};  // what other simulators predicted, by their names

  calibrate::Alone alone;              // as measured
  calibrate::Alone alone_predicted{};  // of a GEMM beside a collective; in turn where that was measured
  // These are told of the wall of a run where somebody asks for them. The parts are what each mechanism by which
  // tenants share makes of its predicted cost, in seconds and in the order of mechanisms. The other is that cost
  // without probes.
  std::vector<double> cost_parts{};
  std::optional<double> cost_unprobed{};
  Baselines baselines;
  std::string decision, alternative;  // see calibrate::Measurement

  std::string file() const { return where.substr(0, where.rfind(':')); }
  const study::FigureForm& form() const { return study::form_of(figure); }
  // Predicted over measured less one, or the difference of shares. The case is predicted.
  double error() const { return error_of(*predicted); }
  double error_of(double value) const;
  // Half the width of what repetitions gave, in the unit of the error.
  std::optional<double> noise() const;
  bool is_within_noise() const { return predicted && low && high && *low <= *predicted && *predicted <= *high; }
  bool is_within_band() const;
  bool is_scored() const { return predicted && why_not_scored.empty(); }
  bool is_within_interval() const { return interval && interval->holds(measured); }
};

// Whether an error, with its sign, lies within a band: both ends belong to it, whatever rounding makes of them.
bool is_within(double error, double band);

// The machine, trial and figure in words: what a prediction is of, wherever it is compared. What a user tries is not
// part of it, so that its effect is seen.
std::string subject_of(const Case& one);

// The c3sim command that shows the prediction; for what no command asks, the one that shows this case.
std::string command_of(const Case& one);

// The cases of measurements: one for every figure that was seen. `band` is that of figures without their own. Repeated
// measurements of the same within a group give each other their spread, where they have none.
std::vector<Case> cases_of(std::span<const calibrate::Measurement> measurements, const std::string& suite,
                           const std::string& platform, double band);

// The platform that a machine is. Throws sim::ConfigError.
using Platforms = std::function<study::Platform(const Machine& machine)>;

// Predicts every case, each trial once. The result does not depend on the number of jobs.
void predict(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Gives every predicted case its interval: each trial is run once on each machine that its platform may be. Returns
// what the ensembles of the platforms warn of, each warning once. The result does not depend on the number of jobs.
std::vector<std::string> add_intervals(std::vector<Case>& cases, const Platforms& platforms,
                                       const study::Sampling& sampling, int jobs, const study::Progress& progress = {});

// What simple rules would have predicted: a simulator that does not beat them is not worth its name.

// Gives every case its baselines. Those of concurrent runs start from what was measured of each operation alone, which
// is more than a simulator knows. The constant factor of a case is the geometric mean over the cases that are
// alike to rules: those with role calibrate; where there are none, all but the case
// itself, so that the rule has even seen predictions.
void add_baselines(std::vector<Case>& cases, const Platforms& platforms);

// What the cases of a group have in common; what is empty they may differ in.
struct GroupKey {
  std::string suite;  // by its title
  std::string name;   // of the group, or of the operation that a figure is about
  std::string strategy{};
  std::string figure{};  // heading
  int table = -1;        // of Validation::tables
  calibrate::Role role = calibrate::Role::unlisted;

  auto operator<=>(const GroupKey&) const = default;
};

// What a rule treats alike: cases of a suite with the same operation, strategy and figure. The operation is "both",
// "GEMM", "collective", or the kind of an isolated trial; the strategy, "c3_sp" or "shard_overlap", is empty of what
// ran alone.
GroupKey alike_to_rules(const Case& one);

}  // namespace c3sim::validate
