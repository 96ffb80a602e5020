#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

const std::string reference = C3SIM_SOURCE_DIR "/validate/reference/";
const std::string columns = "kind,gemm,collective,bytes,how,limit,all_us\n";

std::filesystem::path in_temp(const std::string& name) { return std::filesystem::path(testing::TempDir()) / name; }

// Exit code 2, `what` on stderr, nothing on stdout and no file written.
void expect_no_fit(const std::vector<std::string>& files, const std::string& what,
                   const std::string& platform = "h200") {
  const std::filesystem::path out = in_temp("never.yaml");
  std::filesystem::remove(out);
  std::vector<std::string> arguments{"calibrate", "--platform", platform, "--out", out.string()};
  arguments.insert(arguments.begin() + 1, files.begin(), files.end());
  expect_fault(arguments, what);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CalibrateCommand, WritesAPlatformThatCanBeUsedAndReportsInJson) {
  const std::string file = written(
      "launch.csv", columns + "launch,-,-,0,empty_kernel,0,20\n" + "coll,-,all_gather,1024,copy_engine_graph,0,52\n");
  const std::string out = in_temp("fitted.yaml").string();
  const nlohmann::json report = json_of({"calibrate", file, "--platform", "h200", "--out", out});
  // 20 us less 1 us of dispatch, and 2 us of notice.
  EXPECT_EQ(report["results"][0]["parameter"], "host.kernel_launch");
  EXPECT_EQ(report["results"][0]["before"], "12.4 us");
  EXPECT_EQ(report["results"][0]["after"], "17 us");
  EXPECT_EQ(report["results"][0]["error"], "0.4 us") << "2 % of noise";
  EXPECT_EQ(report["residuals"].size(), 1u);
  EXPECT_EQ(report["files"][0]["rows"], 1);
  EXPECT_TRUE(report["files"][0]["why_left_out"].is_null());
  EXPECT_EQ(report["files"][1]["rows"], 1);
  EXPECT_EQ(report["files"][1]["why_left_out"], "copies replayed from a graph have no model");
  EXPECT_THAT(run_cli({"platform", out, "--format", "csv"}).out, HasSubstr("launch.csv: an empty kernel"));
}

