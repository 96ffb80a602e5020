// The forms that configs/formats/ ships, and how a file finds its own.
#include "calibrate/readers/reader.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/calibrate/shipped_files.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

template <class T>
const T& trial(const Measurement& measurement) {
  return std::get<T>(measurement.trial);
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

// A form of one row format, and a reader that knows it and nothing else.
TableFormat format_with(const std::string& name, const std::vector<std::string>& column_names) {
  TableFormat format;
  format.name = name;
  RowFormat row;
  row.trial = "rest";
  row.see.push_back({.figure = Figure::power,
                     .measured = {"{" + column_names.front() + "}W"},
                     .low = {},
                     .high = {},
                     .band = {},
                     .others = {}});
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

// A word that holds a GPU's name is the name of something else, such as a file; rows that say their platform know
// better than comments, and of two GPUs nobody knows which it was.
TEST_F(ReaderOfFiles, KnowsTheOneGpuThatCommentsName) {
  const std::string rows = "phase,mean_power_W,mean_sm_clock_MHz\nidle,100,1980\n";
  const auto gpu_of = [this](const std::string& text) { return shipped().read(written("f.csv", text)).gpu; };
  EXPECT_EQ(gpu_of("# measured on 2 x NVIDIA H200 (700 W, NVLink)\n" + rows), "NVIDIA H200");
  EXPECT_EQ(gpu_of("# 8xMI300X, one pair at a time\n# mi300x of gfx942\n" + rows), "MI300X");
  EXPECT_EQ(gpu_of("# counters of gfx950\n" + rows), "gfx950");
  EXPECT_EQ(gpu_of("# an NVIDIA A100 of ours\n" + rows), "NVIDIA A100");
  EXPECT_EQ(gpu_of("# H200 beside MI300X\n" + rows), "");
  EXPECT_EQ(gpu_of("# see notes_h200 and h200x4, NVIDIA driver 580\n" + rows), "");
  EXPECT_EQ(gpu_of("# H200\nphase,mean_power_W,mean_sm_clock_MHz,platform\nidle,100,1980,mi300x\n"), "");
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
