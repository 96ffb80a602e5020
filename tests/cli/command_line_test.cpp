#include "cli/command_line.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "study/c3/strategy.h"
#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

const std::vector<std::string> small_c3{"c3",      "--gemm", "4096x4096x4096", "--collective", "all_gather",
                                        "--bytes", "64MiB",  "--format",       "json"};

std::filesystem::path empty_folder(const std::string& name) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("command_line_" + name);
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(CommandLine, HelpAndVersionGoToStdout) {
  for (const char* const command : {"c3", "gemm", "collective", "copy", "run", "platform", "completion"}) {
    const Answer answer = run_cli({command, "--help"});
    EXPECT_EQ(answer.code, ExitCode::fine);
    EXPECT_THAT(answer.out, HasSubstr(std::string("c3sim ") + command)) << "an example";
    EXPECT_THAT(answer.err, IsEmpty());
  }
  EXPECT_THAT(run_cli({"--version"}).out, StartsWith("c3sim "));
  EXPECT_THAT(run_cli({"--help"}).out, HasSubstr("Exit codes"));
}

TEST(CommandLine, EveryQuestionHasATableCsvAndJson) {
  const std::vector<std::vector<std::string>> questions{
      {"c3", "--gemm", "4096x4096x4096", "--collective", "all_to_all", "--bytes", "64MiB", "--strategy", "c3_sp"},
      {"gemm", "--gemm", "4096x4096x4096", "--cus", "304,240"},
      {"collective", "--collective", "all_reduce", "--bytes", "1MiB:4MiB:x2"},
      {"collective", "--collective", "all_gather", "--backend", "sdma", "--variant", "bcst", "--prelaunch", "--bytes",
       "1MiB"},
      {"copy", "--from", "gpu0", "--to", "gpu1", "--bytes", "1KiB", "--phases"},
      {"copy", "--from", "host", "--to", "gpu1", "--bytes", "1KiB"},
      {"platform"}};
  for (const auto& question : questions) {
    const Answer table = run_cli(question);
    EXPECT_EQ(table.code, ExitCode::fine) << table.err;
    const Answer csv = run_cli(with(question, {"--format", "csv"}));
    EXPECT_THAT(csv.out, HasSubstr(",")) << question[0];
    const Answer json = run_cli(with(question, {"--format", "json"}));
    ASSERT_TRUE(nlohmann::json::accept(json.out)) << json.out << json.err;
    const auto parsed = nlohmann::json::parse(json.out);
    EXPECT_EQ(parsed["platform"], "mi300x");
    EXPECT_FALSE(parsed["results"].empty());
  }
}

TEST(CommandLine, TheSameQuestionGetsTheSameBytes) { EXPECT_EQ(run_cli(small_c3).out, run_cli(small_c3).out); }

TEST(CommandLine, SetChangesTheAnswer) {
  EXPECT_NE(run_cli(small_c3).out, run_cli(with(small_c3, {"--set", "fabric.link_rate=60 GB/s"})).out);
  EXPECT_THAT(run_cli({"platform", "--set", "gpu.cus_per_xcd=30", "--format", "csv"}).out,
              HasSubstr("gpu.cus_per_xcd,30,,what_if"));
}

// Links of twice the rate are no MI300X, but a question one may ask.
TEST(CommandLine, AWhatIfOutsideTheRangeOfItsParameterIsAnsweredWithAWarning) {
  const Answer answer = run_cli(with(small_c3, {"--set", "fabric.link_rate=96 GB/s", "--strategy", "c3_base"}));
  EXPECT_EQ(answer.code, ExitCode::fine);
  const std::string warning = "--set fabric.link_rate=96 GB/s: '96 GB/s' lies outside its range [45 GB/s, 64 GB/s]";
  EXPECT_EQ(answer.err, "warning: " + warning + "\n");
}

TEST(CommandLine, WithoutAMechanismAnotherMachineAnswersAndThatIsSaid) {
  const std::vector<std::string> base = with(small_c3, {"--strategy", "c3_base"});
  const Answer answer = run_cli(with(base, {"--without", "dispatch_wait,clock"}));
  EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_NE(answer.out, run_cli(base).out);
  EXPECT_EQ(answer.err, "warning: --without dispatch_wait,clock: no real machine, but what one would be without it\n");
}

