// Columns that nobody reads: named, and no row is read as something else for want of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/calibrate/shipped_files.h"
#include "tests/gzip.h"

namespace c3sim::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Reading read_as_shipped(const std::string& text) { return shipped().read_text(text, "runs/f.csv"); }

// `channel` would change the channels, `backed` the backend: without them the run would be one by RCCL on all channels.
TEST(UnusedColumns, RowsThatAMisspeltColumnSaysSomethingOfAreLeftOut) {
  const Reading reading = read_as_shipped(
      "collective,bytes,time_us,channel,backed\nall_reduce,67108864,450,8,sdma\nall_reduce,1048576,30,,-\n"
      "all_gather,1048576,30,,sdma\n");
  ASSERT_THAT(reading.measurements, SizeIs(1));
  EXPECT_EQ(reading.measurements[0].line, 3) << "the row in which both say nothing";
  ASSERT_THAT(reading.faults, SizeIs(2));
  EXPECT_EQ(reading.faults[0],
            (sim::Fault{"runs/f.csv:1:26", "channel",
                        "this column is not used; did you mean 'channels'? Rows in which it says something are left "
                        "out: a column 'note' may say anything"}));
  EXPECT_EQ(reading.faults[1].where, "runs/f.csv:1:34");
  EXPECT_THAT(reading.faults[1].what, HasSubstr("did you mean 'backend'?"));
  ASSERT_THAT(reading.left_out, SizeIs(2));
  EXPECT_EQ(reading.left_out[0].where, "f.csv:2");
  EXPECT_EQ(reading.left_out[0].why, "its column 'channel' is not known; 'channels' is");
  EXPECT_EQ(reading.left_out[1].where, "f.csv:4");
}

TEST(UnusedColumns, GemmOnFewerCusIsNoneOnAll) {
  const Reading reading = read_as_shipped("gemm,time_us,cu\n8192x8192x8192,3000,100\n");
  EXPECT_THAT(reading.measurements, IsEmpty());
  ASSERT_THAT(reading.faults, SizeIs(1));
  EXPECT_THAT(reading.faults[0].what, HasSubstr("did you mean 'cus'?"));
}

TEST(UnusedColumns, OthersAreNamedAndTheirRowsRead) {
  const Reading reading = read_as_shipped("gemm,time_us,driver,time_p99_us\n8192x8192x8192,2000,6.4,2100\n");
  EXPECT_THAT(reading.measurements, SizeIs(1));
  EXPECT_THAT(reading.faults, IsEmpty());
  EXPECT_THAT(reading.remarks, ElementsAre(sim::Fault{"runs/f.csv:1:14", "driver", "this column is not used"},
                                           sim::Fault{"runs/f.csv:1:21", "time_p99_us",
                                                      "this column is not used; did you mean 'time_p90_us'?"}));
}

TEST(UnusedColumns, NotesAndWhatAFormIgnoresAreSilent) {
  const Reading reading = read_as_shipped(
      "gemm,time_us,note,comment,host,tflops,event_us,n\n8192x8192x8192,2000,warm,\"a, b\",node7,550,1990,50\n");
  EXPECT_THAT(reading.measurements, SizeIs(1));
  EXPECT_THAT(reading.remarks, IsEmpty());
  EXPECT_THAT(reading.faults, IsEmpty());
}

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

// A GEMM of another type is slower or faster; no column says so unless this one is read.
TEST(UnusedColumns, TypeOfAGemmIsRead) {
  const Reading reading = read_as_shipped(
      "gemm,time_us,dtype\n8192x8192x8192,2000,bf16_r\n8192x8192x8192,9000,fp32\n8192x8192x8192,1500,int8\n");
  ASSERT_THAT(reading.measurements, SizeIs(2));
  EXPECT_EQ(study::to_string(reading.measurements[0].trial), "gemm 8192x8192x8192");
  EXPECT_EQ(study::to_string(reading.measurements[1].trial), "gemm 8192x8192x8192 fp32");
  EXPECT_THAT(reading.faults, ElementsAre(sim::Fault{"runs/f.csv:4:21", "dtype",
                                                     "'int8' is not known; known are: bf16, fp16, fp8, tf32, fp32"}));
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
