#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/readers/log_formats.h"
#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view rccl_text = "rccl-tests";

const std::string rccl_heads =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n";
const std::string rccl_row =
    "     1048576        262144     float     sum      -1    27.42   38.25   66.93      0    27.13   38.65   67.64     "
    " 0\n";

// What is read of a log of an all-reduce with these lines below its columns.
Reading read_rows(const std::string& rows, const std::string& above = "") {
  return read_as(rccl_text, above + rccl_heads + rows, "folder/all_reduce.log");
}

// From 8 B (2^3) to 16 GiB (2^34) in powers of two: 32 rows. Of 1 MiB (2^20) the table says 27.42 us out of place and
// 27.13 in place, of 16 GiB 94254 and 94328. 18 lines stand above the rows, and 1 MiB is the 18th of them.
TEST(RcclTestsText, APublishedTableIsReadRowByRow) {
  const std::string text = sample("rccl_tests/all_reduce_8xmi300x.txt");
  EXPECT_EQ(format_of(text), rccl_text);
  const Reading reading = read_as(rccl_text, text);
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(left_out_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 32u);
  expect_sane(reading);
  const Measurement& mebibyte = reading.measurements[17];
  EXPECT_EQ(study::to_string(mebibyte.trial), "rccl all_reduce of 1MiB over 8 GPUs");
  EXPECT_EQ(mebibyte.seen.at(0).figure, study::Figure::time);
  EXPECT_DOUBLE_EQ(mebibyte.seen.at(0).value, 27.42e-6);
  EXPECT_DOUBLE_EQ(*mebibyte.seen.at(0).low, 27.13e-6);
  EXPECT_DOUBLE_EQ(*mebibyte.seen.at(0).high, 27.42e-6);
  EXPECT_EQ(mebibyte.group, "all_reduce, rccl-tests");
  EXPECT_EQ(mebibyte.role, Role::unlisted);
  EXPECT_EQ(mebibyte.where(), "f.log:36");
  EXPECT_DOUBLE_EQ(seen_in(reading, 31), 94254e-6);
}

TEST(RcclTestsText, GraphsAreSeenInTheParameters) {
  const Reading reading = read_as(rccl_text, sample("rccl_tests/all_reduce_graph_8xmi300x.txt"));
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 32u);
  EXPECT_EQ(words_of_trial(reading, 2), "rccl graph-launched all_reduce of 32B over 8 GPUs");
  EXPECT_DOUBLE_EQ(seen_in(reading, 2), 6.32e-6);
  EXPECT_EQ(reading.measurements[2].group, "all_reduce, rccl-tests, graph");
}

