#include "calibrate/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config_error.h"
#include "study/platform_file.h"

namespace calibrate {
namespace {

using ::testing::HasSubstr;
using sim::operator""_GiB;
using sim::operator""_MiB;

constexpr double watt = 1.0;

class Prediction : public testing::Test {
 protected:
  static models::PlatformSpec h200() {
    return study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", {}).spec;
  }

  double power(Subject subject, sim::Bytes bytes) {
    Measurement measurement;
    measurement.subject = subject;
    measurement.bytes = bytes;
    measurement.power = sim::Watts(1.0);  // asked for, not looked at
    return predict(testbed_, measurement).power.value();
  }

  double seconds(const Measurement& measurement) { return predict(testbed_, measurement).time.value(); }

  study::Testbed testbed_{h200()};
};

TEST_F(Prediction, AStreamTakesItsBytesOverWhatHbmGives) {
  Measurement stream;
  stream.subject = Subject::stream;
  stream.bytes = 12_GiB;
  // Of three bytes two are read and one is written, each at its share of the peak; launch and notice come on top.
  const models::PlatformSpec& platform = testbed_.platform();
  const models::MemorySpec& memory = platform.gpu.memory;
  const double bus = 2.0 / 3.0 / memory.hbm_read_efficiency + 1.0 / 3.0 / memory.hbm_write_efficiency;
  const sim::Seconds streaming = stream.bytes * bus / memory.hbm_rate;
  const sim::Seconds overhead = sim::to_seconds(platform.host.kernel_launch + platform.host.kernel_notice);
  EXPECT_NEAR(seconds(stream), (streaming + overhead).value(), 1e-9);
}

TEST_F(Prediction, AnEmptyKernelTakesNoMoreThanItsLaunch) {
  Measurement empty;
  empty.subject = Subject::empty_kernel;
  const models::PlatformSpec& platform = testbed_.platform();
  const sim::Time launch =
      platform.host.kernel_launch + platform.host.kernel_notice + platform.gpu.dispatch.workgroup_launch;
  EXPECT_GE(seconds(empty), sim::to_seconds(launch).value());
  EXPECT_LT(seconds(empty), sim::to_seconds(launch).value() + 1e-7) << "one tile is 16.8 Mflop at most";
}

TEST_F(Prediction, CopiesToSeveralPeersShareThePort) {
  Measurement copies;
  copies.subject = Subject::fan_out;
  copies.bytes = 64_MiB;
  copies.limit = 1;
  const double one = seconds(copies);
  copies.limit = 7;
  const sim::Seconds port = 7.0 * copies.bytes / testbed_.platform().fabric.link_rate;
  EXPECT_GT(seconds(copies), port.value());
  EXPECT_LT(seconds(copies), port.value() + one);
}

TEST_F(Prediction, FewerChannelsTakeLonger) {
  Measurement gather;
  gather.subject = Subject::kernel_collective;
  gather.bytes = 4_GiB;
  gather.limit = 1;
  const double one = seconds(gather);
  gather.limit = 2;
  // Channels run side by side: two take half as long, but for steps of less than a millisecond.
  EXPECT_NEAR(seconds(gather), one / 2.0, 1e-3);
}

TEST_F(Prediction, NamesTheRowThatThePlatformCannotRun) {
  Measurement gemm;
  gemm.subject = Subject::gemm;
  gemm.gemm = {64, 64, 64};
  gemm.limit = 133;  // of 132 SMs
  gemm.where = "f.csv:7";
  try {
    predict(testbed_, gemm);
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("f.csv:7: "));
  }
}

// The energy model against validate/reference/h200x8/power.csv. Four of its figures have fitted four energies, so that
// these are no surprise; that all four lie inside ranges of their own, and those of the next tests, is.

TEST_F(Prediction, AGatherOnSmsDrawsAHundredWattsMoreThanOneOnCopyEngines) {
  EXPECT_NEAR(power(Subject::idle, {}), 124.6, 2.0 * watt);
  EXPECT_NEAR(power(Subject::kernel_collective, 4_GiB), 325.1, 7.0 * watt);
  EXPECT_NEAR(power(Subject::engine_collective, 4_GiB), 225.5, 5.0 * watt);
  EXPECT_NEAR(power(Subject::stream, 12_GiB), 561.9, 12.0 * watt);
}

TEST_F(Prediction, SmallerGathersDrawLess) {
  for (const Subject subject : {Subject::kernel_collective, Subject::engine_collective}) {
    EXPECT_LT(power(Subject::idle, {}), power(subject, 1_MiB));
    EXPECT_LT(power(subject, 1_MiB), power(subject, 64_MiB));
    EXPECT_LT(power(subject, 64_MiB), power(subject, 4_GiB));
  }
}

// A known gap: busy workgroups draw their power while they wait for flags, too. Measured are 161.5 W.
TEST_F(Prediction, ASmallGatherOnSmsDrawsTooMuchByHalf) {
  EXPECT_GT(power(Subject::kernel_collective, 1_MiB), 1.3 * 161.5 * watt);
}

}  // namespace
}  // namespace calibrate
