// A ResultTable has columns with units and rows of typed cells. It can be written as text and Markdown for people, as
// CSV for tools and as JSON for programs. The same table gives the same characters on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace c3sim::study {

struct Column {
  std::string key;         // name in CSV and JSON, unit included: "makespan_us"
  std::string heading;     // name in text: "makespan"
  std::string unit;        // shown in the heading of text: "us"; may be empty
  int decimals = 2;        // of numbers in text; CSV and JSON have the shortest form that reads back as the same double
  bool in_text = true;     // false: for programs only
  bool in_data = true;     // false: for people only; CSV and JSON have the same values in other columns
  std::string group = {};  // name of the JSON object that holds the column; CSV writes GROUP.KEY; empty: none
};

// Returns a column for programs only, whose heading is its key.
inline Column for_programs(const std::string& key) { return {key, key, "", 2, false}; }

// NoNumber says why a cell has no meaningful number. Text shows the reason; CSV leaves a blank and JSON null.
struct NoNumber {
  std::string why;
  bool operator==(const NoNumber&) const = default;
};

// std::monostate is an empty cell: blank in text and CSV, null in JSON.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, NoNumber>;
bool is_number(const Cell& cell);
std::optional<double> number_of(const Cell& cell);  // nothing if the cell is no number
std::string word_of(const Cell& cell);              // empty for an empty cell

// Returns the index of the column with this key, or the number of columns if there is none.
std::size_t place_of(const std::vector<Column>& columns, const std::string& key);

// A ShownUnit is what people read: milliseconds for a column in microseconds with a value of a second or more.
struct ShownUnit {
  std::string unit;
  double times = 1.0;

  Cell of(Cell cell) const;
};
ShownUnit shown_unit(const Column& column, const std::vector<std::vector<Cell>>& rows, std::size_t place);

class ResultTable {
 public:
  explicit ResultTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Appends a row, which must have one cell per column.
  void add_row(std::vector<Cell> cells);
  // Adds a column, which must have one cell per row, at the place among the columns or, without one, behind all.
  void add_column(Column column, std::vector<Cell> cells, std::optional<std::ptrdiff_t> place = {});

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  // Writes aligned columns, numbers to the right: a heading with units and one line per row. If `width` is above 0 and
  // lines would be longer, texts and headings continue in further lines; where numbers leave no room for that, other
  // columns follow below, behind those that tell rows apart.
  void write_text(std::ostream& out, std::size_t width = 0) const;
  // Writes RFC 4180 with LF line ends; the first line names the columns. Texts that a spreadsheet would take for a
  // formula get a quotation mark in front, as spreadsheets require.
  void write_csv(std::ostream& out) const;
  void write_csv_rows(std::ostream& out) const;  // without the line of names
  void write_markdown(std::ostream& out) const;  // the columns and cells of the text as one table
  // Returns an array with one object per row, whose keys are in the order of columns.
  nlohmann::ordered_json to_json() const;

 private:
  template <class TextOf>
  void write_csv_line(std::ostream& out, const TextOf& text_of) const;  // of the columns for programs

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Returns the text in GitHub's Markdown, in one line, with every character escaped that would end a cell or be markup.
std::string markdown_text(std::string_view text);

}  // namespace c3sim::study
