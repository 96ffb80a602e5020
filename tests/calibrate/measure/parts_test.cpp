// Tests the parts that all measurements stand on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/lab.h"
#include "calibrate/measure/program.h"
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

TEST(Team, DoesTheWorkOnEveryThread) {
  Team team(4);
  std::atomic<int> sum = 0;
  for (int round = 0; round < 100; ++round) team.run([&](int number) { sum += number; });
  EXPECT_EQ(sum, 600);  // 0 + 1 + 2 + 3, a hundred times
}

TEST(Team, ThrowsWhatAThreadThrew) {
  Team team(3);
  const auto work = [](int number) {
    if (number == 1) throw GpuError(GpuError::Kind::failed, "it broke");
  };
  EXPECT_THROW(team.run(work), GpuError);
  std::atomic<int> served = 0;
  team.run([&](int) { ++served; });
  EXPECT_EQ(served, 3) << "and goes on after that";
}

TEST(Rendezvous, LetsNobodyGoOnBeforeAllAreThere) {
  Team team(3);
  Rendezvous rendezvous(3);
  std::atomic<int> arrived = 0, early = 0, acted = 0;
  team.run([&](int) {
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
  Team team(3);
  Rendezvous rendezvous(3);
  std::atomic<int> freed = 0;
  team.run([&](int number) {
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

TEST(Progress, DrawsABarOnATerminalAlone) {
  std::ostringstream terminal, file;
  for (std::ostringstream* out : {&terminal, &file}) {
    Progress progress(*out, out == &terminal, 2, 10.0);
    progress.begin("gemms", "gemm=1x1x1");
    progress.end(5.0);
    progress.begin("gemms", "gemm=2x2x2");
    progress.say("a line");
    progress.close();
  }
  EXPECT_THAT(terminal.str(), HasSubstr("[############............] 1/2"));
  EXPECT_THAT(terminal.str(), HasSubstr("\r\033[Ka line\n"));
  EXPECT_EQ(file.str(), "  0 %  gemms, 0:10 left\na line\n");
}

}  // namespace
}  // namespace c3sim::measure
