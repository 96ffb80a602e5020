#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "calibrate/readers/log_reading.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (LogLines log(text); log.next();) lines.push_back(log.line().text);
  return lines;
}

std::vector<std::string_view> texts_of(const std::vector<LogCell>& cells) {
  std::vector<std::string_view> texts;
  for (const LogCell& cell : cells) texts.push_back(cell.text);
  return texts;
}

TEST(LogLines, EndInEitherWayOrNotAtAll) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\r\nb\n\nc"),
              ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(lines_of(""), ElementsAre());
}

TEST(LogLines, KnowWhetherTheLastIsWhole) {
  LogLines log("a\nb");
  log.next();
  EXPECT_TRUE(log.is_ended());
  log.next();
  EXPECT_FALSE(log.is_ended());
  EXPECT_EQ(log.line().line, 2);
  EXPECT_FALSE(log.next());
}

// Bytes count from 1: in "  a\tbc|d" a is the third, bc the fifth, d the eighth.
TEST(LogWords, KnowWhereTheyStand) {
  EXPECT_THAT(words_of({"  a\tbc|d", 7, 1}, "|"),
              ElementsAre(LogCell{"a", 7, 3}, LogCell{"bc", 7, 5}, LogCell{"d", 7, 8}));
}

TEST(LogFields, MayBeEmptyAndAreTrimmed) {
  EXPECT_THAT(texts_of(fields_of({" a , ,b,", 1, 1}, ",")), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(texts_of(fields_of({"G0 -> G0:4 -> G1", 1, 1}, "->")), ElementsAre("G0", "G0:4", "G1"));
}

// Tags become as many blanks, so that cells stay in their columns.
TEST(LogLines, LoseTheTagsOfLaunchers) {
  EXPECT_EQ(without_tags("[1,0]<stdout>:# size\n[1,0]<stdout>:1\n"),
            std::string(14, ' ') + "# size\n" + std::string(14, ' ') + "1\n");
  EXPECT_EQ(without_tags(" 3: # size\n 3: 1\n"), "    # size\n    1\n");
  EXPECT_EQ(without_tags("node-1: a\nnode-1:\nnode-2: b\n"), "        a\n       \n        b\n");
  // The first tag is followed by a second one.
  EXPECT_EQ(without_tags("[pod/a/b] 2025-08-05T10:00:00.5Z x\n[pod/a/b] 2025-08-05T10:00:01.5Z y\n"),
            std::string(33, ' ') + "x\n" + std::string(33, ' ') + "y\n");
}

TEST(LogLines, KeepWhatIsNoTagOfMostLines) {
  for (const std::string text :
       {"# size\n1\n", "[0] NCCL INFO\n# size\n1 2\n3 4\n", "12:30:00 on time\n1\n", "[1,0\n8\n",
        "Driver: 5\nArray size: 268 MB\nCopy 4 5 6\n", "[0]:transA,transB\nN,N\nN,T\n", ""}) {
    EXPECT_EQ(without_tags(text), text);
  }
}

TEST(PrintedNumber, HasThePrintfSpellings) {
  EXPECT_EQ(parse_printed_number(".01").value, 0.01);
  EXPECT_EQ(parse_printed_number("1.").value, 1.0);
  EXPECT_EQ(parse_printed_number("+007.50").value, 7.5);
  EXPECT_EQ(parse_printed_number("-0").value, 0.0);
  EXPECT_EQ(parse_printed_number("1.5e+06").value, 1.5e6);
  EXPECT_EQ(parse_printed_integer("004").value, 4);
  EXPECT_EQ(parse_printed_integer("0").value, 0);
}

TEST(PrintedNumber, IsNothingElse) {
  for (const std::string_view text :
       {"", ".", "-", "+-1", "--1", "1.2.3", "0x10", "nan", "inf", "1e", "1,5", "1e999"}) {
    EXPECT_THAT(parse_printed_number(text).error, HasSubstr("is not a decimal number")) << text;
  }
  EXPECT_THAT(parse_printed_integer("1.0").error, HasSubstr("is not a whole decimal number"));
  EXPECT_FALSE(parse_printed_number(std::string(1000, '1')).error.empty());
}

// These are sequences of `ls --color`, compilers and terminals' titles; one that is cut off ends with its line.
TEST(LogText, IsWithoutItsColours) {
  EXPECT_EQ(without_escapes("\x1b[1;32m# size\x1b[0m  time\n"), "# size  time\n");
  EXPECT_EQ(without_escapes("\x1b]0;title\ax\x1b]8;;http://a\x1b\\y\x1b(Bz"), "xyBz");
  EXPECT_EQ(without_escapes("a\x1b[31\nb\x1b]0;title\nc\x1b\nd\x1b"), "a\nb\nc\nd");
  EXPECT_EQ(without_escapes("plain"), "plain");
}

RC_GTEST_PROP(LogText, WithoutColoursHasAsManyLines, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("\x1b[]m;1\\\a\nx")));
  const std::string plain = without_escapes(text);
  RC_ASSERT(std::ranges::count(plain, '\n') == std::ranges::count(text, '\n'));
  RC_ASSERT(plain.find('\x1b') == std::string::npos);
}

TEST(ShownText, IsShortAndPrintable) {
  EXPECT_EQ(shown("a\x01\xFFz"), "'a??z'");
  EXPECT_EQ(shown(std::string(50, 'a')), "'" + std::string(40, 'a') + "...'");
}

TEST(PlainName, IsOneForAllSpellings) {
  EXPECT_EQ(plain_name("All-Reduce"), "allreduce");
  EXPECT_EQ(plain_name("all_reduce"), "allreduce");
  EXPECT_EQ(plain_name("#wrong"), "wrong");
}

}  // namespace
}  // namespace c3sim::calibrate
