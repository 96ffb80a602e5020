// Tests what commands write, and that they write over nothing else.
#include <filesystem>
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
  // Copies a file of this repository.
  fs::path copy_of(const std::string& file, const std::string& name) const {
    fs::copy_file(std::string(C3SIM_SOURCE_DIR "/") + file, folder_ / name);
    return folder_ / name;
  }

  // Expects exit code 2, nothing on stdout, `what` on stderr, and an unchanged file.
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

TEST_F(Output, TwoOptionsDoNotNameOneFileByALink) {
  fs::create_symlink("q", folder_ / "link");
  expect_fault({"step", "--phase", "decode", "--layers", "1", "--model", "llama3-8b", "--write", path("q"), "--trace",
                path("link")},
               "is the file of --write, too: another file is accepted");
  EXPECT_FALSE(fs::exists(folder_ / "q"));
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

}  // namespace
}  // namespace c3sim::cli
