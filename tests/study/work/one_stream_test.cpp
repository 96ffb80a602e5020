#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/config/config.h"
#include "sim/config/config_error.h"
#include "study/experiment/experiment_reader.h"
#include "study/run/platform_file.h"
#include "study/work/config_folders.h"
#include "study/work/operation_graph.h"
#include "study/work/scenario.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

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

class CuPartitionTest : public testing::Test {
 protected:
  const models::PlatformSpec platform_ = mi300x().spec;  // 8 XCDs of 38 CUs
};

TEST_F(CuPartitionTest, MasksHoldAsManyCusOfEachXcd) {
  EXPECT_THAT(why_no_mask(platform_, 8), IsEmpty());
  EXPECT_THAT(why_no_mask(platform_, 304), IsEmpty());
  EXPECT_THAT(why_no_mask(platform_, 12), HasSubstr("multiples of 8 from 8 to 304 are accepted"));
  EXPECT_THAT(why_no_mask(platform_, 0), HasSubstr("0 CUs cannot be used"));
  EXPECT_THAT(why_no_mask(platform_, 312), HasSubstr("multiples of 8 from 8 to 304"));
  EXPECT_THAT(why_no_mask(platform_, -8), HasSubstr("-8 CUs cannot be used"));
}

TEST_F(CuPartitionTest, AReservationLeavesTheGemmACuOfEveryXcd) {
  EXPECT_THAT(why_no_reservation(platform_, 296), IsEmpty());
  EXPECT_THAT(why_no_reservation(platform_, 304), HasSubstr("from 8 to 296"));
}

TEST_F(CuPartitionTest, ReservationsWorthTryingArePowersOfTwoWithACuPerXcd) {
  EXPECT_THAT(cu_reservations(platform_), testing::ElementsAre(8, 16, 32, 64, 128));
  EXPECT_THAT(cu_reservations(mi300x({"gpu.cus_per_xcd=1"}).spec), IsEmpty());
}

TEST_F(CuPartitionTest, FineSplitsAreNoneAndEveryMultipleOfTheXcds) {
  const std::vector<int> fine = cu_reservations(platform_, Splits::fine);
  ASSERT_EQ(fine.size(), 38u);  // 0, 8, ... 296 of 304 CUs
  for (std::size_t i = 0; i < fine.size(); ++i) EXPECT_EQ(fine[i], static_cast<int>(8 * i));
  EXPECT_THAT(cu_reservations(mi300x({"gpu.cus_per_xcd=1"}).spec, Splits::fine), testing::ElementsAre(0));
  const CuPartition none = reserve(platform_, 0);
  EXPECT_EQ(none.gemm, models::CuMask{});
  EXPECT_EQ(none.collective, models::CuMask{});
}

TEST_F(CuPartitionTest, AllCusAreNoMask) {
  EXPECT_EQ(first_cus(platform_, 304), models::CuMask{});
  EXPECT_EQ(first_cus(platform_, 240), (models::CuMask{0, 30}));
}

TEST_F(CuPartitionTest, TheTwoPartsOfAReservationMeetAndDoNotOverlap) {
  const CuPartition partition = reserve(platform_, 64);
  EXPECT_EQ(partition.collective, (models::CuMask{0, 8}));
  EXPECT_EQ(partition.gemm, (models::CuMask{8, 38}));
  EXPECT_EQ(partition.reserved, 64);
}

TEST(ConfigFolders, AreFoundFromWhereTheProgramLies) {
  // This program lies in the build tree, which has a link to the configs of its source tree.
  EXPECT_THAT(config_folders(), Contains(std::filesystem::canonical(C3SIM_SOURCE_DIR "/configs")));
}

TEST(ConfigFolders, ThoseOfTheEnvironmentGoFirst) {
  const std::filesystem::path mine = testing::TempDir();
  setenv("C3SIM_CONFIGS", mine.c_str(), 1);
  const std::filesystem::path first = config_folders().front();
  setenv("C3SIM_CONFIGS", "", 1);
  EXPECT_THAT(config_folders(), Not(Contains(std::filesystem::path())));
  unsetenv("C3SIM_CONFIGS");
  EXPECT_EQ(first, mine);
}

// A slip in the variable would answer with the shipped platforms instead of the user's.
TEST(ConfigFolders, OneOfTheEnvironmentThatIsNotThereIsAnError) {
  setenv("C3SIM_CONFIGS", "/nope", 1);
  try {
    config_folders();
    ADD_FAILURE();
  } catch (const sim::ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "C3SIM_CONFIGS: '/nope': No such file or directory: the folder configs of c3sim, or one like it, is "
                 "accepted");
  }
  unsetenv("C3SIM_CONFIGS");
}

TEST(ConfigFolders, WhoHasNoneIsToldHowToNameThem) {
  try {
    find_platform("mi300x", "--platform", std::vector<std::filesystem::path>{"/nowhere"});
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no folder of platforms was found: set C3SIM_CONFIGS"));
  }
}

}  // namespace
}  // namespace c3sim::study