TEST(CommandLine, FullSensitivityListsEveryUncertainParameterByItsSwing) {
  const Answer answer = run_cli(with(small_c3, {"--strategy", "serial,conccl", "--sensitivity"}), true);
  ASSERT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("\r["));  // the progress bar
  const auto rows = nlohmann::json::parse(answer.out)["sensitivity"];
  ASSERT_GT(rows.size(), 20U);  // those that move anything by what one decimal shows
  EXPECT_TRUE(rows[0].contains("conccl_low_points"));
  EXPECT_FALSE(rows[0].contains("serial_low_points"));
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i - 1]["swing_points"], rows[i]["swing_points"]);
  EXPECT_GE(rows.back()["swing_points"], 0.05) << "what moves nothing is left out";
}

// A launch takes 6 us of some 14 on this platform, which its file assumes to be 3 to 12.
TEST(CommandLine, FullSensitivityIsOfAnyQuantity) {
  const std::vector<std::string> gemm{"gemm", "--gemm", "512x512x512", "--format", "json"};
  const Answer answer = run_cli(with(gemm, {"--sensitivity"}));
  ASSERT_EQ(answer.code, ExitCode::fine) << answer.err;
  const auto rows = nlohmann::json::parse(answer.out)["sensitivity"];
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

// One command asks for every variant with and without prelaunch: 2 sizes x 3 variants of all-gather x 2.
TEST(CommandLine, AllVariantsOfACollectiveComeWithOneCommand) {
  const Answer answer = run_cli({"collective", "--collective", "all_gather", "--backend", "sdma", "--variant", "all",
                                 "--prelaunch", "both", "--bytes", "1KiB,1MiB", "--format", "json"});
  ASSERT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_EQ(nlohmann::json::parse(answer.out)["results"].size(), 12U);
  EXPECT_THAT(answer.err, HasSubstr("warning: left out: variant swap does not exist for all_gather"));
}

TEST(CommandLine, OptionsOfACollectiveReachTheModel) {
  const auto time = [](const std::vector<std::string>& more) {
    const Answer answer =
        run_cli(with({"collective", "--collective", "all_gather", "--bytes", "64KiB", "--format", "json"}, more));
    return nlohmann::json::parse(answer.out)["results"][0]["time_us"].get<double>();
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
    return nlohmann::json::parse(out_of(
        with({"collective", "--collective", "all_reduce", "--backend", "sdma", "--bytes", "64MiB", "--format", "json"},
             more)))["results"][0];
  };
  EXPECT_EQ(result({"--cus", "8"})["cus"], 8);
  EXPECT_GT(result({"--cus", "8"})["time_us"], result({"--cus", "64"})["time_us"]);
  EXPECT_LT(result({"--graph"})["time_us"], result({})["time_us"]);
  EXPECT_LT(result({"--prelaunch"})["time_us"], result({})["time_us"]);
  EXPECT_EQ(result({"--set", "gpu.sdma.reduction=true"})["cus"], 0);
}

TEST(CommandLine, ExplainShowsTheCriticalPathInEveryFormat) {
  const std::vector<std::string> gather{"collective", "--collective", "all_gather", "--backend",
                                        "sdma",       "--bytes",      "1MiB",       "--explain"};
  const std::filesystem::path folder = empty_folder("explain");
  const Answer table = run_cli(with(gather, {"--out", folder.string()}));
  EXPECT_THAT(table.out, AllOf(HasSubstr("Critical path, step by step"), HasSubstr("ring doorbell"),
                               HasSubstr(" COPY_LINEAR"), HasSubstr("engine payload rate")));
  EXPECT_THAT(content(folder / "critical_path.csv"),
              StartsWith("run,track,step,subject,start_us,time_us,bounded_by\n"));
  EXPECT_THAT(content(folder / "critical_path_parts.csv"), StartsWith("run,step,steps,time_us,percent\n"));
  const auto json = nlohmann::json::parse(run_cli(with(gather, {"--format", "json"})).out);
  EXPECT_EQ(json["critical_path"].front()["start_us"], 0.0);
  EXPECT_EQ(json["critical_path"].back()["step"], "check word");
}

TEST(CommandLine, AllLeavesOutWhatACollectiveDoesNotPermitAndSaysSo) {
  // Copy engines do not add.
  const Answer answer =
      run_cli({"c3", "--gemm", "4096x4096x4096", "--collective", "reduce_scatter", "--bytes", "64MiB"});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("c3_sp"), Not(HasSubstr("conccl"))));
  EXPECT_THAT(answer.err, HasSubstr("warning: conccl is left out"));
  expect_fault(
      {"c3", "--gemm", "4096x4096x4096", "--collective", "reduce_scatter", "--bytes", "64MiB", "--strategy", "conccl"},
      "--collective: conccl: ");
}

