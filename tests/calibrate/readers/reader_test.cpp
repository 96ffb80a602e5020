// Tests the forms that configs/formats/ ships, and how a file finds its form.
#include "calibrate/readers/reader.h"

#include <fstream>
#include <map>
#include <string>

#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/gzip.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

// Each row tells the size that was gathered: tokens times k of two bytes.
TEST(ShippedForms, KnowTheShapesOfTheMeasuredAllGathersThatFeedAGemm) {
  const sim::CsvFile file = sim::CsvFile::from_file(reference / "h200x8/dependent.csv");
  std::map<int, double> bytes;
  for (std::size_t row = 0; row < file.rows(); ++row)
    bytes[file.line(row)] = std::stod(std::string(file.text(row, "bytes")));
  for (const Measurement& row : shipped().read(reference / "h200x8/dependent.csv").measurements) {
    EXPECT_EQ(study::gathered_bytes(std::get<study::DependentTrial>(row.trial).shape), sim::Bytes(bytes[row.line]))
        << row.line;
  }
}

// Returns a form of one row format.
TableFormat format_with(const std::string& name, const std::vector<std::string>& column_names) {
  TableFormat format;
  format.name = name;
  RowFormat row;
  row.trial = "rest";
  row.see.push_back({.figure = Figure::power,
                     .measured = {"{" + column_names.front() + "}W"},
                     .low = {},
                     .high = {},
                     .band = {},
                     .others = {}});
  for (const std::string& column : column_names) row.where.push_back({column, {{"*"}}});
  format.rows.push_back(row);
  return format;
}

TEST(Reader, TakesTheFormThatNeedsMostOfTheColumns) {
  Reader reader;
  reader.add(format_with("one", {"a"}));
  reader.add(format_with("two", {"a", "b"}));
  reader.add(format_with("three", {"a", "b", "c"}));
  EXPECT_EQ(reader.read_text("a\n1\n", "f.csv").format, "one");
  EXPECT_EQ(reader.read_text("a,b,x\n1,2,3\n", "f.csv").format, "two");
  EXPECT_EQ(reader.read_text("c,b,a\n1,2,3\n", "f.csv").format, "three");
}

TEST(Reader, TakesTheNearestFormWithMostColumns) {
  Reader reader;
  reader.add(format_with("few", {"a", "b"}));
  reader.add(format_with("many", {"a", "c", "d"}));
  EXPECT_THAT(config_fault([&] { reader.read_text("a,c\n1,2\n", "f.csv"); }), HasSubstr("the nearest is 'many'"));
}

TEST(Reader, PlacesFaultsInTheFolderOfForms) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "bad_forms";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "odd.yaml") << "rows:\n  - {trial: gem, see: {time: 5us}}\n";
  EXPECT_THAT(config_fault([&] { Reader reader(folder); }),
              HasSubstr("odd.yaml:2:6: rows[0].trial: 'gem' is no trial; did you mean 'gemm'?"));
}

TEST(Reader, RefusesAFolderAndFilesAndFormsThatAreNotThere) {
  EXPECT_THROW(Reader("no/such/folder"), sim::ConfigError);
  EXPECT_THROW(shipped().read(testing::TempDir()), sim::ConfigError);
  EXPECT_THROW(shipped().read("no_such.csv"), sim::ConfigError);
}

// The form of a suite is made for its table: it leaves the table's other columns alone on purpose, no others.
TEST(UnusedColumns, FormOfOneTableLeavesThatTableAlone) {
  Reader reader;
  TableFormat form = *shipped().table("gemms");
  form.name = "f";
  form.is_of_one_table = true;
  reader.add(form);
  const std::string text = "gemm,time_us,driver\n8192x8192x8192,2000,6.4\n";
  EXPECT_THAT(reader.read_text(text, "runs/f.csv").remarks, IsEmpty());
  EXPECT_THAT(reader.read_text(text, "runs/g.csv").remarks, SizeIs(1));
}

TEST(Reader, CompressedTableIsOfTheFormThatItIsNamedAfter) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "gemms.csv.gz";
  std::ofstream(file, std::ios::binary) << gzip("gemm,time_us\n8192x8192x8192,2000\n");
  const Reading reading = shipped().read(file);
  EXPECT_EQ(reading.format, "gemms");
  EXPECT_EQ(reading.name, "gemms.csv.gz");
  EXPECT_THAT(reading.measurements, SizeIs(1));
}

}  // namespace
}  // namespace c3sim::calibrate
