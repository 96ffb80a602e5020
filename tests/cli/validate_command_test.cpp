#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string runs = "kind,gemm,collective,bytes,how,limit,all_us\n";
// About 1640 us are predicted of this GEMM, 13 to 14 % less than this: within the band of 15 % that users' files have.
const std::string good = "gemm,8192x8192x8192,-,0,all,304,1900\n";
const std::string far_off = "gemm,8192x8192x8192,-,0,all,304,19000\n";

class ValidateCommand : public InFolder {
 protected:
  std::string written(const std::string& name, const std::string& text) const { return write(name, text); }
  static Answer validate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "validate");
    return run_cli(std::move(arguments));
  }
  // Exit code 2, `what` on stderr, nothing on stdout.
  static void expect_fault(const std::vector<std::string>& arguments, const std::string& what) {
    cli::expect_fault(with({"validate"}, arguments), what);
  }
};

TEST_F(ValidateCommand, EndsWithOneWhereACaseLeavesItsBand) {
  EXPECT_EQ(validate({written("in.csv", runs + good)}).code, ExitCode::fine);
  EXPECT_EQ(validate({written("out.csv", runs + far_off)}).code, ExitCode::check_failed);
  EXPECT_EQ(validate({written("both.csv", runs + good + far_off)}).code, ExitCode::check_failed);
}

// A GEMM and a collective at once, and alone.
TEST_F(ValidateCommand, FullSplitsWhatRunningAtOnceCosts) {
  const std::string pairs = written("pairs.csv",
                                    "gemm,collective,bytes,strategy,makespan_us,isolated_gemm_us,collective_alone_us\n"
                                    "4096x4096x4096,all_reduce,67108864,c3_sp,700,250,500\n");
  const auto report = [&pairs](const std::vector<std::string>& options) {
    return json::parse(validate(with({pairs, "--format", "json"}, options)).out);
  };
  const json plain = report({});
  ASSERT_EQ(plain["cost_runs"].size(), 1U);
  EXPECT_NEAR(plain["cost_runs"][0]["cost_us"].get<double>(), 700.0 - 500.0, 1e-6);
  EXPECT_THAT(plain["cost_parts"], IsEmpty());
  EXPECT_FALSE(plain["costs"][0].contains("ratio_without_probes"));
  const json asked = report({"--mechanisms", "--unprobed"});
  EXPECT_TRUE(asked["cost_parts"][0].contains("clock_pct"));
  EXPECT_TRUE(asked["costs"][0].contains("ratio_without_probes"));
}

TEST_F(ValidateCommand, TakesATolerance) {
  const std::string file = written("in.csv", runs + good);
  EXPECT_EQ(validate({file, "--tolerance", "14.5"}).code, ExitCode::fine);
  EXPECT_EQ(validate({file, "--tolerance", "5"}).code, ExitCode::check_failed);
  EXPECT_EQ(validate({file, "--tolerance", "0"}).code, ExitCode::check_failed);
}

// Good rows are compared; of the others file, line, column, what is wrong and what would be accepted are told.
TEST_F(ValidateCommand, ComparesGoodRowsBesideBadOnes) {
  const std::string file = written("mixed.csv", runs + good +
                                                    "gemm,8192x8192x8192,-,0,all,304,nan\n"
                                                    "gemm,8192x8192x8192,-,0,all,304,-5\n"
                                                    "gemm,8192x8192x8192,-,0,all,304,1e300\n"
                                                    "gemm,8192x8192,-,0,all,304,1700\n"
                                                    "coll,-,all_gathr,1048576,nccl,0,50\n"
                                                    "coll,-,all_gather,-1,nccl,0,50\n"
                                                    "colls,-,all_gather,1048576,nccl,0,50\n"
                                                    "gemm,8192x8192x8192,-,0,all,304,31536000000000\n"
                                                    "gemm,8192x8192x8192\n");
  const Answer answer = validate({file});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.out, HasSubstr("1 of 1 cases lie within their bands. Left out: 9 rows."));
  EXPECT_THAT(answer.out, AllOf(HasSubstr("Rows that are not compared"),
                                HasSubstr("nothing was measured of what is compared"), HasSubstr("at fault")));
  const auto told = [&](const std::string& what) {
    EXPECT_THAT(answer.err, HasSubstr("warning: left out: " + file + what));
  };
  told(":4:33: all_us: '-5us' is negative: write 2.2us, 450ns or 1ms");
  told(":5:33: all_us: '1e300us' is too large");
  told(":6:6: gemm: '8192x8192' is no GEMM shape: write MxNxK");
  told(":7:8: collective: 'all_gathr' is not known; did you mean 'all_gather'?");
  told(":8:19: bytes: '-1B' is negative");
  told(":9:1: kind: 'colls' is not known; did you mean 'coll'?");
  told(":10:33: all_us: '31536000000000us'");  // a year
  told(":11:1: 2 cells where the columns are 7");
}