// Size 0 moves nothing; of 4 MiB, 50 us out of place and 40 in place.
TEST(RcclTestsText, AnOlderLogIsNamedByItsFile) {
  const std::string text = sample("rccl_tests/alltoall.txt");
  EXPECT_EQ(format_of(text), rccl_text);
  const Reading reading = read_as(rccl_text, text, "logs/alltoall.txt");
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(left_out_of(reading), "alltoall.txt:18: nothing is moved: its size is 0\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(words_of_trial(reading, 1), "rccl all_to_all of 4MiB over 8 GPUs");
  EXPECT_DOUBLE_EQ(seen_in(reading, 1), 50e-6);
  EXPECT_DOUBLE_EQ(*reading.measurements[1].seen.at(0).low, 40e-6);
}

TEST(RcclTestsText, ALogThatNamesNothingTellsHowToNameIt) {
  const std::string faults = faults_of(read_as(rccl_text, rccl_heads + rccl_row + rccl_row, "folder/run7.log"));
  EXPECT_THAT(faults, StartsWith("folder/run7.log:1:9: collective: the log does not say which one it measured"));
  EXPECT_THAT(faults, HasSubstr("a file named after it: all_reduce.txt"));
  EXPECT_EQ(std::ranges::count(faults, '\n'), 1) << "one fault, not one for each row";
}

TEST(RcclTestsText, EveryCollectiveIsKnownByItsProgram) {
  const auto trial = [](const std::string& program) {
    return words_of_trial(read_as(rccl_text, "$ build/" + program + " -b 8\n" + rccl_heads + rccl_row), 0);
  };
  EXPECT_THAT(trial("all_gather_perf"), StartsWith("rccl all_gather"));
  EXPECT_THAT(trial("reduce_scatter_perf"), StartsWith("rccl reduce_scatter"));
  EXPECT_THAT(trial("broadcast_perf"), StartsWith("rccl broadcast"));
  EXPECT_THAT(trial("alltoall_perf"), StartsWith("rccl all_to_all"));
  EXPECT_THAT(trial("all_reduce_perf"), StartsWith("rccl all_reduce"));
}

TEST(RcclTestsText, FilesNamedAfterTwoCollectivesNameNone) {
  const auto kinds = [](const std::string& file) {
    return read_as(rccl_text, rccl_heads + rccl_row, file).measurements.size();
  };
  EXPECT_EQ(kinds("8gpu-AllReduce-run1.log"), 1u);
  EXPECT_EQ(kinds("mi300x.reduce-scatter.txt"), 1u);
  EXPECT_EQ(kinds("all_reduce_and_all_gather.txt"), 0u);
  EXPECT_EQ(kinds("all_reduce/log.txt"), 0u) << "folders say nothing";
}

TEST(RcclTestsText, CollectivesWithoutAModelAreLeftOut) {
  for (const std::string program : {"sendrecv", "alltoallv", "gather", "scatter", "reduce", "hypercube"}) {
    const Reading reading = read_as(rccl_text, "# " + program + "_perf\n" + rccl_heads + rccl_row, "f.log");
    EXPECT_EQ(left_out_of(reading), "f.log:3: " + program + " has no model\n");
    EXPECT_TRUE(reading.measurements.empty());
  }
}

TEST(RcclTestsText, TheEndOfATestNamesItToo) {
  const Reading reading = read_as(rccl_text, rccl_heads + rccl_row + "# Collective test concluded: broadcast_perf\n");
  EXPECT_EQ(words_of_trial(reading, 0), "rccl broadcast of 1MiB over all GPUs");
}

// The second test has its own collective, ranks and launches.
TEST(RcclTestsText, TestsThatFollowEachOtherAreKeptApart) {
  const std::string first = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 8 graph: 1\n" + rccl_heads +
                            rccl_row + "# Out of bounds values : 0 OK\n# Collective test concluded: all_reduce_perf\n";
  const std::string second =
      "# Collective test starting: all_gather_perf\n# nThread 1 nGpus 4 graph: 0\n" + rccl_heads + rccl_row;
  const Reading reading = read_as(rccl_text, first + second);
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(words_of_trial(reading, 0), "rccl graph-launched all_reduce of 1MiB over 8 GPUs");
  EXPECT_EQ(words_of_trial(reading, 1), "rccl all_gather of 1MiB over 4 GPUs");
}

// Listed ranks, or processes x threads x GPUs of each; one GPU per process without a word of the processes leaves it
// open.
TEST(RcclTestsText, CountsTheGpus) {
  const auto gpus = [](const std::string& above) {
    const Reading reading = read_rows(rccl_row, above);
    return std::get<study::CollectiveTrial>(reading.measurements.at(0).trial).spec.gpus;
  };
  EXPECT_EQ(gpus("#  Rank  0 Pid 1 on a device 0\n#  Rank  1 Pid 1 on a device 1\n"), 2);
  EXPECT_EQ(gpus("# nThread 2 nGpus 4 minBytes 8\n"), 8);
  EXPECT_EQ(gpus("mpirun -np 4 ./all_reduce_perf -g 2 -n 20\n"), 8);
  EXPECT_EQ(gpus("# nThread 1 nGpus 1 minBytes 8\n"), 0);
  EXPECT_EQ(gpus(""), 0);
}

TEST(RcclTestsText, RunsThatNoNodeOfTheModelMakesAreLeftOut) {
  const auto why = [](const std::string& above) {
    const Reading reading = read_rows(rccl_row, above);
    EXPECT_TRUE(reading.measurements.empty());
    return left_out_of(reading);
  };
  EXPECT_THAT(why("#  Rank  0 Pid 1 on a device 0\n#  Rank  1 Pid 1 on b device 0\n"), HasSubstr("it ran on 2 hosts"));
  EXPECT_THAT(why("#  Rank  0 Pid 1 on a device 0\n"), HasSubstr("MPI=1 builds them"));
  EXPECT_THAT(why("#  Rank  0 Group  1 Pid 1 on a device 0\n#  Rank  1 Group  0 Pid 1 on a device 0\n"),
              HasSubstr("several groups"));
  EXPECT_THAT(why("# nThread 1 nGpus 8 warmup iters: 5 iters: 20 agg iters: 4 graph: 0\n"),
              HasSubstr("4 operations launched as one"));
}

TEST(RcclTestsText, LaunchersMayLabelEveryLine) {
  std::string text;
  const std::string plain = sample("rccl_tests/all_reduce_8xmi300x.txt");
  LogLines lines(plain);
  while (lines.next()) text += "[1,0]<stdout>:" + std::string(lines.line().text) + "\r\n";
  const Reading labelled = Reader().read_text(text, "folder/f.log");
  EXPECT_EQ(labelled.format, rccl_text);
  EXPECT_EQ(faults_of(labelled), "");
  EXPECT_EQ(labelled.measurements.size(), 32u);
}

TEST(RcclTestsText, TabsAndAByteOrderMarkChangeNothing) {
  std::string text = "\xEF\xBB\xBF" + rccl_heads + rccl_row;
  std::ranges::replace(text, ' ', '\t');
  EXPECT_EQ(format_of(text), rccl_text);
  EXPECT_DOUBLE_EQ(seen_in(read_as(rccl_text, text, "all_reduce"), 0), 27.42e-6);
}

TEST(RcclTestsText, ReadsTheColumnsOfOldVersions) {
  const std::string old_heads =
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n";
  const std::string old_row =
      "     1048576        262144   float    27.42   38.25   66.93  4e-07    27.13   38.65   67.64  ";
  const Reading fine = read_as(rccl_text, old_heads + old_row + "5e-07\n", "all_gather.txt");
  EXPECT_DOUBLE_EQ(seen_in(fine, 0), 27.42e-6);
  const Reading wrong = read_as(rccl_text, old_heads + old_row + "0.5\n", "all_gather.txt");
  EXPECT_THAT(left_out_of(wrong), HasSubstr("elements came out wrong"));
  // redop and root may stand in the heads and not in the rows.
  const Reading blank = read_rows(with(with(rccl_row, "sum", "   "), "-1", "  "));
  EXPECT_DOUBLE_EQ(seen_in(blank, 0), 27.42e-6);
}

TEST(RcclTestsText, ASingleRunHasNoSpread) {
  const std::string text =
      "# size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 .5 2.05 3.58 N/A\n";
  const Reading reading = read_as(rccl_text, text, "all_reduce.txt");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 0.5e-6);
  EXPECT_FALSE(reading.measurements[0].seen[0].low);
}

