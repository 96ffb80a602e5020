// What is seen of a GEMM and a collective at once, and of a GEMM that a gather feeds.
#include <algorithm>

#include "study/ask/trial.h"
#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;
using sim::operator""_us;
using models::CollectiveKind;
using sim::operator""_B;
using sim::operator""_GiB;

// A GEMM and a collective at once.

const C3Trial c3_pair{{"", {4096, 4096, 8192}, CollectiveKind::all_gather, 64_MiB}, Strategy::c3_base};

double on_mi300x(const Trial& trial, Figure asked = Figure::time) { return figure(mi300x().spec, trial, asked); }

// On so many CUs, all of them unless told, when links have carried data.
double gemm_alone(const models::GemmShape& shape, std::optional<int> cus = {}) {
  return on_mi300x(GemmTrial{.shape = shape, .cus = cus, .before = Before::traffic});
}

// Whichever is the longer one; of the collective, that which the strategy runs.
TEST(C3Trials, AreHeldAgainstTheirOperationsAlone) {
  for (const models::GemmShape& shape : {models::GemmShape{4096, 4096, 8192}, models::GemmShape{256, 256, 256}}) {
    const double gemm = gemm_alone(shape);
    for (const Strategy strategy : {Strategy::c3_base, Strategy::c3_sp, Strategy::conccl}) {
      SCOPED_TRACE(to_string(strategy));
      C3Trial trial = c3_pair;
      trial.scenario.gemm = shape;
      trial.strategy = strategy;
      const Figures both = all_of(mi300x().spec, trial);
      const double alone =
          on_mi300x(strategy == Strategy::conccl ? gather_by_engines(64_MiB) : gather(models::Backend::rccl, 64_MiB));
      EXPECT_EQ(gemm > alone, shape == c3_pair.scenario.gemm);
      EXPECT_DOUBLE_EQ(both.at(Figure::gemm_stretch), both.at(Figure::gemm_time) / gemm);
      EXPECT_DOUBLE_EQ(both.at(Figure::over_longer), both.at(Figure::time) / std::max(gemm, alone));
      EXPECT_DOUBLE_EQ(both.at(Figure::time), std::max(both.at(Figure::gemm_time), both.at(Figure::collective_time)))
          << "both are launched at the start";
    }
  }
}

// Launched so late that the first has ended, the second takes as long as alone, on the channels or the CUs that it is
// told; the run takes the delay, too.
TEST(C3Trials, TimeEachOperationFromItsOwnLaunch) {
  C3Trial trial = c3_pair;
  trial.scenario.delay = 10000_us;
  const double gemm = gemm_alone(c3_pair.scenario.gemm);
  CollectiveTrial gathers = gather(models::Backend::rccl, 64_MiB);
  const double alone = on_mi300x(gathers);
  const Figures gemm_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::collective_time), alone);
  EXPECT_DOUBLE_EQ(gemm_first.at(Figure::time), 10000.0 * us + alone);
  trial.scenario.channels = gathers.spec.channels = 2;
  EXPECT_DOUBLE_EQ(on_mi300x(trial, Figure::collective_time), on_mi300x(gathers));
  trial.scenario.channels = {};
  trial.strategy = Strategy::c3_sp;
  const Figures collective_first = all_of(mi300x().spec, trial);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_time), gemm);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::gemm_stretch), 1.0);
  EXPECT_DOUBLE_EQ(collective_first.at(Figure::time), 10000.0 * us + gemm);
  trial.strategy = Strategy::c3_sp_rp;
  trial.scenario.reserved = 64;
  EXPECT_DOUBLE_EQ(on_mi300x(trial, Figure::gemm_time), gemm_alone(c3_pair.scenario.gemm, 304 - 64));
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

TEST(C3Trials, DrawAtLeastWhatANodeAtRestDraws) {
  EXPECT_GT(on_mi300x(c3_pair, Figure::power), on_mi300x(RestTrial{}, Figure::power));
}

