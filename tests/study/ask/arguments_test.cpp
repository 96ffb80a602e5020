#include "study/ask/arguments.h"

#include "tests/config_fault.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::string fault_of_sizes(std::string_view text) {
  return config_fault([text] {
    Arguments arguments;
    arguments.sizes("--bytes", text);
    arguments.check();
  });
}

TEST(Arguments, TooManyPointsAreRefused) {
  std::string list = "1KiB";
  for (std::size_t i = 0; i < Arguments::most_points; ++i) list += ",1KiB";
  EXPECT_THAT(fault_of_sizes(list), HasSubstr("1001 sizes are too many: up to 1000 are accepted"));
  // The list has 40 ranges of 31 sizes each, from 1 B to 1 GiB.
  std::string ranges = "1B:1GiB:x2";
  for (int i = 1; i < 40; ++i) ranges += ",1B:1GiB:x2";
  EXPECT_THAT(fault_of_sizes(ranges), HasSubstr("1240 sizes are too many"));
}

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
