#include "study/run/platform_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/config/config_error.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

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

// Of assignments to separate sections these alone are read again; the result is that of the whole file with them.
TEST(PlatformFile, AssignmentsChangeTheirSectionsAndNothingElse) {
  const Platform platform = mi300x();
  const std::vector<std::string> assignments{"gpu.sdma.engines=32", "fabric.link_rate=50 GB/s",
                                             "gpu.gemm.libraries[0].efficiency=0.5", "fitted_to[0].spread=0.25"};
  const models::PlatformSpec parts = reassign(platform, assignments);
  std::vector<std::string> more = assignments;
  more.emplace_back("gpu.cus_per_xcd=38");  // which other sections depend on
  for (const models::PlatformSpec& whole : {reassign(platform, more), mi300x(assignments).spec}) {
    EXPECT_EQ(parts.gpu.sdma.engines, whole.gpu.sdma.engines);
    EXPECT_EQ(parts.gpu.sdma.payload_rate, whole.gpu.sdma.payload_rate);
    EXPECT_EQ(parts.fabric.link_rate, whole.fabric.link_rate);
    EXPECT_EQ(parts.fabric.gpus, whole.fabric.gpus);
    EXPECT_EQ(parts.gpu.gemm.library.efficiency, whole.gpu.gemm.library.efficiency);
    EXPECT_EQ(parts.gpu.gemm.library.kernels.size(), whole.gpu.gemm.library.kernels.size());
    EXPECT_EQ(parts.fitted_to.front().spread, whole.fitted_to.front().spread);
    EXPECT_EQ(parts.fitted_to.size(), whole.fitted_to.size());
    EXPECT_EQ(parts.gpu.memory.hbm_rate, whole.gpu.memory.hbm_rate);
    EXPECT_EQ(parts.gpu.cus(), whole.gpu.cus());
    EXPECT_EQ(parts.host.protocol, whole.host.protocol);
    EXPECT_EQ(parts.correlations.size(), platform.spec.correlations.size());
    EXPECT_TRUE(parts.what_if && whole.what_if);
  }
  EXPECT_EQ(models::PlatformSpec::section_of("gpu.sdma.engines"), "gpu.sdma");
  EXPECT_EQ(models::PlatformSpec::section_of("fitted_to[0].spread"), "fitted_to");
  EXPECT_EQ(models::PlatformSpec::section_of("gpu.cu.lds"), "") << "kernels are read by it";
  EXPECT_EQ(models::PlatformSpec::section_of("gpus"), "");
}

// What would be accepted is told of the whole file.
TEST(PlatformFile, AFaultOfAnAssignmentKnowsAllOfTheFile) {
  const auto fault = [](const std::string& assignment) {
    try {
      reassign(mi300x(), std::vector{assignment});
    } catch (const sim::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault("gpu.sdma.egines=3"), HasSubstr("did you mean 'gpu.sdma.engines'?"));
  EXPECT_THAT(fault("gpu.sdma.engines=no"), HasSubstr("gpu.sdma.engines: 'no' is not"));
}

// Of values that were assigned when the platform was read, too.
TEST(PlatformFile, AFaultOfALaterAssignmentKnowsEarlierOnes) {
  const Platform platform = mi300x({"gpu.sdma.engines=16", "gpu.power.cap=400W"});
  try {
    reassign(platform, std::vector<std::string>{"gpu.power.idle=380W"});
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("--set gpu.power.cap=400W: gpu.power.cap: leaves nothing above idle and clock_tree power"));
  }
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
