// Offers the tools of every log reader: lines, cells, patterns and tables of a log, and a LogReading, which gathers
// measurements, omitted rows and faults, each with its place in the file.
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

// A LogCell is a piece of a line. `column` is the place of its first byte, counted from 1.
struct LogCell {
  std::string_view text;
  int line = 1;
  int column = 1;

  bool operator==(const LogCell&) const = default;
  bool holds(std::string_view part) const { return text.find(part) != std::string_view::npos; }
  // Returns the cell without its first `begin` bytes, cut to at most `size` bytes.
  LogCell from(std::size_t begin, std::size_t size = std::string_view::npos) const {
    return {text.substr(begin, size), line, column + static_cast<int>(begin)};
  }
};
using LogCells = std::vector<LogCell>;

// No tool prints a longer line: a file that has one is no log.
inline constexpr std::size_t longest_log_line = std::size_t{64} << 10;

// LogLines splits a text into lines, which end in \n or \r\n; the last may lack its end. A byte order mark is skipped.
class LogLines {
 public:
  explicit LogLines(std::string_view text);
  // Goes on to the next line. Returns false if none is left.
  bool next();
  const LogCell& line() const { return line_; }
  // Returns whether a line end follows. A line without one may have been cut off.
  bool is_ended() const { return is_ended_; }

 private:
  std::string_view rest_;
  LogCell line_{.text = {}, .line = 0};
  bool is_ended_ = true;
  sim::ShortSteps steps_;
};

// A LogPattern is a regular expression over bytes in RE2's syntax. Matching takes time linear in the text.
class LogPattern {
 public:
  explicit LogPattern(const char* expression);
  bool is_valid() const;

  // Returns whether the pattern matches anywhere in the text.
  bool is_in(std::string_view text) const;
  // Returns the first match and then its groups, or no cell if nothing matches. A group that took no part is empty.
  LogCells groups(const LogCell& text) const;
  std::string erased_from(std::string text) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

// Returns whether `is_such` holds for any line of a text.
template <class IsSuch>
bool has_line(std::string_view text, const IsSuch& is_such) {
  LogLines lines(text);
  while (lines.next()) {
    if (lines.line().text.size() <= longest_log_line && is_such(lines.line())) return true;
  }
  return false;
}

// Returns whether a text, which may have gigabytes, contains `part`.
bool has_text(std::string_view text, std::string_view part);

// Returns the cell without the blanks, tabs and carriage returns around it.
LogCell trimmed(const LogCell& cell);
// Removes the escape sequences with which tools colour their output (ECMA-48: CSI and OSC). Lines stay the same.
std::string without_escapes(std::string text);
// Returns the words between blanks, tabs and the characters of `also_separate`.
LogCells words_of(const LogCell& line, std::string_view also_separate = "");
// Returns the trimmed fields between separators: one more than there are separators.
LogCells fields_of(const LogCell& line, std::string_view separator);
// Replaces by blanks the tags that a launcher put at the start of most lines to tell rank, host, container or time of
// day: those of Open MPI ("[1,0]<stdout>:", "[prterun-host-1@1,0]<stdout>: "), MPICH ("[0] ", "rank 0: "), srun ("0:
// "), torchrun ("[rank0]:"), pdsh ("host: "), kubectl ("[pod/a/b] "), compose ("a-1 | ") and others. Several tags may
// follow each other. Cells keep their columns.
std::string without_tags(std::string text);

// These parse numbers as printf writes them. In addition to what sim/config/config_text.h accepts, they accept leading
// zeros, a plus sign, ".01" and "1.".
sim::Parsed<double> parse_printed_number(std::string_view text);
sim::Parsed<std::int64_t> parse_printed_integer(std::string_view text);

// Returns the first 40 bytes of a text, with '?' for each byte that is not printable ASCII.
std::string printable(std::string_view text);
// Returns printable(text) in quotes, with dots if the text is longer.
std::string shown(std::string_view text);

// Returns the text with its ASCII letters in lower case.
std::string lower_case(std::string_view text);

// Returns the letters and digits of a text in lower case: "All-Reduce" and "all_reduce" have the same plain name.
std::string plain_name(std::string_view text);

class LogReading {
 public:
  // `name` is the name or path of the file. The text must outlive the LogReading.
  explicit LogReading(std::string name, std::string_view text = {});

  // Goes on to the next line. Records a fault for each line that is too long for a tool to have printed, and skips it.
  bool next();
  const LogCell& line() const { return lines_.line(); }
  // Returns whether the line has no line end, so that it may have been cut off.
  bool is_cut() const { return !lines_.is_ended(); }

  // Records a fault. `path` names the cell for people: "time".
  void fault(const LogCell& at, std::string_view path, std::string what);
  // Records an Omission. Equal ones in a row, as from several cells of one line, count once.
  void leave_out(int line, std::string why, std::string what = {}, double seconds = 0.0);
  void add(Measurement measurement);    // sets the file of the measurement
  void set_gpu(std::string_view name);  // only the first name that is not empty counts
  // Records what to beware of in the whole file. Equal remarks count once.
  void remark(std::string_view path, std::string what);

