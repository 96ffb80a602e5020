// What commands write, and that they write over nothing else.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "study/report/results_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

namespace fs = std::filesystem;

class Output : public InFolder {
 protected:
  // A copy of a file of this repository.
  fs::path copy_of(const std::string& file, const std::string& name) const {
    fs::copy_file(std::string(C3SIM_SOURCE_DIR "/") + file, folder_ / name);
    return folder_ / name;
  }

  // Exit code 2, nothing on stdout, `what` on stderr, and the file as it was.
  static void expect_refusal(const std::vector<std::string>& arguments, const fs::path& input,
                             const std::string& what = "is read by this command: another file is accepted") {
    const std::string before = content(input);
    cli::expect_fault(arguments, what);
    EXPECT_EQ(content(input), before);
  }
};

const std::vector<std::string> copy{"copy", "--from", "gpu0", "--to", "gpu1", "--bytes", "1MiB"};

TEST_F(Output, AnExperimentIsNotItsTrace) {
  const fs::path file = copy_of("configs/experiments/layer_overlap.yaml", "e.yaml");
  expect_refusal({"run", file, "--trace", file}, file);
  expect_refusal({"run", file, "--trace", folder_ / "." / "e.yaml"}, file);
  fs::create_symlink(file, folder_ / "soft");
  fs::create_hard_link(file, folder_ / "hard");
  expect_refusal({"run", file, "--trace", folder_ / "soft"}, file);
  expect_refusal({"run", folder_ / "soft", "--trace", folder_ / "hard"}, file);
  EXPECT_EQ(run_cli({"run", file, "--trace", folder_ / "t.json"}).code, ExitCode::fine);
}

TEST_F(Output, APlatformAndProfilesAreNotATrace) {
  const fs::path platform = copy_of("configs/platforms/mi300x.yaml", "p.yaml");
  expect_refusal(with(copy, {"--platform", platform, "--trace", platform}), platform);
  std::ofstream(folder_ / "mine.yaml") << "base: p.yaml\nname: mine\n";
  expect_refusal(with(copy, {"--platform", folder_ / "mine.yaml", "--trace", platform}), platform);
  const fs::path profiles = folder_ / "profiles.yaml";
  std::ofstream(profiles) << "gemms: []\n";
  expect_refusal(with(copy, {"--profiles", profiles, "--trace", profiles}), profiles);
}

const std::vector<std::string> one_layer{"step", "--phase", "decode", "--layers", "1", "--context", "16", "--graph"};

TEST_F(Output, AModelAndThePlatformAreNotTheStep) {
  const fs::path model = copy_of("configs/models/llama3-8b.yaml", "m.yaml");
  const fs::path of_hugging_face = write(
      "config.json", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
                         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})");
  const fs::path platform = copy_of("configs/platforms/h200.yaml", "h200.yaml");
  for (const std::string option : {"--write", "--trace"}) {
    expect_refusal(with(one_layer, {"--model", model, option, model}), model);
    expect_refusal(with(one_layer, {"--model", of_hugging_face, option, of_hugging_face}), of_hugging_face);
    expect_refusal(with(one_layer, {"--model", model, "--platform", platform, option, platform}), platform);
    expect_refusal(with(one_layer, {"--model", model, "--overwrite", option, model}), model);
  }
}

TEST_F(Output, AFileOfTheUsersIsReplacedOnlyWhereItIsAskedFor) {
  const fs::path mine = write("mine.yaml", "mine\n");
  const std::vector<std::string> writes = with(one_layer, {"--model", "llama3-8b", "--write", mine});
  expect_refusal(writes, mine, "mine.yaml' is there, and c3sim did not write it, or it has been edited since");
  EXPECT_EQ(run_cli(with(writes, {"--overwrite"})).code, ExitCode::fine);
  EXPECT_EQ(run_cli(writes).code, ExitCode::fine);  // by now it is c3sim's own
  EXPECT_EQ(run_cli({"run", mine}).code, ExitCode::fine);
  std::ofstream(mine, std::ios::app) << "# my edit\n";
  expect_refusal(writes, mine, "it has been edited since");
}

