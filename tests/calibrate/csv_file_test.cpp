#include "calibrate/csv_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(CsvFile, RefusesQuotes) { EXPECT_EQ(faults_of("a,b\n1,\"2\"\n"), "f.csv:2:3: quotes are not accepted in a cell"); }

TEST(CsvFile, RefusesAFileWithoutColumns) {
  EXPECT_THAT(faults_of("# nothing here\n"), HasSubstr("no line names the columns"));
  EXPECT_THAT(faults_of(""), StartsWith("f.csv:1:1: "));
}

TEST(CsvFile, RefusesWhatIsNoText) { EXPECT_THAT(faults_of(std::string_view("a\0b", 3)), StartsWith("f.csv:1:2: ")); }

TEST(CsvFile, RefusesAFolderAndAFileThatIsNotThere) {
  EXPECT_THROW(CsvFile::from_file(testing::TempDir()), sim::ConfigError);
  EXPECT_THROW(CsvFile::from_file("no/such.csv"), sim::ConfigError);
}

}  // namespace
}  // namespace calibrate
