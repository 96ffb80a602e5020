// A page shows sections of text, charts and tables. This file turns a page into JSON or one HTML file, and an answer
// into a page.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "study/report/chart.h"
#include "study/report/result_table.h"
#include "study/report/results.h"

namespace c3sim::study {

struct PageTable {
  std::string id;
  std::string caption = {};
  ResultTable table;                      // the column with the key "command" gets a button that copies its cells
  bool filterable = false;                // a reader can filter rows by a text
  bool every_column = false;              // also shows columns that text leaves out
  std::vector<std::string> choices = {};  // keys of columns that get a drop-down of their values
  std::size_t first_rows = 25;            // number of rows shown before the reader asks for more
};

struct Section {
  std::string id;  // id of the heading, for links to it: "by_class"
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<Chart> charts = {};
  std::vector<PageTable> tables = {};
};

// A Palette fixes colours: a series has the same colour, by its name, in every chart of a page, and a series named here
// in every page with this palette. Each list of `first` takes the colours in order, whether or not the names are
// present. Names in `grey` take none. Other names get colours in the order of their appearance.
struct Palette {
  std::vector<std::vector<std::string>> first = {};
  std::vector<std::string> grey = {};
};

struct Page {
  std::string title;
  std::vector<std::string> lead = {};  // paragraphs below the title
  std::vector<Section> sections = {};
  Palette palette = {};
  std::vector<Headline> headlines = {};  // shown below the title
  std::string version = {};              // version of c3sim
  std::string command = {};              // command line of the answer; the lead ends with both
};

// A colour is an index into the colours of study/report/page/page.css, or `grey`.
inline constexpr int colour_count = 12;
inline constexpr int grey = -1;

using Colours = std::map<std::string, int>;

// Returns the names that a chart shows in colours of their own.
std::vector<std::string> coloured_names(const Chart& chart);

// Returns the colours of a page by series name. A name without a fixed colour gets, of those that its chart uses least,
// the one least used so far: two series of a chart differ unless it has more series than there are colours.
Colours colours_of(const Page& page);

// Return the JSON that the scripts of study/report/page/ read. Numbers of tables have the decimals of their column.
nlohmann::ordered_json page_json(const Page& page);
nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours);
nlohmann::ordered_json table_json(const PageTable& table);

// Returns the JSON as text that may stand inside <script>: the text cannot end the element. Bytes that are not UTF-8
// are replaced.
std::string script_text(const nlohmann::ordered_json& json);

// Returns the page as one HTML file that needs no other file and no network. Chart.js, which is part of the file, draws
// the charts, and tables can be sorted and filtered. Data are shown as text, never read as markup. Equal pages give
// equal bytes.
std::string to_html(const Page& page);

// Returns the palette that gives strategies, mechanisms of interference and doers the same colours in every page, and
// grey to what predictions are compared with.
Palette study_palette();

// Returns the title of the answer, or else the title of its first table, or else the platform.
std::string title_of(const Results& results);

// Returns a page with the charts of the whole answer and one section per table with its charts: first the tables for
// text, then those for files, with all columns. Long tables can be filtered, also by texts that recur in a column.
Page results_page(const Results& results);

}  // namespace c3sim::study