TEST(CalibrateCommand, TakesAssignmentsAndWritesThem) {
  const std::string file = written("launch_set.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  const std::string out = in_temp("set.yaml").string();
  // 20 us less 1 us of dispatch, and 3 us of notice.
  EXPECT_THAT(out_of({"calibrate", file, "--platform", "h200", "--set", "gpus=4", "--set", "host.kernel_notice=3 us",
                      "--out", out, "--format", "csv"}),
              HasSubstr("16 us"));
  const std::string listed = run_cli({"platform", out, "--format", "csv"}).out;
  EXPECT_THAT(listed, HasSubstr("--set gpus=4"));
  EXPECT_THAT(listed, HasSubstr("--set host.kernel_notice=3 us"));
  for (const std::string wrong : {"gpus=400", "gpu.powr.idle=1 W"}) {
    EXPECT_THAT(fault_of({"calibrate", file, "--platform", "h200", "--set", wrong, "--out", out}),
                HasSubstr("--set " + wrong));
  }
}

// Elsewhere a line of stderr tells how far it is, of work of ten seconds and more.
TEST(CalibrateCommand, ShowsHowFarItIsOnATerminalAlone) {
  const std::string file = written("launch_bar.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  const std::string out = in_temp("bar.yaml").string();
  const std::vector<std::string> arguments{"calibrate", file, "--platform", "h200", "--out", out};
  EXPECT_THAT(run_cli(arguments, true).err, HasSubstr("/100"));
  EXPECT_THAT(run_cli(arguments).err, testing::Not(HasSubstr("/100")));
}

TEST(CalibrateCommand, ReadsTheMeasuredFilesAndRefusesThePredictions) {
  expect_no_fit({reference + "h200x8/c3_all_gather.csv"}, "nothing in it can be fitted to");
  expect_no_fit({reference + "h200x8/c3_all_gather.csv", reference + "h200x8/dependent.csv"}, "is marked predict (");
  expect_no_fit({reference + "claims.csv"}, "no table with these columns is known");
  expect_no_fit({written("pairs.csv", columns + "c3,cb1,all_gather,1024,copy_engine,0,100\n")},
                "pairs.csv:2: a fit may not read a concurrent run");
}

TEST(CalibrateCommand, ExplainsFilesThatItCannotRead) {
  expect_no_fit({"no/such.csv"}, "no/such.csv");
  expect_no_fit({testing::TempDir()}, "it is a folder");
  expect_no_fit({written("empty.csv", "")}, "empty.csv:1:1");
  expect_no_fit({written("words.csv", columns + "launch,-,-,0,empty_kernel,0,soon\n")}, "words.csv:2:29: all_us");
  expect_no_fit({written("unitless.csv", "kind,gemm,collective,bytes,how,limit,all\n")},
                "unitless.csv:1:1: all_us: this column is missing");
  expect_no_fit({written("other.csv", "x,y\n1,2\n")}, "other.csv:1:1: no table with these columns is known");
}

TEST(CalibrateCommand, ExplainsWhatItCannotFit) {
  expect_no_fit({written("none.csv", columns)}, "none.csv: nothing in it can be fitted to: it has no rows");
  expect_no_fit({written("many.csv", columns + "gemm,cb1,-,0,sm_target,133,1400\n")}, "many.csv:2");
}

TEST(CalibrateCommand, ExplainsAPlatformThatItDoesNotKnow) {
  const std::string file = written("launch.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  expect_no_fit({file}, "did you mean 'h200'?", "h20");
  expect_no_fit({file}, "no/such.yaml", "no/such.yaml");
}

TEST(CalibrateCommand, ReadsAFileThatIsGivenTwiceOnce) {
  const std::string file = written("launch.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  const Answer answer =
      run_cli({"calibrate", file, file, "--platform", "h200", "--out", in_temp("twice.yaml").string()});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.err, HasSubstr("is given twice: it is read once"));
}

// The row that is wrong is told of by file and line; the others count.
TEST(CalibrateCommand, RejectsRowsAndKeepsTheRest) {
  const std::string file =
      written("mixed.csv", columns + "launch,-,-,0,empty_kernel,0,20\n" + "launch,-,-,0,empty_kernel,0,-20\n" +
                               "launch,-,-,0,empty_kernel,0,nan\n");
  const Answer answer = run_cli({"calibrate", file, "--platform", "h200", "--out", in_temp("mixed.yaml").string()});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.err, HasSubstr("mixed.csv:3:"));
}

TEST(CalibrateCommand, WritesAReport) {
  const std::string file = written("launch.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  const std::filesystem::path folder = in_temp("calibration_report");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(run_cli({"calibrate", file, "--platform", "h200", "--out", in_temp("reported.yaml").string(), "--report",
                     folder.string()})
                .code,
            ExitCode::fine);
  for (const char* const name : {"page.html", "report.md", "results.json", "results.csv", "residuals.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
}

TEST(CalibrateCommand, LeavesNothingWhereItCannotWrite) {
  const std::string file = written("launch.csv", columns + "launch,-,-,0,empty_kernel,0,20\n");
  for (const std::string& out : {in_temp("no/such/folder/f.yaml").string(), testing::TempDir()}) {
    const Answer answer = run_cli({"calibrate", file, "--platform", "h200", "--out", out});
    EXPECT_EQ(answer.code, ExitCode::users_fault) << out;
    EXPECT_THAT(answer.out, IsEmpty());
  }
  EXPECT_EQ(run_cli({"calibrate", file, "--platform", "h200"}).code, ExitCode::users_fault) << "--out is required";
}

}  // namespace
}  // namespace c3sim::cli