TEST_F(Output, ATraceOfC3simIsReplacedAndAnotherIsNot) {
  const std::vector<std::string> traced = with(copy, {"--trace", folder_ / "t.json"});
  EXPECT_EQ(run_cli(traced).code, ExitCode::fine);
  EXPECT_EQ(run_cli(traced).code, ExitCode::fine);
  const fs::path other = write("other.json", R"({"traceEvents":[]})");
  expect_refusal(with(copy, {"--trace", other}), other, "c3sim did not write it");
  EXPECT_EQ(run_cli(with(copy, {"--trace", write("empty", "")})).code, ExitCode::fine);  // nothing is lost
}

TEST_F(Output, TwoOptionsDoNotNameOneFile) {
  expect_fault(with(one_layer, {"--model", "llama3-8b", "--write", path("p"), "--trace", folder_ / "." / "p"}),
               "is the file of --write, too: another file is accepted");
  fs::create_symlink("q", folder_ / "link");
  expect_fault(with(one_layer, {"--model", "llama3-8b", "--write", path("q"), "--trace", path("link")}),
               "is the file of --write, too: another file is accepted");
  EXPECT_FALSE(fs::exists(folder_ / "q"));
  expect_fault(with(copy, {"--out", path("out"), "--trace", path("out/page.html")}),
               "--trace: '" + path("out/page.html") + "' is a file of --out, too");
  expect_fault(with(copy, {"--out", path("out"), "--trace", folder_ / "." / "out"}), "is the folder of --out, too");
  EXPECT_FALSE(fs::exists(folder_ / "p"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Output, MeasurementsAndThePlatformAreNotTheFit) {
  const fs::path rows = copy_of("validate/reference/h200x8/power.csv", "m.csv");
  expect_refusal({"calibrate", rows, "--platform", "h200", "--out", rows}, rows);
  const fs::path platform = copy_of("configs/platforms/h200.yaml", "h.yaml");
  expect_refusal({"calibrate", rows, "--platform", platform, "--out", platform}, platform);
}

TEST_F(Output, AFitThatCannotBeWrittenIsNotBegun) {
  const fs::path rows = copy_of("validate/reference/h200x8/power.csv", "m.csv");
  const Answer answer = run_cli({"calibrate", rows, "--platform", "h200", "--out", folder_ / "no" / "f.yaml"}, true);
  EXPECT_EQ(answer.code, ExitCode::users_fault);
  EXPECT_THAT(answer.err, testing::StartsWith("error: cannot write"));
}

TEST_F(Output, WhatIsComparedIsNotWritten) {
  const fs::path rows = copy_of("validate/reference/h200x8/power.csv", "plan.csv");
  expect_refusal({"validate", "--predict", rows, "--out", rows}, rows);
  const fs::path results = folder_ / "results.csv";
  fs::copy_file(rows, folder_ / "accuracy.md");
  expect_refusal({"validate", folder_ / "accuracy.md", "--report", folder_}, folder_ / "accuracy.md", "accuracy.md");
}

// What a first answer left is replaced by a second, unless the second reads it.
TEST_F(Output, AFolderOfResultsIsNotReadAndWrittenAtOnce) {
  const fs::path out = folder_ / "out";
  ASSERT_EQ(run_cli(with(copy, {"--out", out})).code, ExitCode::fine);
  expect_refusal(with(copy, {"--platform", out / "platform.yaml", "--out", out}), out / "platform.yaml");
  const Answer again = run_cli(with(copy, {"--out", out}));
  EXPECT_EQ(again.code, ExitCode::fine) << again.err;
}

TEST_F(Output, AFolderOfResultsHoldsOneAnswer) {
  const fs::path out = folder_ / "out";
  ASSERT_EQ(run_cli(with(copy, {"--explain", "--out", out})).code, ExitCode::fine);
  ASSERT_TRUE(fs::exists(out / "explanation.csv"));
  std::ofstream(out / "notes.txt") << "mine";
  ASSERT_EQ(run_cli(with(copy, {"--out", out})).code, ExitCode::fine);
  EXPECT_FALSE(fs::exists(out / "explanation.csv"));
  EXPECT_EQ(content(out / "notes.txt"), "mine");
}

TEST_F(Output, AFolderOfAnotherCommandIsRefusedAndItsFilesStay) {
  const fs::path out = folder_ / "out";
  const std::vector<std::string> tune{"tune", "--collective", "all_gather", "--out", out};
  ASSERT_EQ(run_cli(tune).code, ExitCode::fine);
  std::ofstream(out / "decisions.h", std::ios::app) << "// my edit";
  expect_refusal(with(copy, {"--out", out}), out / "decisions.h", "holds the answer of 'c3sim tune'");
  expect_refusal(tune, out / "decisions.h", "decisions.h' has been edited since c3sim wrote it");
  EXPECT_EQ(run_cli(with(tune, {"--overwrite"})).code, ExitCode::fine);
  EXPECT_EQ(run_cli(tune).code, ExitCode::fine);  // by now it is c3sim's own
}

TEST_F(Output, AFolderInWhichARunIsAtWorkIsLockedAgainstAllCommands) {
  const study::FolderLock sweep(folder_);
  const std::string experiment = C3SIM_SOURCE_DIR "/configs/experiments/layer_overlap.yaml";
  const std::string study = C3SIM_SOURCE_DIR "/configs/studies/sdma_engines.yaml";
  for (const std::vector<std::string>& command :
       {copy, {"run", experiment}, {"tune", "--collective", "all_gather"}, {"sweep", study}}) {
    EXPECT_THAT(fault_of(with(command, {"--out", folder_})), HasSubstr("another run is at work in this folder"));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Output, AFolderThatTheSystemRefusesIsToldWithTheReason) {
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_THAT(run_cli(with(copy, {"--out", folder_ / "loop"})).err,
              HasSubstr("loop' cannot be used: Too many levels of symbolic links"));
  EXPECT_THAT(run_cli(with(copy, {"--out", folder_ / std::string(300, 'a')})).err,
              HasSubstr("' cannot be used: File name too long"));
}

TEST_F(Output, AFileOfTheUsersInTheFolderIsLeftAlone) {
  const fs::path mine = folder_ / "results.csv";
  std::ofstream(mine) << "mine";
  expect_refusal(with(copy, {"--out", folder_}), mine, "no results.json says that c3sim wrote it");
  EXPECT_FALSE(fs::exists(folder_ / "results.json"));
}

TEST_F(Output, ATraceGoesIntoADeviceAndLeavesItOne) {
  EXPECT_THAT(fault_of(with(copy, {"--trace", "/dev/full"})),
              HasSubstr("cannot write /dev/full: No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// Wherever the answer went: pages of the same answer are the same.
TEST_F(Output, EveryPageAndReportHasTheCommand) {
  const fs::path out = folder_ / "a folder's";
  ASSERT_EQ(run_cli(with(copy, {"--out", out, "--platform", "h200"})).code, ExitCode::fine);
  const std::string command = "c3sim copy --from gpu0 --to gpu1 --bytes 1MiB --platform h200";
  EXPECT_THAT(content(out / "page.html"), HasSubstr("\"command\":\"" + command + "\""));
  EXPECT_THAT(content(out / "report.md"), HasSubstr(": " + command + "\n"));
}

TEST_F(Output, ACommandIsKeptAsAShellReadsIt) {
  const fs::path out = folder_ / "a folder's";
  ASSERT_EQ(run_cli(with(copy, {"--out", out})).code, ExitCode::fine);
  EXPECT_THAT(content(out / "results.json"), HasSubstr("c3sim copy --from gpu0 --to gpu1 --bytes 1MiB --out '" +
                                                       folder_.string() + "/a folder'\\\\''s'\""));
}

}  // namespace
}  // namespace c3sim::cli
