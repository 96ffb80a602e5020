#include "sim/config/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace c3sim::sim {
namespace {

using ::testing::HasSubstr;

NamedValue known(std::string_view name) {
  if (name == "tokens") return Amount{8192.0, {}};
  if (name == "array") return Amount{1048576.0, {1, 0, 0, 0}};
  if (name == "kind") return "all_gather";
  throw std::runtime_error("nothing is named '" + std::string(name) + "'");
}

std::string value(const std::string& text) { return replaced(text, known); }

// What is said of the text, behind the place of it: "5: a division by zero".
std::string fault(const std::string& text) {
  try {
    return "made " + replaced(text, known);
  } catch (const ExpressionError& error) {
    return std::to_string(error.at()) + ": " + error.what();
  }
}

struct Replaced {
  std::string text;
  std::string becomes;
};

// 48 GB/s for 2 ms are 96 MB; 1 MiB over 8 are 131072 bytes.
TEST(Expression, ComputesAsPeopleDoWithNumbersUnitsAndNames) {
  const std::vector<Replaced> texts{
      {"8192x8192x8192", "8192x8192x8192"},
      {"costs $5 (or so)", "costs $5 (or so)"},
      {"", ""},
      {"$(tokens / 2)x$(tokens)x64", "4096x8192x64"},
      {"$(kind)", "all_gather"},
      {"$( kind )_$(1)", "all_gather_1"},
      {"$(2 + 3 * 4)", "14"},
      {"$((2 + 3) * 4)", "20"},
      {"$(7 - 2 - 1)", "4"},
      {"$(16 / 4 / 2)", "2"},
      {"$(7 % 4)", "3"},
      {"$(-7 % 4)", "1"},  // as of the ring of GPUs that one counts backwards on
      {"$(- -3)", "3"},
      {"$(1 / 4)", "0.25"},
      {"$(1.5e3)", "1500"},
      {"$(min(3, 2, 4))", "2"},
      {"$(max(1KiB, 1KB))", "1024B"},
      {"$(floor(7 / 2))", "3"},
      {"$(ceil(7 / 2))", "4"},
      {"$(round(5 / 2))", "3"},
      {"$(tokens * 2B)", "16384B"},
      {"$(48 GB/s * 2ms)", "96000000B"},
      {"$(array / 8)", "131072B"},
      {"$(array / 1KiB)", "1024"},
      {"$(96MB / (48GB/s))", "0.002s"},
      {"$(1 / 2s)", "0.5Hz"},
      {"$(750W * 2s)", "1500J"},
  };
  for (const auto& [text, becomes] : texts) EXPECT_EQ(value(text), becomes) << text;
}

TEST(Expression, RefusesWhatCannotBeComputedOrSaidInAFile) {
  const std::vector<Replaced> faults{
      {"$(1B + 1s)", "5: what has s cannot be added to what has B"},
      {"$(1B - 1)", "5: what has no unit cannot be subtracted from what has B"},
      {"$(min(1B, 1us))", "2: what has s cannot be compared with what has B"},
      {"$(1B * 1s)", "0: the expression has the unit B s, which no value of a file has"},
      {"$(1s * 1s)", "0: the expression has the unit s^2, which no value of a file has"},
      {"$(1B / 2)",
       "0: the expression comes to 0.5 bytes, no whole number below 2^53: floor() and ceil() "
       "make one"},
      {"$(1us - 2us)", "0: the expression is negative: -1e-06s"},
      {"$(1e308 * 10)", "0: the expression is beyond what can be represented"},
      {"$(tokens / 0)", "9: a division by zero"},
      {"$(1 % (2 - 2))", "4: a division by zero"},
      {"$(2 * heads)", "6: nothing is named 'heads'"},
      {"$(2 * kind)", "6: kind is the word 'all_gather', with which nothing can be computed"},
      {"$(2", "3: the expression is not closed: ')' is due"},
      {"$(", "2: the expression ends where a value is due"},
      {"$()", "2: ')' where a number, a name or '(' is due"},
      {"$(2 3)", "4: '3' where an operator or ')' is due"},
      {"$(2 $ 3)", "4: '$' where an operator or ')' is due"},
      {"$(3 × 4)", "4: '×' where an operator or ')' is due"},
      {"$(3MiBs)", "3: 'MiBs' is no unit"},
      {"$(0x10)", "3: 'x10' is no unit"},
      {"$(010)", "2: '010' is not a decimal number such as 12, 0.5 or 1e-3 (no leading zeros)"},
      {"$(mix(1, 2))", "2: no function is named 'mix'; did you mean 'min'?"},
      {"$(floor(1, 2))", "2: floor takes 1 value"}};
  for (const auto& [text, expected] : faults) EXPECT_EQ(fault(text), expected) << text;
  EXPECT_THAT(fault("$(1B*1B*1B*1B*1B*1B*1B*1B*1B)"), HasSubstr("a power of a unit beyond 8"));
  EXPECT_THAT(fault("$(" + std::string(100, '(') + "1" + std::string(100, ')') + ")"), HasSubstr("more than 64"));
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
