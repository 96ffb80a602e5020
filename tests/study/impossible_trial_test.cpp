// What a platform cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/ask/trial.h"
#include "tests/study/seen_of_trial.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;
using sim::operator""_B;
using sim::operator""_MiB;

std::string reason_against(const Trial& trial) {
  Testbed testbed(mi300x().spec);
  return why_impossible(testbed, trial);
}

const C3Trial possible_pair{{"", {4096, 4096, 4096}, models::CollectiveKind::all_gather, 64_MiB}, Strategy::c3_base};

// On one CU, which has room for one workgroup of a tile of 256x256: 2^17 waves are simulated within a second.
TEST(ImpossibleTrials, AreGemmsOfManyWaves) {
  Testbed one_cu(mi300x({"gpu.cus_per_xcd=1", "gpu.xcds=1"}).spec);
  EXPECT_EQ(why_impossible(one_cu, GemmTrial{.shape = {1 << 19, 1 << 14, 16}}), "");
  EXPECT_THAT(why_impossible(one_cu, GemmTrial{.shape = {1 << 20, 1 << 14, 16}}),
              HasSubstr("is 262144 waves of workgroups on 1 CUs, 131072 are simulated: 131072 workgroups, which are a "
                        "smaller product or fewer blocks, or more CUs, are accepted"));
}

TEST(ImpossibleTrials, AreToldWithWhatWouldBeAccepted) {
  EXPECT_THAT(reason_against(GemmTrial{.shape = {64, 64, 64}, .cus = 12}), HasSubstr("multiples of 8 from 8 to 304"));
  EXPECT_THAT(reason_against(GemmTrial{.shape = {1 << 24, 1 << 24, 1 << 24}}),
              HasSubstr("does not fit the memory of a GPU"));
  EXPECT_THAT(reason_against(CopyTrial{{0, 8, 1_MiB, {}}}), HasSubstr("gpu0 to gpu7"));
  EXPECT_THAT(reason_against(CopyTrial{{1, 1, 1_MiB, {}}}), HasSubstr("between two GPUs"));
  EXPECT_THAT(reason_against(FanOutTrial{8, 1_MiB}), HasSubstr("gpu0 to gpu7"));
  CollectiveTrial nine = gather(models::Backend::rccl, 1_MiB);
  nine.spec.gpus = 9;
  EXPECT_THAT(reason_against(nine), HasSubstr("2 to 8"));
  CollectiveTrial channels = gather(models::Backend::sdma, 1_MiB);
  channels.spec.channels = 4;
  EXPECT_THAT(reason_against(channels), HasSubstr("channels"));
  RemoteTrial self;
  self.bytes = 1_MiB;
  self.peer = 0;
  EXPECT_THAT(reason_against(self), HasSubstr("two different GPUs from 0 to 7"));
  self.peer = 8;
  EXPECT_THAT(reason_against(self), HasSubstr("two different GPUs from 0 to 7"));
  self.pattern = RemoteTrial::Pattern::all;
  EXPECT_EQ(reason_against(self), "") << "all GPUs are named by the pattern";
  self.cus = 305;
  EXPECT_THAT(reason_against(self), HasSubstr("1 to 304 CUs"));
  C3Trial reserved = possible_pair;
  reserved.scenario.reserved = 12;
  EXPECT_THAT(reason_against(reserved), HasSubstr("multiples of 8 from 8 to 296"));
  C3Trial odd = possible_pair;
  odd.scenario.bytes = 1_B;
  EXPECT_THAT(reason_against(odd), HasSubstr("cannot be split"));
  EXPECT_THAT(reason_against(DependentTrial{{64, 60, 64}, dependent_schedule("shard_overlap")}),
              HasSubstr("multiples of 8 are accepted"));
  EXPECT_THAT(reason_against(StreamTrial{0, 0, 1_MiB}), HasSubstr("at least one array"));
}

}  // namespace
}  // namespace c3sim::study
