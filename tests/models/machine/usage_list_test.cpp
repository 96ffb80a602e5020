#include "models/machine/usage_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace c3sim::models {
namespace {

// The solver takes positive coefficients only, and what is not used shall not connect two activities.
TEST(UsageList, IsTakenInTheOrderOfTheFirstAmounts) {
  UsageList list;
  list.add(7, 1.0);
  list.add(4, 0.0);
  list.add(3, 0.25);
  list.add(7, 0.5);
  EXPECT_EQ(std::move(list).take(), (std::vector<sim::Usage>{{7, 1.5}, {3, 0.25}}));
}

RC_GTEST_PROP(UsageList, EachResourceIsListedOnceWithTheSumOfItsAmounts, ()) {
  const auto adds = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 9)));
  UsageList list;
  std::map<std::uint32_t, double> sums;
  for (const auto& [resource, amount] : adds) {
    list.add(static_cast<std::uint32_t>(resource), amount);
    if (amount > 0) sums[static_cast<std::uint32_t>(resource)] += amount;
  }
  std::map<std::uint32_t, double> listed;
  for (const sim::Usage& usage : list.usages()) listed.emplace(usage.resource, usage.coefficient);
  RC_ASSERT(list.usages().size() == sums.size());
  RC_ASSERT(listed == sums);
}

}  // namespace
}  // namespace c3sim::models
