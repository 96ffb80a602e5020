// A log of a tool while it is read, line by line and cell by cell, and what its reader has found so far: measurements,
// rows left out, faults, each with its place in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "sim/config/config_text.h"
#include "sim/config/csv_file.h"
#include "sim/interruption.h"

namespace re2 {
class RE2;
}

namespace c3sim::calibrate {

// A piece of a line, and where its first byte stands, from 1.
struct LogCell {
  std::string_view text;
  int line = 1;
  int column = 1;

  bool operator==(const LogCell&) const = default;
  bool holds(std::string_view part) const { return text.find(part) != std::string_view::npos; }
  // Without the bytes before `begin`, and of the rest at most so many.
  LogCell from(std::size_t begin, std::size_t size = std::string_view::npos) const {
    return {text.substr(begin, size), line, column + static_cast<int>(begin)};
  }
};
using LogCells = std::vector<LogCell>;

// No tool prints a longer line: beyond it, a file is no log.
inline constexpr std::size_t longest_log_line = std::size_t{64} << 10;

// Lines end in \n or \r\n, the last one perhaps in neither. A byte order mark before the first is no part of it.
class LogLines {
 public:
  explicit LogLines(std::string_view text);
  // Goes on to the next line; false where none is left.
  bool next();
  const LogCell& line() const { return line_; }
  // Whether an end of line follows it: without one, it may have been cut off.
  bool is_ended() const { return is_ended_; }

 private:
  std::string_view rest_;
  LogCell line_{.text = {}, .line = 0};
  bool is_ended_ = true;
  sim::ShortSteps steps_;
};

// A regular expression over bytes, as RE2 has them: in time linear in the text, whatever stands in it.
class LogPattern {
 public:
  explicit LogPattern(const char* expression);
  bool is_valid() const;

  // Whether it holds somewhere in the text.
  bool is_in(std::string_view text) const;
  // Where it holds first in the text, and what its groups hold there, the whole of it before them; none where it does
  // not hold. A group that took no part is empty.
  LogCells groups(const LogCell& text) const;
  std::string erased_from(std::string text) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

// Whether a log has such a line.
template <class IsSuch>
bool has_line(std::string_view text, const IsSuch& is_such) {
  LogLines lines(text);
  while (lines.next()) {
    if (lines.line().text.size() <= longest_log_line && is_such(lines.line())) return true;
  }
  return false;
}

// Whether such a part stands somewhere in a text, of up to gigabytes.
bool has_text(std::string_view text, std::string_view part);

// Without the blanks, tabs and carriage returns around it.
LogCell trimmed(const LogCell& cell);
// Without the escape sequences by which tools colour what they print (ECMA-48: CSI and OSC); lines stay what they are.
std::string without_escapes(std::string text);
// The words between blanks, tabs and whatever else separates.
LogCells words_of(const LogCell& line, std::string_view also_separate = "");
// What stands between separators, trimmed: one more than there are separators.
LogCells fields_of(const LogCell& line, std::string_view separator);
// The text with blanks in place of the tags that launchers put in front of every line, or nearly every one, and which
// say the rank, host, container or time of day: those of Open MPI ("[1,0]<stdout>:", "[prterun-host-1@1,0]<stdout>: "),
// MPICH ("[0] ", "rank 0: "), srun ("0: "), torchrun ("[rank0]:"), pdsh ("host: "), kubectl ("[pod/a/b] "), compose
// ("a-1  | ") and the like, also one behind the other. Cells keep their places.
std::string without_tags(std::string text);

// Numbers as printf writes them: beside what sim/config/config_text.h accepts, leading zeros, a plus sign, ".01" and
// "1.".
sim::Parsed<double> parse_printed_number(std::string_view text);
sim::Parsed<std::int64_t> parse_printed_integer(std::string_view text);

// As it can be shown to a person: the first 40 bytes, '?' for what is not printable ASCII.
std::string printable(std::string_view text);
// The same in quotes, with dots where more follows.
std::string shown(std::string_view text);

// Letters of ASCII in lower case, and all else as it is.
std::string lower_case(std::string_view text);

// The letters and digits, letters in lower case: "All-Reduce" and "all_reduce" are one name.
std::string plain_name(std::string_view text);

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

// The output of a tool. A reader never throws; it tells by line what it could not read.
struct LogFormat {
  std::string_view name;   // "rccl-tests"
  std::string_view about;  // what a file of it holds, and which command writes it
  bool (*recognises)(std::string_view text);
  Reading (*read)(std::string_view text, const std::string& name);  // of the file
};
extern const LogFormat rccl_tests_text, rccl_tests_json, rccl_tests_csv, transfer_bench_csv, transfer_bench_text,
    hipblaslt_bench, rocblas_bench, babel_stream, babel_stream_csv, rocprof_kernel_trace, rocprof_copy_trace,
    rocprof_counters, rocprof_json, torch_trace, vllm_bench, inference_max, unread_tool;

// A text is of the first that recognises it; of none it may be a table.
std::span<const LogFormat> log_formats();

}  // namespace c3sim::calibrate
