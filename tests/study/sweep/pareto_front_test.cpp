#include "study/sweep/pareto_front.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace c3sim::study {
namespace {

bool beats(const std::vector<int>& one, const std::vector<int>& other) {
  bool better = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    better = better || one[i] < other[i];
  }
  return better;
}

TEST(ParetoFront, PointsThatOthersBeatLeave) {
  ParetoFront front;
  front.add({3.0, 3.0}, 0);
  front.add({1.0, 5.0}, 1);
  front.add({2.0, 2.0}, 2);  // beats 0, not 1
  front.add({2.0, 2.0}, 3);  // as good as 2, which was first
  ASSERT_EQ(front.members().size(), 2u);
  EXPECT_EQ(front.members()[0].index, 1u);
  EXPECT_EQ(front.members()[1].index, 2u);
}

RC_GTEST_PROP(ParetoFront, HoldsEveryCostThatNoPointBeatsAndNoOther, ()) {
  const auto points = *rc::gen::container<std::vector<std::vector<int>>>(
      rc::gen::container<std::vector<int>>(3, rc::gen::inRange(0, 6)));
  ParetoFront front;
  for (std::size_t i = 0; i < points.size(); ++i) front.add({points[i].begin(), points[i].end()}, i);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool beaten = std::ranges::any_of(points, [&](const auto& other) { return beats(other, points[i]); });
    const bool seen_before = std::find(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(i), points[i]) !=
                             points.begin() + static_cast<std::ptrdiff_t>(i);
    const bool held = std::ranges::count(front.members(), i, &ParetoFront::Member::index) == 1;
    RC_ASSERT(held == (!beaten && !seen_before));
  }
}

}  // namespace
}  // namespace c3sim::study
