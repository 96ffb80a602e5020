#include <chrono>
#include <fstream>

#include "sim/config/config_error.h"
#include "study/ask/command.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const std::filesystem::path configs = C3SIM_SOURCE_DIR "/configs";

// The test class writes a platform file with one parameter on top of mi300x and reads it through a shelf.
class PlatformShelfTest : public testing::Test {
 protected:
  void write(const std::string& engines, std::chrono::seconds later) {
    std::ofstream(file_) << "base: mi300x\nname: mine\ngpu:\n  sdma:\n    engines: {value: " << engines
                         << ", kind: what_if, source: a test}\n";
    std::filesystem::last_write_time(file_, start_ + later);
  }
  int engines(const std::vector<std::string>& assignments = {}) {
    return shelf_.read(file_, assignments, std::vector{configs}).spec.gpu.sdma.engines;
  }

  const std::filesystem::path file_ = testing::TempDir() + "platform_shelf_test.yaml";
  const std::filesystem::file_time_type start_ = std::filesystem::file_time_type::clock::now();
  PlatformShelf shelf_;
};

TEST_F(PlatformShelfTest, GivesWhatTheFileSaysNow) {
  write("16", std::chrono::seconds(0));
  EXPECT_EQ(engines(), 16);
  EXPECT_EQ(engines(), 16);
  write("20", std::chrono::seconds(5));
  EXPECT_EQ(engines(), 20);
}

TEST_F(PlatformShelfTest, KeepsMachinesApartThatDifferInAssignments) {
  write("16", std::chrono::seconds(0));
  EXPECT_EQ(engines({"gpu.sdma.engines=32"}), 32);
  EXPECT_EQ(engines(), 16);
  EXPECT_EQ(engines({"gpu.sdma.engines=32"}), 32);
}

// The shelf's platform equals, byte for byte, one that is read anew.
TEST_F(PlatformShelfTest, GivesWhatReadingGives) {
  write("16", std::chrono::seconds(0));
  for (const char* const value : {"2 us", "3 us", "2 us"}) {
    const auto platform =
        shelf_.read(file_, std::vector{std::string("host.kernel_notice=") + value}, std::vector{configs});
    EXPECT_EQ(platform.spec.gpu.sdma.engines, 16);
    EXPECT_EQ(
        platform.resolved,
        read_platform(file_, std::vector{std::string("host.kernel_notice=") + value}, std::vector{configs}).resolved);
  }
}

TEST_F(PlatformShelfTest, DoesNotKeepWhatIsAtFault) {
  write("many", std::chrono::seconds(0));
  EXPECT_THROW(engines(), sim::ConfigError);
  write("8", std::chrono::seconds(0));
  EXPECT_EQ(engines(), 8);
}

}  // namespace
}  // namespace c3sim::study
