#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

extern char** environ;

namespace c3sim::cli {
namespace {

constexpr auto small_study = R"(name: small
ask: copy
axes:
  - {of: from, value: gpu0}
  - {of: to, value: gpu1}
  - {of: bytes, values: [1MiB, 2MiB]}
  - {of: gpu.sdma.payload_rate, values: [24 GB/s, 48 GB/s]}
objectives: [{minimize: time_us}]
charts: [{x: bytes, y: time_us}]
)";

// The study takes some seconds.
constexpr auto long_study = R"(name: long
ask: c3
axes:
  - {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s}
  - {of: bytes, from: 32MiB, to: 2GiB, scale: log}
  - {of: gemm, value: 8192x8192x8192}
  - {of: collective, value: all_gather}
  - {of: strategy, value: conccl}
sampling: {method: sobol, points: 1200}
)";

class SweepCommandTest : public InFolder {
 protected:
  // Starts c3sim as a process of its own, with this folder for its results; its messages go to the file `said`.
  pid_t start(const std::string& folder, const std::string& said) const {
    const std::string program = C3SIM_PROGRAM;
    std::vector<std::string> words{program, "sweep", long_, "--out", folder, "--resume"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }
  static bool has_points(const std::string& folder) {
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(folder + "/points.sqlite-wal", absent);
    return !absent && size >= 100'000;
  }
  // Sends this signal to a sweep once it has written points, and returns the exit status.
  int stopped_by(int signal, const std::string& folder) const {
    const pid_t child = start(folder, path("said"));
    int status = 0;
    while (!has_points(folder)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (waitpid(child, &status, WNOHANG) == child) return status;
    }
    kill(child, signal);
    waitpid(child, &status, 0);
    return status;
  }

  const std::string small_ = write("small.yaml", small_study);
  const std::string long_ = write("long.yaml", long_study);
};

TEST_F(SweepCommandTest, AFolderWithPointsIsTakenUpOnlyWhenAsked) {
  run_cli({"sweep", small_, "--out", path("a")});
  const std::string page = content(folder_ / "a" / "page.html");
  const Answer resumed = run_cli({"sweep", small_, "--out", path("a"), "--resume"});
  EXPECT_EQ(resumed.code, ExitCode::fine) << resumed.err;
  EXPECT_EQ(content(folder_ / "a" / "page.html"), page);
}

// The study names these files: a model as .yaml or config.json, and requests.
TEST_F(SweepCommandTest, FullPointsOfOtherModelsOrRequestsAreRefused) {
  const std::string model = content(C3SIM_SOURCE_DIR "/configs/models/llama3-8b.yaml");
  const std::string yaml = write("m.yaml", model);
  const std::string requests = write("r.csv", "arrival_s,prompt_tokens,output_tokens\n0,64,2\n");
  const std::string steps = write("steps.yaml", "name: steps\nask: step\naxes:\n  - {of: model, value: " + yaml +
                                                    "}\n  - {of: phase, value: decode}\n  - {of: layers, value: 1}\n"
                                                    "  - {of: graph, value: true}\n  - {of: batch, values: [1, 2]}\n");
  const std::string serves = write("serves.yaml", "name: serves\nask: serve\naxes:\n  - {of: model, value: " + yaml +
                                                      "}\n  - {of: trace, value: " + requests + "}\n");
  const std::string why = "with another file, platform or version";
  EXPECT_EQ(run_cli({"sweep", steps, "--out", path("a")}).code, ExitCode::fine);
  EXPECT_EQ(run_cli({"sweep", serves, "--out", path("b")}).code, ExitCode::fine);
  EXPECT_EQ(run_cli({"sweep", steps, "--out", path("a"), "--resume"}).code, ExitCode::fine);
  write("r.csv", "arrival_s,prompt_tokens,output_tokens\n0,128,2\n");
  EXPECT_THAT(fault_of({"sweep", serves, "--out", path("b"), "--resume"}), HasSubstr(why));
  write("m.yaml", "# a smaller one\n" + model);
  EXPECT_THAT(fault_of({"sweep", steps, "--out", path("a"), "--resume"}), HasSubstr(why));
  EXPECT_THAT(fault_of({"sweep", write("none.yaml",
                                       "name: none\nask: step\naxes:\n  - {of: model, value: llama3-8}\n"
                                       "  - {of: phase, value: decode}\n")}),
              AllOf(HasSubstr("none.yaml:4:"), HasSubstr("did you mean 'llama3-8b'?")));
}

// Answers depend on kernels of the platform's libraries and on operators, which stand in no platform file.
TEST_F(SweepCommandTest, AFolderOfAnotherTableOfKernelsOrOperatorsIsRefused) {
  for (const std::filesystem::path table : {"kernels/rocblas.csv", "operators.yaml"}) {
    const std::string results = path(table.stem());
    const std::filesystem::path configs = folder_ / "configs";
    std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
    const ConfigsIn changed(configs);
    run_cli({"sweep", small_, "--out", results});
    EXPECT_EQ(run_cli({"sweep", small_, "--out", results, "--resume"}).code, ExitCode::fine);
    std::ofstream(configs / table, std::ios::app) << "# as of today\n";
    const Answer answer = run_cli({"sweep", small_, "--out", results, "--resume"});
    std::filesystem::remove_all(configs);
    EXPECT_EQ(answer.code, ExitCode::users_fault) << table;
    EXPECT_THAT(answer.err, HasSubstr("holds points of the study 'small' with another file, platform or version"));
  }
}

// The operators vanish in the middle of the study, and are back when it is asked again.
TEST_F(SweepCommandTest, FullAStudyWhoseFilesAreGoneEndsAndGoesOn) {
  const std::filesystem::path configs = folder_ / "configs";
  std::filesystem::copy(C3SIM_SOURCE_DIR "/configs", configs, std::filesystem::copy_options::recursive);
  std::ofstream(folder_ / "norm.yaml")
      << "name: norm\nparameters: {rows: 1024}\noperations:\n"
         "  - {name: a, stream: s, kernel: {operator: mine, elements: $(rows)x8192}}\n";
  std::ofstream(configs / "operators.yaml", std::ios::app) << "  - {name: mine, reads: 1, writes: 1, flops: 1}\n";
  const std::string study = path("norms.yaml");
  std::ofstream(study) << "name: norms\nask: run\nexperiment: norm.yaml\naxes: [{of: rows, from: 1, to: 9999}]\n"
                          "sampling: {method: sobol, points: 3000}\n";
  const ConfigsIn changed(configs);
  auto sweep = std::async(std::launch::async, [&] { return run_cli({"sweep", study, "--out", path("hole")}); });
  while (!has_points(path("hole")) && sweep.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
  std::filesystem::rename(configs / "operators.yaml", configs / "gone.yaml");
  const Answer first = sweep.get();
  std::filesystem::rename(configs / "gone.yaml", configs / "operators.yaml");
  const Answer resumed = run_cli({"sweep", study, "--out", path("hole"), "--resume"});
  const Answer whole = run_cli({"sweep", study, "--out", path("whole")});
  EXPECT_EQ(first.code, ExitCode::users_fault) << first.err;
  EXPECT_THAT(first.err,
              AllOf(HasSubstr("operators.yaml: cannot be read any more"), HasSubstr("with --resume goes on")));
  EXPECT_EQ(resumed.code, ExitCode::fine) << resumed.err;
  EXPECT_EQ(whole.code, ExitCode::fine) << whole.err;
  EXPECT_EQ(content(folder_ / "hole" / "points.csv"), content(folder_ / "whole" / "points.csv"));
}

TEST_F(SweepCommandTest, PartsOfAStudyMergeIntoTheSameBytes) {
  run_cli({"sweep", small_, "--out", path("whole")});
  for (const char* const part : {"1", "2", "3"}) {
    EXPECT_THAT(out_of({"sweep", small_, "--out", path(part), "--shard", std::string(part) + "/3"}),
                HasSubstr(part[0] == '1' ? "2 of 4 points are in" : "1 of 4 points are in"));
  }
  EXPECT_THAT(fault_of({"sweep", long_, "--out", path("other"), "--merge", path("1")}),
              HasSubstr("holds points of the study 'small' with another file, platform or version"));
  // The second part is missing, and the merge answers it.
  const Answer merged = run_cli({"sweep", small_, "--out", path("a"), "--merge", path("1") + "," + path("3")});
  EXPECT_EQ(merged.code, ExitCode::fine) << merged.err;
  for (const char* const name : {"points.csv", "results.csv", "best.csv"}) {
    EXPECT_EQ(content(folder_ / "a" / name), content(folder_ / "whole" / name)) << name;
  }
}

// A limit on the size of files stands for a full disk: writes fail in the middle of the study.
TEST_F(SweepCommandTest, FullNeitherKillingNorADiskThatFillsUpLosesOrRepeatsAnything) {
  ASSERT_EQ(run_cli({"sweep", long_, "--out", path("whole")}).code, ExitCode::fine);
  ASSERT_TRUE(WIFSIGNALED(stopped_by(SIGKILL, path("killed"))));
  const std::string command = std::string("trap '' XFSZ; ulimit -f 200; exec ") + C3SIM_PROGRAM + " sweep " + long_ +
                              " --out " + path("full") + " > /dev/null 2> " + path("said");
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(content(path("said")), AllOf(HasSubstr("cannot use"), HasSubstr("points.sqlite"),
                                           HasSubstr("once that is mended the same command with --resume goes on")));
  for (const char* const name : {"killed", "full"}) {
    const Answer resumed = run_cli({"sweep", long_, "--out", path(name), "--resume"});
    EXPECT_EQ(resumed.code, ExitCode::fine) << resumed.err;
    EXPECT_EQ(content(folder_ / name / "points.csv"), content(folder_ / "whole" / "points.csv")) << name;
    EXPECT_EQ(content(folder_ / name / "page.html"), content(folder_ / "whole" / "page.html")) << name;
  }
}

TEST_F(SweepCommandTest, FullAnInterruptionEndsCleanlyAndSaysHowToGoOn) {
  const int status = stopped_by(SIGINT, path("stopped"));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(content(path("said")), AllOf(StartsWith("interrupted: "), EndsWith("--resume goes on\n"),
                                           HasSubstr("of 1200 points were finished and are in"),
                                           HasSubstr("the same command with --resume goes on")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "stopped" / "page.html"));
}

}  // namespace
}  // namespace c3sim::cli
