// A log while it is read, line by line, and what its reader has found so far: measurements, rows left out, faults, each
// with its place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

class LogReading {
 public:
  // `name` is that of the file, perhaps with folders; the text must outlive it.
  explicit LogReading(std::string name, std::string_view text = {});

  // Goes on to the next line; of one that is too long for a tool to have printed there is a fault instead.
  bool next();
  const LogCell& line() const { return lines_.line(); }
  // Whether no end of line follows it: it may have been cut off.
  bool is_cut() const { return !lines_.is_ended(); }

  // `path` names the cell for people: "time".
  void fault(const LogCell& at, std::string_view path, std::string what);
  // Once, of several cells that follow each other. `what` and `seconds` are those of the omission.
  void leave_out(int line, std::string why, std::string what = {}, double seconds = 0.0);
  void add(Measurement measurement);  // all but its file is set
  // The same of one figure; `assignments` are those of the platform.
  void add(int line, std::string group, study::Trial trial, const Seen& seen,
           std::vector<std::string> assignments = {});
  void add(NamedRuns runs) { reading_.named.push_back(std::move(runs)); }
  void set_gpu(std::string_view name);  // the first that is not empty counts
  const std::string& gpu() const { return reading_.gpu; }
  // What to beware of in the whole file, each once.
  void remark(std::string_view path, std::string what);

  // What a cell says; where it is no number or out of bounds, a fault and nothing. A figure is one in the unit in which
  // people read it (study/ask/figure.h).
  std::optional<double> figure(const LogCell& cell, study::Figure figure, std::string_view path);
  std::optional<double> number(const LogCell& cell, double low, double high, std::string_view path);
  std::optional<int> integer(const LogCell& cell, int low, int high, std::string_view path);
  // From 1 B to 1 TiB.
  std::optional<sim::Bytes> bytes(const LogCell& cell, std::string_view path);

  const std::string& name() const { return name_; }
  std::size_t faults() const { return reading_.faults.size(); }
  // With a fault, where nothing at all was found, that says what is accepted.
  Reading take(std::string_view if_nothing = {}) &&;

 private:
  // The value, or a fault and nothing: `beyond` says what is wrong with one that is not within its bounds.
  template <class T, class Beyond>
  std::optional<T> checked(const LogCell& cell, std::string_view path, const sim::Parsed<T>& parsed, bool is_within,
                           const Beyond& beyond);

  std::string name_;
  LogLines lines_;
  Reading reading_;
};

// GPUs, CUs, engines, ranks: more are a slip of the pen.
inline constexpr int most_units = 4096;

// Many runs of the same, summed up: a trace holds thousands of which a comparison wants the middle and the spread.
struct Percentiles {
  double median = 0.0;
  double low = 0.0, high = 0.0;  // 10th and 90th percentile
};

// Of at least one value; study/report/statistics.h says what percentiles are.
Percentiles percentiles_of(std::vector<double> values);

// When work was on a GPU, in seconds since any moment.
struct Stay {
  int gpu = 0;
  double begin = 0.0, end = 0.0;
};
// Of each, whether other work was on its GPU for more than a hundredth of its time: so much of it was not alone. Clocks
// of traces are rounded, so that work that follows may seem to begin too early.
std::vector<bool> is_beside_others(const std::vector<Stay>& stays);

}  // namespace c3sim::calibrate
