#include "study/run/gemm_profiles.h"

#include <string>

#include "study/run/testbed.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

class GemmProfiles : public testing::Test {
 protected:
  static std::string file(const std::string& time, const std::string& l2, const std::string& cache,
                          const std::string& hbm) {
    return "profiles:\n  - gemm: 8192x8192x8192\n    time: " + time + "\n    l2: " + l2 +
           "\n    infinity_cache: " + cache + "\n    hbm: " + hbm + "\n    source: a profiler\n";
  }
  std::vector<models::GemmProfile> read(const std::string& text) {
    return read_gemm_profiles(sim::Config::from_text(text, "profiles.yaml"), platform_.spec);
  }
  models::PlatformSpec with_profile(const std::string& time, const std::string& l2, const std::string& cache,
                                    const std::string& hbm) {
    return beside(platform_, {.profiles = read(file(time, l2, cache, hbm))}).spec;
  }
  std::string faults(const std::string& text) {
    try {
      read(text);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return {};
  }

  Platform platform_ = mi300x();
};

// The kernel takes 2000 us; launch and notice come on top.
TEST_F(GemmProfiles, GiveTheKernelItsMeasuredTime) {
  const models::HostSpec& host = platform_.spec.host;
  const sim::Time launch = host.kernel_launch + host.kernel_notice;
  Testbed testbed(with_profile("2000 us", "14 GB", "2 GB", "1 GB"));
  const sim::Time alone = testbed.alone(models::GemmShape{8192, 8192, 8192});
  EXPECT_NEAR(sim::to_microseconds(alone - launch), 2000.0, 0.1);
}

// 10 GB of HBM at 4 TB/s take 2.5 ms: the time is the memory's, at whatever efficiency.
TEST_F(GemmProfiles, AllowKernelsThatAMemoryBounds) {
  Testbed testbed(with_profile("4000 us", "14 GB", "11 GB", "10 GB"));
  EXPECT_NEAR(sim::to_microseconds(testbed.alone(models::GemmShape{8192, 8192, 8192})), 4000.0, 20.0);
}

TEST_F(GemmProfiles, NeedEveryLevel) {
  EXPECT_THAT(faults("profiles:\n  - gemm: 8192x8192x8192\n    time: 2 ms\n    l2: 14 GB\n    source: x\n"),
              AllOf(HasSubstr("infinity_cache"), HasSubstr("hbm"), HasSubstr("profiles.yaml:2:5")));
}

TEST_F(GemmProfiles, BlameALevelThatIsMissingOnlyOnce) {
  EXPECT_THAT(faults("profiles:\n  - {gemm: 8192x8192x8192, time: 2 ms, l2: 14 GB, hbm: 0.9 GB, source: x}\n"),
              AllOf(HasSubstr("infinity_cache: is missing"), Not(HasSubstr("more than the"))));
}

// A, B and C are 3 * 8192^2 * 2 B = 384 MiB; the L2s hold 32 MiB of them, the Infinity Cache another 256 MiB.
TEST_F(GemmProfiles, AreRefusedBelowTheCompulsoryBytes) {
  EXPECT_THAT(faults(file("2 ms", "383 MiB", "383 MiB", "96 MiB")), HasSubstr("l2"));
  EXPECT_THAT(faults(file("2 ms", "384 MiB", "351 MiB", "96 MiB")), HasSubstr("infinity_cache"));
  EXPECT_THAT(faults(file("2 ms", "384 MiB", "352 MiB", "95 MiB")), HasSubstr("hbm"));
  EXPECT_EQ(faults(file("2 ms", "384 MiB", "352 MiB", "96 MiB")), "");
}

TEST_F(GemmProfiles, AreRefusedIfALevelPassesMoreThanTheOneBefore) {
  EXPECT_THAT(faults(file("2 ms", "1 GB", "2 GB", "0.5 GB")), HasSubstr("more than the"));
}

// The example of docs/model.md. The estimate takes 1665 us, four waves of which the last is a third full.
TEST_F(GemmProfiles, AllowKernelsThatFillTheGpuBetterThanTheEstimate) {
  const models::HostSpec& host = platform_.spec.host;
  Testbed testbed(with_profile("1650 us", "14 GB", "2.1 GB", "0.9 GB"));
  const sim::Time alone = testbed.alone(models::GemmShape{8192, 8192, 8192});
  EXPECT_NEAR(sim::to_microseconds(alone - host.kernel_launch - host.kernel_notice), 1650.0, 0.1);
}

// 1.1 Tflop at 304 CUs * 2048 flops a cycle and 1.91 GHz take 0.92 ms.
TEST_F(GemmProfiles, AreRefusedIfFasterThanThePlatform) {
  EXPECT_THAT(faults(file("0.9 ms", "14 GB", "2 GB", "1 GB")),
              AllOf(HasSubstr("time"), HasSubstr("full matrix rate"), HasSubstr("or more is accepted")));
}

TEST_F(GemmProfiles, AreRefusedTwiceForAShapeAndForNone) {
  const std::string one = file("2 ms", "14 GB", "2 GB", "1 GB");
  EXPECT_THAT(faults(one + one.substr(one.find("  - gemm"))), HasSubstr("has a profile already"));
  EXPECT_THAT(faults("profiles: []\n"), HasSubstr("needs at least one GEMM"));
  std::string no_shape = one;
  no_shape.replace(one.find("8192x8192x8192"), 14, "8192x8192");
  EXPECT_THAT(faults(no_shape), HasSubstr("MxNxK"));
}

}  // namespace
}  // namespace c3sim::study
