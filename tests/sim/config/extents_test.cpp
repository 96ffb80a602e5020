#include "sim/config/extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace c3sim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Extents, AreWholeNumbersWithAnXBetween) {
  EXPECT_THAT(parse_extents("8192x57344x8192"), ElementsAre(8192, 57344, 8192));
  EXPECT_THAT(parse_extents("7"), ElementsAre(7));
  EXPECT_THAT(parse_extents("9223372036854775807x1"), ElementsAre(INT64_MAX, 1));
}

TEST(Extents, AreNoneOfATextThatSaysAnythingElse) {
  for (const char* const text :
       {"", "x", "1x", "x1", "1xx1", "1X1", "0x1", "-1x1", "+1", " 1", "1 ", "1.5x2", "9223372036854775808"}) {
    EXPECT_THAT(parse_extents(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace c3sim::sim
