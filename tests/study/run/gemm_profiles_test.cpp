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

// A, B and C are 3 * 8192^2 * 2 B = 384 MiB; the L2s hold 32 MiB of them, the Infinity Cache another 256 MiB.
TEST_F(GemmProfiles, MayHaveNoMoreThanTheCompulsoryBytes) {
  EXPECT_THAT(read(file("2 ms", "384 MiB", "352 MiB", "96 MiB")), SizeIs(1));
}

// The example of docs/model.md. The estimate takes 1665 us, four waves of which the last is a third full. What the
// Infinity Cache loses as it turns round draws its watts, which no profile tells apart: half a microsecond.
TEST_F(GemmProfiles, AllowKernelsThatFillTheGpuBetterThanTheEstimate) {
  const models::HostSpec& host = platform_.spec.host;
  Testbed testbed(with_profile("1650 us", "14 GB", "2.1 GB", "0.9 GB"));
  const sim::Time alone = testbed.alone(models::GemmShape{8192, 8192, 8192});
  EXPECT_NEAR(sim::to_microseconds(alone - host.kernel_launch - host.kernel_notice), 1650.0, 1.0);
}

}  // namespace
}  // namespace c3sim::study
