// Declares measurements: what a row of a measurement file says was run, and what was measured of it. Comparisons and
// fits read the same ones, but fits refuse predictions and concurrent runs except probes
// (calibrate/measurement_files.h).
#pragma once

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/profile.h"
#include "sim/config/choice.h"
#include "sim/config/config_error.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

enum class Role {
  calibrate,  // parameters may be fitted to it
  predict,    // the model must predict it
  probe,      // a concurrent run: only the mechanisms by which work slows other work may be fitted to it
  unlisted    // no role was given
};
constexpr auto all_names(Role) { return sim::names("calibrate", "predict", "probe", "unlisted"); }
using sim::to_string;

// Seen is one measured figure of a run, in base units.
struct Seen {
  static constexpr double of_many = 2.563;  // between the 10th and the 90th percentile of many repetitions
  study::Figure figure = study::Figure::time;
  double value = 0.0;
  std::optional<double> low{}, high{};     // spread of repetitions: 10th and 90th percentile, or least and greatest
  double deviations = of_many;             // standard deviations that are expected between low and high
  std::optional<double> band{};            // allowed error of a prediction: relative, or in points (0.04)
  std::map<std::string, double> others{};  // predictions of the same run by others, by their names
  // Returns whether figures between `low` and `high`, which must be there, can be.
  bool is_within_bounds() const {
    const study::FigureForm& form = study::form_of(figure);
    return *low >= form.low && *high <= form.high;
  }
  auto operator<=>(const Seen&) const = default;
};

// Percentiles sum up many runs of the same work: a trace holds thousands, a comparison needs median and spread.
struct Percentiles {
  double median = 0.0;
  double low = 0.0, high = 0.0;  // 10th and 90th percentile
  double deviations = 0.0;       // see Seen

  // Returns them in another unit, as a figure.
  Seen as(study::Figure figure, double unit = 1.0) const {
    return {.figure = figure, .value = median * unit, .low = low * unit, .high = high * unit, .deviations = deviations};
  }
};

// Alone holds what was measured of the two operations of a concurrent run when each ran alone, and the number of tiles
// of the GEMM. Simple rules predict from these. The times "in turn" are from a loop that runs both operations one after
// the other, where clocks settle as in the concurrent run; in a loop of the GEMM alone clocks are lower.
struct Alone {
  std::optional<double> gemm{};        // seconds
  std::optional<double> collective{};  // seconds
  std::optional<double> tiles{};
  std::optional<double> gemm_in_turn{};
  std::optional<double> collective_in_turn{};
};

// A TracedRun is one traced run of a collective that may have waited for other ranks, or of work concurrent with it.
struct TracedRun {
  std::size_t collective = 0;  // place of the collective in Profile::work
  double value = 0.0;          // of the measurement's first figure
};

struct Measurement {
  std::string file{};   // name without folders
  int line = 0;         // counted from 1; 0: the file as a whole
  std::string group{};  // title of its table for people: "all-reduce by size"
  Role role = Role::unlisted;
  std::string platform{};                  // on which it was measured, by the row's column `platform`; may be empty
  std::vector<std::string> assignments{};  // parameters of the platform: "gpus=4"
  study::Trial trial{};
  std::vector<Seen> seen{};
  // The time includes waits for other ranks, as in a trace of one rank: shown beside a prediction, never scored.
  bool holds_waits = false;
  std::vector<TracedRun> runs{};       // the runs behind a time that includes waits
  std::vector<study::Figure> asked{};  // the figures of such a row, measured or not
  Alone alone{};
  // A row that is one of several measured alternatives names the decision between them and its own alternative. Both
  // are empty for other rows.
  std::string decision{};
  std::string alternative{};

  std::string where() const { return line == 0 ? file : file + ":" + std::to_string(line); }
  // Returns whether the table names the library of the GEMM kernels, and whether runs followed each other in a stream.
  bool names_library() const { return assigns("gpu.gemm.library="); }
  bool is_in_stream() const { return assigns("host.protocol=stream"); }

 private:
  bool assigns(std::string_view beginning) const {
    return std::ranges::any_of(assignments, [beginning](const std::string& one) { return one.starts_with(beginning); });
  }
};

// Returns a measurement of one figure. `assignments` are parameters of the platform.
inline Measurement measurement_of(int line, std::string group, study::Trial trial, const Seen& seen,
                                  std::vector<std::string> assignments = {}) {
  Measurement one{
      .line = line, .group = std::move(group), .assignments = std::move(assignments), .trial = std::move(trial)};
  one.seen.push_back(seen);
  one.asked.push_back(seen.figure);
  return one;
}

// An Omission is a row that cannot be compared with anything, and why.
struct Omission {
  std::string where;     // file:line
  std::string why;       // in the same words for all rows with this reason
  std::string what{};    // names the row if its place does not: "'a kernel', run 5 times"
  double seconds = 0.0;  // total time that it took; 0: unknown
};

// A Reading is everything that one file says.
struct Reading {
  std::string name;                 // file name without folders
  std::string format;               // name of the format that was used
  std::string platform;             // the platform for which it is read, once known
  std::string gpu;                  // the GPU on which it was measured, in the file's words; empty: not said
  std::optional<Profile> profile;   // the whole trace, if the file is one
  std::vector<std::string> header;  // comments above a table, which may describe protocol and environment
  std::vector<Measurement> measurements;
  std::vector<Omission> left_out;   // understood, but without a model
  std::vector<sim::Fault> remarks;  // warnings: where, which item, what
  std::vector<sim::Fault> faults;   // not understood or absurd: where, which item, what would be accepted
  std::size_t odd_rows = 0;         // number of faults from table rows for which the format has no entry
};

}  // namespace c3sim::calibrate
