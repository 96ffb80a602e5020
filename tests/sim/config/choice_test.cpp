#include "sim/config/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace c3sim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

enum class Weather { sun, light_rain };
constexpr auto all_names(Weather) { return names("sun", "light rain"); }

struct Bearing {
  int degrees = 0;
  bool operator==(const Bearing&) const = default;
};
std::vector<Choice<Bearing>> all_choices(Bearing) { return {{"north", {0}}, {"east", {90}}}; }

TEST(Choice, NamesOfAnEnumAreSaidOnce) {
  static_assert(to_string(Weather::light_rain) == "light rain");
  EXPECT_THAT(all_of<Weather>(), ElementsAre(Weather::sun, Weather::light_rain));
  EXPECT_THAT(choices_of<Weather>(), ElementsAre(Pair("sun", Weather::sun), Pair("light rain", Weather::light_rain)));
}

TEST(Choice, WhatIsNoEnumNamesItsChoicesItself) {
  EXPECT_THAT(choices_of<Bearing>(), ElementsAre(Pair("north", Bearing{0}), Pair("east", Bearing{90})));
}

}  // namespace
}  // namespace c3sim::sim
