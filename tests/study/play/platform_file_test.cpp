#include "study/play/platform_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "study/config_folders.h"
#include "study/play/testbed.h"
#include "tests/config_fault.h"
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
  const auto fault = [](const std::string& name, const std::vector<std::filesystem::path>& in) {
    return config_fault([&] { find_platform(name, "--platform", in); });
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

// ConfigsCopy gives a test its own copy of the folder of configurations.
class ConfigsCopy : public testing::Test {
 protected:
  ConfigsCopy() {
    std::filesystem::remove_all(configs_);
    std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs_, std::filesystem::copy_options::recursive);
  }
  ~ConfigsCopy() override { std::filesystem::remove_all(configs_); }

  const std::filesystem::path configs_ = std::filesystem::path(testing::TempDir()) / "platform_file_configs";
};

// Later changes of the folder have no effect: the tables of all libraries are read with the platform.
TEST_F(ConfigsCopy, HasItsTablesOfKernelsReadOnce) {
  const Platform platform = read_platform(configs_ / "platforms/mi300x.yaml", {});
  std::filesystem::remove_all(configs_);
  const models::PlatformSpec other = reassign(platform, std::vector<std::string>{"gpu.gemm.library=rocblas"});
  EXPECT_EQ(other.gpu.gemm.library.kernels.size(),
            mi300x({"gpu.gemm.library=rocblas"}).spec.gpu.gemm.library.kernels.size());
}

// Returns the fault of an assignment to the platform.
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

// Only the sections that assignments concern are read again; the result is that of the whole file with them.
TEST(PlatformFile, AssignmentsChangeTheirSectionsAndNothingElse) {
  const Platform platform = mi300x();
  const std::vector<std::string> assignments{"gpu.sdma.engines=32", "fabric.link_rate=50 GB/s",
                                             "gpu.gemm.libraries[0].efficiency=0.5", "fitted_to[0].spread=0.25"};
  const models::PlatformSpec parts = reassign(platform, assignments);
  std::vector<std::string> more = assignments;
  more.emplace_back("gpu.cus_per_xcd=38");  // which other sections depend on
  const auto fields = [](const models::PlatformSpec& spec) {
    const models::GpuSpec& gpu = spec.gpu;
    return std::tuple(gpu.sdma.engines, gpu.sdma.payload_rate, spec.fabric.link_rate, spec.fabric.gpus,
                      gpu.gemm.library.efficiency, gpu.gemm.library.kernels.size(), spec.fitted_to.front().spread,
                      spec.fitted_to.size(), gpu.memory.hbm_rate, gpu.cus(), spec.host.protocol,
                      spec.correlations.size(), spec.what_if);
  };
  EXPECT_EQ(parts.correlations.size(), platform.spec.correlations.size());
  EXPECT_TRUE(parts.what_if);
  EXPECT_EQ(fields(parts), fields(reassign(platform, more)));
  EXPECT_EQ(fields(parts), fields(mi300x(assignments).spec));
  EXPECT_EQ(models::PlatformSpec::section_of("gpu.sdma.engines"), "gpu.sdma");
  EXPECT_EQ(models::PlatformSpec::section_of("fitted_to[0].spread"), "fitted_to");
  EXPECT_EQ(models::PlatformSpec::section_of("gpu.cu.lds"), "") << "kernels are read by it";
  EXPECT_EQ(models::PlatformSpec::section_of("gpus"), "");
}

// A fault says what the whole file accepts, and knows values that were assigned when the platform was read, too.
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

// ConfigsVariable makes the environment name a folder until the end of its scope.
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

// The next tests read profiles of GEMMs.

// Returns mi300x with a profile of a GEMM of 8192 in each dimension.
models::PlatformSpec with_profile(const std::string& time, const std::string& l2, const std::string& cache,
                                  const std::string& hbm) {
  const std::string text = "profiles:\n  - gemm: 8192x8192x8192\n    time: " + time + "\n    l2: " + l2 +
                           "\n    infinity_cache: " + cache + "\n    hbm: " + hbm + "\n    source: a profiler\n";
  const Platform platform = mi300x();
  return beside(platform,
                {.profiles = read_gemm_profiles(sim::Config::from_text(text, "profiles.yaml"), platform.spec)})
      .spec;
}

// Launch and notice come on top of the kernel's time. 10 GB of HBM at 4 TB/s take 2.5 ms: memory bounds the time of 4
// ms at any efficiency. 1650 us are the example of docs/model.md: the estimate takes 1665 us, four waves of which the
// last is a third full. The turnaround loss of the Infinity Cache draws power that no profile shows: half a
// microsecond.
TEST(GemmProfiles, GiveTheKernelItsMeasuredTime) {
  struct Row {
    double us;
    std::string l2, cache, hbm;
    double within_us;
  };
  const models::HostSpec host = mi300x().spec.host;
  for (const auto& [us, l2, cache, hbm, within_us] :
       {Row{2000.0, "14 GB", "2 GB", "1 GB", 0.1}, Row{4000.0, "14 GB", "11 GB", "10 GB", 20.0},
        Row{1650.0, "14 GB", "2.1 GB", "0.9 GB", 1.0}}) {
    Testbed testbed(with_profile(std::to_string(us) + " us", l2, cache, hbm));
    const sim::Time alone = testbed.alone(models::GemmShape{8192, 8192, 8192});
    EXPECT_NEAR(sim::to_microseconds(alone - host.kernel_launch - host.kernel_notice), us, within_us);
  }
}

// A, B and C have 3 * 8192^2 * 2 B = 384 MiB; the L2s hold 32 MiB of them, the Infinity Cache another 256 MiB.
TEST(GemmProfiles, MayHaveNoMoreThanTheCompulsoryBytes) {
  EXPECT_THAT(with_profile("2 ms", "384 MiB", "352 MiB", "96 MiB").gpu.gemm.profiles, SizeIs(1));
}

}  // namespace
}  // namespace c3sim::study
