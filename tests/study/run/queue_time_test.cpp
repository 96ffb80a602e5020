#include "study/run/queue_time.h"

#include <gtest/gtest.h>

#include "study/work/queued.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

Schedule in_a_row(const std::vector<Work>& works) {
  Schedule schedule;
  for (const Work& work : works) {
    schedule.push_back(operation_of(work));
    if (schedule.size() > 1) schedule.back().after = {schedule.size() - 2};
  }
  return schedule;
}

std::vector<sim::Time> times_of(Testbed& testbed, const Schedule& schedule) {
  std::vector<sim::Time> times;
  for (const Span& span : on_queues(schedule, testbed.run(schedule), testbed.platform())) {
    times.push_back(span.end - span.start);
  }
  return times;
}

// A launch takes 6.25 us and a notice 2 us; both are the host's, whether it launches in time or not.
TEST(QueueTime, OfAKernelIsWithoutItsLaunchAndItsNotice) {
  Testbed testbed(mi300x().spec);
  const models::HostSpec& host = testbed.platform().host;
  const sim::Time bare = testbed.alone(gemm_4096) - host.kernel_launch - host.kernel_notice;
  EXPECT_EQ(alone_on_queue(testbed, operation_of(gemm_4096), false), bare);
  EXPECT_EQ(alone_on_queue(testbed, operation_of(gemm_4096), true), bare);
  EXPECT_EQ(times_of(testbed, in_a_row({gemm_4096, gemm_4096, gemm_4096})), std::vector(3, bare));
}

// From rest, the first kernel of a GPU waits for that to wake up.
TEST(QueueTime, OfTheFirstKernelIsWithoutItsWakingUp) {
  models::PlatformSpec platform = mi300x().spec;
  platform.host.protocol = models::Protocol::shot;
  platform.host.wake_up = sim::Time(10'000'000);
  Testbed testbed(platform);
  const std::vector<sim::Time> times = times_of(testbed, in_a_row({gemm_4096, gemm_4096}));
  EXPECT_EQ(times.at(0), alone_on_queue(testbed, operation_of(gemm_4096), false));
  // The second one finds operands in the cache.
  EXPECT_LT(times.at(1), times.at(0));
  EXPECT_GT(1.03 * sim::to_seconds(times.at(1)).value(), sim::to_seconds(times.at(0)).value());
}

// A queued copy's commands lie with its engine before its turn comes.
TEST(QueueTime, OfAQueuedCopyIsThatBehindAnother) {
  Testbed testbed(mi300x().spec);
  const models::SdmaCopySpec copy{.from = 0, .to = 1, .bytes = sim::Bytes(1 << 20)};
  const sim::Time first = alone_on_queue(testbed, operation_of(copy), false);
  const sim::Time queued = alone_on_queue(testbed, operation_of(copy), true);
  EXPECT_EQ(first, testbed.alone(copy));
  EXPECT_LT(queued, first);
  EXPECT_EQ(times_of(testbed, in_a_row({copy, copy})), (std::vector{first, queued}));
}

TEST(QueueTime, OfWhatTheHostStartsIsAsTheHostSeesIt) {
  Testbed testbed(mi300x().spec);
  const DelaySpec delay{sim::Time(30'000'000)};
  EXPECT_EQ(times_of(testbed, in_a_row({delay, delay})), std::vector(2, delay.time));
}

}  // namespace
}  // namespace c3sim::study
