// Tests the parts that all measurements stand on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/lab.h"
#include "calibrate/measure/words.h"
#include "tests/testing.h"

namespace c3sim::measure {
namespace {

// The tenth percentile of 1 to 11 lies on the second value, the ninetieth on the tenth.
TEST(Summary, IsMedianAndPercentiles) {
  const Summary summary = summarize({11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6});
  EXPECT_DOUBLE_EQ(summary.median, 6.0);
  EXPECT_DOUBLE_EQ(summary.low, 2.0);
  EXPECT_DOUBLE_EQ(summary.high, 10.0);
  EXPECT_EQ(summary.count, 11u);
}

TEST(Summary, OfTwoLiesBetweenThem) { EXPECT_DOUBLE_EQ(summarize({1.0, 2.0}).median, 1.5); }
TEST(Summary, OfNothingIsZero) { EXPECT_EQ(summarize({}).count, 0u); }

RC_GTEST_PROP(Summary, LiesWithinItsValues, (std::vector<double> values)) {
  RC_PRE(!values.empty());
  const Summary summary = summarize(values);
  const auto [least, most] = std::ranges::minmax(values);
  RC_ASSERT(least <= summary.low && summary.low <= summary.median);
  RC_ASSERT(summary.median <= summary.high && summary.high <= most);
}

TEST(Threads, DoTheWorkOnEach) {
  std::atomic<int> sum = 0;
  for (int round = 0; round < 100; ++round) on_threads(4, [&](int number) { sum += number; });
  EXPECT_EQ(sum, 600);  // 0 + 1 + 2 + 3, a hundred times
}

TEST(Threads, ThrowWhatOneOfThemThrew) {
  const auto work = [](int number) {
    if (number == 1) throw GpuError(GpuError::Kind::failed, "it broke");
  };
  EXPECT_THROW(on_threads(3, work), GpuError);
}

TEST(Rendezvous, LetsNobodyGoOnBeforeAllAreThere) {
  Rendezvous rendezvous(3);
  std::atomic<int> arrived = 0, early = 0, acted = 0;
  on_threads(3, [&](int) {
    for (int round = 1; round <= 200; ++round) {
      ++arrived;
      rendezvous.arrive([&] { ++acted; });
      if (arrived < 3 * round) ++early;
    }
  });
  EXPECT_EQ(early, 0);
  EXPECT_EQ(acted, 200) << "one of them acts, each round";
}

TEST(Rendezvous, FreesThoseWhoWaitForOneWhoGaveUp) {
  Rendezvous rendezvous(3);
  std::atomic<int> freed = 0;
  on_threads(3, [&](int number) {
    if (number == 0) return rendezvous.give_up();
    if (!rendezvous.arrive()) ++freed;
  });
  EXPECT_EQ(freed, 2);
}

RC_GTEST_PROP(Words, ReadTheShapesThatTheySpell, ()) {
  const auto edge = rc::gen::inRange<std::int64_t>(1, 1 << 20);
  const GemmShape shape{*edge, *edge, *edge};
  RC_ASSERT(parse_shape(to_string(shape)) == shape);
}

TEST(Words, RefuseWhatIsNoNumber) {
  for (const char* text : {"", "x", "1x", "-1", "1.5", "99999999999999999999", " 1"}) {
    EXPECT_THROW(parse_count(text, 0, 100), UserError) << text;
  }
}

}  // namespace
}  // namespace c3sim::measure
