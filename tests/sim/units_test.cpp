#include "sim/units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/check.h"
#include "sim/config/config_text.h"

namespace c3sim::sim {
namespace {

TEST(Quantity, ProductsAndQuotientsCarryTheirDimension) {
  static_assert(std::is_same_v<decltype(Bytes() / Seconds()), BytesPerSecond>);
  static_assert(std::is_same_v<decltype(Bytes() / BytesPerSecond()), Seconds>);
  static_assert(std::is_same_v<decltype(JoulesPerByte() * BytesPerSecond()), Watts>);
  static_assert(std::is_same_v<decltype(FlopsPerSecond() / Hertz()), Flops>);
  static_assert(std::is_same_v<decltype(1.0 / Seconds()), Hertz>);
  static_assert(std::is_same_v<decltype(Bytes() / Bytes()), double>);
  EXPECT_EQ((1000_B / 50.0_GBps).value(), 20e-9);  // 1000 / 50e9
  EXPECT_EQ(3_KiB / 1_KiB, 3.0);
}

TEST(ToTime, AComputedDurationIsRoundedUpAndSaturates) {
  EXPECT_EQ(to_time(Seconds(1.2e-12)), Time(2));
  EXPECT_EQ(to_time(Seconds(1e-30)), Time(1));  // No positive time rounds to zero.
  EXPECT_EQ(to_time(Seconds(0.0)), Time(0));
  // 2.2e-6 * 1e12 is 2200000.0000000002 in doubles; rounding that up would add a picosecond that nobody asked for.
  EXPECT_EQ(to_time(Seconds(2.2e-6)), Time(2'200'000));
  EXPECT_EQ(to_time(Seconds(4.35e-9)), Time(4'350));
  EXPECT_EQ(to_time(Seconds(1e7)), Time::max());
  EXPECT_EQ(to_time(Seconds(std::numeric_limits<double>::infinity())), Time::max());
  EXPECT_THROW((void)to_time(Seconds(std::numeric_limits<double>::quiet_NaN())), InternalError);
  EXPECT_THROW((void)to_time(Seconds(-1e8)), InternalError);
}

// 2^49 ps are nine minutes; up to there a double in seconds tells all picoseconds apart with room to spare.
RC_GTEST_PROP(ToTimeProperty, ATimeInSecondsComesBackUnchanged, ()) {
  const Time time(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 49));
  RC_ASSERT(to_time(to_seconds(time)) == time);
}

// Doubles of this size lie a sixteenth of a picosecond apart, so that some come out a little below the whole one.
TEST(ToTime, ALongTimeInSecondsComesBackUnchanged) {
  for (std::int64_t back = 1; back <= 1000; ++back) {
    const Time time((std::int64_t{1} << 49) - back);
    ASSERT_EQ(to_time(to_seconds(time)), time) << back;
  }
}

TEST(ToString, SizesAreExactAndShort) {
  EXPECT_EQ(to_string(939524096_B), "896MiB");
  EXPECT_EQ(to_string(0_B), "0B");
  EXPECT_EQ(to_string(1000_B), "1000B");
  EXPECT_EQ(to_string(1024_B), "1KiB");
  EXPECT_EQ(to_string(1536_B), "1536B");  // This is as exact as 1.5KiB, and shorter.
  EXPECT_EQ(to_string(1536_MiB), "1.5GiB");
  EXPECT_EQ(to_string(1048577_B), "1048577B");
  EXPECT_EQ(to_string(1024_GiB), "1TiB");
}

RC_GTEST_PROP(ToStringProperty, ASizeIsReadBackUnchanged, ()) {
  // Any number of bytes is drawn, and numbers with many factors of two, which get a prefix.
  const auto digits = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 20);
  const auto shift = *rc::gen::inRange(0, 33);
  const auto low = *rc::gen::element<std::uint64_t>(0, 0, 1, 512);
  const auto bytes = static_cast<double>((digits << shift) + low);
  const ParsedQuantity parsed = parse_quantity(to_string(Bytes(bytes)), Dimension::bytes);
  RC_ASSERT(parsed.ok() == (bytes < 0x1p53));
  if (parsed.ok()) RC_ASSERT(parsed.value == bytes);
}

TEST(ToString, TimesHaveThreeDigitsAndTheFittingUnit) {
  EXPECT_EQ(to_string(Time(0)), "0ps");
  EXPECT_EQ(to_string(Time(999)), "999ps");
  EXPECT_EQ(to_string(Time(1'000)), "1ns");
  EXPECT_EQ(to_string(Time(12'345'678)), "12.3us");
  EXPECT_EQ(to_string(Time(999'400)), "999ns");
  EXPECT_EQ(to_string(Time(999'600)), "1us");  // Three digits of 999.6ns would be 1000.
  EXPECT_EQ(to_string(Time(2'000'000'000)), "2ms");
  EXPECT_EQ(to_string(Time(1'500'000'000'000)), "1.5s");
  EXPECT_EQ(to_string(Time(12'345'000'000'000'000)), "12345s");
  EXPECT_EQ(to_string(Time(-2'500)), "-2.5ns");
}

}  // namespace
}  // namespace c3sim::sim
