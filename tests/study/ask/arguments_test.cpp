#include "study/ask/arguments.h"

#include "tests/testing.h"

namespace c3sim::study {
namespace {

TEST(Arguments, QuotesWithoutControlCharactersAndNotEndlessly) {
  EXPECT_EQ(in_quotes("a\x1b[31m\n"), "'a?[31m?'");
  EXPECT_EQ(in_quotes(std::string(1'000'000, 'x')).size(), 85U);  // 80 letters, three dots, two quotes
}

TEST(Arguments, SplittingKeepsEmptyParts) {
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
}

}  // namespace
}  // namespace c3sim::study
