#include "sim/config/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

namespace c3sim::sim {
namespace {

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
