// Columns that nobody reads: named, and no row is read as something else for want of one.
#include <fstream>
#include <string>

#include "tests/calibrate/shipped_files.h"
#include "tests/gzip.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

Reading read_as_shipped(const std::string& text) { return shipped().read_text(text, "runs/f.csv"); }

TEST(UnusedColumns, ThoseThatAListOfRolesAsksForAreUsed) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "unused_columns_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "f.csv") << "gemm,time_us,campaign\n8192x8192x8192,2000,second\n";
  EXPECT_THAT(shipped().read(folder / "f.csv").remarks, SizeIs(1));
  std::ofstream(folder / "roles.csv") << "file,rows,role,spread\nf.csv,campaign=second,predict,\n";
  const Reading reading = shipped().read(folder / "f.csv");
  EXPECT_THAT(reading.remarks, IsEmpty());
  EXPECT_EQ(reading.measurements.at(0).role, Role::predict);
  std::filesystem::remove_all(folder);
}

// The form of a suite is made for its table: what else that one holds is left alone on purpose, another's is not.
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

TEST(Reader, ColoursAreTakenOut) {
  const Reading reading = read_as_shipped("\x1b[1;32mgemm\x1b[0m,time_us\n\x1b[31m8192x8192x8192\x1b[m,2000\n");
  ASSERT_THAT(reading.measurements, SizeIs(1));
  EXPECT_EQ(reading.measurements[0].line, 2);
}

}  // namespace
}  // namespace c3sim::calibrate