TEST_F(ValidateCommand, ExplainsFilesThatItCannotRead) {
  expect_fault({written("binary.csv", std::string("\x7f"
                                                  "ELF\0\xff",
                                                  6))},
               "binary.csv:1:1: a control character");
  expect_fault({written("nul.csv", std::string("a,b\n1,\0\n", 8))}, "nul.csv:2:3: a NUL byte (a binary file?)");
  fs::resize_file(written("huge.csv", ""), (std::uintmax_t{1} << 30) + 1);
  expect_fault({path("huge.csv")}, "huge.csv: larger than 1 GiB");
}

TEST_F(ValidateCommand, ComparesGoodFilesBesideBadOnes) {
  const std::string file = written("in.csv", runs + good);
  const Answer answer = validate({written("empty.csv", ""), file, file});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.out, HasSubstr("1 of 1 cases lie within their bands. Left out: 2 files."));
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("empty.csv:1:1: no line names the columns"), HasSubstr("in.csv: is given twice")));
}

// A file may be at fault in a million rows.
TEST_F(ValidateCommand, TellsAHundredFaultsAndCountsTheRest) {
  std::string text = runs + good;
  for (int i = 0; i < 130; ++i) text += "gemm,cb9,-,0,all,304,1900\n";
  const Answer answer = validate({written("many.csv", text)});
  EXPECT_THAT(answer.out, HasSubstr("Left out: 130 rows."));
  EXPECT_THAT(answer.err, AllOf(HasSubstr("many.csv:102:6"), Not(HasSubstr("many.csv:103:6")),
                                HasSubstr("warning: 30 more are at fault")));
}

TEST_F(ValidateCommand, TakesASuiteForASuiteWhateverLiesBesideIt) {
  const fs::path before = fs::current_path();
  fs::create_directory(folder_ / "power");
  fs::current_path(folder_);
  const Answer answer = validate({"power"});
  fs::current_path(before);
  EXPECT_NE(answer.code, ExitCode::users_fault) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("power"));
}

TEST_F(ValidateCommand, RunsASuiteOnAnotherPlatform) {
  const Answer answer = validate({"power", "--platform", "h200", "--format", "json"});
  const json report = json::parse(answer.out);
  EXPECT_EQ(report["platform"], "h200");
  EXPECT_THAT(report["cases"][0]["command"], HasSubstr("validate power --case power/"));
}

