#include "study/step/slope.h"

#include <gtest/gtest.h>

namespace c3sim::study {
namespace {

// Turns that take 100 alone and lose a tenth of the time that others are beside them; some are three times as long. Of
// a length that others make longer they are a smaller share, by 4 % at most.
TEST(Slope, IsWhatIsLostToOthers) {
  Slope slope;
  EXPECT_EQ(slope.value(), 0.0);
  slope.add({{100.0, 0.0}, {104.0, 40.0}, {102.0, 20.0}});
  EXPECT_NEAR(slope.value(), 0.1, 4e-3);
  slope.add({{300.0, 0.0}, {312.0, 120.0}});
  EXPECT_NEAR(slope.value(), 0.1, 4e-3);
}

TEST(Slope, IsNoneWhereAllHaveAsManyBesideThemOrOthersHelp) {
  Slope slope;
  slope.add({{100.0, 50.0}, {100.0, 50.0}});
  EXPECT_EQ(slope.value(), 0.0);
  slope.add({{100.0, 0.0}, {90.0, 50.0}});
  EXPECT_EQ(slope.value(), 0.0);
}

}  // namespace
}  // namespace c3sim::study
