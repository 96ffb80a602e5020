#include "sim/config/csv_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <functional>

#include "sim/config/csv_lexer.h"

namespace c3sim::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Rows = std::vector<std::vector<std::string>>;

// What a person reads when `use` finds fault with the text as f.csv; empty where it finds none.
std::string faults_of(
    std::string_view text, const std::function<void(CsvFile&)>& use = [](CsvFile&) {}) {
  try {
    CsvFile file = CsvFile::from_text(text, "f.csv");
    use(file);
    file.check();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(CsvFile, FindsCellsByColumnWhereverCommentsStand) {
  const CsvFile file = CsvFile::from_text("# source: x, y\nsize,time_us\n\n# more\n8, 1.5\r\n16,2\n", "f.csv");
  ASSERT_EQ(file.rows(), 2u);
  EXPECT_EQ(file.text(0, "time_us"), "1.5");
  EXPECT_EQ(file.text(1, "size"), "16");
  EXPECT_EQ(file.line(0), 5);
  EXPECT_TRUE(file.has("size"));
  EXPECT_FALSE(file.has("time"));
}

TEST(CsvFile, PlacesANumberThatIsNoneInItsCell) {
  // Columns count bytes from 1: "8,abc" has its second cell at column 3.
  const std::string faults =
      faults_of("size,time_us\n8,abc\n", [](CsvFile& file) { file.number(0, "time_us", 0.0, 10.0); });
  EXPECT_THAT(faults, StartsWith("f.csv:2:3: time_us: "));
  EXPECT_THAT(faults, HasSubstr("a decimal number"));
}

TEST(CsvFile, PlacesANegativeNumberWhereOnlyOthersAreAccepted) {
  EXPECT_EQ(faults_of("time_us\n-3\n", [](CsvFile& file) { file.number(0, "time_us", 0.0, 10.0); }),
            "f.csv:2:1: time_us: '-3' must lie between 0 and 10");
}

TEST(CsvFile, RefusesAFractionWhereAWholeNumberIsDue) {
  EXPECT_THAT(faults_of("size\n1.5\n", [](CsvFile& file) { file.integer(0, "size", 0, 10); }),
              HasSubstr("a whole decimal number"));
  EXPECT_EQ(faults_of("size\n11\n", [](CsvFile& file) { file.integer(0, "size", 0, 10); }),
            "f.csv:2:1: size: '11' must lie between 0 and 10");
}

TEST(CsvFile, TellsAllFaultsAtOnce) {
  const std::string faults = faults_of("size\nx\ny\n", [](CsvFile& file) {
    file.integer(0, "size", 0, 10);
    file.integer(1, "size", 0, 10);
  });
  EXPECT_THAT(faults, HasSubstr("f.csv:2:1"));
  EXPECT_THAT(faults, HasSubstr("f.csv:3:1"));
}

TEST(CsvFile, NamesTheColumnThatAMissingOneWasMeantToBe) {
  EXPECT_EQ(faults_of("size,al_us\n1,2\n",
                      [](CsvFile& file) {
                        file.require({"size", "all_us"});
                      }),
            "f.csv:1:1: all_us: this column is missing, unit included; did you mean 'al_us'?");
}

TEST(CsvFile, RefusesRowsOfAnotherLength) {
  EXPECT_EQ(faults_of("a,b\n1\n1,2,3\n"),
            "f.csv:2:1: 1 cells where the columns are 2\nf.csv:3:1: 3 cells where the columns are 2");
}

TEST(CsvFile, KeepsTheOtherRowsReadable) {
  const CsvFile file = CsvFile::from_text("a,b\n1\n2,3\n", "f.csv");
  ASSERT_EQ(file.rows(), 1u);
  EXPECT_EQ(file.text(0, "b"), "3");
  EXPECT_EQ(file.line(0), 3);
  EXPECT_THROW(file.check(), sim::ConfigError);
}

// RFC 4180, sections 2.5 to 2.7.
TEST(CsvFile, QuotesKeepCommasLineEndsAndDoubledQuotes) {
  const CsvFile file = CsvFile::from_text("a,b\r\n\"1,5\", \"say \"\"no\"\"\"\r\n\"x\ny\",2\r\n3,\"\"\r\n", "f.csv");
  file.check();
  ASSERT_EQ(file.rows(), 3u);
  EXPECT_EQ(file.text(0, "a"), "1,5");
  EXPECT_EQ(file.text(0, "b"), "say \"no\"");
  EXPECT_EQ(file.text(1, "a"), "x\ny");
  EXPECT_EQ(file.text(2, "b"), "");
  // The second row takes two lines, so that the third begins on the fifth.
  EXPECT_EQ(file.line(2), 5);
}

TEST(CsvFile, PlacesACellBehindOneOfSeveralLines) {
  // The second cell begins on the fourth line, behind z", .
  const CsvFile file = CsvFile::from_text("a,b\n\"x\ny\nz\",2\n3,4\n", "f.csv");
  EXPECT_EQ(file.place(0, "a"), "f.csv:2:1");
  EXPECT_EQ(file.place(0, "b"), "f.csv:4:4");
  EXPECT_EQ(file.place(1, "b"), "f.csv:5:3");
  EXPECT_EQ(file.line(0), 2) << "a row is where it begins";
}

TEST(CsvFile, RefusesTextBehindAClosingQuote) {
  const std::string faults = faults_of("a,b\n\"1\"000,2\n3,4\n");
  EXPECT_EQ(faults, "f.csv:2:4: a: text behind the closing quote: a quote that belongs to the cell is written twice");
  EXPECT_EQ(faults_of("a,b\n\"1\"  ,2\n"), "") << "blanks are none";
}

TEST(CsvFile, RefusesAQuoteThatNothingCloses) {
  EXPECT_EQ(faults_of("a,b\n1,\"2\n3,4\n"), "f.csv:2:3: b: the quote that begins here is never closed");
  EXPECT_EQ(faults_of("\"a,b\n1,2\n"), "f.csv:1:1: the quote that begins here is never closed");
}

TEST(CsvFile, LeavesOutARowWithAWrongQuote) {
  const CsvFile file = CsvFile::from_text("a,b\n\"1\"0,2\n3,4\n", "f.csv");
  ASSERT_EQ(file.rows(), 1u);
  EXPECT_EQ(file.text(0, "a"), "3");
}

TEST(CsvFile, RefusesACellLongerThanAnyThatIsNeeded) {
  const std::string longest(4096, 'x');
  EXPECT_EQ(faults_of("a,b\n1," + longest + "\n"), "");
  EXPECT_EQ(faults_of("a,b\n1," + longest + "x\n"), "f.csv:2:3: b: a cell of 4097 bytes: up to 4096 are accepted");
  EXPECT_EQ(faults_of("a," + longest + "x\n1,2\n"), "f.csv:1:3: a cell of 4097 bytes: up to 4096 are accepted");
}

TEST(CsvFile, AQuoteInsideACellIsALetter) {
  EXPECT_EQ(CsvFile::from_text("a\n5\" disk\n", "f.csv").text(0, "a"), "5\" disk");
}

TEST(CsvFile, ACommentWithinQuotesIsNone) {
  EXPECT_EQ(CsvFile::from_text("a\n\"x\n# y\"\n", "f.csv").text(0, "a"), "x\n# y");
}

TEST(CsvFile, NamesAColumnThatIsThereTwice) {
  EXPECT_EQ(faults_of("size,time_us,size\n1,2,3\n"), "f.csv:1:14: size: this column is named twice");
  EXPECT_EQ(faults_of("size,,\n1,2,3\n"), "") << "columns without a name are nobody's";
}

TEST(CsvFile, PassesOverAByteOrderMark) {
  const CsvFile file = CsvFile::from_text("\xEF\xBB\xBFsize\n8\n", "f.csv");
  EXPECT_TRUE(file.has("size"));
  EXPECT_EQ(file.place(0, "size"), "f.csv:2:1");
}

TEST(CsvFile, ReadsALastLineWithoutAnEnd) { EXPECT_EQ(CsvFile::from_text("a\n1", "f.csv").text(0, "a"), "1"); }

TEST(CsvFile, RefusesNumbersThatAreNone) {
  for (const char* const cell : {"nan", "inf", "1e999", "0x10", "1_000", "+1", "010", ""}) {
    EXPECT_THAT(faults_of("t,x\n" + std::string(cell) + ",1\n", [](CsvFile& file) { file.number(0, "t", 0.0, 1e300); }),
                StartsWith("f.csv:2:1: t: "))
        << cell;
  }
}

TEST(CsvFile, RefusesAFileWithoutColumns) {
  EXPECT_THAT(faults_of("# nothing here\n"), HasSubstr("no line names the columns"));
  EXPECT_THAT(faults_of(""), StartsWith("f.csv:1:1: "));
}

TEST(CsvFile, RefusesWhatIsNoText) { EXPECT_THAT(faults_of(std::string_view("a\0b", 3)), StartsWith("f.csv:1:2: ")); }

std::string faults_of_file(const std::filesystem::path& path) {
  try {
    CsvFile::from_file(path);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(CsvFile, RefusesAFolderAndAFileThatIsNotThere) {
  EXPECT_THAT(faults_of_file(testing::TempDir()), HasSubstr("it is a folder: a file of measurements is accepted"));
  EXPECT_EQ(faults_of_file("no/such.csv"), "no/such.csv: No such file or directory");
}

TEST(CsvFile, RefusesAFileThatIsLargerThanAnyTable) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "large.csv";
  std::ofstream(path) << "a\n";
  std::filesystem::resize_file(path, (std::uintmax_t{1} << 30) + 1);  // sparse
  EXPECT_THAT(faults_of_file(path), HasSubstr("larger than 1 GiB"));
  std::filesystem::remove(path);
}

// Rows and cells of comma-separated values.

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
