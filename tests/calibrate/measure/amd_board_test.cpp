// The amdgpu driver's files, as its documentation lays them out, in a folder of the test's own.
#include "calibrate/measure/backends/boards.h"
#include "tests/calibrate/measure/measure_run.h"

namespace c3sim::measure {
namespace {

using AmdBoardTest = MeasureTest;

TEST_F(AmdBoardTest, ReadsPowerClockAndCap) {
  std::filesystem::create_directories(folder() + "/hwmon/hwmon3");
  write("hwmon/hwmon3/power1_average", "141000000\n");
  write("hwmon/hwmon3/power1_cap", "750000000\n");
  write("hwmon/hwmon3/freq1_input", "2100000000\n");
  const AmdBoard board(folder());
  ASSERT_TRUE(board.state());
  EXPECT_DOUBLE_EQ(board.state()->power, 141.0);
  EXPECT_DOUBLE_EQ(board.state()->clock, 2100.0);
  EXPECT_DOUBLE_EQ(board.power_cap().value(), 750.0);

  write("hwmon/hwmon3/power1_input", "160500000\n");  // of the moment, where the board tells that
  EXPECT_DOUBLE_EQ(board.state()->power, 160.5);
}

TEST_F(AmdBoardTest, ReadsTheClockAmongItsLevels) {
  std::filesystem::create_directories(folder() + "/hwmon/hwmon0");
  write("hwmon/hwmon0/power1_input", "1000000\n");
  write("pp_dpm_sclk", "S: 132Mhz\n0: 500Mhz\n1: 1310Mhz *\n2: 2100Mhz\n");
  const AmdBoard board(folder());
  ASSERT_TRUE(board.state());
  EXPECT_DOUBLE_EQ(board.state()->clock, 1310.0);
}

TEST_F(AmdBoardTest, KnowsNothingWithoutThem) {
  EXPECT_FALSE(AmdBoard(folder()).state());
  std::filesystem::create_directories(folder() + "/hwmon/hwmon0");
  write("hwmon/hwmon0/power1_input", "no number\n");
  write("pp_dpm_sclk", "0: Mhz *\n*\n");
  const AmdBoard board(folder());
  EXPECT_FALSE(board.state());
  EXPECT_FALSE(board.power_cap());
}

}  // namespace
}  // namespace c3sim::measure
