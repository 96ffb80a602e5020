#include "sim/config/nearest_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/choice.h"

namespace c3sim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(EditDistance, CountsEachKindOfEditOnce) {
  EXPECT_EQ(edit_distance("engine", "engine"), 0u);
  EXPECT_EQ(edit_distance("engine", "engines"), 1u);  // insertion
  EXPECT_EQ(edit_distance("engines", "engine"), 1u);  // deletion
  EXPECT_EQ(edit_distance("engine", "enzine"), 1u);   // substitution
  EXPECT_EQ(edit_distance("engine", "egnine"), 1u);   // swap of neighbours
  EXPECT_EQ(edit_distance("Engine", "eNGINE"), 0u);   // case does not count
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);  // k->s, e->i, +g
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBoundedByTheLongerName, (const std::string& a, const std::string& b)) {
  const std::size_t distance = edit_distance(a, b);
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT(distance <= std::max(a.size(), b.size()));
  RC_ASSERT(distance >= std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
}

TEST(NearestName, IsTheFirstOfThoseFewestEditsAwayAndNoFurtherThanAThirdOfTheLength) {
  const std::vector<std::string> known = {"sdma", "engines", "engine_rate", "fabric", "l2", "l3", "hbm", "dispatch"};
  for (const auto& [name, nearest] :
       std::vector<std::pair<std::string, std::string>>{{"enignes", "engines"},
                                                        {"sdam", "sdma"},
                                                        {"engine-rate", "engine_rate"},
                                                        {"l4", "l2"},
                                                        {"mem", ""},       // two edits from hbm, one is allowed
                                                        {"dispxxtc", ""},  // three edits, two are allowed
                                                        {"dispxtch", "dispatch"}}) {
    EXPECT_EQ(nearest_name(name, known), nearest) << name;
  }
  EXPECT_EQ(nearest_name("hbm", {}), "");
  const std::string long_name(257, 'a');  // which nobody types
  EXPECT_EQ(nearest_name(long_name, std::vector{long_name}), "");
}

TEST(NameHint, SuggestsTheNearestNameElseListsAll) {
  const std::vector<std::string> known = {"fair", "fifo"};
  EXPECT_EQ(name_hint("fiar", known), "; did you mean 'fair'?");
  EXPECT_EQ(name_hint("random", known), "; known are: fair, fifo");
  EXPECT_EQ(name_hint("random", {}), "");
}

TEST(NameHint, ListsTheFirstOfVeryManyAndOfVeryLongOnes) {
  const std::vector<std::string> columns(1000, std::string(500, 'x'));
  const std::string hint = name_hint("time", columns);
  EXPECT_LT(hint.size(), 350u);
  EXPECT_TRUE(hint.ends_with("xxx... and 996 more")) << hint;
}

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
