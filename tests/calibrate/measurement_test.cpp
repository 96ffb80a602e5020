#include "calibrate/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "sim/config_error.h"

namespace calibrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path reference = C3SIM_SOURCE_DIR "/validate/reference";
const std::string columns = "kind,gemm,collective,bytes,how,limit,all_us\n";
const std::string power_columns = "phase,mean_power_W,mean_sm_clock_MHz\n";

// Of a file that roles.csv says nothing of.
std::vector<Measurement> read(const std::string& text) {
  return measurements_of(CsvFile::from_text(text, "runs/f.csv"), false).measurements;
}

std::string faults_of(const std::string& text) {
  try {
    read(text);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string faults_of_file(const std::filesystem::path& path) {
  try {
    read_measurements(path);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Measurement, ReadsAGemmOnSoManyCus) {
  const std::vector<Measurement> read_rows = read(columns + "gemm,cb2,-,0,sm_target,116,6652.29\n");
  ASSERT_EQ(read_rows.size(), 1u);
  EXPECT_EQ(read_rows[0].subject, Subject::gemm);
  EXPECT_EQ(read_rows[0].gemm, (models::GemmShape{16384, 8192, 16384})) << "Table I of ConCCL";
  EXPECT_EQ(read_rows[0].limit, 116);
  EXPECT_DOUBLE_EQ(read_rows[0].time->value(), 6652.29e-6);
  EXPECT_EQ(read_rows[0].file, "f.csv");
  EXPECT_EQ(read_rows[0].where, "runs/f.csv:2");
}

TEST(Measurement, ReadsAShapeWrittenOut) {
  EXPECT_EQ(read(columns + "gemm,64x32x16,-,0,all_sms,132,1\n")[0].gemm, (models::GemmShape{64, 32, 16}));
}

TEST(Measurement, TellsCollectivesOnKernelsFromThoseOnEngines) {
  const std::vector<Measurement> rows = read(columns +
                                             "coll,-,all_to_all,1024,nccl,0,34\n"
                                             "coll,-,all_gather,1024,nccl_max_ctas,4,34\n"
                                             "coll,-,all_gather,1024,copy_engine,0,50\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].subject, Subject::kernel_collective);
  EXPECT_EQ(rows[0].collective, models::CollectiveKind::all_to_all);
  EXPECT_EQ(rows[0].limit, 0);
  EXPECT_EQ(rows[1].limit, 4);
  EXPECT_EQ(rows[2].subject, Subject::engine_collective);
}

TEST(Measurement, CountsWhatNoModelStandsFor) {
  const MeasurementFile file =
      measurements_of(CsvFile::from_text(columns + "coll,-,all_gather,1024,copy_engine_graph,0,52\n", "f.csv"), false);
  EXPECT_TRUE(file.measurements.empty());
  EXPECT_EQ(file.unmodelled, 1);
}

TEST(Measurement, ReadsBoardPowerByPhase) {
  const std::vector<Measurement> rows =
      read(power_columns + "idle,124.6,1980\ngemm_cb1,680.4,1708\nce_ag_4096,225.5,1980\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].subject, Subject::idle);
  EXPECT_DOUBLE_EQ(rows[1].power->value(), 680.4);
  EXPECT_DOUBLE_EQ(rows[1].clock->value(), 1708e6);
  EXPECT_FALSE(rows[1].time.has_value());
  EXPECT_EQ(rows[2].bytes, sim::Bytes(4096.0));
}

// The guard: a fit that could read one of these would have seen what it is to predict.

TEST(FitGuard, RefusesEveryFileOfConcurrentRuns) {
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    EXPECT_THAT(faults_of_file(reference / "h200x8" / file), HasSubstr("marks it predict")) << file;
  }
}

TEST(FitGuard, RefusesConcurrentRunsUnderAnotherName) {
  const std::filesystem::path copy = std::filesystem::path(testing::TempDir()) / "renamed.csv";
  for (const char* const file : {"c3_all_gather.csv", "dependent.csv"}) {
    std::filesystem::copy_file(reference / "h200x8" / file, copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(faults_of_file(copy), HasSubstr("a fit may not read a concurrent run")) << file;
  }
}

TEST(FitGuard, RefusesClaimsMarkedPredict) {
  // Line 10 of the claims is the first that is marked so: conccl.ideal.mean.
  EXPECT_THAT(faults_of_file(reference / "claims.csv"),
              AllOf(HasSubstr("claims.csv:10:"), HasSubstr("a fit may not read a row marked predict")));
}

TEST(FitGuard, RefusesAConcurrentRowInAFileThatNobodyListed) {
  EXPECT_THAT(faults_of(columns + "gemm,cb1,all_gather,1024,nccl,132,100\n"),
              HasSubstr("f.csv:2:10: collective: a fit may not read a concurrent run"));
  EXPECT_THAT(faults_of(power_columns + "c3_nccl_cb2_3.25G,560,1980\n"),
              HasSubstr("f.csv:2:1: phase: a fit may not read a concurrent run"));
}

TEST(FitGuard, RefusesARowOfKindC3EvenInAListedFile) {
  const std::string text = columns + "c3,-,all_gather,1024,isolated_nccl,0,100\n";
  EXPECT_THROW(measurements_of(CsvFile::from_text(text, "f.csv"), true), sim::ConfigError);
}

TEST(FitGuard, PassesOverTheConcurrentRowsOfListedFiles) {
  // isolated.csv holds four streams beside a collective, power.csv two phases of C3.
  const MeasurementFile isolated = read_measurements(reference / "h200x8/isolated.csv");
  EXPECT_EQ(isolated.concurrent, 4);
  EXPECT_EQ(std::ranges::count(isolated.measurements, Subject::stream, &Measurement::subject), 1);
  const MeasurementFile power = read_measurements(reference / "h200x8/power.csv");
  EXPECT_EQ(power.concurrent, 2);
  EXPECT_EQ(power.measurements.size(), 9u);
}

TEST(FitGuard, RefusesARoleThatItDoesNotKnow) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "odd_roles";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "roles.csv") << "file,role\nf.csv,maybe\n";
  std::ofstream(folder / "f.csv") << columns;
  EXPECT_THAT(faults_of_file(folder / "f.csv"), HasSubstr("roles.csv:2:7: role: calibrate or predict is accepted"));
}

TEST(Measurement, NamesTheColumnsThatAreMissing) {
  EXPECT_THAT(faults_of("kind,gemm,collective,bytes,how,limit,all\ngemm,cb1,-,0,all_sms,132,5\n"),
              HasSubstr("all_us: this column is missing, unit included; known are: kind, gemm"));
  EXPECT_THAT(faults_of("phase,mean_power\nidle,3\n"), AllOf(HasSubstr("mean_power_W"), HasSubstr("mean_sm_clock")));
}

TEST(Measurement, SaysWhichWordsItKnows) {
  EXPECT_THAT(faults_of(columns + "gem,cb1,-,0,all_sms,132,5\n"), HasSubstr("kind: 'gem' is not known; known are:"));
  EXPECT_THAT(faults_of(columns + "coll,-,all_gather,8,mpi,0,5\n"), HasSubstr("how: 'mpi' is not known"));
  EXPECT_THAT(faults_of(columns + "coll,-,gather,8,nccl,0,5\n"), HasSubstr("collective: 'gather' is not known"));
  EXPECT_THAT(faults_of(columns + "p2p,-,two_peers,8,copy_engine,1,5\n"), HasSubstr("'two_peers' is not known"));
  EXPECT_THAT(faults_of(columns + "gemm,cb9,-,0,all_sms,132,5\n"), HasSubstr("cb1 to cb5, mb1, mb2"));
  EXPECT_THAT(faults_of(power_columns + "sleep,3,1980\n"), HasSubstr("phase: 'sleep' is not known"));
  EXPECT_THAT(faults_of(power_columns + "ce_ag_much,3,1980\n"), HasSubstr("a whole number of bytes"));
}

TEST(Measurement, RefusesTimesSizesAndPowersThatCannotBe) {
  EXPECT_THAT(faults_of(columns + "gemm,cb1,-,0,all_sms,132,-5\n"), HasSubstr("f.csv:2:26: all_us: '-5'"));
  EXPECT_THAT(faults_of(columns + "gemm,cb1,-,0,all_sms,132,0\n"), HasSubstr("all_us: '0' must lie between"));
  EXPECT_THAT(faults_of(columns + "gemm,cb1,-,0,all_sms,0,5\n"), HasSubstr("limit: '0' must lie between"));
  EXPECT_THAT(faults_of(columns + "coll,-,all_gather,0,nccl,0,5\n"), HasSubstr("bytes: '0' must lie between"));
  EXPECT_THAT(faults_of(power_columns + "idle,-1,1980\n"), HasSubstr("mean_power_W: '-1' must lie between"));
  EXPECT_THAT(faults_of(power_columns + "idle,1,fast\n"), HasSubstr("mean_sm_clock_MHz: "));
}

}  // namespace
}  // namespace calibrate
