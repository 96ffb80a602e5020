#include "study/run/platform_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "study/work/config_folders.h"
#include "tests/study/config_fault.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const std::vector<std::filesystem::path> looked_up{"/nonexistent", C3SIM_SOURCE_DIR "/configs"};

TEST(PlatformFile, ANameIsLookedUpInEachFolderAndAPathIsTaken) {
  EXPECT_THAT(find_platform("mi300x", "--platform", looked_up).string(), EndsWith("configs/platforms/mi300x.yaml"));
  EXPECT_EQ(find_platform("./mine", "--platform", looked_up), "./mine");
  EXPECT_EQ(find_platform("mine.yaml", "--platform", looked_up), "mine.yaml");
  EXPECT_THAT(platform_names(looked_up), Contains("mi300x"));
}

TEST(PlatformFile, AnUnknownNameGetsTheNearestOne) {
  const auto fault = [](const std::string& name, const std::vector<std::filesystem::path>& folders) {
    return config_fault([&] { find_platform(name, "--platform", folders); });
  };
  EXPECT_THAT(fault("mi300", looked_up), HasSubstr("--platform: no platform is named 'mi300'; did you mean 'mi300x'?"));
  EXPECT_THAT(fault("", looked_up), HasSubstr("no platform is named ''"));
  EXPECT_THAT(fault("..\\mi300x", looked_up), HasSubstr("no platform is named"));
  EXPECT_THAT(fault("mi300x", {"/nowhere"}), HasSubstr("no folder of platforms was found: set C3SIM_CONFIGS"));
}

TEST(PlatformFile, AnAssignmentChangesTheSpecTheListingAndTheResolvedFile) {
  const Platform changed = mi300x({"gpu.cus_per_xcd=30"});
  EXPECT_EQ(changed.spec.gpu.cus_per_xcd, 30);
  const auto listed = std::ranges::find(changed.parameters, "gpu.cus_per_xcd", &sim::Parameter::path);
  ASSERT_NE(listed, changed.parameters.end());
  EXPECT_EQ(listed->value, "30");
  EXPECT_EQ(listed->kind, "what_if");
  EXPECT_THAT(changed.resolved, HasSubstr("what_if"));
}

// A folder of configurations of its own.
class ConfigsCopy : public testing::Test {
 protected:
  ConfigsCopy() {
    std::filesystem::remove_all(configs_);
    std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs_, std::filesystem::copy_options::recursive);
  }
  ~ConfigsCopy() override { std::filesystem::remove_all(configs_); }

  const std::filesystem::path configs_ = std::filesystem::path(testing::TempDir()) / "platform_file_configs";
};

// What becomes of the folder meanwhile changes nothing: tables of all its libraries are read with the platform.
TEST_F(ConfigsCopy, HasItsTablesOfKernelsReadOnce) {
  const Platform platform = read_platform(configs_ / "platforms/mi300x.yaml", {});
  std::filesystem::remove_all(configs_);
  const models::PlatformSpec other = reassign(platform, std::vector<std::string>{"gpu.gemm.library=rocblas"});
  EXPECT_EQ(other.gpu.gemm.library.kernels.size(),
            mi300x({"gpu.gemm.library=rocblas"}).spec.gpu.gemm.library.kernels.size());
}

// What is said of an assignment to the platform.
std::string fault_of_assignment(const Platform& platform, const std::string& assignment) {
  return config_fault([&] { reassign(platform, std::vector{assignment}); });
}

TEST_F(ConfigsCopy, WithATableOfKernelsThatIsNoneIsAFaultOfWhoAsksForIt) {
  std::ofstream(configs_ / "kernels/rocblas.csv") << "m,n\n1,1\n";
  std::filesystem::remove(configs_ / "kernels/stream_k.csv");
  const Platform platform = read_platform(configs_ / "platforms/mi300x.yaml", {});
  EXPECT_THAT(fault_of_assignment(platform, "gpu.gemm.library=rocblas"),
              HasSubstr("rocblas.csv:1:1: k: this column is missing"));
  EXPECT_THAT(fault_of_assignment(platform, "gpu.gemm.library=stream_k"),
              HasSubstr("there is no table kernels/stream_k.csv in a folder of configurations"));
  EXPECT_EQ(fault_of_assignment(platform, "gpu.gemm.library=hipblaslt"), "");
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

// What would be accepted is told of the whole file, and of values that were assigned when the platform was read, too.
TEST(PlatformFile, AFaultOfAnAssignmentKnowsAllOfTheFileAndEarlierAssignments) {
  EXPECT_THAT(fault_of_assignment(mi300x(), "gpu.sdma.egines=3"), HasSubstr("did you mean 'gpu.sdma.engines'?"));
  EXPECT_THAT(fault_of_assignment(mi300x(), "gpu.sdma.engines=no"), HasSubstr("gpu.sdma.engines: 'no' is not"));
  EXPECT_THAT(fault_of_assignment(mi300x({"gpu.sdma.engines=16", "gpu.power.cap=400W"}), "gpu.power.idle=380W"),
              HasSubstr("--set gpu.power.cap=400W: gpu.power.cap: leaves nothing above idle and clock_tree power"));
  EXPECT_THROW(mi300x({"gpu.sdma.engine=32"}), sim::ConfigError);
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

// A folder that the environment names, until the end of its scope.
struct ConfigsVariable {
  explicit ConfigsVariable(const char* folder) { setenv("C3SIM_CONFIGS", folder, 1); }
  ~ConfigsVariable() { unsetenv("C3SIM_CONFIGS"); }
};

// This program lies in the build tree, which has a link to the configs of its source tree.
TEST(ConfigFolders, AreFoundFromWhereTheProgramLies) {
  EXPECT_THAT(config_folders(), Contains(std::filesystem::canonical(C3SIM_SOURCE_DIR "/configs")));
}

TEST(ConfigFolders, ThoseOfTheEnvironmentGoFirst) {
  {
    const ConfigsVariable mine(testing::TempDir().c_str());
    EXPECT_EQ(config_folders().front(), std::filesystem::path(testing::TempDir()));
  }
  const ConfigsVariable none("");
  EXPECT_THAT(config_folders(), Not(Contains(std::filesystem::path())));
}

// A slip in the variable would answer with the shipped platforms instead of the user's.
TEST(ConfigFolders, OneOfTheEnvironmentThatIsNotThereIsAnError) {
  const ConfigsVariable slip("/nope");
  EXPECT_EQ(config_fault([] { config_folders(); }),
            "C3SIM_CONFIGS: '/nope': No such file or directory: the folder configs of c3sim, or one like it, is "
            "accepted");
}

}  // namespace
}  // namespace c3sim::study
