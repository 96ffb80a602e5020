#include "cli/command_line.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "study/c3/strategy.h"
#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

const std::vector<std::string> small_c3{"c3",      "--gemm", "4096x4096x4096", "--collective", "all_gather",
                                        "--bytes", "64MiB",  "--format",       "json"};

TEST(CommandLine, FullSensitivityListsEveryUncertainParameterByItsSwing) {
  const Answer answer = run_cli(with(small_c3, {"--strategy", "serial,conccl", "--sensitivity"}), true);
  ASSERT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("\x1B[K["));  // the progress bar
  const auto rows = nlohmann::json::parse(answer.out)["sensitivity"];
  ASSERT_GT(rows.size(), 20U);  // rows that move a figure by a visible decimal
  EXPECT_TRUE(rows[0].contains("conccl_low_points"));
  EXPECT_FALSE(rows[0].contains("serial_low_points"));
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i - 1]["swing_points"], rows[i]["swing_points"]);
  EXPECT_GE(rows.back()["swing_points"], 0.05) << "what moves nothing is left out";
}

// On this platform a launch takes 6 us of some 14; the platform file assumes a range of 3 to 12.
TEST(CommandLine, FullSensitivityIsOfAnyQuantity) {
  const std::vector<std::string> gemm{"gemm", "--gemm", "512x512x512", "--format", "json"};
  const auto rows = nlohmann::json::parse(out_of(with(gemm, {"--sensitivity"})))["sensitivity"];
  ASSERT_GT(rows.size(), 3U);
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.push_back(row["parameter"]);
    EXPECT_GT(row["swing_percent"], 0.0);
    EXPECT_THAT(names.back(), Not(AnyOf(StartsWith("fitted_to"), StartsWith("correlations"))));
  }
  EXPECT_THAT(names, testing::Contains("host.kernel_launch"));
  EXPECT_TRUE(rows[0].contains("time_us_low_percent"));
  EXPECT_THAT(run_cli(with(gemm, {"--sensitivity", "tflops"})).out, HasSubstr("tflops_high_percent"));
  expect_fault(with(gemm, {"--sensitivity", "tflop"}),
               "--sensitivity: the answer has no number 'tflop' in all its rows; did you mean 'tflops'?");
}

TEST(CommandLine, OptionsOfACollectiveReachTheModel) {
  const auto time = [](const std::vector<std::string>& more) {
    const std::vector<std::string> gather{"collective", "--collective", "all_gather", "--bytes", "64KiB"};
    return json_of(with(gather, more))["results"][0]["time_us"].get<double>();
  };
  const std::vector<std::string> b2b{"--backend", "sdma", "--variant", "b2b"};
  const std::vector<std::string> launches{"--set", "host.kernel_launch=6us", "--set", "host.graph_launch=1us"};
  EXPECT_NEAR(time(launches) - time(with(launches, {"--graph"})), 5.0, 1e-9);
  EXPECT_LT(time({"--gpus", "4"}), time({}));
  EXPECT_LT(time(with(b2b, {"--host-threads", "per_gpu"})), time(with(b2b, {"--host-threads", "one"})));
  EXPECT_NE(time(with(b2b, {"--engines", "3"})), time(b2b));
  EXPECT_LT(time(with(b2b, {"--prelaunch"})), time(with(b2b, {"--prelaunch", "no"})));
}

// RCCL's part of an all-reduce on SDMA takes the options of kernels, unless the engines reduce.
TEST(CommandLine, AnAllReduceOnSdmaHasKernelsAndEngines) {
  const auto result = [](const std::vector<std::string>& more) {
    return json_of(with({"collective", "--collective", "all_reduce", "--backend", "sdma", "--bytes", "64MiB"}, more))
        .at("results")
        .at(0);
  };
  EXPECT_EQ(result({"--cus", "8"})["cus"], 8);
  EXPECT_GT(result({"--cus", "8"})["time_us"], result({"--cus", "64"})["time_us"]);
  EXPECT_LT(result({"--graph"})["time_us"], result({})["time_us"]);
  EXPECT_LT(result({"--prelaunch"})["time_us"], result({})["time_us"]);
  EXPECT_EQ(result({"--set", "gpu.sdma.reduction=true"})["cus"], 0);
}

TEST(CommandLine, OutLeavesResultsPlatformAndTrace) {
  const Folder own("command_line_out");
  const std::filesystem::path folder = own.path() / "out";
  const std::filesystem::path trace = own.path() / "trace.json";
  const std::string answer =
      out_of(with(small_c3, {"--strategy", "c3_sp", "--out", folder.string(), "--trace", trace.string(), "--explain"}));
  auto results = nlohmann::ordered_json::parse(content(folder / "results.json"));
  EXPECT_THAT(results["command"].get<std::string>(),
              AllOf(StartsWith("c3sim c3 --gemm 4096x4096x4096 "), HasSubstr("--out " + folder.string())));
  for (const char* const key : {"c3sim", "command", "files", "sha256"}) results.erase(key);
  EXPECT_EQ(results.dump(2) + "\n", answer);
  EXPECT_THAT(content(folder / "results.csv"), HasSubstr("fraction_of_ideal"));
  EXPECT_THAT(content(folder / "explanation.csv"), HasSubstr("bottleneck"));
  EXPECT_THAT(content(folder / "slowdown.csv"), HasSubstr("cu_loss_percent"));
  EXPECT_THAT(content(folder / "page.html"), HasSubstr(R"("kind":"bars","id":"slowdown")"));
  EXPECT_THAT(content(folder / "platform.yaml"), HasSubstr("mi300x"));
  EXPECT_TRUE(nlohmann::json::accept(content(trace)));
  EXPECT_FALSE(std::filesystem::exists(trace.string() + ".partial"));
}

