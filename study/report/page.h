// A page shows sections of text, charts and tables. Here it becomes JSON and one HTML file, and an answer becomes a
// page.
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

// Which colour each series of a page has, as an index into the colours of study/report/page/page.css.
inline constexpr int colour_count = 12;
inline constexpr int grey = -1;

using Colours = std::map<std::string, int>;

// The names that a chart shows in colours of their own.
std::vector<std::string> coloured_names(const Chart& chart);

// By name. Names that no palette fixes get, one after the other, the colour that is least used so far among those that
// their chart does not have yet: two series of a chart differ as long as it has no more than there are colours.
Colours colours_of(const Page& page);

// What a page shows, as study/report/page/ reads it. Numbers of tables have the decimals of their column.
nlohmann::ordered_json page_json(const Page& page);
nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours);
nlohmann::ordered_json table_json(const PageTable& table);

// As text that may stand inside <script>: nothing in it ends the element or a line of it. Bytes that are no UTF-8 are
// replaced.
std::string script_text(const nlohmann::ordered_json& json);

// A page as one HTML file that needs nothing else and asks nothing of any network: charts are drawn by Chart.js, which
// is part of the file, tables sort and filter. Whatever comes from data is shown as text, never read as markup. The
// same page gives the same bytes.
std::string to_html(const Page& page);

// Strategies, mechanisms of interference and what does operations have the same colours in every page with this
// palette; what a prediction is held against is grey.
Palette study_palette();

// The title of the answer; where it has none, that of its first table, or the platform.
std::string title_of(const Results& results);

// The charts of the answer as a whole, then one section per table with the charts that show it: first those to be read,
// then those for files, with all columns. Long tables can be filtered, and by their texts that recur.
Page results_page(const Results& results);

}  // namespace c3sim::study
