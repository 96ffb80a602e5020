// Rows and cells of comma-separated values.
#include "sim/config/csv_lexer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace c3sim::sim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text) {
  Rows rows;
  CsvLexer lexer(text);
  CsvRow row;
  while (lexer.next(row)) {
    rows.emplace_back();
    for (const CsvCell& cell : row.cells) rows.back().emplace_back(cell.text);
  }
  return rows;
}

TEST(CsvLexer, CommentsAndBlankLinesAreNoRows) {
  EXPECT_EQ(rows_of("# a,b\n\n1, 2 \r\n\r\n#\n3\n"), (Rows{{"1", "2"}, {"3"}}));
  EXPECT_EQ(rows_of(""), Rows{});
  EXPECT_EQ(rows_of("\xEF\xBB\xBF"
                    "1\n"),
            (Rows{{"1"}}));
  EXPECT_EQ(rows_of(",\n1,"), (Rows{{"", ""}, {"1", ""}}));
}

// RFC 4180, sections 2.5 to 2.7.
TEST(CsvLexer, QuotesHoldCommasQuotesAndLineEnds) {
  EXPECT_EQ(rows_of("\"a,b\",\"c\"\"d\"\n\"e\r\nf\",\"\"\n\"\"\"\",1\n"),
            (Rows{{"a,b", "c\"d"}, {"e\r\nf", ""}, {"\"", "1"}}));
}

TEST(CsvLexer, TellsTheFirstQuoteThatIsWrong) {
  for (const auto& [text, column] : {std::pair("1,\"2\n3", 3), std::pair("\"1\"x,2\n", 4), std::pair("\"", 1)}) {
    CsvLexer lexer(text);
    CsvRow row;
    ASSERT_TRUE(lexer.next(row));
    ASSERT_TRUE(row.bad_quote) << text;
    EXPECT_EQ(row.bad_quote->column, column) << text;
    EXPECT_FALSE(lexer.next(row) && row.cells.empty());
  }
}

TEST(CsvLexer, TellsWhetherALineEnds) {
  CsvLexer lexer("1\n2");
  CsvRow row;
  ASSERT_TRUE(lexer.next(row));
  EXPECT_TRUE(row.is_ended);
  ASSERT_TRUE(lexer.next(row));
  EXPECT_FALSE(row.is_ended);
  EXPECT_EQ(row.line, 2);
}

// Whatever cells hold comes back from quotes.
RC_GTEST_PROP(CsvLexer, WhatIsQuotedComesBack, (const std::vector<std::vector<std::string>>& cells)) {
  std::string text;
  Rows expected;
  for (const std::vector<std::string>& row : cells) {
    if (row.empty()) continue;
    expected.push_back(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : row[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += '\n';
  }
  RC_ASSERT(rows_of(text) == expected);
}

}  // namespace
}  // namespace c3sim::sim
