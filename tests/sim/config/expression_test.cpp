#include "sim/config/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

TEST(Expression, ConditionsAreOneOrZero) {
  for (const auto& [text, expected] :
       std::vector<std::pair<const char*, double>>{{"2 < 3", 1.0},
                                                   {"2 >= 3", 0.0},
                                                   {"1KiB == 1024B", 1.0},
                                                   {"2 != 2 or 1 <= 1", 1.0},
                                                   {"1 and 0", 0.0},
                                                   {"not 0 and 2", 1.0},  // a value other than 0 holds
                                                   {"not (1 and 0)", 1.0},
                                                   {"1 or 0 and 0", 1.0},  // and binds more closely
                                                   {"1 + 1 == 2 and 3 > 2", 1.0},
                                                   {"if(2 > 1, 8, 9)", 8.0},
                                                   {"if(0, 8, 9) * 2", 18.0}}) {
    EXPECT_EQ(Expression(text).amount([](std::string_view) { return Amount{}; }), (Amount{expected, {}})) << text;
  }
  for (const char* const faulty : {"1 < 2s", "if(1, 2, 3B)", "if(1, 2)", "1 ==", "and", "not", "2 3"}) {
    EXPECT_THROW(Expression(faulty).amount([](std::string_view) { return Amount{}; }), std::runtime_error) << faulty;
  }
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
