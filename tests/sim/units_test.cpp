#include "sim/units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/check.h"
#include "sim/config/quantity_text.h"

namespace c3sim::sim {
namespace {

double value_of(std::string_view text, Dimension dimension) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  EXPECT_TRUE(parsed.ok()) << parsed.error;
  return parsed.value;
}

std::string error_of(std::string_view text, Dimension dimension) { return parse_quantity(text, dimension).error; }

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
  EXPECT_EQ(to_time(Seconds(1e-30)), Time(1));  // nothing is free
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

TEST(ParseQuantity, EveryDimensionHasItsUnits) {
  struct Quantity {
    std::string_view text;
    Dimension dimension;
    double value;
  };
  const std::vector<Quantity> quantities{
      {"512B", Dimension::bytes, 512.0},
      {"2KB", Dimension::bytes, 2e3},
      {"2KiB", Dimension::bytes, 2048.0},
      {"3MB", Dimension::bytes, 3e6},
      {"896MiB", Dimension::bytes, 939524096.0},  // 896 * 2^20
      {"1GB", Dimension::bytes, 1e9},
      {"1GiB", Dimension::bytes, 1073741824.0},
      {"1TB", Dimension::bytes, 1e12},
      {"1TiB", Dimension::bytes, 1099511627776.0},
      {"48 GB/s", Dimension::bytes_per_second, 48e9},
      {"48GB/s", Dimension::bytes_per_second, 48e9},
      {"0.85", Dimension::number, 0.85},
      {"1e3", Dimension::number, 1000.0},
      {"64GiB/s", Dimension::bytes_per_second, 68719476736.0},  // 64 * 2^30
      {"7ps", Dimension::time, 7e-12},
      {"450ns", Dimension::time, 450e-9},
      {"2.2us", Dimension::time, 2.2e-6},
      {"3ms", Dimension::time, 3e-3},
      {"1.5s", Dimension::time, 1.5},
      {"2100MHz", Dimension::frequency, 2.1e9},
      {"100kHz", Dimension::frequency, 1e5},
      {"1.3GHz", Dimension::frequency, 1.3e9},
      {"10Hz", Dimension::frequency, 10.0},
      {"750W", Dimension::power, 750.0},
      {"1.2kW", Dimension::power, 1200.0},
      {"5mW", Dimension::power, 5e-3},
      {"10.6J", Dimension::energy, 10.6},
      {"62pJ/B", Dimension::energy_per_byte, 62e-12},
      {"1.5nJ/B", Dimension::energy_per_byte, 1.5e-9},
      {"7pJ/bit", Dimension::energy_per_byte, 56e-12},  // 8 bits to a byte
      {"0.4pJ/flop", Dimension::energy_per_flop, 0.4e-12},
      {"400fJ/flop", Dimension::energy_per_flop, 400e-15},
      {"5flops/s", Dimension::flops_per_second, 5.0},
      {"3GFLOP/s", Dimension::flops_per_second, 3e9},
      {"1307TFLOP/s", Dimension::flops_per_second, 1307e12},
      {"4.35KB", Dimension::bytes,
       4350.0},  // 4350 less one rounding in doubles, which must not make it a fraction of a byte
      {"1.5KiB", Dimension::bytes, 1536.0},
      {"1.0001KB", Dimension::bytes, 1000.0},
      {"33.9KiB", Dimension::bytes, 34714.0},
      {"9007199254740991B", Dimension::bytes, 9007199254740991.0},
  };
  for (const auto& [text, dimension, value] : quantities) EXPECT_EQ(value_of(text, dimension), value) << text;
}

TEST(ParseQuantity, SaysWhatIsWrong) {
  struct Refused {
    std::string text;
    Dimension dimension;
    std::string error;
  };
  std::vector<Refused> refused{
      {"896", Dimension::bytes, "'896' needs a unit: write 896MiB, 1GB or 512B"},
      {"2.2 ", Dimension::time, "'2.2 ' needs a unit: write 2.2us, 450ns or 1ms"},
      {"1MIB", Dimension::bytes, "'1MIB' has an unknown unit 'MIB'; did you mean 'MiB'?"},
      {"1.3Ghz", Dimension::frequency, "'1.3Ghz' has an unknown unit 'Ghz'; did you mean 'GHz'?"},
      {"1 fortnight", Dimension::time, "'1 fortnight' has an unknown unit 'fortnight'; known are: ps, ns, us, ms, s"},
      {"1MiB x", Dimension::bytes,
       "'1MiB x' has an unknown unit 'MiB x'; known are: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB"},
      {"5GB/s", Dimension::bytes, "'5GB/s' is a rate, but a size is needed: write 896MiB, 1GB or 512B"},
      {"5us", Dimension::power, "'5us' is a time, but a power is needed: write 750W or 1.2kW"},
      {"8GB", Dimension::number, "'8GB' is not a number without a unit: write 8 or 0.85"},
      {"-1MiB", Dimension::bytes, "'-1MiB' is negative: write 896MiB, 1GB or 512B"},
      {"-1", Dimension::number, "'-1' is negative: write 8 or 0.85"},
      {"1.5B", Dimension::bytes, "'1.5B' is not a whole number of bytes"},
      {"9007199254740992B", Dimension::bytes, "'9007199254740992B' is too large: a size has less than 2^53 bytes"},
      {"8192TiB", Dimension::bytes, "'8192TiB' is too large: a size has less than 2^53 bytes"},
      {"1e999B", Dimension::bytes, "'1e999B' is out of range"},
      {"1e300TB/s", Dimension::bytes_per_second, "'1e300TB/s' is too large"},
      {"1e7s", Dimension::time, "'1e7s' is too large: simulated time ends after 106 days"}};
  for (const std::string no_number : {"", "MiB", "nanMiB", "infB", "--1B", "+1B", ".B", "-", " 1B", "-infB"}) {
    refused.push_back({no_number, Dimension::bytes, "'" + no_number + "' is not a size: write 896MiB, 1GB or 512B"});
  }
  for (const auto& [text, dimension, error] : refused) EXPECT_EQ(error_of(text, dimension), error);
  // 2^63 ps are 9223372.036... s.
  EXPECT_TRUE(parse_quantity("9223372s", Dimension::time).ok());
  EXPECT_FALSE(parse_quantity("9223373s", Dimension::time).ok());
}

TEST(ToString, SizesAreExactAndShort) {
  EXPECT_EQ(to_string(939524096_B), "896MiB");
  EXPECT_EQ(to_string(0_B), "0B");
  EXPECT_EQ(to_string(1000_B), "1000B");
  EXPECT_EQ(to_string(1024_B), "1KiB");
  EXPECT_EQ(to_string(1536_B), "1536B");  // as exact as 1.5KiB, and shorter
  EXPECT_EQ(to_string(1536_MiB), "1.5GiB");
  EXPECT_EQ(to_string(1048577_B), "1048577B");
  EXPECT_EQ(to_string(1024_GiB), "1TiB");
}

RC_GTEST_PROP(ToStringProperty, ASizeIsReadBackUnchanged, ()) {
  // Any number of bytes, and such with many factors of two, which get a prefix.
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
  EXPECT_EQ(to_string(Time(999'600)), "1us");  // three digits of 999.6ns would be 1000
  EXPECT_EQ(to_string(Time(2'000'000'000)), "2ms");
  EXPECT_EQ(to_string(Time(1'500'000'000'000)), "1.5s");
  EXPECT_EQ(to_string(Time(12'345'000'000'000'000)), "12345s");
  EXPECT_EQ(to_string(Time(-2'500)), "-2.5ns");
}

}  // namespace
}  // namespace c3sim::sim