TEST(CommandLine, OutLeavesResultsPlatformAndTrace) {
  const std::filesystem::path folder = empty_folder("out");
  const std::filesystem::path trace = std::filesystem::path(testing::TempDir()) / "command_line_trace.json";
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
  const std::filesystem::path folder = empty_folder("resolved");
  const std::vector<std::string> changed = with(small_c3, {"--set", "gpu.cus_per_xcd=30"});
  const Answer first = run_cli(with(changed, {"--out", folder.string()}));
  const Answer again = run_cli(with(small_c3, {"--platform", (folder / "platform.yaml").string()}));
  EXPECT_EQ(first.out, again.out) << again.err;
}

TEST(CommandLine, RunsTheExampleExperiments) {
  EXPECT_EQ(run_cli({"run", C3SIM_SOURCE_DIR "/configs/experiments/sdma_handshake.yaml"}).code, ExitCode::fine);
  EXPECT_THAT(out_of({"run", C3SIM_SOURCE_DIR "/configs/experiments/layer_overlap.yaml"}),
              HasSubstr("down_projection"));
}

TEST(CommandLine, ParametersOfAnExperimentAreGivenOutside) {
  const std::string file = C3SIM_SOURCE_DIR "/configs/experiments/copy_pipeline.yaml";
  EXPECT_THAT(out_of({"run", file, "--param", "pieces=2", "--param", "hops=$(2 + 1)", "--check"}),
              AllOf(HasSubstr("copy[hop=2,piece=1]"), HasSubstr("6 operations would run; nothing has.")));
  expect_fault({"run", file, "--param", "peices=2"}, "did you mean 'parameters.pieces'?");
  expect_fault({"run", file, "--param", "bytes=$(512MiB / 0)"},
               "--param bytes=$(512MiB / 0): bytes: a division by zero");
  EXPECT_THAT(run_cli({"run", C3SIM_SOURCE_DIR "/configs/experiments/conccl.yaml", "--check"}).out,
              HasSubstr("15 pairs with 2 collectives by 9 strategies would run; nothing has."));
  EXPECT_THAT(run_cli({"run", C3SIM_SOURCE_DIR "/configs/experiments/ficco.yaml", "--check"}).out,
              HasSubstr("16 GEMMs by"));
}

TEST(CommandLine, AnExperimentMaySetParametersOfItsPlatform) {
  const std::string text =
      "name: a\nparameters: {rate: 40GB/s}\nset: [gpu.sdma.payload_rate=$(rate)]\noperations:\n"
      "  - {name: a, stream: s, copy: {from: 0, to: 1, bytes: 1GiB}}\n";
  const std::string file = written("sets.yaml", text).string();
  const std::string slow = run_cli({"run", file, "--param", "rate=20GB/s", "--format", "csv"}).out;
  EXPECT_NE(run_cli({"run", file, "--format", "csv"}).out, slow);
  EXPECT_EQ(run_cli({"run", file, "--set", "gpu.sdma.payload_rate=20GB/s", "--format", "csv"}).out, slow);
}

