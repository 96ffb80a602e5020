// The forms that configs/formats/ ships, and how a file finds its own.
#include "calibrate/readers/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/calibrate/shipped_files.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What is wrong with the text of a file runs/f.csv, one line for each fault, as a person reads it.
std::string faults_of_rows(const std::string& text) {
  try {
    const Reading reading = shipped().read_text(text, "runs/f.csv");
    return reading.faults.empty() ? "" : sim::ConfigError(reading.faults).what();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
}

// Of a text without faults.
Reading read_runs(const std::string& text) {
  Reading reading = shipped().read_text(text, "runs/f.csv");
  EXPECT_EQ(faults_of_rows(text), "");
  return reading;
}

template <class T>
const T& trial(const Measurement& measurement) {
  return std::get<T>(measurement.trial);
}

double seen(const Measurement& measurement, Figure figure) {
  return std::ranges::find(measurement.seen, figure, &Seen::figure)->value;
}

TEST(ShippedForms, ReadAGemmOnSoManyCus) {
  const Reading reading = read_runs(run_columns + "gemm,cb2,-,0,sm_target,116,6652.29\n");
  EXPECT_EQ(reading.name, "f.csv");
  EXPECT_EQ(reading.format, "runs");
  ASSERT_EQ(reading.measurements.size(), 1u);
  const Measurement& row = reading.measurements[0];
  EXPECT_EQ(trial<study::GemmTrial>(row).shape, (models::GemmShape{16384, 8192, 16384})) << "Table I of ConCCL";
  EXPECT_EQ(trial<study::GemmTrial>(row).cus, 116);
  EXPECT_DOUBLE_EQ(seen(row, Figure::time), 6652.29e-6);
  EXPECT_EQ(row.file, "f.csv");
  EXPECT_EQ(row.where(), "f.csv:2");
  EXPECT_EQ(row.role, Role::unlisted);
}

TEST(ShippedForms, ReadAShapeWrittenOut) {
  const Reading reading = read_runs(run_columns + "gemm,64x32x16,-,0,all_sms,132,1\n");
  EXPECT_EQ(trial<study::GemmTrial>(reading.measurements.at(0)).shape, (models::GemmShape{64, 32, 16}));
}

TEST(ShippedForms, TellCollectivesOnKernelsFromThoseOnEngines) {
  const Reading reading = read_runs(run_columns +
                                    "coll,-,all_to_all,1024,nccl,0,34\n"
                                    "coll,-,all_gather,1024,nccl_max_ctas,4,34\n"
                                    "coll,-,all_gather,1024,copy_engine,0,50\n");
  ASSERT_EQ(reading.measurements.size(), 3u);
  const auto spec = [&](std::size_t row) { return trial<study::CollectiveTrial>(reading.measurements[row]).spec; };
  EXPECT_EQ(spec(0).backend, models::Backend::rccl);
  EXPECT_EQ(spec(0).kind, models::CollectiveKind::all_to_all);
  EXPECT_EQ(spec(0).bytes, sim::Bytes(1024.0));
  EXPECT_EQ(spec(0).channels, std::nullopt);
  EXPECT_EQ(spec(0).gpus, 0) << "all of the platform";
  EXPECT_EQ(spec(1).channels, 4);
  EXPECT_EQ(spec(2).backend, models::Backend::sdma);
  EXPECT_EQ(spec(2).host_threads, models::HostThreads::per_gpu);
}

TEST(ShippedForms, ReadCopiesToOnePeerAndToSeveral) {
  const Reading reading =
      read_runs(run_columns + "p2p,-,one_peer,4096,copy_engine,1,20\np2p,-,fan_out,8192,copy_engine,7,30\n");
  const models::SdmaCopySpec& copy = trial<study::CopyTrial>(reading.measurements.at(0)).spec;
  EXPECT_EQ(copy, (models::SdmaCopySpec{0, 1, sim::Bytes(4096.0), {}}));
  EXPECT_EQ(trial<study::FanOutTrial>(reading.measurements.at(1)), (study::FanOutTrial{7, sim::Bytes(8192.0)}));
}

TEST(ShippedForms, ReadStreamsAndEmptyKernels) {
  const Reading reading =
      read_runs(run_columns + "launch,-,-,0,empty_kernel,0,16\nstream,triad_4GiB,-,12884901888,alone,0,3138\n");
  EXPECT_TRUE(std::holds_alternative<study::EmptyKernelTrial>(reading.measurements.at(0).trial));
  EXPECT_EQ(trial<study::StreamTrial>(reading.measurements.at(1)),
            (study::StreamTrial{2, 1, sim::Bytes(12884901888.0)}));
}

TEST(ShippedForms, SayWhichRowsNoModelStandsFor) {
  const Reading reading = read_runs(run_columns + "coll,-,all_gather,1024,copy_engine_graph,0,52\n");
  EXPECT_TRUE(reading.measurements.empty());
  ASSERT_EQ(reading.left_out.size(), 1u);
  EXPECT_EQ(reading.left_out[0].where, "f.csv:2");
  EXPECT_EQ(reading.left_out[0].why, "copies replayed from a graph have no model");
}

TEST(ShippedForms, ReadBoardPowerByPhase) {
  const Reading reading = read_runs(power_columns + "idle,124.6,1980\ngemm_cb1,680.4,1708\nce_ag_4096,225.5,1980\n");
  EXPECT_EQ(reading.format, "phases");
  ASSERT_EQ(reading.measurements.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<study::RestTrial>(reading.measurements[0].trial));
  const Measurement& gemm = reading.measurements[1];
  EXPECT_DOUBLE_EQ(seen(gemm, Figure::power), 680.4);
  EXPECT_DOUBLE_EQ(seen(gemm, Figure::clock), 1708e6);
  EXPECT_EQ(gemm.seen.size(), 2u) << "no time";
  EXPECT_EQ(trial<study::CollectiveTrial>(reading.measurements[2]).spec.bytes, sim::Bytes(4096.0));
  EXPECT_EQ(reading.measurements[2].seen.size(), 1u) << "but for GEMMs nothing holds the clock back";
}

TEST(ShippedForms, ReadPairsAndSchedulesThatMustBePredicted) {
  const Reading reading = read_runs(run_columns +
                                    "c3,cb1,all_gather,939524096,nccl16_comm_first_gemm116,116,2000\n"
                                    "dependent,cb1,-,0,finer_hetero_fused_1d,0,2000\n");
  const auto& pair = trial<study::C3Trial>(reading.measurements.at(0));
  EXPECT_EQ(pair.strategy, study::Strategy::c3_sp_rp);
  EXPECT_EQ(pair.scenario.channels, 16);
  EXPECT_EQ(pair.scenario.reserved, 16);
  EXPECT_EQ(trial<study::DependentTrial>(reading.measurements.at(1)).schedule,
            study::dependent_schedule("finer_hetero_fused_1d"));
}

// What a plan of c3sim tune asks for comes back as it was asked, and alternatives of one pair by names of their own.
TEST(ShippedForms, ReadPairsWithCusKeptVariantsAndPrelaunch) {
  const std::string head = "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch,makespan_us\n";
  const Reading reading = read_runs(head +
                                    "8192x8192x8192,all_gather,1048576,c3_rp,,64,,,2000\n"
                                    "8192x8192x8192,all_gather,1048576,conccl_rp,,8,bcst,yes,2001\n"
                                    "8192x8192x8192,all_gather,1048576,conccl,,0,pcpy,no,2002\n"
                                    "8192x8192x8192,all_gather,1048576,c3_base,8,0,,,2003\n");
  EXPECT_EQ(reading.format, "pairs");
  ASSERT_EQ(reading.measurements.size(), 4u);
  const auto& kept = trial<study::C3Trial>(reading.measurements[0]);
  EXPECT_EQ(kept.strategy, study::Strategy::c3_rp);
  EXPECT_EQ(kept.scenario.reserved, 64);
  const auto& engines = trial<study::C3Trial>(reading.measurements[1]);
  EXPECT_EQ(engines.strategy, study::Strategy::conccl_rp);
  EXPECT_EQ(engines.scenario.reserved, 8);
  EXPECT_EQ(engines.scenario.variant, models::SdmaVariant::bcst);
  EXPECT_TRUE(engines.scenario.prelaunch);
  EXPECT_EQ(trial<study::C3Trial>(reading.measurements[2]).scenario.reserved, 0);
  EXPECT_FALSE(trial<study::C3Trial>(reading.measurements[2]).scenario.prelaunch);
  EXPECT_EQ(trial<study::C3Trial>(reading.measurements[3]).scenario.channels, 8);
  std::set<std::string> alternatives;
  for (const Measurement& one : reading.measurements) alternatives.insert(one.alternative);
  EXPECT_EQ(alternatives.size(), 4u);
  EXPECT_THAT(faults_of_rows(head + "8192x8192x8192,all_gather,1048576,conccl,,0,pcp,no,2004\n"),
              HasSubstr("variant: 'pcp' is not known; did you mean 'pcpy'?"));
}

// Beside each row stands what was gathered: tokens times k of two bytes.
TEST(ShippedForms, KnowTheShapesOfTheMeasuredAllGathersThatFeedAGemm) {
  const sim::CsvFile file = sim::CsvFile::from_file(reference / "h200x8/dependent.csv");
  std::map<int, double> bytes;
  for (std::size_t row = 0; row < file.rows(); ++row)
    bytes[file.line(row)] = std::stod(std::string(file.text(row, "bytes")));
  for (const Measurement& row : shipped().read(reference / "h200x8/dependent.csv").measurements) {
    EXPECT_EQ(study::gathered_bytes(trial<study::DependentTrial>(row).shape), sim::Bytes(bytes[row.line])) << row.line;
  }
}

// Rows that no form makes a trial of are streams beside a collective, copies from a graph and yardsticks.
TEST(ShippedForms, ReadEveryRowOfTheSecondMachine) {
  for (const char* const file :
       {"isolated.csv", "power.csv", "c3_all_gather.csv", "dependent.csv", "repeatability.csv"}) {
    const Reading reading = shipped().read(reference / "h200x8" / file);
    EXPECT_TRUE(reading.faults.empty()) << sim::ConfigError(reading.faults).what();
    EXPECT_GT(reading.measurements.size(), 0u) << file;
  }
}

TEST(ShippedForms, SayWhichWordsTheyKnow) {
  EXPECT_THAT(faults_of_rows(run_columns + "gem,cb1,-,0,all_sms,132,5\n"),
              HasSubstr("f.csv:2:1: kind: 'gem' is not known; did you mean 'gemm'?"));
  EXPECT_THAT(faults_of_rows(run_columns + "fft,cb1,-,0,all_sms,132,5\n"),
              HasSubstr("kind: 'fft' is not known; known are: launch, gemm, coll, drift, p2p, stream, c3, dependent"));
  EXPECT_THAT(faults_of_rows(run_columns + "coll,-,all_gather,8,mpi,0,5\n"),
              HasSubstr("f.csv:2:21: how: 'mpi' is not known beside kind 'coll'; known are: nccl, nccl_max_ctas, "
                        "copy_engine, copy_engine_graph"));
  EXPECT_THAT(faults_of_rows(run_columns + "p2p,-,two_peers,8,copy_engine,1,5\n"),
              HasSubstr("collective: 'two_peers' is not known beside kind 'p2p'; known are: one_peer, fan_out"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,all_gather,1024,nccl,132,100\n"),
              HasSubstr("f.csv:2:10: collective: 'all_gather' is not known beside kind 'gemm'; known are: -"))
      << "a GEMM beside a collective is no trial of its own";
  EXPECT_THAT(faults_of_rows(power_columns + "sleep,3,1980\n"),
              HasSubstr("f.csv:2:1: phase: 'sleep' is not known; known are: idle, triad, gemm_*, nccl_ag_*, ce_ag_*"));
  EXPECT_THAT(faults_of_rows(run_columns + "coll,-,gather,8,nccl,0,5\n"),
              HasSubstr("f.csv:2:8: collective: 'gather' is not known"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb9,-,0,all_sms,132,5\n"),
              AllOf(HasSubstr("f.csv:2:6: gemm: 'cb9'"), HasSubstr("cb1 to cb5, mb1, mb2")));
  EXPECT_THAT(faults_of_rows(power_columns + "ce_ag_much,3,1980\n"),
              HasSubstr("f.csv:2:1: phase: 'muchB' is not a size: write 896MiB, 1GB or 512B"));
}

TEST(ShippedForms, RefuseTimesSizesAndPowersThatCannotBe) {
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,-,0,all_sms,132,-5\n"),
              HasSubstr("f.csv:2:26: all_us: '-5us' is negative"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,-,0,all_sms,132,0\n"),
              HasSubstr("all_us: '0us' cannot be: 0.001 to 3600000000 us are accepted"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,-,0,all_sms,132,1e999\n"),
              HasSubstr("all_us: '1e999us' is out of range"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,-,0,all_sms,132,inf\n"),
              HasSubstr("all_us: 'infus' is not a time"));
  EXPECT_THAT(faults_of_rows(run_columns + "gemm,cb1,-,0,all_sms,0,5\n"),
              HasSubstr("limit: '0': a whole number from 1 to 4096 is accepted"));
  EXPECT_THAT(faults_of_rows(run_columns + "coll,-,all_gather,0,nccl,0,5\n"),
              HasSubstr("bytes: '0B' is out of bounds: 1B to 1TiB are accepted"));
  EXPECT_THAT(faults_of_rows(run_columns + "coll,-,all_gather,-8,nccl,0,5\n"), HasSubstr("bytes: '-8B' is negative"));
  EXPECT_THAT(faults_of_rows(power_columns + "idle,-1,1980\n"), HasSubstr("mean_power_W: '-1W' is negative"));
  EXPECT_THAT(faults_of_rows(power_columns + "idle,0,1980\n"), HasSubstr("mean_power_W: '0W' cannot be"));
  EXPECT_THAT(faults_of_rows(power_columns + "gemm_cb1,1,fast\n"),
              HasSubstr("mean_sm_clock_MHz: 'fastMHz' is not a frequency"));
}

TEST(ShippedForms, TakeACellThatSaysNothingAsNotMeasured) {
  for (const char* const nothing : {"", "-", "nan", "NaN", "unset", "null", "N/A"}) {
    const Reading reading = read_runs(run_columns + "launch,-,-,0,empty_kernel,0," + nothing + "\n");
    EXPECT_TRUE(reading.measurements.empty()) << nothing;
    ASSERT_EQ(reading.left_out.size(), 1u) << nothing;
    EXPECT_EQ(reading.left_out[0].why, "nothing was measured of what is compared") << nothing;
  }
}

TEST(ShippedForms, TellAllFaultsOfAFileAtOnce) {
  const std::string faults =
      faults_of_rows(run_columns + "gemm,cb9,-,0,all_sms,132,-5\nlaunch,-\ncoll,-,all_gather,1,nccl,0,x\n");
  for (const char* const place : {"f.csv:2:6", "f.csv:2:26", "f.csv:3:1", "f.csv:4:"}) {
    EXPECT_THAT(faults, HasSubstr(place)) << place;
  }
}

// A form of one row format, and a reader that knows it and nothing else.
TableFormat format_with(const std::string& name, const std::vector<std::string>& column_names) {
  TableFormat format;
  format.name = name;
  RowFormat row;
  row.trial = "rest";
  row.see.push_back(
      {.figure = Figure::power, .measured = {"{" + column_names.front() + "}W"}, .low = {}, .high = {}, .band = {}});
  for (const std::string& column : column_names) row.where.push_back({column, {{"*"}}});
  format.rows.push_back(row);
  return format;
}

TEST(Reader, TakesTheFormThatNeedsMostOfTheColumns) {
  Reader reader;
  reader.add(format_with("one", {"a"}));
  reader.add(format_with("two", {"a", "b"}));
  reader.add(format_with("three", {"a", "b", "c"}));
  EXPECT_EQ(reader.read_text("a\n1\n", "f.csv").format, "one");
  EXPECT_EQ(reader.read_text("a,b,x\n1,2,3\n", "f.csv").format, "two");
  EXPECT_EQ(reader.read_text("c,b,a\n1,2,3\n", "f.csv").format, "three");
}

TEST(Reader, NamesTheColumnsThatTheNearestFormNeedsBesides) {
  const std::string faults = faults_of_rows("kind,gemm,collective,bytes,how,limit,all\ngemm,cb1,-,0,all_sms,132,5\n");
  EXPECT_THAT(faults, HasSubstr("f.csv:1:1: no table with these columns is known: the nearest is 'runs'"));
  EXPECT_THAT(faults, HasSubstr("f.csv:1:1: all_us: this column is missing, unit included; known are: kind, gemm"));
  EXPECT_THAT(
      faults_of_rows("# a comment\nphase,mean_power_w\nidle,3\n"),
      AllOf(HasSubstr("f.csv:2:1: no table with these columns is known: the nearest is 'phases'"),
            HasSubstr("f.csv:2:1: mean_power_W: this column is missing, unit included; did you mean 'mean_power_w'?"),
            HasSubstr("mean_sm_clock_MHz: this column is missing")));
}

TEST(Reader, NamesAllFormsWhereNoneIsNear) {
  EXPECT_THAT(faults_of_rows("x,y\n1,2\n"),
              AllOf(HasSubstr("f.csv:1:1: no table with these columns is known; known are:\n  "),
                    HasSubstr("  board power and clock by phase (phase, "), HasSubstr("  runs of GEMMs, ")));
}

TEST(Reader, TellsWhatElseIsWrongWithATableItDoesNotKnow) {
  EXPECT_THAT(faults_of_rows("x,y\n1\n"), AllOf(HasSubstr("no table"), HasSubstr("f.csv:2:1: 1 cells")));
}

TEST(Reader, TakesTheNearestFormWithMostColumns) {
  Reader reader;
  reader.add(format_with("few", {"a", "b"}));
  reader.add(format_with("many", {"a", "c", "d"}));
  try {
    reader.read_text("a,c\n1,2\n", "f.csv");
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the nearest is 'many'"));
  }
}

TEST(Reader, RefusesAFolderOfFormsThatIsNotThere) { EXPECT_THROW(Reader("no/such/folder"), sim::ConfigError); }

TEST(Reader, NamesTheFormsItKnows) {
  ASSERT_NE(shipped().table("runs"), nullptr);
  EXPECT_FALSE(shipped().table("runs")->description.empty());
  EXPECT_NE(shipped().table("phases"), nullptr);
  EXPECT_EQ(shipped().table("no_such"), nullptr);
}

TEST(Reader, PlacesFaultsInTheFolderOfForms) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "bad_forms";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "odd.yaml") << "rows:\n  - {trial: gem, see: {time: 5us}}\n";
  try {
    const Reader reader(folder);
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("odd.yaml:2:6: rows[0].trial: 'gem' is no trial; did you mean 'gemm'?"));
  }
}

class ReaderOfFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::filesystem::path written(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "reader_of_files";
};

TEST_F(ReaderOfFiles, TakesRolesFromTheListBesideTheFile) {
  written("roles.csv", "file,rows,role,spread\npower.csv,phase=idle,predict,\npower.csv,,calibrate,2\n");
  const Reading reading = shipped().read(written("power.csv", power_columns + "idle,100,1980\ntriad,500,1980\n"));
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].role, Role::predict);
  EXPECT_EQ(reading.measurements[1].role, Role::calibrate);
}

