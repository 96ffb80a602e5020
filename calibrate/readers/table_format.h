// How the rows of a table say what was run and what was seen of it: a few lines of YAML, so that a new table of
// measurements is data. And the measurements that such rows are.
//
//   rows:
//     - where: {kind: coll, how: [nccl, nccl_max_ctas]}      # the first entry whose conditions a row meets is its own
//       trial: collective                                    # calibrate/readers/trial_fields.h lists kinds and fields
//       with: {collective: "{collective}", bytes: "{bytes}B", channels: "{limit}"}
//       see: {time: {measured: "{all_us}us", low: "{all_p10_us}us", high: "{all_p90_us}us"}, power: "{mean_power_W}W"}
//     - where: {kind: stream}
//       leave_out: a stream beside a collective has no model
//
// "{column}" stands for the cell of that column, "{column|prefix}" for what follows the prefix in it. A field that
// names an empty cell ("", "-", "nan" and the like) or one without the prefix is as if it were not written. What was
// seen may be worked out of several: "$({loop_ms}ms * (1 + {over_pct} / 100))", see sim/config/expression.h.
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

// A text with columns in it: "{m}x{n}x{k}".
class Template {
 public:
  // What stands between two braces.
  struct Hole {
    std::size_t begin, end;  // in the text, braces included
    std::string column;
    std::string prefix;
  };

  Template() = default;
  Template(std::string text);  // of what is written, as it is

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  const std::vector<Hole>& holes() const { return holes_; }  // in order of appearance
  // What is wrong with its braces and what would be accepted; empty if nothing is.
  std::string fault() const;

 private:
  std::string text_;
  std::vector<Hole> holes_;  // worked out once: every row of a table asks for them
};

// That a cell equals one of the words, which may themselves name columns. A * at an end of a word stands for anything
// there, and a word that starts with <, <=, > or >= for any number on that side of the one that follows.
struct Condition {
  std::string column;
  std::vector<Template> words;
};

// `column`, `wide` and `cell`, which a wide table has instead of its wide columns: see TableFormat::each.
bool is_made_of_wide_ones(std::string_view column);

// Whether a word has a * at an end, and whether a cell is the word, a * standing for anything at its end.
bool is_pattern(std::string_view word);
bool is_word(std::string_view cell, std::string_view word);

// Of a word that starts with <, <=, > or >=, what follows; of others nothing.
std::optional<std::string_view> compared_with(std::string_view word);

struct SeenFormat {
  study::Figure figure = study::Figure::time;
  Template measured, low, high;            // with their unit
  std::optional<double> band;              // relative, or in points
  std::map<std::string, Template> others;  // what others predicted of it, by their names
};

// A column more: the cell of `column`, itself a template, in the first row of a table that meets the conditions.
struct Lookup {
  std::string name;
  std::string file;  // beside the suite's data; empty for the table itself
  Template column;
  std::vector<Condition> where;
};

// Words of one column stand for others, as a column of its own, which says nothing of words that are not listed, or in
// place of the first, which keeps these. A * at an end of a listed word stands for anything there; where several fit,
// the longest counts.
struct Words {
  std::string of;
  std::map<std::string, std::string, std::less<>> meaning;

  const std::string* meaning_of(std::string_view word) const;  // null where it stands for no other
  bool is_in_place(std::string_view column) const { return of.empty() || of == column; }
};

struct RowFormat {
  std::vector<Condition> where;
  std::string leave_out;  // why no model stands for such rows; all else is empty then
  Template group;         // what people call rows of this kind; that of the table where empty
  std::string trial;
  std::map<std::string, Template> with;
  std::vector<SeenFormat> see;
  Template gemm_alone, collective_alone, tiles;  // see Alone
  Template gemm_in_turn, collective_in_turn;
  Template decision, alternative;  // see Measurement
};

// Which rows of a table become measurements: those of which something was measured, or also those that wait for it.
enum class Rows { measured, all };

struct TableFormat {
  std::string name;
  std::string description;  // what a table of this form holds
  // Of a wide table, the columns that hold one measurement each, by their label: such a row is read once for every one
  // of them, the label being in column `column`, its name in `wide` and its cell in `cell`.
  std::vector<std::pair<std::string, std::string>> each;
  std::vector<std::string> optional;  // columns that a table may lack: their cells are empty then
  std::vector<std::string> ignored;   // columns that say nothing of what is read here, or "event_*": nobody is warned
  bool is_of_one_table = false;       // made for the table of its name, whose other columns it leaves alone on purpose
  std::map<std::string, Words, std::less<>> words;  // by column
  std::vector<Lookup> lookups;
  std::vector<Template> assignments;  // of the platform: "gpus={gpus}"
  std::vector<RowFormat> rows;

  // Reads `columns` (the wide ones), `optional`, `ignored`, `words`, `lookups`, `set` and `rows`; faults are recorded
  // with the section, among them columns that follow from themselves.
  static TableFormat read(sim::Section section, std::string name);

  // Whether it sets parameters whatever a row says: columns alone do not make a table one of it, its name does.
  bool is_of_one_machine() const;

  // The columns that one follows from by words or a lookup; none for one of the table itself.
  std::vector<std::string> sources_of(const std::string& column) const;
  const Lookup* lookup(std::string_view column) const;  // or null

  // The columns of a table that the form comes down to, and those among them that a table must have to be of this form:
  // one of runs to come, whose rows wait to be measured, needs none of those that tell what was.
  std::vector<std::string> named_columns(Rows rows = Rows::measured) const;
  std::vector<std::string> needed_columns(Rows rows = Rows::measured) const;
};

// A table that a lookup names, or null where there is none.
using OtherTables = std::function<const sim::CsvFile*(const std::string& file)>;

// What tables write where they have nothing to say: "", "-", "nan", "NaN", "unset", "null" or "N/A".
bool says_nothing(std::string_view cell);

// What a table is called, by which forms know it: its file's name without folders, `.gz` and what it ends in.
std::string table_name(const std::string& file);

// The row that begins on this line; nothing where none does.
std::optional<std::size_t> row_at(const sim::CsvFile& table, int line);

// The list of that name in the folder that the file is in; nothing where none stands there. Throws sim::ConfigError for
// one that cannot be read or lacks one of the columns.
std::optional<sim::CsvFile> list_beside(const std::filesystem::path& file, std::string_view name,
                                        const std::vector<std::string>& columns);

// Every row becomes a measurement, or is left out with a reason, or a fault tells where and why it cannot be read. The
// file has the columns that the form needs. Roles are unlisted.
Reading read_table(const sim::CsvFile& file, const TableFormat& format, const OtherTables& others = {},
                   Rows rows = Rows::measured);

// Whether a cell is what the word of a condition asks for.
bool is_met(std::string_view cell, std::string_view word);

}  // namespace c3sim::calibrate
