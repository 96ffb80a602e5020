#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/cli/run_cli.h"

namespace c3sim::cli {
namespace {

using ::testing::HasSubstr;

TEST(Completion, ScriptsKnowEveryCommandOptionAndListedValue) {
  for (const char* const shell : {"bash", "zsh"}) {
    const Answer answer = run_cli({"completion", shell});
    EXPECT_EQ(answer.code, ExitCode::fine);
    for (const char* const word : {"collective", "completion", "--prelaunch", "--strategy", "table csv json",
                                   "c3_base c3_sp", "bash zsh", "--version"}) {
      EXPECT_THAT(answer.out, HasSubstr(word)) << shell;
    }
  }
}

TEST(Completion, OptionsAppearWithoutBeingListedTwice) {
  CLI::App app("", "tool");
  std::string value;
  app.add_subcommand("act", "acts")->add_option("--new-option", value, "It's [new]: see")->type_name("left|right");
  EXPECT_THAT(bash_completion(app), HasSubstr("'act --new-option') words='left right' ;;"));
  EXPECT_THAT(zsh_completion(app), HasSubstr(R"('--new-option[It'\''s \[new\]\: see]:left|right:(left right)')"));
}

// What bash offers where the cursor stands after these words.
std::string offered(const std::string& words, int count) {
  const std::string script = testing::TempDir() + "completion_test.bash";
  std::ofstream(script) << run_cli({"completion", "bash"}).out << "COMP_WORDS=(" << words << ")\nCOMP_CWORD=" << count
                        << "\n_c3sim\nprintf '%s ' \"${COMPREPLY[@]}\" > \"$0.out\"\n";
  if (std::system(("bash " + script).c_str()) != 0) return "bash failed";
  std::ifstream out(script + ".out");
  return {std::istreambuf_iterator<char>(out), {}};
}

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(offered("c3sim coll", 1), "collective ");
  EXPECT_EQ(offered("c3sim copy --ph", 2), "--phases ");
  EXPECT_EQ(offered("c3sim copy --format j", 3), "json ");
  EXPECT_EQ(offered("c3sim collective --variant b", 3), "bcst b2b ");
  EXPECT_EQ(offered("c3sim copy --bytes ''", 3), " ");
  EXPECT_EQ(offered("c3sim collective --host-threads ''", 3), "one per_gpu ");
  EXPECT_EQ(offered("c3sim collective --prelaunch b", 3), "both ");
  EXPECT_EQ(offered("c3sim collective --prelaunch --by", 3), "--bytes ");
}

}  // namespace
}  // namespace c3sim::cli
