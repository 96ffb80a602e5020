#include "study/work/config_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/config/config_error.h"
#include "study/run/platform_file.h"

namespace c3sim::study {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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