TEST_F(ReaderOfFiles, TakesRolesFromAColumnOfTheTable) {
  const Reading reading = shipped().read(written("f.csv",
                                                 "phase,mean_power_W,mean_sm_clock_MHz,role\n"
                                                 "idle,100,1980,predict\ntriad,500,1980,calibrate\nidle,100,1980,\n"));
  ASSERT_EQ(reading.measurements.size(), 3u);
  EXPECT_EQ(reading.measurements[0].role, Role::predict);
  EXPECT_EQ(reading.measurements[1].role, Role::calibrate);
  EXPECT_EQ(reading.measurements[2].role, Role::unlisted);
}

TEST_F(ReaderOfFiles, KeepsAPredictionWhateverElseIsSaidOfIt) {
  written("roles.csv", "file,rows,role,spread\nf.csv,phase=idle,predict,\nf.csv,,calibrate,\n");
  const Reading reading = shipped().read(written("f.csv",
                                                 "phase,mean_power_W,mean_sm_clock_MHz,role\n"
                                                 "idle,100,1980,calibrate\ntriad,500,1980,predict\n"));
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].role, Role::predict) << "by the list";
  EXPECT_EQ(reading.measurements[1].role, Role::predict) << "by the row";
}

TEST_F(ReaderOfFiles, RefusesARoleThatItDoesNotKnow) {
  const Reading reading = shipped().read(
      written("f.csv", "phase,mean_power_W,mean_sm_clock_MHz,role\nidle,100,1980,predcit\nidle,100,1980,-\n"));
  ASSERT_EQ(reading.faults.size(), 1u);
  EXPECT_THAT(reading.faults[0].where, HasSubstr("f.csv:2:15"));
  EXPECT_EQ(reading.faults[0].path, "role");
  EXPECT_EQ(reading.faults[0].what, "'predcit' is not known; did you mean 'predict'?");
}

