// One number that a table comes to, as files write it: a fold over rows of what is computed from the cells of each.
//
//   table: results               # its key; results unless given
//   where: [model = gpt_3 | palm, read / written >= 2]
//   of: sequential_s / fused_s
//   fold: geomean
//   by: tokens
//   then: 1 - fold
//   otherwise: 128
//
// where:     rows of which all holds: a cell is (!=: is not) one of these words, of which "finer_*" only begins so and
//            "$(column)" is that cell's; or a number lies on that side (<, <=, >, >=) of another, above 0
// of:        by columns (what is no letter or digit in a key is _), see sim/config/expression.h; of a list of several
//            the least and the greatest
// fold:      geomean, mean, median, max, min, sum, count or growth (the last less the first); without it, of one row
// by:        once for each word of this column: the least and the greatest
// then:      of what was folded
// otherwise: where no row is left; without it there is no number then
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "study/report/result_table.h"

namespace c3sim::study {

struct TableFigure {
  std::string place = {};  // in its file
  std::string table = {};
  struct Condition {
    std::string left, sign;
    std::vector<std::string> right;
  };
  std::vector<Condition> where = {};
  std::vector<std::string> of = {};
  using Fold = double (*)(const std::vector<double>& values);  // of one value at least
  Fold fold = nullptr;
  std::string by = {}, then = {};
  std::optional<double> otherwise = {};
};

// What is wrong is recorded with the section.
TableFigure read_table_figure(sim::Section section);

// Why tables with these columns have no such figure; empty where they have.
std::string why_no_figure(const TableFigure& figure, std::span<const Column> columns);

// The number, or the least and the greatest of several; none where no row is left. Throws sim::ConfigError for what
// cannot be computed.
std::vector<double> figure_of(const TableFigure& figure, const ResultTable& table);

}  // namespace c3sim::study