TEST(CommandLine, RunsAStudyOfFinerGrainSchedules) {
  const std::filesystem::path file = written(
      "finer.yaml", "name: finer\ngemms: {a: 1024x8192x4096}\nschedules: [shard_overlap, scatter_serial_sdma]\n");
  EXPECT_THAT(out_of({"run", file.string()}), AllOf(HasSubstr("lost by contention"), HasSubstr("scatter_serial_sdma")));
  expect_fault({"run", written("odd.yaml", "name: odd\ngemms: {a: 8x8x8}\nschedules: [shard]\n").string()},
               "no schedule is named 'shard'");
}

TEST(CommandLine, WarnsWhereOneValueStandsInsteadOfAnother) {
  const Answer answer = run_cli({"gemm", "--gemm", "64x64x64", "--set", "gpu.sdma.engines=32", "--set",
                                 "host.doorbell=1us", "--set", "gpu.sdma.engines=8", "--format", "json"});
  EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
  const std::string sentence = "--set 'gpu.sdma.engines=8' stands instead of --set 'gpu.sdma.engines=32'";
  EXPECT_THAT(answer.err, HasSubstr(sentence));
  EXPECT_THAT(nlohmann::json::parse(answer.out)["warnings"].dump(), HasSubstr(sentence));
  EXPECT_THAT(run_cli({"run", C3SIM_SOURCE_DIR "/configs/experiments/llama_70b_fsdp.yaml", "--check", "--param",
                       "tokens=4096", "--param", "tokens=8192"})
                  .err,
              HasSubstr("--param 'tokens=8192' stands instead of --param 'tokens=4096'"));
}

TEST(CommandLine, PrintsTheSchemaOfExperiments) {
  EXPECT_THAT(out_of({"schema"}), HasSubstr("\"$schema\": \"http://json-schema.org/draft-07/schema#\""));
}

TEST(CommandLine, RunsAStudyAndLeavesAPage) {
  const std::filesystem::path folder = empty_folder("study");
  const std::filesystem::path file = written(
      "small_study.yaml",
      "name: small\nplatform: mi300x\nlonger_by: 1.15\ngemms: {cb1: 4096x4096x4096}\ncollectives: [all_gather]\n"
      "strategies: [c3_base, conccl]\npairs:\n  - {gemm: cb1, bytes: 64MiB, class: C-long}\n");
  const Answer answer = run_cli({"run", file.string(), "--out", folder.string(), "--explain"}, true);
  ASSERT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("c3_base"));
  EXPECT_THAT(answer.err, HasSubstr("2/2"));  // the progress bar
  for (const char* const name : {"by_mechanism.csv", "results.csv", "by_strategy.csv", "by_class.csv", "pairs.csv",
                                 "results.json", "experiment.yaml", "platform.yaml"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  for (const char* const chart : {"fraction_of_ideal", "speedup_by_kernels", "speedup_by_copy_engines", "slowdown"}) {
    EXPECT_THAT(content(folder / "page.html"), HasSubstr(fmt::format(R"("kind":"bars","id":"{}")", chart)));
  }
}

TEST(CommandLine, HelpExplainsStrategiesAndWhereConfigurationsAre) {
  for (const study::Strategy strategy : study::all_strategies()) {
    EXPECT_THAT(run_cli({"c3", "--help"}).out, HasSubstr(fmt::format("\n  {:<10} ", to_string(strategy))));
  }
  EXPECT_THAT(run_cli({"--help"}).out, HasSubstr("C3SIM_CONFIGS"));
}

TEST(CommandLine, ThePlatformFitsALineAndCanBeFiltered) {
  std::istringstream lines(run_cli({"platform"}).out);
  for (std::string line; std::getline(lines, line);) {
    const auto continued = std::ranges::count_if(line, [](char c) { return (c & 0xC0) == 0x80; });  // in UTF-8
    EXPECT_LE(static_cast<std::ptrdiff_t>(line.size()) - continued, 120) << line;
  }
  const Answer sdma = run_cli({"platform", "--filter", "SDMA.ring", "--format", "csv"});
  EXPECT_THAT(sdma.out, AllOf(HasSubstr("gpu.sdma.ring,"), Not(HasSubstr("gpu.xcds"))));
  EXPECT_THAT(run_cli({"platform", "--filter", "peak_link_rate"}).out, Not(HasSubstr("ConCCL")));
  EXPECT_THAT(run_cli({"platform", "--filter", "peak_link_rate", "--sources"}).out, HasSubstr("ConCCL"));
  expect_fault({"platform", "--filter", "nonsense"}, "--filter: no parameter holds 'nonsense'");
}

TEST(CommandLine, ThePlatformShowsWhatDiffersFromAnother) {
  const std::string mine =
      written("mine.yaml",
              "base: h200\nname: mine\ngpu:\n  power: {cap: {value: 600 W, kind: measured, source: my board}}\n"
              "fabric: {latency: {value: 0.4 us}}\n")
          .string();
  // The base has 700 W, and 400 ns, which are 0.4 us.
  const Answer answer = run_cli({"platform", mine, "--against", "h200", "--format", "csv"});
  EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("gpu.power.cap,600 W,measured,my board,700 W,data_sheet,H200 SXM,"));
  EXPECT_THAT(answer.out,
              AllOf(Not(HasSubstr("fabric.latency")), Not(HasSubstr("gpu.xcds")), Not(HasSubstr("fitted_to"))));
  EXPECT_THAT(run_cli({"platform", "h200", "--against", "h200"}).out,
              HasSubstr("No parameter that was asked for differs"));
  expect_fault({"platform", "h200", "--against", "h20"}, "--against: ");
}