TEST_F(ReaderOfFiles, KnowsTheGpuThatATableOfC3simMeasureNames) {
  const std::string rows = "phase,mean_power_W,mean_sm_clock_MHz\nidle,100,1980\n";
  const std::string by = "# source: measured by c3sim-measure on ";
  EXPECT_EQ(shipped().read(written("f.csv", by + "4 x NVIDIA H200 (sm_90, 132 CUs)\n" + rows)).gpu, "NVIDIA H200");
  EXPECT_EQ(shipped().read(written("f.csv", by + "a machine\n# gpu: AMD Instinct MI300X\n" + rows)).gpu,
            "AMD Instinct MI300X");
}

// Whatever they are called: by their columns.
TEST_F(ReaderOfFiles, ReadsStepsBlocksAndStreamsOfUsers) {
  const auto read = [this](const std::string& text) {
    const Reading reading = shipped().read(written("mine.csv", text));
    return reading.format + ": " +
           (reading.measurements.empty() ? "nothing" : study::to_string(reading.measurements.front().trial));
  };
  const std::string steps = "what,model,layers,gpus,batch,tokens,context,dtype,part,count,median_us,p10_us,p90_us\n";
  EXPECT_EQ(
      read(steps + "tp_decode,llama8b,4,2,1,1,1024,bf16,step_graph,1,464.06,461.92,473.57\n"),
      "whole_steps: decode of llama3-8b, 1 x 1 tokens, 1024 cached, 4 layers, tp 2, behind a pause of 1ms, from a "
      "graph");
  EXPECT_THAT(read(steps + "train,llama3-8b,4,8,1,1024,0,bf16,forward_backward,1,464.06,461.92,473.57\n"),
              AllOf(HasSubstr("whole_steps: train of llama3-8b"), HasSubstr("dp 8")));
  EXPECT_EQ(read("way,how,bytes,copies,median_us\nh2d,batch,4096,8,9.0\n"),
            "copies_of_blocks: copy host to gpu0 of 4KiB, 8 blocks by batch");
  EXPECT_THAT(read("stream,blocks_of_1024,copies,bytes,stream_GBps_gpu0,stream_GBps_gpu1,copies_GBps_gpu0,"
                   "copies_GBps_gpu1\ncopy,16,both_ways,1048576,1001.2,1002.3,185.1,185.2\n"),
              HasSubstr("stream_beside_copies: copies of 1MiB one after another both ways"));
}

TEST_F(ReaderOfFiles, RefusesAFolderAndAFileThatIsNotThere) {
  EXPECT_THROW(shipped().read(folder_), sim::ConfigError);
  EXPECT_THROW(shipped().read(folder_ / "no_such.csv"), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::calibrate
