// A log while it is read, line by line, and what its reader has found so far: measurements, rows left out, faults, each
// with its place in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/measurement.h"
#include "sim/config/csv_file.h"
#include "sim/interruption.h"

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
  // What to beware of in the whole file, each once.
  void remark(std::string_view path, std::string what);

  // What a cell says; where it is no number or out of bounds, a fault and nothing. A figure is one in the unit in which
  // people read it (study/report/figure.h).
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

// A table within a log: the names of its columns, and below them rows with a cell for each. Names are one where
// plain_name spells them alike. It holds one row at a time.
class LogTable {
 public:
  using Column = std::optional<std::size_t>;  // its place

  // The log must outlive it.
  explicit LogTable(LogReading& log) : log_(log) {}

  // Begins anew with these names of columns.
  void take_heads(const LogCells& heads);
  // The place of a column; nothing where the table has it not.
  Column find(std::string_view name) const;
  // The same of one that it must have: else there is a fault that says the nearest, and no row can be read.
  Column require(std::string_view name);
  // Whether it has columns, and all that it must have.
  bool is_readable() const { return !names_.empty() && has_all_; }
  const std::vector<std::string>& names() const { return names_; }  // as plain_name spells them

  // Takes a row. False, and a fault, where it has not a cell for each column, or where no end of line follows it, so
  // that the last one may have been cut off.
  bool take_row(LogCells cells, bool is_ended = true);

  const LogCells& row() const { return row_; }
  // Of the row the cell of a column that the table has.
  const LogCell& cell(Column column) const { return row_[*column]; }
  const LogCell& cell(std::string_view name) const { return row_[*find(name)]; }
  std::string_view text(Column column, std::string_view otherwise = {}) const {
    return column ? cell(column).text : otherwise;
  }

 private:
  LogReading& log_;
  LogCell place_;                   // of the heads
  std::vector<std::string> shown_;  // names of columns for people
  std::vector<std::string> names_;  // as plain_name spells them
  bool has_all_ = true;
  LogCells row_;
};

// A table that is a whole text of comma-separated values. Where several were written to one file, the names of columns
// stand there again, and are no row.
class CsvTable : public LogTable {
 public:
  // Text and log must outlive it.
  CsvTable(std::string_view text, LogReading& log);

  // Goes on to the next row that is whole; of others it records what is wrong.
  bool next();
  int line() const { return row_.line; }

 private:
  LogCells cells() const;

  LogReading& log_;
  sim::CsvLexer lexer_;
  sim::CsvRow row_;
  sim::ShortSteps steps_;
};

// Whether the first row of a text of comma-separated values names all of these columns.
bool has_columns(std::string_view text, std::initializer_list<std::string_view> names);

// GPUs, CUs, engines, ranks: more are a slip of the pen.
inline constexpr int most_units = 4096;

// Many runs of the same, summed up: a trace holds thousands of which a comparison wants the middle and the spread.
struct Percentiles {
  double median = 0.0;
  double low = 0.0, high = 0.0;  // 10th and 90th percentile
};

// Of at least one value; study/report/statistics.h says what percentiles are.
Percentiles percentiles_of(std::vector<double> values);

}  // namespace c3sim::calibrate
