#include "study/report/result_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/check.h"

namespace c3sim::study {
namespace {

ResultTable example_table() {
  ResultTable table({{"name", "name", ""}, {"time_us", "time", "us", 1}, {"bytes", "size", "B", 2, false}});
  table.add_row({std::string("a"), 12.25, std::int64_t{1024}});
  table.add_row({std::string("long one"), Cell(), std::int64_t{9007199254740991}});
  return table;
}

std::string text_of(const ResultTable& table) {
  std::ostringstream out;
  table.write_text(out);
  return out.str();
}

std::string csv_of(const ResultTable& table) {
  std::ostringstream out;
  table.write_csv(out);
  return out.str();
}

TEST(ResultTable, TextHasUnitsInTheHeadingNumbersToTheRightAndNoTrailingBlanks) {
  // The widest cell of the first column is "long one", of the second the heading "time [us]"; 12.25 with one decimal
  // rounds to even. The third column is for programs.
  EXPECT_EQ(text_of(example_table()),
            "name      time [us]\n"
            "a              12.2\n"
            "long one\n");
}

// The name takes 8 columns and stays whole, the number and its heading 8, the blanks between them 4: 14 of 34 are left.
TEST(ResultTable, TextIsWrappedToAWidth) {
  ResultTable table({{"name", "name", ""}, {"text", "text", ""}, {"n", "a number", ""}});
  table.add_row({std::string("gpu.xcds"), std::string("a long text made of words"), 1.0});
  std::ostringstream out;
  table.write_text(out, 34);
  EXPECT_EQ(out.str(),
            "name      text            a number\n"
            "gpu.xcds  a long text         1.00\n"
            "          made of words\n");
}

TEST(ResultTable, CsvHasEveryColumnByItsKeyAndBlanksWhereNothingIsToBeSaid) {
  EXPECT_EQ(csv_of(example_table()), "name,time_us,bytes\na,12.25,1024\nlong one,,9007199254740991\n");
}

TEST(ResultTable, WhatIsForPeopleOnlyIsNotForPrograms) {
  ResultTable table({{"both", "time", "us", 1, true, false}, {"low_us", "low", "us", 1, false}});
  table.add_row({std::string("1.0 to 2.0"), 1.0});
  EXPECT_EQ(text_of(table), "time [us]\n1.0 to 2.0\n");
  EXPECT_EQ(csv_of(table), "low_us\n1\n");
  EXPECT_EQ(table.to_json().dump(), R"([{"low_us":1.0}])");
}

TEST(ResultTable, JsonKeepsColumnOrderTypesAndNulls) {
  EXPECT_EQ(
      example_table().to_json().dump(),
      R"([{"name":"a","time_us":12.25,"bytes":1024},{"name":"long one","time_us":null,"bytes":9007199254740991}])");
}

TEST(ResultTable, NumbersReadBackFromCsvAsTheSameDouble) {
  for (const double value : {0.1, 1.0 / 3.0, 6.02214076e23, std::nextafter(1.0, 2.0)}) {
    ResultTable table({{"value", "value", ""}});
    table.add_row({value});
    EXPECT_EQ(std::stod(csv_of(table).substr(6)), value);
  }
}

// Spreadsheets run what begins with one of these, unless it is a number or a quotation mark stands before it.
TEST(ResultTable, CsvHoldsNoFormulas) {
  ResultTable table({{"text", "text", ""}});
  for (const char* const text : {"=cmd|'/c calc'!A1", "+x", "-x", "@sum(a)", "\t=x", "-1.5", "a=b"}) {
    table.add_row({std::string(text)});
  }
  table.add_row({-2.5});
  EXPECT_EQ(csv_of(table), "text\n'=cmd|'/c calc'!A1\n'+x\n'-x\n'@sum(a)\n'\t=x\n-1.5\na=b\n-2.5\n");
}

// 9,108,368.1 us are 9108.4 ms; CSV and JSON keep their unit.
TEST(ResultTable, PeopleReadLongTimesInMilliseconds) {
  ResultTable table({{"time_us", "time", "us", 1}});
  table.add_row({9108368.1});
  table.add_row({250.0});
  EXPECT_EQ(text_of(table), "time [ms]\n   9108.4\n      0.2\n");
  EXPECT_EQ(csv_of(table), "time_us\n9108368.1\n250\n");
  std::ostringstream markdown;
  table.write_markdown(markdown);
  EXPECT_NE(markdown.str().find("| time, ms |"), std::string::npos);
}

TEST(ResultTable, CsvQuotesCommasQuotesAndLineEnds) {
  ResultTable table({{"text", "text", ""}});
  table.add_row({std::string("a,\"b\"\nc")});
  EXPECT_EQ(csv_of(table), "text\n\"a,\"\"b\"\"\nc\"\n");
}

TEST(ResultTable, ARowHasAsManyCellsAsColumns) {
  ResultTable table({{"a", "a", ""}, {"b", "b", ""}});
  EXPECT_THROW(table.add_row({1.0}), sim::InternalError);
}

TEST(ResultTable, AnEmptyTableStillHasItsHeading) {
  const ResultTable table({{"a", "a", "s"}});
  EXPECT_EQ(text_of(table), "a [s]\n");
  EXPECT_EQ(csv_of(table), "a\n");
  EXPECT_EQ(table.to_json().dump(), "[]");
}

}  // namespace
}  // namespace c3sim::study
