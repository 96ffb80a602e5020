#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/readers/log_formats.h"
#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view transfer_text = "TransferBench";

Reading read_transfer_text(const std::string& text) { return read_as(transfer_text, text); }

const std::string one_test =
    "Test 1:\n"
    " Executor: GPU 00 |  47.774 GB/s |    1.405 ms |     67108864 bytes | 47.774 GB/s (sum)\n"
    "     Transfer 00  |  47.774 GB/s |    1.405 ms |     67108864 bytes | G0 -> G000:004 -> G1\n"
    " Aggregate (CPU)  |  42.490 GB/s |    1.579 ms |     67108864 bytes | Overhead: 0.175 ms\n";
const std::string matrix_head =
    "Bytes Per Direction 67108864\n"
    "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"
    " SRC+EXE\\DST    GPU 00    GPU 01\n";
const std::string matrix = matrix_head +
                           "  GPU 00  ->    1689.85     48.46\n"
                           "  GPU 01  ->      48.51   1672.91\n";
const std::string both_ways =
    "Bytes Per Direction 67108864\n"
    "Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"
    "     SRC\\DST    GPU 00    GPU 01\n"
    "  GPU 00  ->        N/A     46.10\n"
    "  GPU 00  <-        N/A     46.20\n"
    "  GPU 00 <->        N/A     92.30\n";
const std::string all_to_all =
    "GPU-GFX All-To-All benchmark:\n"
    "- Copying 67108864 bytes between directly connected pairs of GPUs using 8 CUs (2 Transfers)\n"
    "SRC\\DST    GPU 00    GPU 01    STotal    Actual\n"
    "GPU 00        N/A    47.056    47.056    47.056\n"
    "GPU 01     47.000       N/A    47.000    47.000\n"
    "RTotal     47.000    47.056\n";

// The examples of the acceptance test: tests 1, 3 and 6 store to another GPU, 2 copies by an engine, 4 fills, 5 is of
// the host.
TEST(TransferBenchText, ExamplesAreReadAsTheReferenceTestTreatsThem) {
  const Reading reading = read_transfer_text(sample("transfer_bench/examples_8xmi300x.txt"));
  EXPECT_EQ(faults_of(reading), "");
  expect_sane(reading);
  ASSERT_EQ(reading.measurements.size(), 5u);
  EXPECT_EQ(words_of_trial(reading, 0), "store of 64MiB on 4 CUs by gpu0 of gpu1");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 47.774e9);
  EXPECT_EQ(reading.measurements[0].where(), "f.log:5");
  EXPECT_EQ(words_of_trial(reading, 1), "copy gpu0 to gpu1 of 64MiB");
  EXPECT_EQ(reading.measurements[1].seen[0].figure, study::Figure::rate);
  EXPECT_EQ(reading.measurements[1].group, "TransferBench, copy engine");
  EXPECT_EQ(words_of_trial(reading, 2), "store of 1MiB on 4 CUs by gpu0 of gpu1");
  EXPECT_EQ(words_of_trial(reading, 3), "store of 2MiB on 8 CUs by gpu1 of gpu0");
  EXPECT_EQ(words_of_trial(reading, 4), "store of 64MiB on 16 CUs by gpu0 of gpu1");
  EXPECT_THAT(left_out_of(reading), HasSubstr("what only reads or only writes has no model"));
  EXPECT_THAT(left_out_of(reading), HasSubstr("a copy by the host's cores has no model"));
  EXPECT_EQ(reading.left_out.size(), 2u);
}

TEST(TransferBenchText, RulesMayBeCommasOrBoxes) {
  std::string commas = one_test;
  std::ranges::replace(commas, '|', ',');
  EXPECT_EQ(words_of_trial(read_transfer_text(commas), 0), "store of 64MiB on 4 CUs by gpu0 of gpu1");
  std::string boxes;
  for (const char c : one_test) boxes += c == '|' ? "\xE2\x94\x82" : std::string(1, c);
  EXPECT_EQ(words_of_trial(read_transfer_text(boxes), 0), "store of 64MiB on 4 CUs by gpu0 of gpu1");
  EXPECT_EQ(
      words_of_trial(
          read_transfer_text(with(one_test, "G0 -> G000:004 -> G1", "(G0 \xE2\x86\x92 GFX0:4 \xE2\x86\x92 G1)")), 0),
      "store of 64MiB on 4 CUs by gpu0 of gpu1");
}

