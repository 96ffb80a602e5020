// What BabelStream prints, for people and for programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view text_format = "BabelStream";
constexpr std::string_view csv_format = "BabelStream CSV";

// Two arrays of 1 GB in 1 ms: 2 TB/s.
const std::string size = "Array size: 1000.0 MB (=1.0 GB)\n";
const std::string stream_heads = "Function    MBytes/sec  Min (sec)   Max         Average\n";
const std::string copy = "Copy        2000000.000 0.00100     0.00125     0.00110\n";

Reading read_streams(const std::string& text) { return read_as(text_format, text, "folder/f.txt"); }

// babelstream_mi300x.csv, gpu_a. Dot reads two arrays and writes none; slowest runs took 0.00113 s of 0.00111.
TEST(BabelStream, ReadsTheSample) {
  const Reading reading = read_as(text_format, sample("babel_stream/stream.txt"));
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.gpu, "AMD Instinct MI300X");
  ASSERT_EQ(reading.measurements.size(), 5u);
  EXPECT_EQ(words_of_trial(reading, 4), "stream of 4295000000B from 2 arrays to 0");
  EXPECT_DOUBLE_EQ(seen_in(reading, 4), 3878410e6);
  EXPECT_DOUBLE_EQ(*reading.measurements[4].seen[0].low, 3878410e6 * 0.00111 / 0.00113);
  EXPECT_DOUBLE_EQ(*reading.measurements[4].seen[0].high, 3878410e6);
}

TEST(BabelStream, RowsForProgramsSayTheSame) {
  const Reading csv = read_as(csv_format, sample("babel_stream/stream.csv"));
  EXPECT_EQ(faults_of(csv), "");
  ASSERT_EQ(csv.measurements.size(), 5u);
  // 2^28 elements of 8 bytes are 2 GiB.
  EXPECT_EQ(words_of_trial(csv, 0), "stream of 4GiB from 1 arrays to 1");
  EXPECT_EQ(words_of_trial(csv, 3), "stream of 6GiB from 2 arrays to 1");
  EXPECT_DOUBLE_EQ(seen_in(csv, 0), 4255995e6);
}

TEST(BabelStream, KnowsBothUnits) {
  // 1000 MiB twice in 1 ms.
  const Reading reading = read_streams("Array size: 1000.0 MiB\nFunction MiBytes/sec Min (sec) Max Average\n" + copy);
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 2e6 * 1024 * 1024);
  EXPECT_THAT(faults_of(read_streams("Array size: 1000.0 mb\n" + stream_heads + copy)),
              HasSubstr("f.txt:1:20: Array size: 'mb' is no unit: 'N MB' or 'N MiB' is accepted"));
  EXPECT_THAT(faults_of(read_streams(stream_heads + copy)),
              HasSubstr("Array size: is missing: 'Array size: N MB' is accepted above the rates"));
}

TEST(BabelStream, RefusesWhatRateAndTimeDoNotBothSay) {
  EXPECT_THAT(faults_of(read_streams(size + stream_heads + "Copy 4000000 0.00100 0.00125 0.00110\n")),
              HasSubstr("f.txt:3:6: MBytes/sec: '4000000' for '0.00100' s, where the arrays have 2000000000 B: columns "
                        "that were mixed up?"));
  EXPECT_THAT(faults_of(read_streams(size + stream_heads + "Copy 2000000 0.00100 0.00090 0.00110\n")),
              HasSubstr("Max: '0.00090' is less than Min (sec)"));
}

TEST(BabelStream, KeepsRowsBesideThoseAtFault) {
  const Reading reading = read_streams(
      size + stream_heads + "Copi 2000000 0.00100 0.00125 0.00110\nMul nan 0.001 0.001 0.001\n" + "Add 2000\n" + copy);
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_THAT(
      faults_of(reading),
      AllOf(HasSubstr("f.txt:3:1: function: 'Copi' is not known: Copy, Mul, Add, Triad, Dot and Nstream are"),
            HasSubstr("f.txt:4:5: MBytes/sec: 'nan' is not"), HasSubstr("f.txt:5:1: : the row is cut off: 2 words")));
}

TEST(BabelStream, ColumnsThatAreMissingAreNamed) {
  EXPECT_THAT(
      faults_of(read_as(csv_format, "function,num_times,n_elements,sizeof,rate\nCopy,1,2,3,4\n")),
      HasSubstr("a column is missing: n_elements, sizeof, max_mbytes_per_sec, min_runtime and max_runtime are"));
}

TEST(BabelStream, SurvivesDamage) {
  expect_prefixes_read_the_same(text_format, sample("babel_stream/stream.txt"));
  expect_prefixes_read_the_same(csv_format, sample("babel_stream/stream.csv"));
  expect_damage_is_survived(text_format, size + stream_heads + copy);
}

}  // namespace
}  // namespace c3sim::calibrate