  // These return the value of a cell, or record a fault and return nothing if it is no number or out of bounds.
  // figure() expects the unit in which people read the figure (study/report/figure.h) and returns base units.
  std::optional<double> figure(const LogCell& cell, study::Figure figure, std::string_view path);
  std::optional<double> number(const LogCell& cell, double low, double high, std::string_view path);
  std::optional<std::int64_t> whole(const LogCell& cell, std::int64_t low, std::int64_t high, std::string_view path);
  std::optional<int> integer(const LogCell& cell, int low, int high, std::string_view path);
  // Accepts 1 B to 1 TiB.
  std::optional<sim::Bytes> bytes(const LogCell& cell, std::string_view path);

  const std::string& name() const { return name_; }
  const std::string& file() const { return reading_.name; }  // the name without folders
  std::size_t faults() const { return reading_.faults.size(); }
  // Returns the reading. If nothing at all was found, it has a fault `if_nothing`, which says what is accepted.
  Reading take(std::string_view if_nothing = {}) &&;

 private:
  std::string name_;
  LogLines lines_;
  Reading reading_;
};

// A LogTable is a table within a log: column names, and below them rows with one cell per column. It holds one row at a
// time. Column names are compared as plain_name() spells them.
class LogTable {
 public:
  using Column = std::optional<std::size_t>;  // index of the column

  // The LogReading must outlive the table.
  explicit LogTable(LogReading& log) : log_(log) {}

  // Starts a new table with these column names.
  void take_heads(const LogCells& heads);
  // Returns a column, or nothing if the table does not have it.
  Column find(std::string_view name) const;
  // Returns a column that the table must have. Without it no row can be read, and a fault tells the nearest name.
  Column require(std::string_view name);
  // Returns whether the table has columns, among them all required ones.
  bool is_readable() const { return !names_.empty() && has_all_; }
  const std::vector<std::string>& names() const { return names_; }  // as plain_name spells them

  // Takes a row. Records a fault and returns false if the row does not have one cell per column, or if no line end
  // follows it, so that its last cell may have been cut off.
  bool take_row(LogCells cells, bool is_ended = true);

  const LogCells& row() const { return row_; }
  // Returns the cell of a column that the table has.
  const LogCell& cell(Column column) const { return row_[*column]; }
  const LogCell& cell(std::string_view name) const { return row_[*find(name)]; }
  std::string_view text(Column column, std::string_view otherwise = {}) const {
    return column ? cell(column).text : otherwise;
  }

 private:
  LogReading& log_;
  LogCell place_;                   // of the column names
  std::vector<std::string> shown_;  // column names for people
  std::vector<std::string> names_;  // column names as plain_name() spells them
  bool has_all_ = true;
  LogCells row_;
};

// A CsvTable reads a whole text of comma-separated values. If several tables were written to one file, it skips the
// repeated rows of column names.
class CsvTable : public LogTable {
 public:
  // The text and the LogReading must outlive the table.
  CsvTable(std::string_view text, LogReading& log);

  // Goes on to the next complete row. Records a fault for every row that is not complete.
  bool next();
  int line() const { return row_.line; }

 private:
  LogCells cells() const;

  LogReading& log_;
  sim::CsvLexer lexer_;
  sim::CsvRow row_;
  sim::ShortSteps steps_;
};

// Returns whether the first row of a text of comma-separated values names all of these columns.
bool has_columns(std::string_view text, std::initializer_list<std::string_view> names);

// No node has more GPUs, CUs, engines or ranks: a larger number is an error in the file.
inline constexpr int most_units = 4096;

// Needs at least one value. study/report/statistics.h defines percentiles.
Percentiles percentiles_of(std::vector<double> values);

// A TestedCollective is an operation that rccl-tests and nccl-tests measure. Without a kind it has no model.
struct TestedCollective {
  std::string_view name;  // as plain_name spells it: "allreduce"
  std::optional<models::CollectiveKind> kind;
};
// Finds the collective of "all_reduce_perf", "AllReduce" and the like. Returns null for other words.
const TestedCollective* collective_called(std::string_view word);

// A LogFormat is the output of one tool. Its reader records faults with their lines, and throws sim::ConfigError only
// for a list of labels beside the file that cannot be read.
struct LogFormat {
  std::string_view name;   // "rccl-tests"
  std::string_view about;  // what such a file holds, and which command writes it
  bool (*recognises)(std::string_view text);
  Reading (*read)(std::string_view text, const std::string& name);  // `name` is that of the file
};
extern const LogFormat rccl_tests_text, rccl_tests_json, rccl_tests_csv, transfer_bench_csv, transfer_bench_text,
    hipblaslt_bench, rocblas_bench, babel_stream, rocprof_kernel_trace, rocprof_copy_trace, rocprof_counters,
    rocprof_json, torch_trace, vllm_bench, inference_max, unread_tool;

// Returns all formats. A text has the first format that recognises it; if none does, it may be a table.
std::span<const LogFormat> log_formats();

}  // namespace c3sim::calibrate
