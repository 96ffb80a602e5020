#include "study/run/platform_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/config/config_error.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::vector<std::filesystem::path> folders{"/nonexistent", C3SIM_SOURCE_DIR "/configs"};

std::string fault_of(const std::string& name) {
  try {
    find_platform(name, "--platform", folders);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(PlatformFile, ANameIsLookedUpInEachFolderAndAPathIsTaken) {
  EXPECT_THAT(find_platform("mi300x", "--platform", folders).string(), EndsWith("configs/platforms/mi300x.yaml"));
  EXPECT_EQ(find_platform("./mine", "--platform", folders), "./mine");
  EXPECT_EQ(find_platform("mine.yaml", "--platform", folders), "mine.yaml");
  EXPECT_THAT(platform_names(folders), Contains("mi300x"));
}

TEST(PlatformFile, AnUnknownNameGetsTheNearestOne) {
  EXPECT_THAT(fault_of("mi300"), HasSubstr("--platform: no platform is named 'mi300'; did you mean 'mi300x'?"));
  EXPECT_THAT(fault_of(""), HasSubstr("no platform is named ''"));
  EXPECT_THAT(fault_of("..\\mi300x"), HasSubstr("no platform is named"));
}

TEST(PlatformFile, AnAssignmentChangesTheSpecTheListingAndTheResolvedFile) {
  const Platform changed = mi300x({"gpu.cus_per_xcd=30"});
  EXPECT_EQ(changed.spec.gpu.cus_per_xcd, 30);
  const auto listed = std::find_if(changed.parameters.begin(), changed.parameters.end(),
                                   [](const sim::Parameter& it) { return it.path == "gpu.cus_per_xcd"; });
  ASSERT_NE(listed, changed.parameters.end());
  EXPECT_EQ(listed->value, "30");
  EXPECT_EQ(listed->kind, "what_if");
  EXPECT_THAT(changed.resolved, HasSubstr("what_if"));
}

// What becomes of the folder meanwhile changes nothing: tables of all its libraries are read with the platform.
TEST(PlatformFile, ReadsTablesOfKernelsOnce) {
  const std::filesystem::path configs = std::filesystem::path(testing::TempDir()) / "platform_file_configs";
  std::filesystem::remove_all(configs);
  std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
  const Platform platform = read_platform(configs / "platforms/mi300x.yaml", {});
  std::filesystem::remove_all(configs);
  const models::PlatformSpec other = reassign(platform, std::vector<std::string>{"gpu.gemm.library=rocblas"});
  EXPECT_EQ(other.gpu.gemm.library.kernels.size(),
            mi300x({"gpu.gemm.library=rocblas"}).spec.gpu.gemm.library.kernels.size());
}

TEST(PlatformFile, ATableOfKernelsThatIsNoneIsAFaultOfWhoAsksForIt) {
  const std::filesystem::path configs = std::filesystem::path(testing::TempDir()) / "platform_file_broken";
  std::filesystem::remove_all(configs);
  std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
  std::ofstream(configs / "kernels/rocblas.csv") << "m,n\n1,1\n";
  std::filesystem::remove(configs / "kernels/stream_k.csv");
  const Platform platform = read_platform(configs / "platforms/mi300x.yaml", {});
  const auto fault = [&platform](const std::string& library) {
    try {
      reassign(platform, std::vector{"gpu.gemm.library=" + library});
    } catch (const sim::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault("rocblas"), HasSubstr("rocblas.csv:1:1: k: this column is missing"));
  EXPECT_THAT(fault("stream_k"), HasSubstr("there is no table kernels/stream_k.csv in a folder of configurations"));
  EXPECT_EQ(fault("hipblaslt"), "");
  std::filesystem::remove_all(configs);
}

TEST(PlatformFile, WhatIsAskedBesideTheFileOutlastsAssignments) {
  Beside asked;
  asked.protocol = models::Protocol::shot;
  asked.without.add(models::Mechanism::hbm);
  asked.profiles.emplace_back().shape = {512, 512, 512};
  const Platform platform = beside(mi300x(), asked);
  EXPECT_EQ(platform.spec.host.protocol, models::Protocol::shot);
  const models::PlatformSpec further = reassign(platform, std::vector<std::string>{"gpu.cus_per_xcd=30"});
  EXPECT_EQ(further.without, asked.without);
  EXPECT_EQ(further.host.protocol, models::Protocol::shot);
  ASSERT_EQ(further.gpu.gemm.profiles.size(), 1U);
  EXPECT_EQ(further.gpu.gemm.profiles.front().shape, (models::GemmShape{512, 512, 512}));
  const models::PlatformSpec steady = reassign(platform, std::vector<std::string>{"host.protocol=steady"});
  EXPECT_EQ(steady.host.protocol, models::Protocol::steady) << "what is assigned last counts";
}

TEST(PlatformFile, AnAssignmentToAnUnknownParameterIsAFault) {
  EXPECT_THROW(mi300x({"gpu.sdma.engine=32"}), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
