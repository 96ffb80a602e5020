// Tests which readings do not count: those of other machines, and those that were read before.
#include "calibrate/measurement_files.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/shipped_files.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

Measurement gemm(int line, double seconds, const std::string& platform = "") {
  Measurement one{.file = "f.csv",
                  .line = line,
                  .platform = platform,
                  .trial = study::GemmTrial{{4096, 4096, 4096}},
                  .seen = {{.figure = study::Figure::time, .value = seconds}}};
  return one;
}

Reading reading_of(std::vector<Measurement> measurements, const std::string& gpu = "") {
  Reading reading;
  reading.name = "f.csv";
  reading.gpu = gpu;
  reading.measurements = std::move(measurements);
  return reading;
}

std::size_t left(const std::string& gpu, const ScreenedFor& target) {
  Reading reading = reading_of({gemm(2, 1e-3)}, gpu);
  refuse_other_gpus(reading, "folder/f.csv", target);
  EXPECT_EQ(reading.measurements.size() + reading.faults.size(), 1u);
  return reading.measurements.size();
}

TEST(Screen, RefusesAFileOfAnotherGpu) {
  EXPECT_EQ(left("AMD Instinct MI300X", {"mi300x", ""}), 1u);
  EXPECT_EQ(left("AMD Instinct MI300X", {"mi300x_conccl", ""}), 1u) << "a node of the same GPUs";
  EXPECT_EQ(left("AMD Instinct MI300X", {"my/fitted.yaml", "mi300x"}), 1u) << "by what the file calls itself";
  EXPECT_EQ(left("AMD Instinct MI308X", {"mi300x", ""}), 0u);
  EXPECT_EQ(left("NVIDIA H200", {"mi300x", "mi300x"}), 0u);
  EXPECT_EQ(left("NVIDIA H200", {"configs/platforms/h200.yaml", ""}), 1u);
  EXPECT_EQ(left("AMD Radeon Graphics", {"mi300x", ""}), 1u) << "no model is named";
  EXPECT_EQ(left("NVIDIA GeForce RTX 4090", {"mi300x", ""}), 0u);
  EXPECT_EQ(left("AMD Radeon Graphics gfx950", {"mi300x", ""}), 0u);
  EXPECT_EQ(left("AMD Radeon Graphics gfx950", {"mi355x", ""}), 1u);
  EXPECT_EQ(left("", {"mi300x", ""}), 1u);
}

TEST(Screen, PlatformsAreCalledAfterTheirGpu) {
  const std::vector<std::string> known{"h200", "mi300x_conccl", "mi300x"};
  EXPECT_EQ(platform_of_gpu("NVIDIA H200 NVL", known), "h200");
  EXPECT_EQ(platform_of_gpu("AMD_Instinct_MI300X_OAM", known), "mi300x") << "the plain one";
  EXPECT_EQ(platform_of_gpu("NVIDIA GH200 480GB", known), std::nullopt) << "another GPU";
  EXPECT_EQ(platform_of_gpu("NVIDIA A100-PG509-200", known), std::nullopt);
  EXPECT_EQ(platform_of_gpu("AMD Radeon Graphics", known), std::nullopt);
  EXPECT_EQ(platform_of_gpu("NVIDIA GeForce RTX 4090", known), std::nullopt);
  // If the name tells no model, the architecture does; a model that is no platform is not taken for a similar one.
  const std::vector<std::string> both{"mi300x", "mi300x_conccl", "mi355x"};
  EXPECT_EQ(platform_of_gpu("AMD Radeon Graphics gfx942", both), "mi300x");
  EXPECT_EQ(platform_of_gpu("gfx950", both), "mi355x");
  EXPECT_EQ(platform_of_gpu("AMD Radeon Graphics gfx90a", both), std::nullopt);
  EXPECT_EQ(platform_of_gpu("AMD Instinct MI325X gfx942", both), std::nullopt);
}

TEST(Screen, PlatformOfAFileIsWhatItNamesOrWhatAllItsRowsSay) {
  const std::vector<std::string> known{"h200", "mi300x"};
  EXPECT_EQ(platform_of(reading_of({gemm(2, 1e-3)}, "NVIDIA H200"), known), "h200");
  EXPECT_EQ(platform_of(reading_of({gemm(2, 1e-3, "H200"), gemm(3, 1e-3, "h200")}), known), "h200");
  EXPECT_EQ(platform_of(reading_of({gemm(2, 1e-3, "h200"), gemm(3, 1e-3)}), known), std::nullopt);
  EXPECT_EQ(platform_of(reading_of({gemm(2, 1e-3, "mi355x")}), known), std::nullopt);
  EXPECT_EQ(platform_of(reading_of({}), known), std::nullopt);
}

Measurement nth(int line, int number, int side = 4096) {
  Measurement one = gemm(line, line * 1e-3);
  one.trial = study::GemmTrial{{side, 4096, 4096}, {}, number};
  return one;
}

// A series may leave numbers out, and another may follow; going back within one is a mistake.
TEST(Screen, RunsOfASeriesStandInTheirOrder) {
  Reading reading = reading_of({nth(2, 0), nth(3, 4), nth(4, 2), nth(5, 5), nth(6, 0), nth(7, 1), nth(8, 3, 8192),
                                nth(9, 4, 8192), gemm(10, 1e-3), nth(11, 4, 8192)});
  refuse_disordered(reading, "folder/f.csv");
  EXPECT_EQ(reading.measurements.size(), 8u);
  EXPECT_EQ(faults_of(reading),
            "folder/f.csv:4: : run 2 of a series stands behind run 4: runs in their order are accepted\n"
            "folder/f.csv:11: : run 4 of a series stands behind run 4: runs in their order are accepted\n");
}

// The guard keeps a fit from reading runs that the simulator is to predict.
TEST(FitGuard, LetsNothingConcurrentThroughWhateverItsRole) {
  Measurement measurement;
  for (const study::Trial& trial : {study::Trial(study::C3Trial{}), study::Trial(study::DependentTrial{})}) {
    for (const Role role : {Role::calibrate, Role::predict, Role::unlisted}) {
      measurement.trial = trial;
      measurement.role = role;
      Reading reading;
      reading.measurements = {measurement};
      EXPECT_TRUE(admit_to_fit(reading).measurements.empty());
      EXPECT_EQ(admit_to_fit(reading).left_out.size(), 1u) << to_string(role);
    }
  }
}

}  // namespace
}  // namespace c3sim::calibrate