TEST(RcclTestsText, TheTimeOfDayIsPassedOver) {
  const Reading reading =
      read_as(rccl_text, with(rccl_heads, "\n", "  timestamp\n") + with(rccl_row, "\n", "  2025-08-05 10:00:00\n"),
              "all_reduce.txt");
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.measurements.size(), 1u);
}

TEST(RcclTestsText, TimesOfTheHostAreLeftOut) {
  const Reading reading =
      read_as(rccl_text, with(with(rccl_heads, "time", "cputime"), "  time", "cputime") + rccl_row, "all_reduce");
  EXPECT_EQ(left_out_of(reading), "all_reduce:2: the time of the host's calls is compared with nothing\n");
}

TEST(RcclTestsText, WrongResultsAreLeftOut) {
  EXPECT_EQ(left_out_of(read_rows(with(rccl_row, "      0 ", "      7 "))),
            "all_reduce.log:2: elements came out wrong\n");
  EXPECT_EQ(read_rows(with(rccl_row, "      0 ", "    N/A ")).measurements.size(), 1u);
}

TEST(RcclTestsText, FaultsHaveTheirPlaceAndGoodRowsStay) {
  const std::string bad = with(rccl_row, "27.42", "27.4x");
  const Reading reading = read_rows(rccl_row + bad + rccl_row);
  EXPECT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(faults_of(reading), "folder/all_reduce.log:3:" + std::to_string(bad.find("27.4x") + 1) +
                                    ": time: '27.4x' is not a decimal number such as 16.61 or 1e-3\n");
}

