#include "study/platform_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(PlatformFile, AnAssignmentToAnUnknownParameterIsAFault) {
  EXPECT_THROW(mi300x({"gpu.sdma.engine=32"}), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
