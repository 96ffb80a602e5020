// The guard keeps a fit from reading runs that the simulator is to predict.
#include "calibrate/fit_guard.h"

#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

std::string faults_of_file(const std::filesystem::path& path) {
  const Reading reading = admit_to_fit(shipped().read(path));
  if (!reading.faults.empty()) return sim::ConfigError(reading.faults).what();
  return config_fault([&] { require_measurements({reading}); });
}

TEST(FitGuard, RefusesConcurrentRunsUnderAnotherName) {
  const std::filesystem::path copy = std::filesystem::path(testing::TempDir()) / "renamed.csv";
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    std::filesystem::copy_file(reference / "h200x8" / file, copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(faults_of_file(copy), HasSubstr("a fit may not read a concurrent run")) << file;
  }
}

TEST(FitGuard, LetsNothingConcurrentThroughWhateverItsRole) {
  Measurement measurement;
  for (const study::Trial& trial : {study::Trial(study::C3Trial{}), study::Trial(study::DependentTrial{})}) {
    for (const Role role : {Role::calibrate, Role::predict, Role::unlisted}) {
      measurement.trial = trial;
      measurement.role = role;
      Reading reading;
      reading.measurements = {measurement};
      EXPECT_TRUE(admit_to_fit(reading).measurements.empty());
      EXPECT_EQ(admit_to_fit(reading).faults.size(), role == Role::predict ? 0u : 1u) << to_string(role);
    }
  }
}

}  // namespace
}  // namespace c3sim::calibrate
