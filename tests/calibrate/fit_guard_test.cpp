// The guard keeps a fit from reading runs that the simulator is to predict.
#include "calibrate/fit_guard.h"

#include <algorithm>
#include <fstream>

#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

Reading read_for_fit(const std::filesystem::path& path) { return admit_to_fit(shipped().read(path)); }

std::string faults_of_file(const std::filesystem::path& path) {
  const Reading reading = read_for_fit(path);
  if (!reading.faults.empty()) return sim::ConfigError(reading.faults).what();
  return config_fault([&] { require_measurements({reading}); });
}

template <class T>
std::ptrdiff_t count(const Reading& reading) {
  return std::ranges::count_if(reading.measurements,
                               [](const Measurement& m) { return std::holds_alternative<T>(m.trial); });
}

TEST(FitGuard, RefusesConcurrentRunsUnderAnotherName) {
  const std::filesystem::path copy = std::filesystem::path(testing::TempDir()) / "renamed.csv";
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    std::filesystem::copy_file(reference / "h200x8" / file, copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(faults_of_file(copy), HasSubstr("a fit may not read a concurrent run")) << file;
  }
}

TEST(FitGuard, PassesOverTheConcurrentRowsOfListedFiles) {
  // The table isolated.csv holds four streams beside a collective; power.csv holds two phases of C3, and one of GEMMs
  // with pauses that are not known.
  const Reading isolated = read_for_fit(reference / "h200x8/isolated.csv");
  EXPECT_EQ(std::ranges::count(isolated.left_out, "is marked predict", &Omission::why), 4);
  EXPECT_EQ(count<study::StreamTrial>(isolated), 1);
  const Reading power = read_for_fit(reference / "h200x8/power.csv");
  EXPECT_EQ(std::ranges::count(power.left_out, "is marked predict", &Omission::why), 3);
  EXPECT_EQ(power.measurements.size(), 8u);
}

TEST(FitGuard, LetsNothingConcurrentThroughWhateverItsRole) {
  Measurement measurement;
  for (const study::Trial& trial : {study::Trial(study::C3Trial{}), study::Trial(study::DependentTrial{})}) {
    for (const Role role : {Role::calibrate, Role::predict, Role::unlisted}) {
      measurement.trial = trial;
      measurement.role = role;
      Reading reading;
      reading.measurements = {measurement};
      if (role == Role::predict) {
        EXPECT_TRUE(admit_to_fit(reading).measurements.empty());
      } else {
        EXPECT_TRUE(admit_to_fit(reading).measurements.empty());
        EXPECT_EQ(admit_to_fit(reading).faults.size(), 1u) << to_string(role);
      }
    }
  }
}

}  // namespace
}  // namespace c3sim::calibrate
