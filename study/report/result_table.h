// A table of results: columns that carry their unit, rows of typed cells; rendered as text and Markdown for people, as
// CSV for tools and as JSON for programs. The same table gives the same characters everywhere.
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
  bool in_data = true;     // false: for people only, CSV and JSON have the same in other columns
  std::string group = {};  // of JSON, the object within a row that holds it; CSV has GROUP.KEY; none where empty
};

// A number that means nothing here, and why: text has the reason, CSV a blank, JSON null.
struct NoNumber {
  std::string why;
  bool operator==(const NoNumber&) const = default;
};

// std::monostate: nothing to say here (blank in text and CSV, null in JSON).
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, NoNumber>;
bool is_number(const Cell& cell);
std::optional<double> number_of(const Cell& cell);  // none of what is no number
std::string word_of(const Cell& cell);              // empty of what says nothing

// The place of the column with this key; as many as there are columns where none has it.
std::size_t place_of(const std::vector<Column>& columns, const std::string& key);

// What people read a column in: microseconds, of which any is a second or more, are milliseconds to them.
struct ShownUnit {
  std::string unit;
  double times = 1.0;

  Cell of(Cell cell) const;
};
ShownUnit shown_unit(const Column& column, const std::vector<std::vector<Cell>>& rows, std::size_t place);

class ResultTable {
 public:
  explicit ResultTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void add_row(std::vector<Cell> cells);
  // Behind the others; as many cells as rows.
  void add_column(Column column, std::vector<Cell> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  // Text in aligned columns, numbers to the right; a heading with units, one line per row. Where `width` is given and
  // the lines would be longer, texts and headings go on in further lines, as far as numbers leave room.
  void write_text(std::ostream& out, std::size_t width = 0) const;
  // RFC 4180 with "\n" line ends; the first line names the columns. Texts that a spreadsheet would take for a formula
  // begin with a quotation mark, as it asks for.
  void write_csv(std::ostream& out) const;
  void write_csv_rows(std::ostream& out) const;  // without that line
  // The columns and cells of the text, as one table; with `all` those that are for programs only, too.
  void write_markdown(std::ostream& out, bool all = false) const;
  // An array with one object per row, keys in column order.
  nlohmann::ordered_json to_json() const;

 private:
  template <class TextOf>
  void write_csv_line(std::ostream& out, const TextOf& text_of) const;  // of the columns that programs get

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// A text in Markdown, as GitHub reads it: in one line, with no character that would end a cell or be markup.
std::string markdown_text(std::string_view text);

}  // namespace c3sim::study
