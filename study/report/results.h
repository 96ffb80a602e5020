// Results hold an answer (tables, charts, warnings ...) and are written as text, CSV or JSON.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "study/program/operation.h"
#include "study/report/chart.h"
#include "study/report/result_table.h"

namespace c3sim::study {

// A Headline is a main figure of an answer, which its page shows at the top.
struct Headline {
  std::string label;        // "memory"
  std::string value;        // "182 GB"
  std::string beside = {};  // "of 206 GB"
};

enum class Format { table, csv, json };
constexpr auto all_names(Format) { return sim::names("table", "csv", "json"); }

struct NamedTable {
  std::string key;    // key in JSON, stem of the CSV file: "results"
  std::string title;  // heading in text; may be empty
  ResultTable table;
  bool in_text = true;             // false: too long to read; for files and programs only
  std::vector<Chart> charts = {};  // charts that show the table
  bool sums_up = false;            // only repeats values of the first table in fewer rows
  // Keys of the columns that a page shows, in this order. None: those of the text or, of a table that the text leaves
  // out, all.
  std::vector<std::string> on_page = {};
};

// A NamedRun is a schedule that the results come from, for those who want to inspect it.
struct NamedRun {
  std::string name;
  Schedule schedule;
  Between between = Between::nothing;
};

// A TextFile is saved next to the tables of an answer: "platform.yaml".
struct TextFile {
  std::string name;
  std::string content;
};

// A text that may be too long to be held: it is written to the file when the answer is saved.
struct LongFile {
  std::string name;
  std::function<void(std::ostream& out)> write;
};

struct Results {
  std::string platform = {};
  std::vector<NamedTable> tables{};     // the first is the answer, the others explain it; none if `text` is the answer
  std::vector<std::string> warnings{};  // about inputs that are legal but beyond what the platform is known for
  std::vector<NamedRun> runs{};
  std::string title = {};              // of the page; empty: the title of the first table
  std::vector<std::string> notes{};    // sentences that sum up the answer; text has them after the tables
  std::vector<TextFile> files{};       // saved by results_folder.h only
  std::vector<LongFile> long_files{};  // saved by results_folder.h only
  std::vector<Chart> charts{};         // about the whole answer, at the top of its page
  std::string text = {};               // the whole answer if it is a text, such as a schema or a script
  std::vector<Headline> headlines{};   // for the top of the page
  std::string about = {};              // how to read the answer, below the title of the page; empty: its platform

  // Returns the table with this key, or null if there is none.
  const NamedTable* table(std::string_view key) const;
};

// Writes the answer. Text has every table for people under its title, in lines of at most `text_width` if that is above
// 0 and possible. CSV has the first table and then a block for each other table that does not sum it up: a blank line,
// "# " with key and title, the column names and the rows; notes are comments at the end. JSON is to_json().
void write(const Results& results, Format format, std::ostream& out, std::size_t text_width = 0);

// Returns one object with "platform", every table by its key, "warnings" and "notes".
nlohmann::ordered_json to_json(const Results& results);
// Returns the object as it is written. Bytes that are not UTF-8 are replaced, so that the text stays JSON.
std::string json_text(const nlohmann::ordered_json& object);

}  // namespace c3sim::study