TEST(CommandLine, ThePlatformShowsErrorsBesideValues) {
  const std::string fitted =
      written("fitted.yaml",
              "base: mi300x\nname: fitted\nfabric:\n  link_rate: {value: 48 GB/s, error: 1.2 GB/s}\n"
              "  latency: {value: 600 ns, error: 0.1 us, kind: measured}\n")
          .string();
  EXPECT_THAT(run_cli({"platform", fitted, "--filter", "link_rate"}).out, HasSubstr("  48 ± 1.2 GB/s  "));
  EXPECT_THAT(run_cli({"platform", fitted, "--filter", "fabric.latency"}).out, HasSubstr("  600 ns ± 0.1 us  "));
  const std::string csv = run_cli({"platform", fitted, "--filter", "fabric.l", "--format", "csv"}).out;
  EXPECT_THAT(csv, HasSubstr(",file,error\n"));
  EXPECT_THAT(csv, HasSubstr("\nfabric.latency,600 ns,s,measured,"));
  EXPECT_THAT(csv, HasSubstr("fitted.yaml:5,0.1 us\n"));
}

// --sensitivity --format csv computed for 21 s and printed none of it.
TEST(CommandLine, CsvHasWhatOptionsAskedFor) {
  const std::vector<std::string> copy{"copy", "--from", "gpu0", "--to", "gpu1", "--bytes", "1MiB", "--format", "csv"};
  const std::string plain = run_cli(copy).out;
  const std::string explained = run_cli(with(copy, {"--explain"})).out;
  EXPECT_THAT(explained, StartsWith(plain + "\n# explanation: Where the time went\nrun,work,bottleneck,"));
  EXPECT_THAT(explained, HasSubstr("\n\n# critical_path: "));
}

TEST(CommandLine, FoldersOfPlatformsAreSearchedInOrder) {
  const std::filesystem::path folder = empty_folder("configs");
  std::filesystem::create_directories(folder / "platforms");
  std::ofstream(folder / "platforms" / "mine.yaml") << content(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml");
  setenv("C3SIM_CONFIGS", folder.c_str(), 1);
  const Answer answer = run_cli({"platform", "mine"});
  unsetenv("C3SIM_CONFIGS");
  EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
}

// Others stand in tests/data/samples.
TEST(CommandLineFaults, FilesOfAnyBytesAreNoExperiments) {
  expect_fault({"run", written("binary.yaml", std::string("\x7f\x45LF\0\1\2", 7)).string()}, "binary.yaml");
  expect_fault({"run", written("deep.yaml", std::string(100'000, '[')).string()}, "deep.yaml");
  expect_fault({"run", written("huge.yaml", std::string(std::size_t{2} << 20, 'a')).string()}, "huge.yaml");
}

}  // namespace
}  // namespace c3sim::cli
