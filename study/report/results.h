// What a question is answered with: the platform it was asked of, tables, and what the reader should be warned of.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "study/operation.h"
#include "study/report/chart.h"
#include "study/report/result_table.h"

namespace c3sim::study {

enum class Format { table, csv, json };

struct NamedTable {
  std::string key;    // key in JSON, stem of the CSV file: "results"
  std::string title;  // heading in text; none where empty
  ResultTable table;
  bool in_text = true;             // false: too long to be read, for files and programs
  std::vector<Chart> charts = {};  // that show it
};

// A schedule that the results come from, for those who want to see how it went.
struct NamedRun {
  std::string name;
  Schedule schedule;
};

struct Results {
  std::string platform;
  std::vector<NamedTable> tables;     // never empty; the first is the answer, the others explain it
  std::vector<std::string> warnings;  // legal but outside what the platform is known for, once each
  std::vector<NamedRun> runs;
  std::string title = {};            // of its page; where empty, that of the first table
  std::vector<std::string> notes{};  // sentences that sum the answer up; text has them behind the tables
};

// Text: every table to be read, under its title. CSV: the first table. JSON: one object with "platform", every table by
// its key, "warnings" and "notes".
void write(const Results& results, Format format, std::ostream& out);

}  // namespace c3sim::study
