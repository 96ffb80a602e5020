#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/readers/log_formats.h"
#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view transfer_csv = "TransferBench CSV";

const std::string transfer_heads = "Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms),SrcAddr,DstAddr\n";
const std::string transfer_row = "1,0,67108864,G0,G00,G1,4,47.774,1.405,0x1,0x2\n";
const std::string sum = "1,ALL,67108864,ALL,ALL,ALL,ALL,42.490,1.579,ALL,ALL\n";

Reading read_transfers(const std::string& text) { return read_as(transfer_csv, text, "folder/f.csv"); }

TEST(TransferBenchCsv, SaysWhatTheTextSays) {
  const Reading csv = read_transfers(sample("transfer_bench/examples_8xmi300x.csv"));
  const Reading text = read_as("TransferBench", sample("transfer_bench/examples_8xmi300x.txt"));
  EXPECT_EQ(faults_of(csv), "");
  expect_sane(csv);
  ASSERT_EQ(csv.measurements.size(), 5u);
  ASSERT_EQ(text.measurements.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(words_of_trial(csv, i), words_of_trial(text, i));
    EXPECT_EQ(seen_in(csv, i), seen_in(text, i));
    EXPECT_EQ(csv.measurements[i].group, text.measurements[i].group);
  }
  EXPECT_EQ(csv.left_out.size(), 2u);
  EXPECT_EQ(csv.measurements[0].where(), "f.csv:4");
}

TEST(TransferBenchCsv, ReadsTheColumnsOfOldVersions) {
  const Reading reading =
      read_transfers("Test#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms)\r\n1,1048576,G0,G0,G1,8,.5,2.1\r\n");
  EXPECT_EQ(words_of_trial(reading, 0), "store of 1MiB on 8 CUs by gpu0 of gpu1");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 0.5e9);
}

// A second run in the same file has settings and columns of its own.
TEST(TransferBenchCsv, RunsMayFollowEachOther) {
  const std::string settings =
      "EnvVar,Value,Description,(TransferBench v1.60.00)\nALWAYS_VALIDATE,0,Validating after all\n\n";
  const Reading reading =
      read_transfers(settings + transfer_heads + transfer_row + sum + settings + transfer_heads + transfer_row + sum);
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.measurements.size(), 2u);
}

TEST(TransferBenchCsv, TransfersOfOneTestRanAtOnce) {
  const std::string back = "1,1,67108864,G1,G01,G0,4,47.000,1.405,0x1,0x2\n";
  EXPECT_EQ(words_of_trial(read_transfers(transfer_heads + transfer_row + back + sum), 1),
            "store of 64MiB on 4 CUs between gpu0 and gpu1 both ways");
  EXPECT_EQ(words_of_trial(read_transfers(transfer_heads + transfer_row + with(back, "1,1", "2,0")), 1),
            "store of 64MiB on 4 CUs by gpu1 of gpu0");
}

TEST(TransferBenchCsv, ATestWithoutItsSumMayLackTransfers) {
  const Reading reading = read_transfers(transfer_heads + transfer_row + sum + with(transfer_row, "1,0", "2,0"));
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_THAT(faults_of(reading), HasSubstr("folder/f.csv:4:1: : the test is cut off"));
  EXPECT_EQ(read_transfers(transfer_heads + transfer_row).measurements.size(), 1u) << "where no test has one";
}

TEST(TransferBenchCsv, FaultsHaveTheirPlaceAndGoodRowsStay) {
  const auto faults = [](std::string_view old_part, std::string_view new_part) {
    const Reading reading =
        read_transfers(transfer_heads + with(transfer_row, old_part, new_part) + with(transfer_row, "1,0", "2,0"));
    EXPECT_EQ(reading.measurements.size(), 1u) << new_part;
    return faults_of(reading);
  };
  EXPECT_THAT(faults("47.774", "47,774"), HasSubstr("folder/f.csv:2:1: : 12 cells where the columns are 11"));
  EXPECT_THAT(faults("47.774", "x"), HasSubstr("folder/f.csv:2:26: BW(GB/s): 'x' is not a decimal number"));
  EXPECT_THAT(faults("47.774", "1e99"), HasSubstr("BW(GB/s): '1e99' cannot be: 1e-09 to"));
  EXPECT_THAT(faults("67108864", "64M"), HasSubstr("folder/f.csv:2:5: NumBytes: '64M' is not a whole decimal number"));
  EXPECT_THAT(faults("67108864", "0"), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(faults(",4,", ",-4,"), HasSubstr("CUs: '-4' must lie between 0 and 4096"));
  EXPECT_THAT(faults("G00", "X00"), HasSubstr("executor: 'X00' is not known"));
  EXPECT_THAT(faults(",G0,", ",\xFF,"), HasSubstr("memory: '?' is not known"));
  EXPECT_THAT(faults("1,0", "x,0"), HasSubstr("Test#: 'x' is not"));
}

TEST(TransferBenchCsv, WhatRanBesideADamagedTransferIsLeftOut) {
  const Reading reading = read_transfers(transfer_heads + transfer_row + with(transfer_row, "G00", "X00") + sum);
  EXPECT_TRUE(reading.measurements.empty());
  EXPECT_EQ(left_out_of(reading), "f.csv:2: what ran beside it could not be read\n");
}

TEST(TransferBenchCsv, MissingColumnsAreFaults) {
  EXPECT_THAT(faults_of(read_transfers(with(transfer_heads, "Exe", "Exec") + transfer_row)),
              HasSubstr("folder/f.csv:1:1: Exe: this column is missing; did you mean 'Exec'?"));
  EXPECT_THAT(faults_of(read_transfers(transfer_heads)),
              HasSubstr("no row: transfers are accepted below their columns"));
}

TEST(TransferBenchCsv, TabsAndAByteOrderMarkChangeNothing) {
  EXPECT_EQ(read_transfers("\xEF\xBB\xBF" + with(transfer_heads, ",Src", ",\tSrc") + with(transfer_row, ",G0", ",\tG0"))
                .measurements.size(),
            1u);
  EXPECT_EQ(format_of("\xEF\xBB\xBF" + transfer_heads), transfer_csv);
}

TEST(TransferBenchCsv, FilesCutOffAnywhereSayNothingNew) {
  expect_prefixes_read_the_same(transfer_csv, sample("transfer_bench/examples_8xmi300x.csv"));
}

TEST(TransferBenchCsv, DamageIsSurvived) {
  expect_damage_is_survived(transfer_csv, sample("transfer_bench/examples_8xmi300x.csv"));
}

}  // namespace
}  // namespace c3sim::calibrate
