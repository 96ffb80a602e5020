#include "study/work/one_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config.h"
#include "study/experiment/experiment_reader.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OneStreamTest : public testing::Test {
 protected:
  Schedule uncut(const std::string& operations) {
    sim::Config config =
        sim::Config::from_text("name: test\nplatform: mi300x\noperations:\n" + operations, "test.yaml");
    set_parameters(config, {});
    read_machine(config);
    const Experiment experiment = read_experiment(config, testbed_);
    return on_one_stream(experiment.graph, experiment.wholes);
  }
  static std::vector<std::string> works(const Schedule& schedule) {
    std::vector<std::string> works;
    for (const Operation& operation : schedule) works.push_back(to_string(operation.work));
    return works;
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(OneStreamTest, PiecesAreWholeAgainOnAllCus) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, cus: [0, 64], priority: high, gemm: 1024x8192x1024, pieces: 8}\n"
      "  - {name: b, stream: t, after: [a], kernel: {read: 1MiB}, pieces: 4}\n");
  EXPECT_THAT(works(schedule), ElementsAre("gemm 1024x8192x1024", "kernel: 1MiB read, 0B written"));
  EXPECT_EQ(schedule.at(0).mask, models::CuMask{});
  EXPECT_EQ(schedule.at(0).priority, 0);
  EXPECT_THAT(schedule.at(1).after, ElementsAre(0U));
}

TEST_F(OneStreamTest, CollectivesAreByRccl) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, collective: {kind: all_gather, bytes: 8MiB, backend: sdma, variant: b2b, engines: 2}}\n"
      "  - {name: b, stream: t, collective: {kind: all_reduce, bytes: 8MiB, channels: 16}}\n");
  EXPECT_THAT(works(schedule),
              ElementsAre("rccl all_gather of 8MiB over 8 GPUs", "rccl on 16 channels all_reduce of 8MiB over 8 GPUs"));
  EXPECT_THAT(schedule.at(1).after, ElementsAre(0U)) << "on the same GPUs";
}

TEST_F(OneStreamTest, DependentPairsAreOneAfterTheOther) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, dependent: {gemm: 64x1024x64, schedule: finer_hetero_fused_1d}}\n"
      "  - {name: b, stream: s, dependent: {gemm: 64x1024x64, schedule: scatter_shard_overlap}}\n");
  EXPECT_THAT(works(schedule), ElementsAre("rccl all_gather of 128KiB over 8 GPUs", "gemm 64x1024x64",
                                           "gemm 64x1024x64", "rccl reduce_scatter of 128KiB over 8 GPUs"));
  EXPECT_TRUE(is_chain(schedule));
}

TEST_F(OneStreamTest, WhatIsOnOtherGpusIsOnOtherStreams) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, gpus: [0], gemm: 64x64x64}\n"
      "  - {name: b, stream: s, gpus: [1], gemm: 64x64x64}\n"
      "  - {name: c, stream: t, gpus: [2], after: [a], gemm: 64x64x64}\n");
  EXPECT_THAT(schedule.at(1).after, IsEmpty());
  EXPECT_THAT(schedule.at(2).after, ElementsAre(0U));
  EXPECT_FALSE(is_chain(schedule));
}

TEST_F(OneStreamTest, WhatIsWaitedForComesFirst) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, after: [b], delay: 1us}\n"
      "  - {name: b, stream: t, delay: 2us}\n");
  EXPECT_THAT(works(schedule), ElementsAre("delay of 2us", "delay of 1us"));
}

TEST_F(OneStreamTest, PacketsFollowEachOtherOnWhateverGpus) {
  const Schedule schedule = uncut(
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 1MiB, to: 1}]}}\n"
      "  - {name: b, stream: t, packets: {gpu: 4, engine: 10, commands: [{copy: 1MiB, to: 5}]}}\n");
  EXPECT_THAT(schedule.at(1).after, ElementsAre(0U));
}

TEST(IsChain, AsksForEachToWaitForTheOneBefore) {
  Schedule schedule(3, operation_of(DelaySpec{}));
  EXPECT_FALSE(is_chain(schedule));
  schedule[1].after = {0};
  schedule[2].after = {0};
  EXPECT_FALSE(is_chain(schedule));
  schedule[2].after = {0, 1};
  EXPECT_TRUE(is_chain(schedule));
  EXPECT_TRUE(is_chain({}));
}

}  // namespace
}  // namespace c3sim::study
