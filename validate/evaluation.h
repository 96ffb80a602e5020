// Turns tables of measurements into cases and predicts the cases. A case is one measured figure together with its
// prediction and with what simple rules would have predicted.
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

inline constexpr double percent = 100.0;  // factor from shares to the percentages that people read

// Returns the title of a suite for people; files of the user have a suite without a name.
std::string suite_title(const std::string& suite);

// A Machine is a real or simulated machine: a platform by its name or file, and assignments to it ("gpus=4").
struct Machine {
  std::string platform;
  std::vector<std::string> assignments;  // that measurements require
  std::vector<std::string> changes{};    // that the user tries; they apply after `assignments`

  auto operator<=>(const Machine&) const = default;
};

// Baselines are predictions of simple rules without a simulator, in the base unit of the figure.
struct Baselines {
  std::optional<double> perfect;   // both at once take as long as the longer: what most simulators assume
  std::optional<double> serial;    // both operations one after the other
  std::optional<double> constant;  // constant factor, fitted to other cases, over `perfect` or over peak rates
  std::optional<double> waves;     // a GEMM takes whole waves of workgroups on the CUs that are left to it
};

struct Case {
  std::string id{};     // "overlap/c3_all_reduce.csv:3/gemm_time"
  std::string suite{};  // empty for files of the user
  std::string group{};  // "all-reduce by size"
  std::string where{};  // file:line
  std::string path{};   // of the file, as the user named it; empty: of a suite
  calibrate::Role role = calibrate::Role::unlisted;
  Machine machine{};
  study::Trial trial{};
  study::Figure figure = study::Figure::time;
  int table = -1;  // index in Validation::tables if its suite describes the table, or -1

  // These values are in base units.
  double measured = 0.0;
  std::optional<double> low{}, high{};  // range of repetitions
  std::optional<double> predicted{};
  std::optional<study::Interval> interval{};  // of the prediction, if requested and the platform states errors
  std::string why_not_predicted{};            // a sentence; empty if there is a prediction
  std::string why_not_scored{};            // a sentence, if the case is only shown with its prediction and has no error
  double band = 0.0;                       // relative, or in points
  std::map<std::string, double> others{};  // what other simulators predicted, by their names

  calibrate::Alone alone{};            // as measured
  calibrate::Alone alone_predicted{};  // of the operations of a concurrent run; in turn if measured so
  // The next two belong to the wall of a run and are filled in on request: the parts that the mechanisms of sharing
  // have in the predicted cost, in seconds and in the order of mechanisms, and that cost predicted without probes.
  std::vector<double> cost_parts{};
  std::optional<double> cost_unprobed{};
  Baselines baselines{};
  std::string decision{}, alternative{};  // see calibrate::Measurement

  std::string file() const { return where.substr(0, where.rfind(':')); }
  const study::FigureForm& form() const { return study::form_of(figure); }
  // Returns predicted over measured less one, or the difference of shares. There must be a prediction.
  double error() const { return error_of(*predicted); }
  double error_of(double value) const;
  // Returns half the width of the range of repetitions, in the unit of the error.
  std::optional<double> noise() const;
  bool is_within_noise() const { return predicted && low && high && *low <= *predicted && *predicted <= *high; }
  bool is_within_band() const;
  bool is_scored() const { return predicted && why_not_scored.empty(); }
  bool is_within_interval() const { return interval && interval->holds(measured); }
};

// Returns whether an error with its sign lies within a band, which includes both ends, however they are rounded.
bool is_within(double error, double band);

// Returns the machine, trial and figure in words, which identify a prediction in every comparison. Changes of the user
// are not part of it, so that their effect shows.
std::string subject_of(const Case& one);

// Returns the c3sim command that shows the prediction or, if no command asks for it, the one that shows this case.
std::string command_of(const Case& one);

// Returns one case for every observed figure. `band` applies to figures without their own. Measurements of a group that
// repeat each other get their common spread if they have none.
std::vector<Case> cases_of(std::span<const calibrate::Measurement> measurements, const std::string& suite,
                           const std::string& platform, double band);

// Platforms returns the platform of a machine. Throws sim::ConfigError.
using Platforms = std::function<study::Platform(const Machine& machine)>;

// Predicts every case and runs each trial once. The result does not depend on the number of jobs.
void predict(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Gives every predicted case its interval: each trial runs once on each machine of the ensemble of its platform.
// Returns the warnings of the ensembles, each once. The result does not depend on the number of jobs.
std::vector<std::string> add_intervals(std::vector<Case>& cases, const Platforms& platforms,
                                       const study::Sampling& sampling, int jobs, const study::Progress& progress = {});

// Simple rules are the yardstick of a simulator, which must predict better than they do.

// Gives every case its baselines. Those of concurrent runs start from the measured times of each operation alone, which
// is more than a simulator knows. The constant factor of a case is the geometric mean over the cases with the same
// alike_to_rules() and role calibrate or, if there are none, over all except the case itself, so that the rule has even
// seen predictions.
void add_baselines(std::vector<Case>& cases, const Platforms& platforms);

// A GroupKey is what the cases of a group have in common; they may differ in whatever is empty.
struct GroupKey {
  std::string suite;  // its title
  std::string name;   // name of the group, or of the operation that a figure is about
  std::string strategy{};
  std::string figure{};  // heading of the figure
  int table = -1;        // index in Validation::tables
  calibrate::Role role = calibrate::Role::unlisted;

  auto operator<=>(const GroupKey&) const = default;
};

// Returns what rules treat alike: suite, operation, strategy and figure. The operation is "both", "GEMM", "collective",
// or the kind of an isolated trial. The strategy is, for example, "c3_sp" or "shard_overlap", and empty for isolated
// work.
GroupKey alike_to_rules(const Case& one);

}  // namespace c3sim::validate
