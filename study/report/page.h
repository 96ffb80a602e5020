// What a page shows: sections of text, charts and tables. study/report/html_file.h makes a file of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/report/chart.h"
#include "study/report/result_table.h"
#include "study/report/results.h"

namespace c3sim::study {

struct PageTable {
  std::string id;
  std::string caption = {};
  ResultTable table;  // a column with the key "command" is shown as such, with a button that copies the cell
  bool sortable = true;
  bool filterable = false;                // by text that a row is to contain
  bool every_column = false;              // those that text leaves out as well
  std::vector<std::string> choices = {};  // keys of columns that get a drop-down of their values
  std::size_t first_rows = 25;            // what is shown before a reader asks for more
};

struct Section {
  std::string id;  // of the section's heading in links to it: "by_class"
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<Chart> charts = {};
  std::vector<PageTable> tables = {};
};

// A series has the same colour in every chart of a page, by its name. Those named here have the same in every page with
// this palette: each list of `first`, of what may stand beside each other, takes the colours in their order, present or
// not, `grey` none. Others follow as they appear.
struct Palette {
  std::vector<std::vector<std::string>> first = {};
  std::vector<std::string> grey = {};
};

struct Page {
  std::string title;
  std::vector<std::string> lead = {};  // paragraphs below the title
  std::vector<Section> sections = {};
  Palette palette = {};
  std::vector<Headline> headlines = {};  // below the title
  std::string version = {};              // of c3sim ...
  std::string command = {};              // ... and the line that it was asked by; both at the end of the lead
};

}  // namespace c3sim::study
