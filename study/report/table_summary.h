// A TableSummary is a table that a file asks for in its list `summaries`: averages and other figures of the rows of
// another table, beside published ones.
//
//   key: by_strategy                   # of the table in JSON, and of its CSV file
//   title: Means over the collectives
//   of: each                           # an earlier summary; the table of results unless given
//   by: [strategy]                     # a row for each combination of words of these columns
//   rows: [{strategy: all, where: strategy != serial}]     # instead: these rows, of what meets their conditions
//   columns:
//     - {key: speedup, of: speedup, fold: mean, within: collective}        # a figure, see table_figure.h
//     - {key: best, heading: at best, unit: "%", decimals: 0, of: 100 * speedup, fold: max}
//     - {key: longer, of: gemm_us / collective_us, words: [no, as long, yes], bounds: [0.9, 1.1]}
//     - {key: low, row: least, by: bytes}     # of the figure of the row itself the least, or the greatest, by size
//     - {key: best, word: carrier, least: time_us}      # the word where this is least
//     - {key: alike, nearest: [m, n], shows: best}      # that of the other row whose m and n differ least, as ratios
//     - {key: published_speedup}       # without a figure: what `published`, or the row itself, says of it
//   source: Where the published figures are from
//   published: [{strategy: c3_sp, published_speedup: 1.2}]
//   charts: [{id: speedups, title: Speedup by strategy, axis: mean speedup, bars: [speedup], levels: {serial: 1}}]
//   in_text: false                     # for files, programs and pages only
//
// Figures and their conditions may name earlier columns of the row, too, and a published figure may be an expression of
// its row. A chart has bars of the columns that it names, for rows that meet
// its `where` if it has one, with a mark at the column `published_KEY`, or from there to `published_KEY_to`; it may
// have `decimals` and a `caption`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/config_section.h"
#include "study/report/results.h"
#include "study/report/table_figure.h"

namespace c3sim::study {

struct TableSummary {
  std::string key{}, title{}, of{};
  bool in_text = true;
  std::vector<Column> columns{};  // those of `by`, then one for each of `figures`
  struct ColumnFigure {
    TableFigure figure{};               // without `of`: none
    std::vector<std::string> words{};   // the word of the value's place among the bounds is shown instead of the value
    std::vector<std::string> bounds{};  // expressions, ascending; one fewer than words
    enum class OfRow { no, least, greatest } of_row = OfRow::no;  // whether it is the row's figure, by that of `figure`
    std::string word{};                  // column whose word is shown, of the row where `figure` is least
    std::vector<std::string> nearest{};  // columns of numbers: the cell `shows` of the row nearest to this one in them
    std::string shows{};

    bool is_none() const { return figure.of.empty() && of_row == OfRow::no && nearest.empty(); }
  };
  std::vector<ColumnFigure> figures{};
  struct Row {
    std::vector<std::string> words;  // by column of `by`
    TableFigure figure;              // whose conditions what the row is of meets; without `of` it is no figure
  };
  std::vector<Row> rows{};  // empty: a row for each combination of words
  struct PublishedFigure {
    std::vector<std::pair<std::size_t, std::string>> words;  // that a row must have, by column
    std::size_t column;
    std::string value;  // an expression
  };
  std::vector<PublishedFigure> published{};
  struct Bars {
    BarChart chart;  // without series and bars
    std::vector<std::string> columns;
    TableFigure rows;  // conditions alone
  };
  std::vector<Bars> charts{};

  std::size_t words() const { return columns.size() - figures.size(); }  // columns of `by`
};

// Reads the list under the key `summaries`, if it is there, of a table with these columns, and records faults with the
// section. Keys of what the answer has anyway are `taken`.
std::vector<TableSummary> read_summaries(sim::Section& section, std::span<const Column> columns,
                                         std::span<const std::string_view> taken);

// Returns the tables of the summaries of these results. A figure that cannot be computed has its reason as its cell,
// and numbers are whole in columns in which all are.
std::vector<NamedTable> summarized(std::span<const TableSummary> summaries, const ResultTable& results);

// Returns a sentence for each row that figures are published of and that no table of the summaries has.
std::vector<std::string> published_of_no_row(std::span<const TableSummary> summaries,
                                             std::span<const NamedTable> tables);

}  // namespace c3sim::study
