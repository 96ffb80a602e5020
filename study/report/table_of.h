// Builds tables from rows of one kind: each column is listed once, together with what it shows of a row.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/interruption.h"
#include "sim/units.h"
#include "study/report/result_table.h"

namespace c3sim::study {

// Returns the cell of a value: times in microseconds, enumerators by name, absent values as empty cells.
template <class Value>
Cell cell_of(const Value& value) {
  if constexpr (std::is_same_v<Value, Cell> || std::is_same_v<Value, bool> || std::is_same_v<Value, NoNumber> ||
                std::is_floating_point_v<Value>) {
    return value;
  } else if constexpr (std::is_same_v<Value, sim::Time>) {
    return sim::to_microseconds(value);
  } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? cell_of(*value) : Cell();
  } else {
    return std::string(to_string(value));
  }
}

// Shown is a column and the member or function of a row whose value it shows.
template <class Row>
struct Shown {
  template <class Of>
  Shown(Column shown, Of of)
      : column(std::move(shown)), cell([of](const Row& row) -> Cell { return cell_of(std::invoke(of, row)); }) {}

  Column column;
  std::function<Cell(const Row&)> cell;
};

// Returns a table of `rows`, which are rows or pointers to rows.
template <class Row, class Rows>
ResultTable table_of(const Rows& rows, const std::vector<Shown<Row>>& shown) {
  std::vector<Column> columns;
  for (const Shown<Row>& one : shown) columns.push_back(one.column);
  ResultTable table(std::move(columns));
  for (const auto& row : rows) {
    sim::ask_interruption();  // a cell may take long to work out
    std::vector<Cell> cells;
    for (const Shown<Row>& one : shown) {
      if constexpr (std::is_same_v<std::decay_t<decltype(row)>, Row>) {
        cells.push_back(one.cell(row));
      } else {
        cells.push_back(one.cell(*row));
      }
    }
    table.add_row(std::move(cells));
  }
  return table;
}

// Returns the columns of a table that `shown` keeps. `shown` gets a column and its index, and returns the column with
// its new heading, or nothing to leave it out.
template <class Heads>
ResultTable columns_of(const ResultTable& table, const Heads& shown) {
  std::vector<Shown<std::vector<Cell>>> columns;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (std::optional<Column> column = shown(table.columns()[c], c)) {
      columns.emplace_back(std::move(*column), [c](const std::vector<Cell>& row) { return row[c]; });
    }
  }
  return table_of(table.rows(), columns);
}

}  // namespace c3sim::study