TEST(RcclTestsText, AbsurdNumbersAreFaults) {
  const auto faults = [](std::string_view old_part, std::string_view new_part) {
    const Reading reading = read_rows(with(rccl_row, old_part, new_part));
    EXPECT_TRUE(reading.measurements.empty()) << new_part;
    return faults_of(reading);
  };
  EXPECT_THAT(faults("27.42", "0.00"), HasSubstr("time: '0.00' cannot be: 0.001 to"));
  EXPECT_THAT(faults("27.42", "-1"), HasSubstr("time: '-1' cannot be"));
  EXPECT_THAT(faults("27.42", "9e99"), HasSubstr("us are accepted"));
  EXPECT_THAT(faults("27.42", "nan"), HasSubstr("'nan' is not a decimal number"));
  EXPECT_THAT(faults("1048576", "10485.76"), HasSubstr("size: '10485.76' is not a whole decimal number"));
  EXPECT_THAT(faults("1048576", "9999999999999"), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(faults("      0 ", "     -2 "), HasSubstr("#wrong: '-2' must lie between -1 and"));
  EXPECT_THAT(faults("      0 ", "      ? "), HasSubstr("#wrong: '?' is not a decimal number"));
}

TEST(RcclTestsText, RowsThatOtherLinesRanIntoAreFaults) {
  const Reading reading =
      read_rows("     1048576        262144     float     sum      -1node:1:1 [0] NCCL INFO x\n" + rccl_row);
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_THAT(faults_of(reading), HasSubstr("all_reduce.log:2:6: : 5 cells where the columns are 13: cut short"));
}

TEST(RcclTestsText, ColumnsThatAreNotKnownAreAFault) {
  const Reading reading = read_as(rccl_text, with(rccl_heads, "busbw", "speed") + rccl_row, "all_reduce.log");
  EXPECT_THAT(faults_of(reading), HasSubstr("the columns are not known; accepted are size count type"));
}

TEST(RcclTestsText, ParametersAreBounded) {
  EXPECT_THAT(faults_of(read_rows(rccl_row, "# nThread 1 nGpus 99999 minBytes 8\n")),
              HasSubstr("nGpus: '99999' must lie"));
  EXPECT_THAT(faults_of(read_rows(rccl_row, "# nThread x nGpus 1 minBytes 8\n")), HasSubstr("nThread: 'x' is not"));
  EXPECT_THAT(faults_of(read_rows(rccl_row, "#  Rank -1 Pid 1 on a\n")), HasSubstr("Rank: '-1' must lie"));
}

TEST(RcclTestsText, ARunThatEndedBeforeItsTableIsAFault) {
  const std::string text = "# nThread 1 nGpus 8 minBytes 8\n# Using devices\n";
  EXPECT_EQ(format_of(text), rccl_text);
  EXPECT_THAT(faults_of(read_as(rccl_text, text)), HasSubstr("no row of results"));
}

TEST(RcclTestsText, AHugeLineIsAFaultAndTheRestIsRead) {
  const Reading reading = read_rows(rccl_row + std::string(100000, 'x') + "\n" + rccl_row);
  EXPECT_EQ(reading.measurements.size(), 2u);
  EXPECT_THAT(faults_of(reading), HasSubstr("all_reduce.log:3:1: : a line of 100000 bytes"));
}

TEST(RcclTestsText, LogsCutOffAnywhereSayNothingNew) {
  for (const std::string name : {"all_reduce_8xmi300x.txt", "alltoall.txt"}) {
    expect_prefixes_read_the_same(rccl_text, "# all_reduce_perf\n" + sample("rccl_tests/" + name));
  }
}

TEST(RcclTestsText, DamageIsSurvived) {
  expect_damage_is_survived(rccl_text, "# alltoall_perf\n" + sample("rccl_tests/alltoall.txt"));
}

TEST(RcclTestsText, TellsTheGpuThatItRanOn) {
  EXPECT_EQ(read_as("rccl-tests", sample("rccl_tests/all_reduce_8xmi300x.txt")).gpu, "AMD Instinct MI300X");
}

}  // namespace
}  // namespace c3sim::calibrate