TEST_F(ValidateCommand, WritesTablesCsvAndJson) {
  const std::string file = written("in.csv", runs + good);
  const std::string csv = validate({file, "--format", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("case,suite,group,role,trial,figure,unit,measured,predicted,error_pct,"));
  EXPECT_THAT(csv, HasSubstr("\nin.csv:2/time,your files,GEMM by shape and CUs,unlisted,"));
  const json report = json::parse(validate({file, "--format", "json"}).out);
  for (const char* const key :
       {"cases", "suites", "groups", "baselines", "choices", "claims", "deviations", "left_out"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_EQ(report["cases"][0]["verdict"], "within band");
  EXPECT_EQ(report["notes"][0], "1 of 1 cases lie within their bands.");
}

TEST_F(ValidateCommand, ShowsTheCasesAskedFor) {
  const json report = json::parse(validate({"power", "--case", "/clock", "--format", "json"}).out);
  ASSERT_FALSE(report["cases"].empty());
  for (const json& one : report["cases"]) EXPECT_EQ(one["figure"], "clock");
}

TEST_F(ValidateCommand, GivesTheSameBytesAtAnyNumberOfJobs) {
  const std::string one = validate({"power", "rccl", "--jobs", "1", "--format", "json"}).out;
  EXPECT_EQ(validate({"power", "rccl", "--jobs", "3", "--format", "json"}).out, one);
}

TEST_F(ValidateCommand, ReportsIntoAFolderAndLeavesOtherFilesThere) {
  const std::string file = written("in.csv", runs + good);
  fs::create_directory(folder_ / "report");
  written("report/mine.txt", "mine");
  ASSERT_EQ(validate({file, "--report", path("report")}).code, ExitCode::fine);
  written("report/claims.csv", "of an earlier report\n");
  ASSERT_EQ(validate({file, "--report", path("report")}).code, ExitCode::users_fault);
  ASSERT_EQ(validate({file, "--report", path("report"), "--overwrite"}).code, ExitCode::fine);
  EXPECT_EQ(content(folder_ / "report/mine.txt"), "mine");
  EXPECT_THAT(content(folder_ / "report/claims.csv"), StartsWith("claim,"));
  EXPECT_EQ(json::parse(content(folder_ / "report/results.json"))["cases"].size(), 1u);
  EXPECT_TRUE(fs::exists(folder_ / "report/page.html"));
  // Into one that is not there yet, too.
  ASSERT_EQ(validate({file, "--report", path("new/deep")}).code, ExitCode::fine);
  EXPECT_TRUE(fs::exists(folder_ / "new/deep/cases.csv"));
}

TEST_F(ValidateCommand, RefusesAFileWhereAFolderIsDue) {
  const std::string file = written("in.csv", runs + good);
  expect_fault({file, "--report", file}, "in.csv' is a file: a folder, or a name for a new one, is accepted");
  EXPECT_EQ(content(file), runs + good);
  EXPECT_THAT(validate({file, "--report", file + "/deeper"}).code, ExitCode::users_fault);
}

TEST_F(ValidateCommand, EndsWithTwoWhereItsOutputCannotBeWritten) {
  const std::string command = std::string(C3SIM_PROGRAM) + " validate --list >/dev/full 2>" + path("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(content(folder_ / "err"), HasSubstr("stdout"));
}

TEST_F(ValidateCommand, PredictsWhatIsNotMeasuredAndScoresItLater) {
  const std::string plan =
      written("plan.csv", runs + "gemm,8192x8192x8192,-,0,all,304,\ncoll,-,all_gather,1048576,nccl,0,\n");
  const std::string out = path("P.json");
  const Answer predicted = validate({"--predict", plan, "--out", out, "--set", "gpu.power.cap=700 W"});
  ASSERT_EQ(predicted.code, ExitCode::fine) << predicted.err;
  const std::string digest = json::parse(content(out))["sha256"];
  EXPECT_EQ(predicted.out, "2 predictions in " + out + "\nsha256 " + digest + "\n");

  const std::string measured = written("measured.csv", runs + good + "gemm,cb2,-,0,all,304,9000\n");
  const Answer scored = validate({"--score", out, measured, "--format", "json"});
  EXPECT_EQ(scored.code, ExitCode::fine) << scored.err;
  EXPECT_THAT(scored.err, HasSubstr("1 of 2 predictions of the file were not measured"));
  const json report = json::parse(scored.out);
  EXPECT_EQ(report["notes"][0], "1 of 1 cases lie within their bands, 1 have no prediction.");
  const double written_down = json::parse(content(out))["cases"][0]["predicted"];
  EXPECT_DOUBLE_EQ(report["cases"][0]["predicted"], written_down);

  std::string other = content(out);
  other.replace(other.find("\"predicted\": 1") + 13, 1, "2");
  expect_fault({"--score", written("Q.json", other), measured},
               "Q.json: was changed since it was written: its digest is");
  expect_fault({"--score", out, written("other.csv", runs + "gemm,cb2,-,0,all,304,9000\n")},
               "cannot be compared: the file of predictions has none of it");
}

// A plan has no column of what will be measured, unless its author left one.
TEST_F(ValidateCommand, PredictsAPlanWithoutAColumnOfTimes) {
  const std::string plan = written("plan.csv", "gemm,cus\n8192x8192x8192,304\n4096x4096x8192,240\n");
  const std::string measured =
      written("measured.csv", "gemm,cus,time_us\n8192x8192x8192,304,1600\n4096x4096x8192,240,500\n");
  const std::string out = path("P.json");
  const Answer predicted = validate({"--predict", plan, "--out", out});
  ASSERT_EQ(predicted.code, ExitCode::fine) << predicted.err;
  EXPECT_THAT(predicted.out, StartsWith("2 predictions in "));
  const Answer scored = validate({"--score", out, measured, "--format", "json"});
  EXPECT_THAT(scored.err, Not(HasSubstr("not measured")));
  const json cases = json::parse(scored.out)["cases"];
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_GT(cases[0]["predicted"], 1000.0);
  // Without the column a table of measurements says nothing: it is refused.
  expect_fault({plan}, "time_us");
}

// What each command prints as CSV is what it would predict of that file again, to the last digits.
TEST_F(ValidateCommand, FullReadsTheColumnsThatC3simPrints) {
  const std::vector<std::vector<std::string>> questions{
      {"gemm", "--gemm", "8192x8192x8192", "--cus", "304,240"},
      {"collective", "--collective", "all_gather", "--bytes", "1MiB"},
      {"collective", "--collective", "all_gather", "--backend", "sdma", "--variant", "all", "--prelaunch", "both",
       "--bytes", "1MiB"},
      {"copy", "--from", "gpu0", "--to", "gpu1", "--bytes", "1KiB:1MiB:x4"},
      {"c3", "--gemm", "8192x8192x8192", "--collective", "all_gather", "--bytes", "256MiB"}};
  for (std::vector<std::string> question : questions) {
    SCOPED_TRACE(question.front());
    question.insert(question.end(), {"--format", "csv"});
    const Answer printed = run_cli(question);
    ASSERT_EQ(printed.code, ExitCode::fine) << printed.err;
    const Answer again = validate({written("printed.csv", printed.out), "--format", "json"});
    EXPECT_EQ(again.code, ExitCode::fine) << again.err;
    EXPECT_THAT(again.err, Not(HasSubstr("left out")));
    const json cases = json::parse(again.out)["cases"];
    EXPECT_GE(cases.size(), 1u);
    for (const json& one : cases) EXPECT_NEAR(one["error_pct"], 0.0, 1e-9) << one;
  }
}

// A source tree with the smallest of suites.
class ValidateCommandInATree : public ValidateCommand {
 protected:
  ValidateCommandInATree() {
    const fs::path source = C3SIM_SOURCE_DIR;
    fs::copy(source / "configs", folder_ / "configs", fs::copy_options::recursive);
    fs::create_directories(folder_ / "validate/suites");
    fs::create_directories(folder_ / "validate/reference/mi300x");
    fs::copy(source / "validate/suites/power.yaml", folder_ / "validate/suites/power.yaml");
    for (const char* const table : {"power_mi300x.csv", "gemm_mi300x.csv", "roles.csv"}) {
      fs::copy(source / "validate/reference/mi300x" / table, folder_ / "validate/reference/mi300x" / table);
    }
    written("validate/reference/claims.csv", "id,paper,metric,value,low,high,role\n");
    fs::copy(source / "validate/claims.yaml", folder_ / "validate/claims.yaml");
    written("validate/deviations.yaml", "deviations: []\n");
    setenv("C3SIM_CONFIGS", path("configs").c_str(), 1);
  }
  ~ValidateCommandInATree() override { unsetenv("C3SIM_CONFIGS"); }
};

TEST_F(ValidateCommandInATree, FullWritesGoldensAndShowsWhatMoved) {
  const std::string goldens = path("validate/goldens.csv");
  const Answer written_first = validate({"--update-goldens"});
  EXPECT_NE(written_first.code, ExitCode::users_fault) << written_first.err;
  const std::string digest = content(goldens).substr(content(goldens).find("follows: ") + 9, 8);
  EXPECT_THAT(written_first.out, HasSubstr("Name the goldens by " + digest + " in a line of CHANGELOG.md."));

  const json same = json::parse(validate({"--against", goldens, "--format", "json"}).out);
  EXPECT_THAT(same["moves"], SizeIs(0));

  // Under a lower cap GEMMs run slower: the clock is further from what was measured, and nothing is new or gone.
  const Answer lower = validate({"--against", goldens, "--set", "gpu.power.cap=600 W", "--format", "json"});
  EXPECT_EQ(lower.code, ExitCode::check_failed);
  const json moves = json::parse(lower.out)["moves"];
  ASSERT_FALSE(moves.empty());
  for (const json& move : moves) {
    EXPECT_EQ(move["change"], "regression");
    EXPECT_EQ(move["unit"], "MHz");
    EXPECT_LT(move["after"], move["before"]);
  }

  std::string edited = content(goldens);
  edited[edited.size() - 2] = edited[edited.size() - 2] == '1' ? '2' : '1';
  expect_fault({"--against", written("edited.csv", edited)}, "edited.csv: was changed by hand: its digest is another");
  expect_fault({"--against", path("absent.csv")}, "absent.csv: No such file or directory");
}

TEST_F(ValidateCommandInATree, ToldOfADataFileThatIsMissingOrAtFault) {
  written("validate/reference/mi300x/gemm_mi300x.csv", "library,dtype\n");
  expect_fault({"power"}, "gemm_mi300x.csv:1:1: M: this column is missing");
  fs::remove(folder_ / "validate/reference/mi300x/gemm_mi300x.csv");
  expect_fault({"power"}, "gemm_mi300x.csv: No such file or directory");
}

TEST_F(ValidateCommandInATree, ToldOfASuiteAtFault) {
  written("validate/suites/odd.yaml", "title: t\nquestion: q\nplatform: mi300y\nclaims: [latte]\n");
  expect_fault({"odd"}, "odd.yaml: platform: no platform is named 'mi300y'; did you mean 'mi300x'?");
  written("validate/suites/odd.yaml", "titel: t\nquestion: q\nplatform: mi300x\nclaims: [latte]\n");
  expect_fault({"odd"}, "odd.yaml:1:1: titel: unknown key; did you mean 'title'?");
}

TEST_F(ValidateCommand, FullGivesTheSameBytesAtAnyNumberOfJobs) {
  const std::vector<std::string> suites{"fused", "latte", "overlap", "public", "replay"};
  const std::string one = validate(with(suites, {"--jobs", "1", "--format", "json"})).out;
  EXPECT_EQ(validate(with(suites, {"--jobs", "5", "--format", "json"})).out, one);
}

}  // namespace
}  // namespace c3sim::cli
