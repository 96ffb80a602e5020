// The guard: a fit that could read one of these would have seen what it is to predict.
#include "calibrate/fit_guard.h"

#include <algorithm>
#include <fstream>

#include "tests/calibrate/shipped_files.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

Reading read_for_fit(const Reader& reader, const std::filesystem::path& path) {
  return admit_to_fit(reader.read(path));
}

std::string faults_of_file(const std::filesystem::path& path) {
  const Reading reading = read_for_fit(shipped(), path);
  if (!reading.faults.empty()) return sim::ConfigError(reading.faults).what();
  try {
    require_measurements({reading});
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

class FitGuard : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::filesystem::path written(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // Of a file that no list says anything of.
  std::string faults_of(const std::string& text) { return faults_of_file(written("f.csv", text)); }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "fit_guard";
};

template <class T>
std::ptrdiff_t count(const Reading& reading) {
  return std::ranges::count_if(reading.measurements,
                               [](const Measurement& m) { return std::holds_alternative<T>(m.trial); });
}

TEST_F(FitGuard, RefusesEveryFileOfConcurrentRuns) {
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    EXPECT_THAT(faults_of_file(reference / "h200x8" / file),
                AllOf(HasSubstr("nothing in it can be fitted to"), HasSubstr("is marked predict (")))
        << file;
  }
}

TEST_F(FitGuard, RefusesConcurrentRunsUnderAnotherName) {
  const std::filesystem::path copy = folder_ / "renamed.csv";
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    std::filesystem::copy_file(reference / "h200x8" / file, copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(faults_of_file(copy), HasSubstr("a fit may not read a concurrent run")) << file;
  }
}

TEST_F(FitGuard, PassesOverARowMarkedPredictInAnyTable) {
  const Reading reading =
      read_for_fit(shipped(), written("f.csv",
                                      "phase,mean_power_W,mean_sm_clock_MHz,role\nidle,100,1980,calibrate\n"
                                      "triad,500,1980,predict\n"));
  ASSERT_EQ(reading.measurements.size(), 1u);
  ASSERT_EQ(reading.left_out.size(), 1u);
  EXPECT_EQ(reading.left_out[0].where, "f.csv:3");
}

// Rates of other formats are no unknowns of a fit: their GEMMs would move those of bf16.
TEST_F(FitGuard, PassesOverGemmsOfOtherFormats) {
  const Reading reading = read_for_fit(
      shipped(), written("gemms.csv", "gemm,time_us,dtype\n8192x8192x8192,2000,bf16\n8192x8192x8192,1100,fp8\n"));
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(reading.measurements[0].line, 2);
  ASSERT_EQ(reading.left_out.size(), 1u);
  EXPECT_EQ(reading.left_out[0].where, "gemms.csv:3");
}

TEST_F(FitGuard, RefusesAConcurrentRowInAFileThatNobodyListed) {
  EXPECT_THAT(faults_of(run_columns + "c3,cb1,all_gather,1024,nccl_gemm_first,132,100\n"),
              HasSubstr("f.csv:2: a fit may not read a concurrent run"));
  EXPECT_THAT(faults_of(run_columns + "dependent,cb1,-,0,shard_overlap,0,100\n"),
              HasSubstr("f.csv:2: a fit may not read a concurrent run"));
  EXPECT_THAT(faults_of(power_columns + "c3_nccl_cb2_3.25G,560,1980\n"),
              HasSubstr("f.csv:2: a fit may not read a concurrent run"));
  EXPECT_THAT(faults_of(run_columns + "gemm,cb1,all_gather,1024,nccl,132,100\n"),
              HasSubstr("f.csv:2:10: collective: 'all_gather' is not known beside kind 'gemm'"));
}

TEST_F(FitGuard, RefusesAConcurrentRowEvenInAListedFile) {
  written("roles.csv", "file,rows,role,spread\nf.csv,,calibrate,\n");
  EXPECT_THAT(faults_of(run_columns + "c3,cb1,all_gather,1024,nccl_comm_first,0,100\n"),
              HasSubstr("f.csv:2: a fit may not read a concurrent run"));
}

TEST_F(FitGuard, PassesOverRowsThatTheListMarksAsPredictions) {
  written("roles.csv", "file,rows,role,spread\nf.csv,phase=c3_*|triad,predict,\nf.csv,,calibrate,\n");
  const Reading reading = read_for_fit(
      shipped(), written("f.csv", power_columns + "idle,100,1980\nc3_nccl_cb2_3.25G,560,1980\ntriad,500,1980\n"));
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(reading.measurements[0].line, 2);
  ASSERT_EQ(reading.left_out.size(), 2u);
  EXPECT_EQ(reading.left_out[0].where, "f.csv:3");
  EXPECT_EQ(reading.left_out[0].why, "is marked predict");
  EXPECT_EQ(reading.left_out[1].where, "f.csv:4") << "what runs alone may be kept for a prediction, too";
}

TEST_F(FitGuard, PassesOverTheConcurrentRowsOfListedFiles) {
  // isolated.csv holds four streams beside a collective; power.csv two phases of C3, and one of GEMMs with pauses that
  // are not known.
  const Reading isolated = read_for_fit(shipped(), reference / "h200x8/isolated.csv");
  EXPECT_EQ(std::ranges::count(isolated.left_out, "is marked predict", &Omission::why), 4);
  EXPECT_EQ(count<study::StreamTrial>(isolated), 1);
  const Reading power = read_for_fit(shipped(), reference / "h200x8/power.csv");
  EXPECT_EQ(std::ranges::count(power.left_out, "is marked predict", &Omission::why), 3);
  EXPECT_EQ(power.measurements.size(), 8u);
}

TEST_F(FitGuard, LetsNothingConcurrentThroughWhateverItsRole) {
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

TEST_F(FitGuard, TellsAllThatIsAtFaultAtOnce) {
  const std::string faults =
      faults_of(run_columns + "c3,cb1,all_gather,1024,copy_engine,0,100\ngemm,cb1,-,0,all_sms,132,-1\n");
  EXPECT_THAT(faults,
              AllOf(HasSubstr("f.csv:2: a fit may not read"), HasSubstr("f.csv:3:26: all_us: '-1us' is negative")));
}

}  // namespace
}  // namespace c3sim::calibrate
