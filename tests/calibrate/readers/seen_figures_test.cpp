// What a row says was seen: numbers with units, scales, spreads and bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/read_table.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string seeing(const std::string& figures) { return "rows: [{trial: rest, see: {" + figures + "}}]\n"; }

TEST(SeenFigures, AreReadWithTheirUnitsAndScales) {
  const Reading reading = read(seeing("time: '{t}us', rate: '{r}GB/s', copy_share: {measured: '{share}', scale: 0.01}, "
                                      "cache_hit_share: '{hits}', power: '{w}W'"),
                               "t,r,share,hits,w\n5,48,31,0.5,-\n");
  ASSERT_EQ(reading.measurements.size(), 1u);
  const std::vector<Seen>& seen = reading.measurements[0].seen;
  ASSERT_EQ(seen.size(), 4u) << "no power";
  EXPECT_EQ(seen[0].figure, Figure::time);
  EXPECT_DOUBLE_EQ(seen[0].value, 5e-6);
  EXPECT_DOUBLE_EQ(seen[1].value, 48e9);
  EXPECT_DOUBLE_EQ(seen[2].value, 0.31) << "percent";
  EXPECT_DOUBLE_EQ(seen[3].value, 0.5);
}

TEST(SeenFigures, HaveTheSpreadAndTheBandOfTheirForm) {
  const Reading reading =
      read(seeing("time: {measured: '{t}us', low: '{p10}us', high: '{p90}us', scale: 2, band: 0.1}"),
           "t,p10,p90\n5,4,7\n5,-,7\n");
  const Seen& both = reading.measurements.at(0).seen.at(0);
  EXPECT_DOUBLE_EQ(both.value, 10e-6);
  EXPECT_DOUBLE_EQ(both.low.value(), 8e-6);
  EXPECT_DOUBLE_EQ(both.high.value(), 14e-6);
  EXPECT_EQ(both.band, 0.1);
  EXPECT_EQ(reading.measurements.at(1).seen.at(0).low, std::nullopt);
}

// 30 us over 20 us, over the longer of 20 and 25 us, and over nothing that is told.
TEST(SeenFigures, MayBeTimesOverThoseAlone) {
  const std::string over =
      "rows: [{trial: rest, see: {gemm_stretch: {measured: '{t}us', low: '{l}us', over: gemm_alone}, "
      "over_longer: {measured: '{t}us', over: longer_alone}}, gemm_alone: '{g}us', collective_alone: '{c}us'}]\n";
  const Reading reading = read(over, "t,l,g,c\n30,28,20,25\n30,28,20,-\n30,28,-,25\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  const std::vector<Seen>& both = reading.measurements[0].seen;
  ASSERT_EQ(both.size(), 2u);
  EXPECT_DOUBLE_EQ(both[0].value, 1.5);
  EXPECT_DOUBLE_EQ(both[0].low.value(), 1.4);
  EXPECT_DOUBLE_EQ(both[1].value, 1.2);
  EXPECT_EQ(reading.measurements[1].seen.size(), 1u) << "no time of the collective";
  EXPECT_EQ(faults_of(over, "t,l,g,c\n3600e6,-,0.001,1e9\n"),
            "runs/f.csv:2:1: t: '3600e6us' over the time alone cannot be: 1e-06 to 1000000 are accepted");
  EXPECT_THAT(faults_of(over, "t,l,g,c\n5W,-,1,1\n"), HasSubstr("runs/f.csv:2:1: t: '5Wus' has an unknown unit"));
}

TEST(SeenFigures, WithinTheirBoundsAreAccepted) {
  // 1 ns and an hour are the ends of a time; a share may be 0.
  EXPECT_EQ(faults_of(seeing("time: '{t}'"), "t\n1ns\n3600s\n"), "");
  EXPECT_EQ(faults_of(seeing("copy_share: '{s}'"), "s\n0\n1\n"), "");
}

TEST(SeenFigures, BeyondTheirBoundsAreFaults) {
  EXPECT_EQ(faults_of(seeing("time: '{t}us'"), "x,t\n1,0\n"),
            "runs/f.csv:2:3: t: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(seeing("copy_share: {measured: '{s}', scale: 0.01}"), "s\n101\n"),
            "runs/f.csv:2:1: s: '101' cannot be: 0 to 100 % are accepted");
  EXPECT_THAT(faults_of(seeing("time: '{t}us'"), "t\n1e999\n"), HasSubstr("f.csv:2:1: t: '1e999us' is out of range"));
  EXPECT_THAT(faults_of(seeing("time: '{t}us'"), "t\n1e300\n"), HasSubstr("f.csv:2:1: t: '1e300us'"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\n-5\n"), HasSubstr("f.csv:2:1: r: '-5GB/s' is negative"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\ninf\n"), HasSubstr("f.csv:2:1: r: 'infGB/s' is not a rate"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\nNAN\n"), HasSubstr("f.csv:2:1: r: 'NANGB/s' is not a rate"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}'"), "r\n5\n"), HasSubstr("f.csv:2:1: r: '5' needs a unit"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}'"), "r\n5us\n"), HasSubstr("is a time, but a rate is needed"));
}

TEST(SeenFigures, HaveASpreadThatCanBe) {
  const std::string spread = seeing("time: {measured: '{t}us', low: '{l}us', high: '{h}us'}");
  EXPECT_EQ(faults_of(spread, "t,l,h\n5,0,9\n"),
            "runs/f.csv:2:3: l: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(spread, "t,l,h\n5,4,1e10\n"),
            "runs/f.csv:2:5: h: '1e10us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(spread, "t,l,h\n9,4,5\n"), "") << "a mean may lie beyond percentiles";
}

TEST(SeenFigures, HaveASpreadWhoseEndsMayStandInEitherOrder) {
  const Reading reading = read(seeing("time: {measured: '{a}us', low: '{a}us', high: '{b}us'}"), "a,b\n5,9\n9,5\n");
  for (const Measurement& measurement : reading.measurements) {
    EXPECT_DOUBLE_EQ(measurement.seen.at(0).low.value(), 5e-6);
    EXPECT_DOUBLE_EQ(measurement.seen.at(0).high.value(), 9e-6);
  }
}

TEST(SeenFigures, OfAConstantAtFaultArePlacedAtTheRow) {
  EXPECT_EQ(faults_of(seeing("time: 5W"), "a\n1\n"),
            "runs/f.csv:2:1: '5W' is a power, but a time is needed: write 2.2us, 450ns or 1ms");
}

TEST(SeenFigures, OfAnEmptyRowLeaveItOut) {
  const Reading reading = read(seeing("time: '{t}us', power: '{w}W'"), "t,w\n-,nan\n");
  EXPECT_THAT(reading.measurements, IsEmpty());
  ASSERT_EQ(reading.left_out.size(), 1u);
  EXPECT_EQ(reading.left_out[0].why, "nothing was measured of what is compared");
}

}  // namespace
}  // namespace c3sim::calibrate