TEST(TransferBenchText, FaultsOfTransfersHaveTheirPlace) {
  const auto faults = [](std::string_view old_part, std::string_view new_part) {
    std::string text = one_test;
    text.replace(text.rfind(old_part, text.find("Aggregate")), old_part.size(), new_part);
    const Reading reading = read_transfer_text(text + one_test);
    EXPECT_EQ(reading.measurements.size(), 1u) << "the good test stays";
    return faults_of(reading);
  };
  // Of the third line, from 1.
  const auto column = [](std::string_view cell) {
    const std::string line = one_test.substr(one_test.find("     Transfer"));
    return std::to_string(line.find(cell) + 1);
  };
  EXPECT_THAT(faults("47.774 GB", "47.77x GB"), HasSubstr("folder/f.log:3:22: GB/s: '47.77x' is not a decimal number"));
  EXPECT_THAT(faults("47.774 GB", "0.0000 GB"), HasSubstr("GB/s: '0.0000' cannot be: 1e-09 to 1"));
  EXPECT_THAT(faults("67108864 b", "671088-4 b"), HasSubstr("bytes: '671088-4' is not a whole decimal number"));
  EXPECT_THAT(faults("67108864 b", "00000000 b"), HasSubstr("bytes: '00000000' is out of bounds: 1B to 1TiB"));
  EXPECT_THAT(faults("-> G1", "-> Z1"), HasSubstr(":3:" + column("G1\n") + ": memory: 'Z1' is not known"));
  EXPECT_THAT(faults("G000:", "Z000:"), HasSubstr(":3:" + column("G000:004") + ": executor: 'Z000:004' is not known"));
  EXPECT_THAT(faults(" -> G1", ""), HasSubstr("'G0 -> G000:004' is no path: 'G0 -> G0:4 -> G1' is accepted"));
  EXPECT_THAT(faults("| G0 -> G000:004 -> G1", ""), HasSubstr("folder/f.log:3:6: : cut short: 'Transfer 00 |"));
}

TEST(TransferBenchText, WhatRanBesideADamagedTransferIsLeftOut) {
  const std::string text =
      with(one_test, " Aggregate", "     Transfer 01  |  x GB/s | 1 ms | 8 bytes | G1 -> G1:4 -> G0\n Aggregate");
  const Reading reading = read_transfer_text(text);
  EXPECT_TRUE(reading.measurements.empty());
  EXPECT_EQ(left_out_of(reading), "f.log:3: what ran beside it could not be read\n");
}

TEST(TransferBenchText, ATestWithoutItsEndMayLackTransfers) {
  const Reading reading = read_transfer_text(one_test.substr(0, one_test.find(" Aggregate")));
  EXPECT_TRUE(reading.measurements.empty());
  EXPECT_THAT(faults_of(reading), HasSubstr("folder/f.log:3:1: : the test is cut off"));
}

// 8 GPUs: 56 pairs; the lines of the two CPUs, the columns of the CPUs and the diagonal are left out.
TEST(TransferBenchText, ThePeerToPeerTablesAreReadCellByCell) {
  const Reading reading = read_transfer_text(sample("transfer_bench/p2p_8xmi300x.txt"));
  EXPECT_EQ(faults_of(reading), "");
  expect_sane(reading);
  ASSERT_EQ(reading.measurements.size(), 56u + 2u * 56u);
  EXPECT_EQ(words_of_trial(reading, 0), "store of 64MiB on 304 CUs by gpu0 of gpu1");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 48.46e9);
  EXPECT_EQ(reading.measurements[0].group, "TransferBench p2p, one way");
  EXPECT_EQ(words_of_trial(reading, 55), "store of 64MiB on 304 CUs by gpu7 of gpu6");
  EXPECT_DOUBLE_EQ(seen_in(reading, 55), 48.74e9);
  // The published sum of GPUs 0 and 1 is 92.20 GB/s, and each direction half of it.
  for (const std::size_t i : {56u, 57u}) {
    EXPECT_EQ(words_of_trial(reading, i), "store of 64MiB on 304 CUs between gpu0 and gpu1 both ways");
    EXPECT_DOUBLE_EQ(seen_in(reading, i), 46.10e9);
    EXPECT_EQ(reading.measurements[i].seen[0].figure, study::Figure::link_rate);
    EXPECT_EQ(reading.measurements[i].group, "TransferBench p2p, both ways");
  }
  EXPECT_EQ(reading.measurements[57].line, reading.measurements[56].line + 1);
  EXPECT_THAT(left_out_of(reading), HasSubstr("a copy by the host's cores has no model"));
  EXPECT_THAT(left_out_of(reading), HasSubstr("host's memory"));
  EXPECT_THAT(left_out_of(reading), HasSubstr("a GPU that copies to itself"));
  EXPECT_EQ(reading.left_out.size(), 2u + 8u * 2u) << "a line says each reason once";
}

