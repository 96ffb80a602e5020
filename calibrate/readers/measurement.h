// Measurements: what a row of a measurement file says was run, and what was seen of it. Fits and comparisons read the
// same ones; only a fit is refused what ran concurrently or is marked as a prediction (calibrate/fit_guard.h).
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
  predict,    // must come out of the model
  probe,  // ran at once with other work: what the mechanisms by which work slows other work are fitted to, and no more
  unlisted  // nobody said
};
constexpr auto all_names(Role) { return sim::names("calibrate", "predict", "probe", "unlisted"); }
using sim::to_string;

// One figure of a run, in base units.
struct Seen {
  study::Figure figure = study::Figure::time;
  double value = 0.0;
  std::optional<double> low{}, high{};     // of its repetitions: 10th and 90th percentile, or the least and greatest
  std::optional<double> band{};            // how far off a prediction may be: relative, or in points (0.04)
  std::map<std::string, double> others{};  // what others predicted of the same run, by their names
  auto operator<=>(const Seen&) const = default;
};

// What was seen of the two operations of a concurrent run alone, and into how many pieces the GEMM is cut: what simple
// rules predict from. Alone by the protocol of the run is in turn: in a loop of both, one after the other, clocks
// settle as they do where both run at once; in one of a GEMM alone they are lower.
struct Alone {
  std::optional<double> gemm{};        // seconds
  std::optional<double> collective{};  // seconds
  std::optional<double> tiles{};
  std::optional<double> gemm_in_turn{};
  std::optional<double> collective_in_turn{};
};

// One run of what a profiler saw beside or as a collective that may have waited for other ranks.
struct TracedRun {
  std::size_t collective = 0;  // place in Profile::work
  double value = 0.0;          // of the first figure
};

struct Measurement {
  std::string file;   // without folders
  int line = 0;       // from 1; 0: of the file as a whole
  std::string group;  // of its table, for people: "all-reduce by size"
  Role role = Role::unlisted;
  std::string platform;                  // that the row says it was measured on, in a column `platform`; empty: none
  std::vector<std::string> assignments;  // of the platform: "gpus=4"
  study::Trial trial;
  std::vector<Seen> seen;
  // Its time holds what its rank waited for others, of a trace of one rank: shown beside a prediction, never scored.
  bool holds_waits = false;
  std::vector<TracedRun> runs{};     // of what holds waits, as far as a profile has them
  std::vector<study::Figure> asked;  // what such a row can tell, measured or not
  Alone alone;
  // Of measured alternatives among which one would choose: what the choice is about, and which one this is. Empty:
  // none.
  std::string decision;
  std::string alternative;

  std::string where() const { return line == 0 ? file : file + ":" + std::to_string(line); }
  // Whether its table says whose kernels products are, and whether what it timed followed each other in a stream.
  bool names_library() const { return assigns("gpu.gemm.library="); }
  bool is_in_stream() const { return assigns("host.protocol=stream"); }

 private:
  bool assigns(std::string_view beginning) const {
    return std::ranges::any_of(assignments, [beginning](const std::string& one) { return one.starts_with(beginning); });
  }
};

// Of one figure; `assignments` are those of the platform.
inline Measurement measurement_of(int line, std::string group, study::Trial trial, const Seen& seen,
                                  std::vector<std::string> assignments = {}) {
  Measurement one;
  one.line = line;
  one.group = std::move(group);
  one.assignments = std::move(assignments);
  one.trial = std::move(trial);
  one.seen.push_back(seen);
  one.asked.push_back(seen.figure);
  return one;
}

// A row that says nothing to compare with, and why.
struct Omission {
  std::string where;     // file:line
  std::string why;       // in the same words for all rows that it holds for
  std::string what{};    // the row, where its place does not say it: "'a kernel', run 5 times"
  double seconds = 0.0;  // that it took altogether; 0: nobody knows
};

// Runs that a file tells by the name of a kernel, or of a kind of copies, alone: what they were, a list beside the file
// may say (calibrate/readers/roles.h).
struct NamedRuns {
  std::string name;
  std::string counter{};  // what was counted; empty: their times
  int line = 0;           // of the first
  std::size_t runs = 0;
  double median = 0.0, low = 0.0, high = 0.0;  // seconds, or counts; 10th and 90th percentile
  double seconds = 0.0;                        // that all of them took; of counts 0
};

// What one file says.
struct Reading {
  std::string name;                 // of the file, without folders
  std::string format;               // what it was read as
  std::string platform;             // that it is read for, once that is known
  std::string gpu;                  // that it says it was measured on, in its own words; empty: it says nothing of it
  std::optional<Profile> profile;   // of a profiler's trace, the whole of it
  std::vector<std::string> header;  // comments above a table: protocol and environment, where they were written down
  std::vector<std::string> alike;   // other forms that the table could have been read as
  std::vector<Measurement> measurements;
  std::vector<NamedRuns> named;     // those that no label was looked for yet
  std::vector<Omission> left_out;   // understood, but no model stands for them
  std::vector<sim::Fault> remarks;  // what to beware of in what was read: where, of what, what
  std::vector<sim::Fault> faults;   // not understood, or absurd: where, what, what would be accepted
  std::size_t odd_rows = 0;         // of these, how many are of a row of a table that its form has no entry for
};

}  // namespace c3sim::calibrate
