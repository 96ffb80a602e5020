// Turns an answer into a page: one HTML file that shows its notes, charts and tables.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "study/report/chart.h"
#include "study/report/results.h"

namespace c3sim::study {

// A Palette fixes colours: a series has the same colour, by its name, in every chart of a page, and a series named here
// in every page with this palette. Each list of `first` takes the colours in order, whether or not the names are
// present. Names in `grey` take none. Other names get colours in the order of their appearance.
struct Palette {
  std::vector<std::vector<std::string>> first = {};
  std::vector<std::string> grey = {};
};

// Returns the palette that gives strategies, mechanisms of interference and doers the same colours in every page, and
// grey to what predictions are compared with.
Palette study_palette();

// A colour is an index into the colours of study/report/page/page.css, or `grey`.
inline constexpr int colour_count = 12;
inline constexpr int grey = -1;

using Colours = std::map<std::string, int>;

// Returns the colours of an answer's charts by series name. A name without a fixed colour gets, of those that its chart
// uses least, the one least used so far: two series of a chart differ unless it has more series than there are colours.
Colours colours_of(const Results& results, const Palette& palette = study_palette());

// Returns the title of the answer, or else the title of its first table, or else the platform.
std::string title_of(const Results& results);

// Return the JSON that the scripts of study/report/page/ read. A page begins with the charts of the whole answer and
// has one section per table with its charts: first the tables for text, then those for files, with all columns. It ends
// its lead with the version of c3sim and the command of the answer. Numbers have the decimals of their column, and the
// column with the key "command" gets a button that copies its cells. Long tables can be filtered, also by texts that
// recur in a column.
nlohmann::ordered_json page_json(const Results& results, const std::string& version = {},
                                 const std::string& command = {});
nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours);
nlohmann::ordered_json table_json(const NamedTable& named);

// Returns the page as one HTML file that needs no other file and no network. Chart.js, which is part of the file, draws
// the charts, and tables can be sorted and filtered. Data are shown as text, never read as markup: no text can end the
// element that holds it, and bytes that are not UTF-8 are replaced. Equal answers give equal bytes.
std::string to_html(const Results& results, const std::string& version = {}, const std::string& command = {});

}  // namespace c3sim::study