// 8 CUs for each of 7 peers are 56 of each GPU.
TEST(TransferBenchText, TheAllToAllTableIsOfAllGpusAtOnce) {
  const Reading reading = read_transfer_text(sample("transfer_bench/a2a_8xmi300x.txt"));
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(left_out_of(reading), "");
  expect_sane(reading);
  ASSERT_EQ(reading.measurements.size(), 56u);
  for (std::size_t i = 0; i < 56; ++i) {
    EXPECT_EQ(words_of_trial(reading, i), "uncached_store of 64MiB on 56 CUs by all GPUs of all others");
    EXPECT_EQ(reading.measurements[i].group, "TransferBench a2a, all GPUs at once");
    EXPECT_EQ(reading.measurements[i].assignments, std::vector<std::string>{"gpus=8"});
  }
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 47.056e9);
  EXPECT_DOUBLE_EQ(seen_in(reading, 55), 46.786e9);
}

TEST(TransferBenchText, TablesMayHaveCommas) {
  const Reading reading = read_transfer_text(
      "Bytes Per Direction,67108864\n"
      "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"
      "SRC+EXE\\DST,GPU 00,GPU 01,\n"
      "GPU 00 ->,1689.85,48.46,\n"
      "GPU 01 ->,48.51,1672.91,\n");
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.measurements.size(), 2u);
}

TEST(TransferBenchText, SettingsSayHowATableWasMade) {
  const auto first = [](const std::string& text) { return words_of_trial(read_transfer_text(text), 0); };
  EXPECT_EQ(first(matrix), "store of 64MiB by gpu0 of gpu1");
  EXPECT_EQ(first("NUM_GPU_SE = 16 : Using 16 CUs\n" + matrix), "store of 64MiB on 16 CUs by gpu0 of gpu1");
  EXPECT_EQ(first("NUM_GPU_SE,16,Using 16 CUs\n" + matrix), "store of 64MiB on 16 CUs by gpu0 of gpu1");
  EXPECT_EQ(first("USE_FINE_GRAIN = 1 : fine\n" + matrix), "uncached_store of 64MiB by gpu0 of gpu1");
  EXPECT_EQ(first(with(matrix, "Local read / Remote write", "Remote read / Local write")),
            "load of 64MiB by gpu1 of gpu0");
  EXPECT_EQ(first(with(matrix, "GFX", "DMA")), "copy gpu0 to gpu1 of 64MiB");
  EXPECT_EQ(first("USE_FINE_GRAIN = 0 : coarse\n" + all_to_all), "store of 64MiB on 8 CUs by all GPUs of all others");
  EXPECT_EQ(first("USE_REMOTE_READ = 1 : DST\n" + all_to_all), "load of 64MiB on 8 CUs by all GPUs of all others");
  EXPECT_EQ(first("USE_FINE_GRAIN = 1 : fine\nNUM_GPU_SE = 16 :\nTransferBench v1.60\n" + matrix),
            "store of 64MiB by gpu0 of gpu1")
      << "another run has its own";
  EXPECT_THAT(faults_of(read_transfer_text("NUM_GPU_SE = x : CUs\n" + matrix)), HasSubstr("NUM_GPU_SE: 'x' is not"));
}

TEST(TransferBenchText, TablesThatNoTrialStandsForAreLeftOut) {
  const auto left_out = [](const std::string& text) {
    const Reading reading = read_transfer_text(text);
    EXPECT_TRUE(reading.measurements.empty());
    return left_out_of(reading);
  };
  EXPECT_THAT(left_out("A2A_MODE = 1 : Read-only\n" + all_to_all), HasSubstr("A2A_MODE is not 0"));
  EXPECT_THAT(left_out(with(all_to_all, "GFX", "DMA")), HasSubstr("copies by engines, several at once"));
  EXPECT_THAT(left_out(with(both_ways, "GFX", "DMA")), HasSubstr("no trial stands for these transfers at once"));
  EXPECT_THAT(left_out(with(all_to_all, "47.056", "   N/A")),
              HasSubstr("f.log:5: some GPUs did not copy to all others"));
  EXPECT_THAT(left_out(with(with(matrix, "48.46", "  N/A"), "48.51", "  N/A")), HasSubstr("f.log:4: not measured"));
}

