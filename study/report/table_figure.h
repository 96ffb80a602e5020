// A TableFigure is a number from a table, as files define it: a fold over what an expression gives for each row.
//
//   where: [model = gpt_3 | palm, read / written >= 2]
//   of: sequential_s / fused_s
//   per: fused_MB
//   fold: geomean
//   within: [model, gpus]
//   by: tokens
//   then: 1 - fold
//   otherwise: 128
//
// where:     selects rows that meet all conditions: a cell is (=) or is not (!=) one of these words, where "finer_*" is
//            any word with this prefix and "$(column)" another cell; or an expression that compares by <, <=, > or >=
// of:        an expression of columns (_ replaces characters that are no letter or digit), see sim/config/expression.h;
//            a list of several gives the least and the greatest
// per:       an expression by whose folded value the folded value of `of` is divided: a ratio of means, not a mean of
//            ratios
// fold:      geomean, mean, median, max, min, sum, count or growth (the last less the first); absent for a single row
// within:    folds within each combination of words of these columns first, then over the folded values
// by:        folds once for each word of this column and gives the least and the greatest
// then:      an expression of the folded value, which it calls fold
// otherwise: the number if no row is left; without it there is none
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_section.h"
#include "study/report/result_table.h"

namespace c3sim::study {

struct TableFigure {
  std::string place = {};  // path of the figure in its file
  struct Condition {
    std::string left, sign;  // without a sign, `left` is an expression
    std::vector<std::string> right;
  };
  std::vector<Condition> where = {};
  std::vector<std::string> of = {};
  std::string per = {};
  using Fold = double (*)(const std::vector<double>& values);  // gets at least one value
  Fold fold = nullptr;
  std::vector<std::string> within = {};
  std::string by = {}, then = {};
  std::optional<double> otherwise = {};
};

// Reads a figure, or the conditions under `where` alone, and records faults with the section.
TableFigure read_table_figure(sim::Section section);
std::vector<TableFigure::Condition> read_conditions(sim::Section& section);

// Returns why tables with these columns have no such figure: faults whose paths are the keys.
std::vector<sim::Fault> faults_of(const TableFigure& figure, std::span<const Column> columns);

// Returns the rows that meet all conditions of a figure.
ResultTable rows_that_meet(const TableFigure& figure, const ResultTable& table);

// Returns the number, the least and the greatest of several numbers, or nothing if no row is left. Throws
// sim::ConfigError if the figure cannot be computed.
std::vector<double> figure_of(const TableFigure& figure, const ResultTable& table);

}  // namespace c3sim::study
