// What is seen of a GEMM and a collective at once, and of a GEMM that a gather feeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "study/ask/trial.h"
#include "tests/study/seen_of_trial.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;
using sim::operator""_us;

using models::CollectiveKind;

// A GEMM and a collective at once.

const C3Trial c3_pair{{"", {4096, 4096, 8192}, CollectiveKind::all_gather, 64_MiB}, Strategy::c3_base};

// Whichever is the longer one; of the collective, that which the strategy runs.
TEST(C3Trials, AreHeldAgainstTheirOperationsAlone) {
  for (const models::GemmShape& shape : {models::GemmShape{4096, 4096, 8192}, models::GemmShape{256, 256, 256}}) {
    const double gemm = figure(mi300x().spec, GemmTrial{.shape = shape, .before = Before::traffic}, Figure::time);
    for (const Strategy strategy : {Strategy::c3_base, Strategy::c3_sp, Strategy::conccl}) {
      C3Trial trial = c3_pair;
      trial.scenario.gemm = shape;
      trial.strategy = strategy;
      const Figures both = all_of(mi300x().spec, trial);
      const CollectiveTrial its_own =
          strategy == Strategy::conccl ? gather_by_engines(64_MiB) : gather(models::Backend::rccl, 64_MiB);
      const double alone = figure(mi300x().spec, its_own, Figure::time);
      EXPECT_EQ(gemm > alone, shape == c3_pair.scenario.gemm) << to_string(strategy);
      EXPECT_DOUBLE_EQ(both.at(Figure::gemm_stretch), both.at(Figure::gemm_time) / gemm) << to_string(strategy);
      EXPECT_DOUBLE_EQ(both.at(Figure::over_longer), both.at(Figure::time) / std::max(gemm, alone))
          << to_string(strategy);
      EXPECT_DOUBLE_EQ(both.at(Figure::time), std::max(both.at(Figure::gemm_time), both.at(Figure::collective_time)))
          << "both are launched at the start";
    }
  }
}

TEST(C3Trials, TimeEachOperationFromItsOwnLaunch) {
  // Launched so late that the first has ended, the second takes as long as alone; the run takes the delay, too.
  C3Trial trial = c3_pair;
  trial.scenario.delay = 10000_us;
  const double gemm =
      figure(mi300x().spec, GemmTrial{.shape = c3_pair.scenario.gemm, .before = Before::traffic}, Figure::time);
  const double alone = figure(mi300x().spec, gather(models::Backend::rccl, 64_MiB), Figure::time);
  const Figures gemm_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::collective_time), alone);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::time), 10000.0 * us + alone);
  trial.strategy = Strategy::c3_sp;
  const Figures collective_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_time), gemm);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_stretch), 1.0);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::time), 10000.0 * us + gemm);
}

// Half of what is left of the GEMM when the collective is over; nothing where the collective outlasts it. Channels that
// wait take no CU more than before, but for longer.
TEST(C3Trials, SeeGpusDriftApartWithoutBarriers) {
  for (const sim::Bytes bytes : {64_MiB, 4096_MiB}) {
    C3Trial trial = c3_pair;
    trial.scenario.gemm = {16384, 16384, 8192};
    trial.scenario.bytes = bytes;
    trial.strategy = Strategy::c3_sp;
    trial.scenario.delay = 10_us;
    const Figures with = all_of(mi300x().spec, trial);
    trial.scenario.barrier = Barrier::none;
    const Figures without = all_of(mi300x().spec, trial);
    if (bytes == 4096_MiB) {
      EXPECT_EQ(without, with);
      continue;
    }
    const double gemm_end = 10.0 * us + without.at(Figure::gemm_time);
    const double own = with.at(Figure::collective_time);
    EXPECT_NEAR(without.at(Figure::collective_time), own + 0.5 * (gemm_end - own), 0.02 * gemm_end);
    EXPECT_GT(without.at(Figure::gemm_time), with.at(Figure::gemm_time));
  }
}

TEST(C3Trials, GiveTheCollectiveItsChannels) {
  C3Trial trial = c3_pair;
  trial.scenario.delay = 10000_us;
  trial.scenario.channels = 2;
  CollectiveTrial alone = gather(models::Backend::rccl, 64_MiB);
  alone.spec.channels = 2;
  EXPECT_DOUBLE_EQ(figure(mi300x().spec, trial, Figure::collective_time), figure(mi300x().spec, alone, Figure::time));
}

TEST(C3Trials, ReserveAsManyCusAsTheyAreTold) {
  C3Trial trial = c3_pair;
  trial.strategy = Strategy::c3_sp_rp;
  trial.scenario.delay = 10000_us;
  trial.scenario.reserved = 64;
  EXPECT_DOUBLE_EQ(
      figure(mi300x().spec, trial, Figure::gemm_time),
      figure(mi300x().spec, GemmTrial{.shape = c3_pair.scenario.gemm, .cus = 304 - 64, .before = Before::traffic},
             Figure::time));
}

TEST(C3Trials, DrawAtLeastWhatANodeAtRestDraws) {
  const double rest = figure(mi300x().spec, RestTrial{}, Figure::power);
  EXPECT_GT(figure(mi300x().spec, c3_pair, Figure::power), rest);
}

TEST(DependentTrials, TakeAtLeastAsLongAsTheirGemm) {
  const models::GemmShape shape{1024, 4096, 2048};
  const double gemm = figure(mi300x().spec, GemmTrial{.shape = shape, .before = Before::traffic}, Figure::time);
  const double serial = figure(mi300x().spec, DependentTrial{shape, dependent_schedule("serial_rccl")}, Figure::time);
  for (const DependentSchedule schedule : all_dependent_schedules()) {
    EXPECT_GT(figure(mi300x().spec, DependentTrial{shape, schedule}, Figure::time), 0.99 * gemm) << to_string(schedule);
  }
  const double gather_time = figure(mi300x().spec, gather(models::Backend::rccl, gathered_bytes(shape)), Figure::time);
  // The GEMM is queued behind the all-gather: its launch, and the notice of that one's end, take no time of their own.
  const models::HostSpec& host = mi300x().spec.host;
  const double queued = sim::to_seconds(host.kernel_launch + host.kernel_notice).value();
  EXPECT_NEAR(serial, gemm + gather_time - queued, 0.01 * serial) << "one after the other";
}

// What a fit may not see.

TEST(Trials, OfComputationAndCommunicationAtOnceAreConcurrent) {
  EXPECT_TRUE(is_concurrent(c3_pair));
  for (const DependentSchedule schedule : all_dependent_schedules()) {
    EXPECT_TRUE(is_concurrent(DependentTrial{{64, 64, 64}, schedule}));
  }
  EXPECT_TRUE(is_concurrent(StreamAndCollectiveTrial{}));
  EXPECT_TRUE(is_concurrent(StreamAndCopiesTrial{.stream = StreamTrial{}, .bytes = {}}));
  for (const Trial& trial : {Trial(RestTrial{}), Trial(EmptyKernelTrial{}), Trial(GemmTrial{}),
                             Trial(CollectiveTrial{}), Trial(CopyTrial{}), Trial(FanOutTrial{}), Trial(RemoteTrial{}),
                             Trial(StreamTrial{}), Trial(LoadTrial{}), Trial(StreamAndCopiesTrial{})}) {
    EXPECT_FALSE(is_concurrent(trial)) << kind_of(trial);
  }
}

}  // namespace
}  // namespace c3sim::study