TEST(TransferBenchText, DetailsOfAnAllToAllAreNotCountedTwice) {
  const std::string details =
      "Test 1:\n"
      "     Transfer 00  | 47.056 GB/s | 1.4 ms | 67108864 bytes | F0 -> G000:008 -> F1\n"
      "     Transfer 01  | 47.000 GB/s | 1.4 ms | 67108864 bytes | F1 -> G001:008 -> F0\n"
      " Aggregate (CPU)  | 90.0 GB/s\n";
  const Reading reading = read_transfer_text(with(all_to_all, "SRC", details + "SRC"));
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(words_of_trial(reading, 0), "uncached_store of 64MiB on 8 CUs between gpu0 and gpu1 both ways");
}

TEST(TransferBenchText, FaultsOfTablesHaveTheirPlaceAndGoodCellsStay) {
  const Reading reading = read_transfer_text(with(matrix, "48.46", "48.x6"));
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_THAT(faults_of(reading), HasSubstr("folder/f.log:4:29: GB/s: '48.x6' is not a decimal number"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "48.46", "-8.46"))), HasSubstr("'-8.46' cannot be"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "     48.46", ""))),
              HasSubstr("folder/f.log:4:3: : 1 cells where the columns are 2: cut short?"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "GPU 00  ->", "GPU 0x  ->"))),
              HasSubstr("GPU: '0x' is not a whole decimal"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "Bytes Per Direction", "Bytes"))),
              HasSubstr("bytes: is missing: 'Bytes Per Direction N'"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "67108864", "0"))), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "GPU 01\n", "GXU 01\n"))),
              HasSubstr("f.log:3:27: : 'GXU' is not known: CPU 00"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "GPU 01\n", "GPU 00\n"))),
              HasSubstr("f.log:3:31: : this column is named twice"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "GPU 01  ->", "GPU 02  ->"))),
              HasSubstr("this source is no destination"));
  EXPECT_THAT(faults_of(read_transfer_text(with(matrix, "Unidirectional copy", "One-way copy"))),
              HasSubstr("the title is missing"));
}

TEST(TransferBenchText, BothDirectionsOfARowAreNeeded) {
  EXPECT_EQ(read_transfer_text(both_ways).measurements.size(), 2u);
  const std::string first = "  GPU 00  ->        N/A     46.10\n";
  const std::string second = "  GPU 00  <-        N/A     46.20\n";
  EXPECT_THAT(faults_of(read_transfer_text(with(both_ways, second, ""))),
              HasSubstr("f.log:4:3: : the row of the other direction ('<-')"));
  EXPECT_THAT(faults_of(read_transfer_text(with(both_ways, first, ""))),
              HasSubstr("f.log:4:3: : the row of the other direction ('->')"));
}

// Without an end of line the last number may lack digits: 1672 for 1672.91 is seen to.
TEST(TransferBenchText, ANumberThatIsCutOffIsAFault) {
  const Reading reading = read_transfer_text(matrix_head + "  GPU 00  ->    1689.85     48.4");
  EXPECT_TRUE(reading.measurements.empty());
  EXPECT_THAT(faults_of(reading), HasSubstr("folder/f.log:4:29: : '48.4' is cut off: an end of line is accepted"));
  EXPECT_EQ(read_transfer_text(matrix_head + "  GPU 00  ->    1689.85     48.46").measurements.size(), 1u);
}

TEST(TransferBenchText, ALogWithoutResultsIsAFault) {
  EXPECT_THAT(faults_of(read_transfer_text("TransferBench v1.60.00\nGPU-GFX All-To-All benchmark:\n")),
              HasSubstr("no result: tests with"));
}

TEST(TransferBenchText, LineEndsTabsAndByteOrderMarksChangeNothing) {
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : matrix + one_test) windows += c == '\n' ? "\r\n" : c == ' ' ? "\t" : std::string(1, c);
  windows = with(windows, "copy\tpeak\tbandwidth", "copy peak bandwidth");
  windows = with(windows, "Bytes\tPer\tDirection", "Bytes Per Direction");
  windows = with(windows, "Transfer\t00", "Transfer 00");
  windows = with(windows, "Unidirectional\tcopy", "Unidirectional copy");
  const Reading reading = read_transfer_text(windows);
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.measurements.size(), 3u);
}

TEST(TransferBenchText, LogsCutOffAnywhereSayNothingNew) {
  for (const std::string name : {"p2p_8xmi300x.txt", "a2a_8xmi300x.txt", "examples_8xmi300x.txt"}) {
    expect_prefixes_read_the_same(transfer_text, sample("transfer_bench/" + name));
  }
}

TEST(TransferBenchText, DamageIsSurvived) {
  for (const std::string& text :
       {one_test, matrix, both_ways, all_to_all, sample("transfer_bench/examples_8xmi300x.txt")}) {
    expect_damage_is_survived(transfer_text, text);
  }
}

}  // namespace
}  // namespace c3sim::calibrate
