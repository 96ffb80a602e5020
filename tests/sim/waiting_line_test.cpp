#include "sim/waiting_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <vector>

namespace c3sim::sim {
namespace {

// Whatever is drawn joins the line, but for every third number: then the front leaves. A std::deque tells who that is.
RC_GTEST_PROP(WaitingLineProperty, WhoJoinedFirstIsInFront, (const std::vector<int>& drawn)) {
  WaitingLine<int> line;
  std::deque<int> expected;
  for (const int number : drawn) {
    if (number % 3 == 0 && !expected.empty()) {
      line.pop_front();
      expected.pop_front();
    } else {
      line.push_back(number);
      expected.push_back(number);
    }
    RC_ASSERT(line.size() == expected.size());
    RC_ASSERT(line.empty() == expected.empty());
    if (!expected.empty()) RC_ASSERT(line.front() == expected.front());
  }
}

// Of a line that is never empty the places of those who left are used again: 1000 may join and leave, two of them
// waiting at a time, and the order holds.
TEST(WaitingLine, KeepsItsOrderThoughItNeverRunsEmpty) {
  WaitingLine<int> line;
  line.push_back(0);
  for (int next = 1; next <= 1000; ++next) {
    line.push_back(next);
    EXPECT_EQ(line.front(), next - 1);
    line.pop_front();
  }
  EXPECT_EQ(line.size(), 1u);
  EXPECT_EQ(line.front(), 1000);
}

}  // namespace
}  // namespace c3sim::sim
