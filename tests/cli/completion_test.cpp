#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/run_cli.h"

namespace c3sim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Completion, ScriptsKnowEveryCommandOptionAndListedValue) {
  for (const char* const shell : {"bash", "zsh"}) {
    const Answer answer = run_cli({"completion", shell});
    EXPECT_EQ(answer.code, ExitCode::fine);
    for (const char* const word : {"collective", "completion", "--prelaunch", "--strategy", "table csv json",
                                   "c3_base c3_sp", "bash zsh fish", "_c3sim_parameters", "--version"}) {
      EXPECT_THAT(answer.out, HasSubstr(word)) << shell;
    }
  }
}

TEST(Completion, OptionsAppearWithoutBeingListedTwice) {
  const std::vector<study::Command> commands{
      {"act", "acts", "", {{"new_option", "left|right", "It's [new]: see"}}, [](study::Request&) {
         return study::Results{};
       }}};
  EXPECT_THAT(bash_completion(commands), HasSubstr("'act --new-option') words='left right' ;;"));
  EXPECT_THAT(zsh_completion(commands), HasSubstr(R"('--new-option[It'\''s \[new\]\: see]:left|right:(left right)')"));
}

// What bash offers where the cursor stands after these words.
std::string offered(const std::string& words, int count, const std::string& before = "") {
  const std::string script = testing::TempDir() + "completion_test.bash";
  std::ofstream(script) << run_cli({"completion", "bash"}).out << before << "\nCOMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=" << count << "\n_c3sim\nprintf '%s;' \"${COMPREPLY[@]}\" > \"$0.out\"\n";
  if (std::system(("bash " + script).c_str()) != 0) return "bash failed";
  std::ifstream out(script + ".out");
  const std::string text{std::istreambuf_iterator<char>(out), {}};
  return text == ";" ? "" : text;
}

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(offered("c3sim coll", 1), "collective;");
  EXPECT_EQ(offered("c3sim copy --ph", 2), "--phases;");
  EXPECT_EQ(offered("c3sim copy --format j", 3), "json;");
  EXPECT_EQ(offered("c3sim collective --variant b", 3), "bcst;b2b;");
  EXPECT_EQ(offered("c3sim copy --bytes ''", 3), "");
  EXPECT_EQ(offered("c3sim collective --host-threads ''", 3), "one;per_gpu;");
  EXPECT_EQ(offered("c3sim collective --prelaunch b", 3), "both;");
  EXPECT_EQ(offered("c3sim collective --prelaunch --by", 3), "--bytes;");
}

TEST(Completion, BashKeepsNamesWithBlanksWhole) {
  const std::string folder = testing::TempDir() + "completion_test_files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/my folder");
  std::ofstream(folder + "/my exp.yaml") << "";
  const std::string there = "cd '" + folder + "'";
  EXPECT_THAT(offered("c3sim run my", 2, there), AllOf(HasSubstr("my exp.yaml;"), HasSubstr("my folder;")));
  EXPECT_THAT(offered("c3sim run ''", 2, there), AllOf(HasSubstr("my exp.yaml;"), HasSubstr("--explain;")));
  EXPECT_THAT(offered("c3sim copy --out my", 3, there), HasSubstr("my folder;"));
  // readline ends folders with a slash and quotes blanks where it is told that these are files.
  EXPECT_THAT(run_cli({"completion", "bash"}).out, HasSubstr("compopt -o filenames"));
}

TEST(Completion, BashGoesOnBehindCommas) {
  EXPECT_EQ(offered("c3sim c3 --strategy c3_base,conc", 3), "c3_base,conccl;c3_base,conccl_rp;");
  EXPECT_EQ(offered("c3sim c3 --without l2,cu_loss,h", 3), "l2,cu_loss,hbm;");
  EXPECT_EQ(offered("c3sim collective --variant b", 3), "bcst;b2b;");
}

// bash takes "--format=j" for three words.
TEST(Completion, BashKnowsValuesBehindAnEqualsSign) {
  EXPECT_EQ(offered("c3sim copy --format = j", 4), "json;");
  EXPECT_EQ(offered("c3sim completion ''", 2), "bash;zsh;fish;platforms;models;suites;--help;");
}

// The script asks the program that it completes.
TEST(Completion, BashOffersTheParametersOfThePlatform) {
  const std::string program =
      "tool() { [ \"$2\" = h200 ] && echo path,value && echo gpu.h,1 || "
      "printf 'path,value\\ngpu.xcds,8\\ngpu.cu.lds,64\\n'; }";
  EXPECT_EQ(offered("tool gemm --set gpu.x", 3, program), "gpu.xcds=;");
  EXPECT_EQ(offered("tool gemm --platform h200 --set gpu.", 5, program), "gpu.h=;");
  EXPECT_EQ(offered("tool gemm --set gpu.xcds = ''", 5, program), "");
}

// The script asks the program for names that folders of configurations have.
TEST(Completion, BashOffersNamesOfPlatformsModelsAndSuites) {
  const std::string program = "tool() { [ \"$1\" = completion ] && echo \"$2_a\" && echo \"$2_b\"; }; cd /";
  EXPECT_EQ(offered("tool gemm --platform pl", 3, program), "platforms_a;platforms_b;");
  EXPECT_EQ(offered("tool step --model mod", 3, program), "models_a;models_b;");
  EXPECT_EQ(offered("tool platform platforms_b", 2, program), "platforms_b;");
  EXPECT_EQ(offered("tool validate su", 2, program), "suites_a;suites_b;");
}

TEST(Completion, NamesAreThoseOfTheConfigurations) {
  EXPECT_THAT(run_cli({"completion", "platforms"}).out, AllOf(HasSubstr("h200\n"), HasSubstr("mi300x\n")));
  EXPECT_THAT(run_cli({"completion", "models"}).out, HasSubstr("llama3-70b\n"));
  EXPECT_THAT(run_cli({"completion", "suites"}).out, HasSubstr("rccl\n"));
}

TEST(Completion, ZshAndFishAskForNames) {
  EXPECT_THAT(run_cli({"completion", "zsh"}).out,
              AllOf(HasSubstr("]:NAME|FILE: _c3sim_names platforms'"), HasSubstr("'*:NAMES: _c3sim_names suites'")));
  EXPECT_THAT(run_cli({"completion", "fish"}).out,
              AllOf(HasSubstr("complete -c c3sim -n '__fish_use_subcommand' -f -a gemm -d "),
                    HasSubstr("-n '__fish_seen_subcommand_from step' -l model -r -F -a '(c3sim completion models)'"),
                    HasSubstr("-n '__fish_seen_subcommand_from copy' -l format -r -f -a 'table csv json markdown'")));
}

}  // namespace
}  // namespace c3sim::cli
