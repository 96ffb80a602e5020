// A TableFormat says in a few lines of YAML how the rows of a table tell what was run and what was measured, so that a
// new table of measurements needs no code. read_table() returns the measurements of such rows.
//
//   rows:
//     - where: {kind: coll, how: [nccl, nccl_max_ctas]}      # a row uses the first entry whose conditions it meets
//       trial: collective                                    # calibrate/readers/trial_fields.h lists kinds and fields
//       with: {collective: "{collective}", bytes: "{bytes}B", channels: "{limit}"}
//       see: {time: {measured: "{all_us}us", low: "{all_p10_us}us", high: "{all_p90_us}us"}, power: "{mean_power_W}W"}
//     - where: {kind: gemm}
//       trial: gemm
//       with: {gemm: "{gemm}"}
//       see: {time: {measured: "{median_us}us", low: "{min_us}us", high: "{max_us}us", runs: "{runs}"}}
//     - where: {kind: stream}
//       leave_out: a stream beside a collective has no model
//
// "{column}" stands for the cell of that column, "{column|prefix}" for what follows the prefix in the cell. A field
// that names an empty cell ("", "-", "nan" and the like) or a cell without the prefix counts as not written. Arithmetic
// may combine cells: "$({loop_ms}ms * (1 + {over_pct} / 100))", see sim/config/expression.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "sim/config/config_section.h"
#include "sim/config/csv_file.h"
#include "study/report/figure.h"

namespace c3sim::calibrate {

// A Template is a text that names columns: "{m}x{n}x{k}".
class Template {
 public:
  // A Hole is a pair of braces in the text.
  struct Hole {
    std::size_t begin, end;  // positions in the text, including braces
    std::string column;
    std::string prefix;
  };

  Template() = default;
  Template(std::string text);  // keeps the text as written

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  const std::vector<Hole>& holes() const { return holes_; }  // in order of appearance
  // Returns what is wrong with the braces and what would be accepted; empty if nothing is.
  std::string fault() const;

 private:
  std::string text_;
  std::vector<Hole> holes_;  // computed once, since every row of a table needs them
};

// A Condition holds if the column's cell matches one of the words, which may themselves name columns. A * at an end of
// a word matches any text; a word such as ">=4" matches the numbers on that side of its own, for <, <=, > and >=.
struct Condition {
  std::string column;
  std::vector<Template> words;
};

// Returns whether a cell matches a word, where a * at an end of the word matches any text; is_met() also compares.
bool is_word(std::string_view cell, std::string_view word);
bool is_met(std::string_view cell, std::string_view word);

struct SeenFormat {
  study::Figure figure = study::Figure::time;
  Template measured, low, high;            // quantities with units
  Template runs{};                         // how many, of which low and high are least and greatest; empty: percentiles
  std::optional<double> band;              // allowed error of a prediction: relative, or in points
  std::map<std::string, Template> others;  // predictions by others, by their names
};

// A Lookup defines an additional column. Its cell is `column`, filled from the first row that meets the conditions.
struct Lookup {
  std::string name;
  std::string file;  // in the data folder of the suite; empty: the table itself
  Template column;
  std::vector<Condition> where;
};

// Words translate the words of a column. With `of` they define a new column, which is empty for words that are not
// listed; without it they replace words of the column itself and keep others. A * at an end of a listed word matches
// any text; of several listed words that match, the longest counts.
struct Words {
  std::string of;
  std::map<std::string, std::string, std::less<>> meaning;

  const std::string* meaning_of(std::string_view word) const;  // null: not translated
  bool is_in_place(std::string_view column) const { return of.empty() || of == column; }
};

struct RowFormat {
  std::vector<Condition> where;
  std::string leave_out;  // why such rows have no model; then all other fields are empty
  Template group;         // title for people; empty: that of the table
  std::string trial;
  std::map<std::string, Template> with;
  std::vector<SeenFormat> see;
  Template gemm_alone, collective_alone, tiles;  // see struct Alone
  Template gemm_in_turn, collective_in_turn;
  Template decision, alternative;  // see struct Measurement
};

// Selects the rows that become measurements: only those with measured figures, or also those yet to be measured.
enum class Rows { measured, all };

struct TableFormat {
  std::string name;
  std::string description;  // what a table of this format holds
  // `each` maps the wide columns of a table to labels. A row is read once for each of them, with the label as column
  // `column`, the wide column's name as `wide` and its cell as `cell`.
  std::vector<std::pair<std::string, std::string>> each;
  std::vector<std::string> optional;  // columns that a table may lack; their cells are then empty
  std::vector<std::string> ignored;   // columns that do not matter here, also as "event_*"; they cause no warning
  bool is_of_one_table = false;       // written for the table of its name, whose unused columns cause no warning
  std::map<std::string, Words, std::less<>> words;  // by column
  std::vector<Lookup> lookups;
  std::vector<Template> assignments;  // parameters of the platform: "gpus={gpus}"
  std::vector<RowFormat> rows;

  // Reads `columns` (the wide ones), `optional`, `ignored`, `words`, `lookups`, `set` and `rows`. Records faults with
  // the section, also for columns that depend on themselves.
  static TableFormat read(sim::Section section, std::string name);

  // Returns whether the format sets platform parameters whatever a row says. Then matching columns alone do not select
  // the format, but its name or the words of the rows do.
  bool is_of_one_machine() const;

  // Returns the columns from which words or a lookup derive a column; none for a column of the table itself.
  std::vector<std::string> sources_of(const std::string& column) const;
  const Lookup* lookup(std::string_view column) const;  // or null

  // named_columns() returns all columns of a table that the format reads; needed_columns() returns those that a table
  // must have to be of this format. With Rows::all, columns that hold only measured results are not among them.
  std::vector<std::string> named_columns(Rows rows = Rows::measured) const;
  std::vector<std::string> needed_columns(Rows rows = Rows::measured) const;
};

// Returns a table that a lookup names, or null if there is none.
using OtherTables = std::function<const sim::CsvFile*(const std::string& file)>;

// Returns whether a cell is empty or a word for no value: "-", "nan", "NaN", "unset", "null" or "N/A".
bool says_nothing(std::string_view cell);

// Returns the name by which formats know a table: the file name without folders, `.gz` and extension.
std::string table_name(const std::string& file);

// Returns the row that begins on this line; nothing if none does.
std::optional<std::size_t> row_at(const sim::CsvFile& table, int line);

// Returns each row as a measurement, an omission with its reason, or a fault with its place. The file must have the
// columns that the format needs. All roles are unlisted.
Reading read_table(const sim::CsvFile& file, const TableFormat& format, const OtherTables& others = {},
                   Rows rows = Rows::measured);

}  // namespace c3sim::calibrate
