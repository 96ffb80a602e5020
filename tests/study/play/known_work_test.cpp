// Tests work of known times that is played on the simulator's clock.
#include "study/play/known_work.h"

#include "tests/testing.h"

namespace c3sim::study {
namespace {

// Work waits for any number of works before it. Whoever is first decides nothing: each ends at the longest path to it.
RC_GTEST_PROP(KnownWork, EndsAtTheLongestPath, ()) {
  const std::size_t count = *rc::gen::inRange<std::size_t>(1, 60);
  WorkClasses classes;
  for (int one = 0; one < 3; ++one) classes.add();
  std::vector<KnownWork> works;
  WaitLists waits;
  std::vector<Stay> expected;
  for (std::size_t i = 0; i < count; ++i) {
    works.push_back({sim::Time(*rc::gen::inRange(0, 50)), *rc::gen::inRange<WorkClasses::Id>(0, 3)});
    Stay stay;
    for (int wait = i == 0 ? 0 : *rc::gen::inRange(0, 4); wait > 0; --wait) {
      const After after(*rc::gen::inRange<std::size_t>(0, i), sim::Time(*rc::gen::inRange(-20, 20)),
                        *rc::gen::arbitrary<bool>());
      waits.add(after);
      const Stay& other = expected[after.node];
      const sim::Time released = after.of_begin ? other.begin : other.end;
      stay.begin = std::max({stay.begin, released, released + after.lag});
    }
    waits.end_list();
    stay.end = stay.begin + works.back().alone;
    expected.push_back(stay);
  }
  const std::vector<Stay> played = play_known(works, waits, classes);
  for (std::size_t i = 0; i < count; ++i) {
    RC_ASSERT(played[i].begin == expected[i].begin);
    RC_ASSERT(played[i].end == expected[i].end);
  }
}

// Work of 100 takes three times as long beside the first of two others, and twice beside the second. The first runs for
// 60, in which 20 are done, the second until 100, in which 20 more are.
TEST(KnownWork, IsSlowedDownByWhatCostsMost) {
  WorkClasses classes;
  const WorkClasses::Id slowed = classes.add(), most = classes.add(), less = classes.add();
  classes.slow_down(slowed, most, 3.0);
  classes.slow_down(slowed, less, 2.0);
  WaitLists waits;
  for (int i = 0; i < 3; ++i) waits.end_list();
  const std::vector<Stay> played = play_known(
      std::vector<KnownWork>{{sim::Time(100), slowed}, {sim::Time(60), most}, {sim::Time(100), less}}, waits, classes);
  EXPECT_EQ(played[0].end, sim::Time(160));
  EXPECT_EQ(played[1].end, sim::Time(60));
  EXPECT_EQ(played[2].end, sim::Time(100));
}

}  // namespace
}  // namespace c3sim::study
