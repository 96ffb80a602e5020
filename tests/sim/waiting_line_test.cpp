#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <vector>

#include "sim/event_queue.h"

namespace c3sim::sim {
namespace {

// Each number drawn joins the line, except that every third one makes the front leave. A std::deque gives the order.
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

// A line that is never empty uses the places of those who left again: 1000 join and leave, two at a time wait, and the
// order holds.
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
