// Cuts comma-separated values into rows of cells, one row at a time: of a text of any length only a row is held.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

struct CsvCell {
  std::string_view text;  // without the blanks or quotes around it
  int line = 1;           // of its first byte, from 1
  int column = 1;
};

struct CsvRow {
  int line = 0;  // of its first byte, from 1
  std::vector<CsvCell> cells;
  bool is_ended = true;  // whether an end of line follows: without one, it may have been cut off
  // The first quote that is not as it should be: where, the cell that it is in, what is wrong.
  struct BadQuote {
    int line, column;
    std::size_t cell;
    std::string_view what;
  };
  std::optional<BadQuote> bad_quote{};
};

// A cell in double quotes may hold commas, line ends and doubled quotes (RFC 4180). Lines that begin with '#' are
// comments, and like blank ones no rows.
class CsvLexer {
 public:
  // The text must outlive the lexer; a byte order mark before it is no part of it.
  explicit CsvLexer(std::string_view text);

  // Goes on to the next row; false where none is left. Cells are good until the next call.
  bool next(CsvRow& row);
  // How many lines have been begun.
  int line() const { return line_; }

 private:
  void begin_line();
  CsvCell cell(CsvRow& row);
  std::string_view quoted(CsvRow& row);
  void skip_behind_quote(CsvRow& row);
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::size_t line_end_ = 0;  // of its last byte that is no line end, plus 1
  std::size_t next_line_ = 0;
  int line_ = 0;
  std::deque<std::string> rewritten_;  // cells of the row that held doubled quotes
};

}  // namespace c3sim::sim
