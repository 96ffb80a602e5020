// A LogForm says in a few lines of YAML how what a tool prints or writes becomes a table, whose rows a TableFormat then
// turns into measurements: a new tool needs a file in configs/formats/logs/ and no code. Patterns are those of RE2;
// each of their named groups is a column of the table.
//
//   logs:
//     - name: BabelStream
//       about: rates of streams, as BabelStream prints them
//       recognised: '^Function\s+M'                          # lines that only this tool prints
//       says: '^Array size:\s*(?P<size>\S+) (?P<unit>\S+)'   # holds for the rows of its run
//       tables:
//         - heads: '^Function\s'                             # names the columns
//           row: '^[A-Z]'                                    # a line below that is a row
//       columns: {function: function, min: least}            # by letters and digits of heads, in small letters
//       nothing: "no stream: rows are accepted below 'Function MBytes/sec ...'"
//   rows: ...                                                # as in calibrate/readers/table_format.h
//
// What is known of a row is, in this order, what its line says, what `says` told above it, what it tells below up to
// the end of the run, what the name of the file says (`file`), and `defaults`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/table_format.h"
#include "sim/config/config_section.h"

namespace c3sim::calibrate {

struct LogForm {
  using Names = std::map<std::string, std::string, std::less<>>;  // columns by the names that a tool gives them

  // A Pattern puts what its groups match into columns.
  struct Pattern {
    LogPattern expression;
    std::vector<std::pair<std::size_t, std::size_t>> groups{};  // number of the group, index of its column
  };
  // A line of column names, or its group `heads`, begins a table. Of equal names in a line the second is NAME2.
  struct Table {
    LogPattern heads;
    LogPattern row;                   // a line that is a row, whose cells are its group `row` or else all of it
    std::string separator;            // key `cells`: what separates cells; empty: blanks
    std::vector<std::string> names;   // of the columns, if the line does not name each in one word
    std::vector<std::string> needed;  // columns without which no row can be read
    std::vector<std::string> blank;   // columns whose cells may all be blank
  };
  // Keys of JSON are written like names of columns, with '_' between those of an object and of one in it.
  struct Json {
    std::vector<std::string> recognised;  // a text with any of these is the tool's
    std::vector<std::string> rows;        // a record with any of these keys is a row
    Names settings;                       // columns that the whole text tells, by keys
    std::string beside;                   // a record with this key tells columns of all rows, too
    Names columns_beside;
    std::vector<std::string> lines;  // keys of the whole text whose words are a line for `says`
  };

  std::string name;                    // "rccl-tests"
  std::string about;                   // what such a file holds, and which command writes it
  std::string nothing;                 // what is accepted, said of a file without a row
  std::vector<LogPattern> recognised;  // a text with a line that any of these matches is the tool's
  std::vector<Pattern> says;           // what lines tell
  std::vector<Pattern> begins;         // lines that begin the next run if they stand below a table
  std::vector<Pattern> ends;           // lines below a table that tell of it what is not known yet
  std::vector<Pattern> of_file;        // key `file`: what the name of the file tells, unless it tells it twice
  // What a library prints between lines, and within them: the rest of a row (`rest_of_row`) then follows in later
  // lines. The first group is the host's name.
  std::optional<LogPattern> between;
  std::vector<Pattern> said_between;
  std::optional<LogPattern> rest_of_row;
  std::optional<LogPattern> over;        // a line below which there are no more rows
  std::optional<LogPattern> like_heads;  // a line that would be heads, and what is said of it if it is none
  std::string strange_heads;
  std::vector<Table> tables;
  std::optional<Json> json;
  std::vector<std::string> csv;  // columns by which comma-separated values are the tool's; empty: it writes none
  Names names;                   // key `columns`: of tables, CSV and records that are rows
  std::map<std::string, std::string, std::less<>> defaults;
  std::vector<std::size_t> greatest;         // columns of which the greatest number counts
  std::vector<std::size_t> counted;          // columns that hold how many different words a run told
  std::vector<std::size_t> once;             // columns that hold for the next row alone
  std::vector<std::size_t> plain;            // columns of letters and digits alone, in small letters
  std::vector<std::size_t> zero_is_nothing;  // columns in which 0 means that nothing was measured
  std::vector<std::string> columns;          // all columns of the table
  std::size_t gpu = 0;                       // index of the column `gpu`, which names the GPU for people

  // Records faults with the section.
  static LogForm read(sim::Section section);
  bool recognises(std::string_view text) const;
  bool has_csv_columns(std::string_view text) const;
};

// A LogTool is what a file of configs/formats/logs/ holds: how logs become a table, and what its rows mean. A tool
// without `rows` is known by its name and not read.
struct LogTool {
  std::vector<LogForm> logs;
  TableFormat table;

  static LogTool read(sim::Section section, const std::string& name);
};

// Reads a text that the form recognises. `name` is that of the file.
Reading read_log(const LogForm& form, const TableFormat& table, std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
