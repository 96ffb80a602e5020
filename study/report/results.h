// What a question is answered with: the platform it was asked of, tables, and what the reader should be warned of.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "sim/config/choice.h"
#include "study/program/operation.h"
#include "study/report/chart.h"
#include "study/report/result_table.h"

namespace c3sim::study {

// A figure that an answer comes to, as its page shows it above everything else.
struct Headline {
  std::string label;        // "memory"
  std::string value;        // "182 GB"
  std::string beside = {};  // "of 206 GB"
};

enum class Format { table, csv, json, markdown };
constexpr auto all_names(Format) { return sim::names("table", "csv", "json", "markdown"); }

struct NamedTable {
  std::string key;    // key in JSON, stem of the CSV file: "results"
  std::string title;  // heading in text; none where empty
  ResultTable table;
  bool in_text = true;             // false: too long to be read, for files and programs
  std::vector<Chart> charts = {};  // that show it
  bool sums_up = false;            // only what the first table holds already, in fewer rows
};

// A schedule that the results come from, for those who want to see how it went.
struct NamedRun {
  std::string name;
  Schedule schedule;
  Between between = Between::nothing;
};

// A text that goes beside the tables where an answer is saved: "platform.yaml".
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
  std::vector<NamedTable> tables{};     // the first is the answer, the others explain it; none where that is `text`
  std::vector<std::string> warnings{};  // legal but outside what the platform is known for, once each
  std::vector<NamedRun> runs{};
  std::string title = {};            // of its page; where empty, that of the first table
  std::vector<std::string> notes{};  // sentences that sum the answer up; text has them behind the tables
  std::vector<TextFile> files{};     // for results_folder.h alone, as are
  std::vector<LongFile> long_files{};
  std::vector<Chart> charts{};        // of the answer as a whole, at the top of its page
  std::string text = {};              // that is the answer, as it is: a schema, a script
  std::vector<Headline> headlines{};  // what it comes to, for the top of its page
};

// Text: every table to be read, under its title, in lines of at most `text_width` where that is given and can be. CSV:
// the first table; behind it each other that does not sum it up, as a block of its own: a blank line, "# " with its key
// and title, the line of its columns, its rows; notes are comments at the end. JSON: to_json(). Markdown: what text
// has, under headings, with warnings behind the notes.
void write(const Results& results, Format format, std::ostream& out, std::size_t text_width = 0);

// One object with "platform", every table by its key, "warnings" and "notes".
nlohmann::ordered_json to_json(const Results& results);
// As it is written: whatever is no UTF-8 is replaced, so that it stays JSON.
std::string json_text(const nlohmann::ordered_json& object);

}  // namespace c3sim::study