TEST(DependentTrials, FullTakeAtLeastAsLongAsTheirGemm) {
  const models::GemmShape shape{1024, 4096, 2048};
  const double gemm = gemm_alone(shape);
  for (const DependentSchedule schedule : all_dependent_schedules()) {
    EXPECT_GT(on_mi300x(DependentTrial{shape, schedule}), 0.99 * gemm) << to_string(schedule);
  }
  // The GEMM is queued behind the all-gather: its launch, and the notice of that one's end, take no time of their own.
  const double serial = on_mi300x(DependentTrial{shape, dependent_schedule("serial_rccl")});
  const models::HostSpec& host = mi300x().spec.host;
  const double queued = sim::to_seconds(host.kernel_launch + host.kernel_notice).value();
  const double gathering = on_mi300x(gather(models::Backend::rccl, gathered_bytes(shape)));
  EXPECT_NEAR(serial, gemm + gathering - queued, 0.01 * serial) << "one after the other";
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

// What a platform cannot run.

// On one CU, which has room for one workgroup of a tile of 256x256: 2^17 waves are simulated within a second.
TEST(ImpossibleTrials, AreGemmsOfManyWaves) {
  Testbed one_cu(mi300x({"gpu.cus_per_xcd=1", "gpu.xcds=1"}).spec);
  EXPECT_EQ(why_impossible(one_cu, GemmTrial{.shape = {1 << 19, 1 << 14, 16}}), "");
  EXPECT_THAT(why_impossible(one_cu, GemmTrial{.shape = {1 << 20, 1 << 14, 16}}),
              HasSubstr("is 262144 waves of workgroups on 1 CUs, 131072 are simulated: 131072 workgroups, which are a "
                        "smaller product or fewer blocks, or more CUs, are accepted"));
}

TEST(ImpossibleTrials, AreToldWithWhatWouldBeAccepted) {
  CollectiveTrial nine = gather(models::Backend::rccl, 1_MiB);
  nine.spec.gpus = 9;
  CollectiveTrial channels = gather(models::Backend::sdma, 1_MiB);
  channels.spec.channels = 4;
  RemoteTrial to_itself;
  to_itself.bytes = 1_MiB;
  to_itself.peer = 0;
  RemoteTrial beyond = to_itself;
  beyond.peer = 8;
  RemoteTrial all = beyond;  // GPUs are named by the pattern
  all.pattern = RemoteTrial::Pattern::all;
  RemoteTrial on_305_cus = all;
  on_305_cus.cus = 305;
  C3Trial reserved = c3_pair;
  reserved.scenario.reserved = 12;
  C3Trial odd = c3_pair;
  odd.scenario.bytes = 1_B;
  const std::vector<std::pair<Trial, std::string>> rows{
      {GemmTrial{.shape = {64, 64, 64}, .cus = 12}, "multiples of 8 from 8 to 304"},
      {GemmTrial{.shape = {1 << 24, 1 << 24, 1 << 24}}, "does not fit the memory of a GPU"},
      {CopyTrial{{0, 8, 1_MiB, {}}}, "gpu0 to gpu7"},
      {CopyTrial{{1, 1, 1_MiB, {}}}, "between two GPUs"},
      {FanOutTrial{8, 1_MiB}, "gpu0 to gpu7"},
      {nine, "2 to 8"},
      {channels, "channels"},
      {to_itself, "two different GPUs from 0 to 7"},
      {beyond, "two different GPUs from 0 to 7"},
      {on_305_cus, "1 to 304 CUs"},
      {reserved, "multiples of 8 from 8 to 296"},
      {odd, "cannot be split"},
      {DependentTrial{{64, 60, 64}, dependent_schedule("shard_overlap")}, "multiples of 8 are accepted"},
      {StreamTrial{0, 0, 1_MiB}, "at least one array"}};
  Testbed testbed(mi300x().spec);
  for (const auto& [trial, why] : rows) EXPECT_THAT(why_impossible(testbed, trial), HasSubstr(why)) << to_string(trial);
  EXPECT_EQ(why_impossible(testbed, all), "");
}

// The suite h200 holds figures of power against validate/reference/h200x8/power.csv.
TEST(PowerOfTrials, IsLessForSmallerGathers) {
  const auto power = [](const Trial& trial) { return figure(models::h200(), trial, Figure::power); };
  for (CollectiveTrial trial : {gather(models::Backend::rccl, {}), gather_by_engines({})}) {
    const auto of = [&](sim::Bytes bytes) {
      trial.spec.bytes = bytes;
      return power(trial);
    };
    EXPECT_LT(power(RestTrial{}), of(1_MiB));
    EXPECT_LT(of(1_MiB), of(64_MiB));
    EXPECT_LT(of(64_MiB), of(4_GiB));
  }
}

}  // namespace
}  // namespace c3sim::study
