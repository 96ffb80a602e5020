// Texts of configurations: what is accepted at all, numbers, expressions and hints at what was meant.
#include "sim/config/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "sim/config/expression.h"
#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

// "line:column what", empty for a text that may be a configuration.
std::string check(std::string_view text) {
  const auto fault = check_text(text);
  return fault ? std::to_string(fault->line) + ":" + std::to_string(fault->column) + " " + fault->what : "";
}

TEST(CheckText, AcceptsUtf8AndBothLineEnds) {
  EXPECT_EQ(check("a: 1\nb: \xC2\xB5s\n"), "");
  EXPECT_EQ(check("a: 1\r\nb: 2\r\n"), "");
}

TEST(CheckText, RejectsWhatHasNoContent) {
  EXPECT_EQ(check(""), "1:1 empty");
  EXPECT_EQ(check("\n  \r\n"), "1:1 empty");
}

TEST(CheckText, RejectsMoreThanOneMebibyte) {
  EXPECT_EQ(check(std::string(max_config_bytes, 'a')), "");
  EXPECT_EQ(check(std::string(max_config_bytes + 1, 'a')), "1:1 larger than 1 MiB");
}

TEST(CheckText, PlacesBytesThatAreNoText) {
  EXPECT_EQ(check(std::string_view("a: 1\nbc\0", 8)), "2:3 a NUL byte (a binary file?)");
  EXPECT_EQ(check("a: \xFF"), "1:4 bytes that are not UTF-8 (a binary file?)");
  EXPECT_EQ(check("a: \xC2"), "1:4 bytes that are not UTF-8 (a binary file?)");          // ends inside a character
  EXPECT_EQ(check("a: \xC0\xAF"), "1:4 bytes that are not UTF-8 (a binary file?)");      // '/' in two bytes
  EXPECT_EQ(check("a: \xED\xA0\x80"), "1:4 bytes that are not UTF-8 (a binary file?)");  // half of a surrogate pair
}

TEST(CheckText, RejectsControlCharacters) {
  EXPECT_EQ(check("a:\n\t- 1"), "2:1 a tab; use blanks");
  EXPECT_EQ(check("a: 1\rb: 2"), "1:5 a control character");
  EXPECT_EQ(check("a: \x1B[0m"), "1:4 a control character");
  EXPECT_EQ(check("a: \xC2\x85"), "1:4 a control character");      // U+0085, a line break in YAML 1.1
  EXPECT_EQ(check("a: \xE2\x80\xA8"), "1:4 a control character");  // U+2028, another
  EXPECT_EQ(check("a: \xEF\xBB\xBF"), "1:4 a byte order mark inside the text");
}

TEST(Trimmed, RemovesOuterBlanksOnly) {
  EXPECT_EQ(trimmed("  48 GB/s "), "48 GB/s");
  EXPECT_EQ(trimmed("   "), "");
}

RC_GTEST_PROP(ParseNumber, ReadsBackEveryFiniteNumber, (double number)) {
  RC_PRE(std::isfinite(number));
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  // to_chars writes exponents as in 1e+30, which the grammar takes.
  const Parsed<double> parsed = parse_number({text.data(), static_cast<std::size_t>(end - text.data())});
  RC_ASSERT(parsed.error.empty());
  RC_ASSERT(parsed.value == number);
}

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

std::string value(const std::string& text) {
  return replaced(text, [](std::string_view name) -> NamedValue { return std::string(name); });
}

TEST(Expression, TextsAreAmountsOrWords) {
  EXPECT_EQ(value_of_text("8192"), NamedValue(Amount{8192.0, {}}));
  EXPECT_EQ(value_of_text("1KiB"), NamedValue(Amount{1024.0, {1, 0, 0, 0}}));
  EXPECT_EQ(value_of_text("sdma"), NamedValue("sdma"));
  EXPECT_TRUE(is_reserved("us"));
  EXPECT_TRUE(is_reserved("min"));
  EXPECT_FALSE(is_reserved("tokens"));
}

// De Morgan's law holds for all conditions over three names.
RC_GTEST_PROP(ExpressionProperty, ConditionsObeyLogic, ()) {
  const auto of = [values = *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(0, 3))](std::string_view name) {
    return Amount{static_cast<double>(values[static_cast<std::size_t>(name.front() - 'a')]), {}};
  };
  const auto both = [&](const std::string& one, const std::string& other) {
    return Expression(one).amount(of) == Expression(other).amount(of);
  };
  RC_ASSERT(both("not (a and b or c)", "(not a or not b) and not c"));
  RC_ASSERT(both("a < b", "not (a >= b)"));
  RC_ASSERT(both("if(a > b, a, b)", "max(a, b)"));
}

RC_GTEST_PROP(ExpressionProperty, WholeNumbersComeBackAsTheyWere, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
  const auto b = *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
  RC_ASSERT(value("$(" + std::to_string(a) + " * " + std::to_string(b) + ")") == std::to_string(a * b));
}

// What an expression comes to can be read as a value again, and is the same.
RC_GTEST_PROP(ExpressionProperty, ValuesSurviveTheirText, ()) {
  const double number = static_cast<double>(*rc::gen::inRange(1, 1'000'000)) / *rc::gen::inRange(1, 1000);
  const std::string unit = *rc::gen::element<std::string>("s", "Hz", "W", "B/s", "J/B", "flops/s");
  const std::string made = value("$(" + std::to_string(number) + " " + unit + ")");
  RC_ASSERT(value_of_text(made) == value_of_text(value("$(" + made + ")")));
}

}  // namespace
}  // namespace c3sim::sim