TEST(CommandLine, TheResolvedPlatformGivesTheSameAnswer) {
  const Folder folder("command_line_resolved");
  const std::vector<std::string> changed = with(small_c3, {"--set", "gpu.cus_per_xcd=30"});
  const Answer first = run_cli(with(changed, {"--out", folder.path()}));
  const Answer again = run_cli(with(small_c3, {"--platform", folder.path() / "platform.yaml"}));
  EXPECT_NE(first.out, out_of(small_c3));
  EXPECT_EQ(first.out, again.out) << again.err;
}

TEST(CommandLine, HelpExplainsStrategies) {
  for (const study::Strategy strategy : study::all_strategies()) {
    EXPECT_THAT(run_cli({"c3", "--help"}).out, HasSubstr(fmt::format("\n  {:<10} ", to_string(strategy))));
  }
}

TEST(CommandLine, ThePlatformFitsALine) {
  std::istringstream lines(run_cli({"platform"}).out);
  for (std::string line; std::getline(lines, line);) {
    const auto continued = std::ranges::count_if(line, [](char c) { return (c & 0xC0) == 0x80; });  // in UTF-8
    EXPECT_LE(static_cast<std::ptrdiff_t>(line.size()) - continued, 120) << line;
  }
}

TEST(CommandLine, FoldersOfPlatformsAreSearchedInOrder) {
  const Folder folder("command_line_configs");
  folder.write("platforms/mine.yaml", content(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml"));
  const ConfigsIn configs(folder.path());
  out_of({"platform", "mine"});
}

// The samples in tests/data/samples hold other faulty experiments.
TEST(CommandLineFaults, FilesOfAnyBytesAreNoExperiments) {
  expect_fault({"run", written("binary.yaml", std::string("\x7f\x45LF\0\1\2", 7)).string()}, "binary.yaml");
  expect_fault({"run", written("deep.yaml", std::string(100'000, '[')).string()}, "deep.yaml");
  expect_fault({"run", written("huge.yaml", std::string(std::size_t{2} << 20, 'a')).string()}, "huge.yaml");
}

// If stderr is no terminal, a line of it tells the progress of work that takes ten seconds or more.
TEST(CalibrateCommand, ShowsHowFarItIsOnATerminalAlone) {
  const std::string file =
      written("launch_bar.csv", "kind,gemm,collective,bytes,how,limit,all_us\nlaunch,-,-,0,empty_kernel,0,20\n");
  const std::string out = testing::TempDir() + "bar.yaml";
  const std::vector<std::string> arguments{"calibrate", file, "--platform", "h200", "--out", out};
  EXPECT_THAT(run_cli(arguments, true).err, HasSubstr("/100"));
  EXPECT_THAT(run_cli(arguments).err, testing::Not(HasSubstr("/100")));
}

// The test runs bash and looks at the completions that bash offers.
TEST(Completion, ScriptsAskTheProgram) {
  const std::string script = testing::TempDir() + "completion_test.bash";
  std::ofstream(script) << run_cli({"completion", "bash"}).out << "COMP_LINE='" << C3SIM_PROGRAM
                        << " copy --format j'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" << C3SIM_PROGRAM
                        << " copy --format j)\n_c3sim\nprintf '%s;' \"${COMPREPLY[@]}\" > \"$0.out\"\n";
  ASSERT_EQ(std::system(("bash " + script).c_str()), 0);
  EXPECT_EQ(content(script + ".out"), "json;");
}

#if defined(__has_feature)
#define C3SIM_HAS_SANITIZERS __has_feature(address_sanitizer)
#else
#define C3SIM_HAS_SANITIZERS 0
#endif

// The file has 400 MB in one line, and 300 MB are left: the file is named as too large, not an internal fault.
TEST(ReadCommandDeathTest, FileThatNoMemoryHoldsIsNamed) {
  if (C3SIM_HAS_SANITIZERS) GTEST_SKIP() << "their memory counts as well";
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "read_long.json";
  std::ofstream(file) << "{\"a\": \"";
  std::filesystem::resize_file(file, 400'000'000);  // zeros take no room on the disk
  const auto read_in_little_memory = [&file] {
    const rlimit little{300'000'000, 300'000'000};
    setrlimit(RLIMIT_AS, &little);
    const Answer answer = run_cli({"read", file.string()});
    const bool is_told = answer.err.find("read_long.json: it needs more memory than there is") != std::string::npos;
    std::exit(answer.code == ExitCode::users_fault && is_told ? 0 : 1);
  };
  EXPECT_EXIT(read_in_little_memory(), ::testing::ExitedWithCode(0), "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace c3sim::cli
