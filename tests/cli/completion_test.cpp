#include "cli/completion.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

std::string offered(const std::string& line) { return run_cli({"completion", "words", "--line", line}).out; }

TEST(Completion, OffersCommandsOptionsAndValues) {
  EXPECT_EQ(offered("c3sim coll"), "collective\n");
  EXPECT_EQ(offered("c3sim --v"), "--version\n");
  EXPECT_EQ(offered("c3sim copy --ph"), "--phases\n");
  EXPECT_EQ(offered("c3sim copy --format j"), "json\n");
  EXPECT_EQ(offered("c3sim copy --format=j"), "json\n");
  EXPECT_EQ(offered("c3sim copy --bytes "), "") << "a size is no word of a list";
  EXPECT_EQ(offered("c3sim collective --prelaunch b"), "both\n");
  EXPECT_EQ(offered("c3sim collective --prelaunch --by"), "--bytes\n");
  EXPECT_THAT(offered("c3sim completion "), HasSubstr("bash\nzsh\nfish\nwords\n"));
  EXPECT_EQ(offered("c3sim nothing --"), "");
}

TEST(Completion, GoesOnBehindCommas) {
  EXPECT_EQ(offered("c3sim c3 --strategy c3_base,conc"), "c3_base,conccl\nc3_base,conccl_rp\n");
  EXPECT_EQ(offered("c3sim c3 --without l2,cu_loss,h"), "l2,cu_loss,hbm\n");
  EXPECT_EQ(offered("c3sim collective --variant b"), "bcst\nb2b\n");
}

TEST(Completion, OffersNamesAndParametersOfTheConfigurations) {
  EXPECT_EQ(offered("c3sim gemm --platform h20"), "h200\n");
  EXPECT_EQ(offered("c3sim step --model llama3-7"), "llama3-70b\n");
  EXPECT_THAT(offered("c3sim validate rcc"), HasSubstr("rccl\n"));
  EXPECT_THAT(offered("c3sim gemm --set gpu.xc"), HasSubstr("gpu.xcds="));
  EXPECT_EQ(offered("c3sim gemm --platform none --set gpu.xc"), "");
}

// What bash makes of it.
TEST(Completion, ScriptsAskTheProgram) {
  const std::string script = testing::TempDir() + "completion_test.bash";
  std::ofstream(script) << run_cli({"completion", "bash"}).out << "COMP_LINE='" << C3SIM_PROGRAM
                        << " copy --format j'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" << C3SIM_PROGRAM
                        << " copy --format j)\n_c3sim\nprintf '%s;' \"${COMPREPLY[@]}\" > \"$0.out\"\n";
  ASSERT_EQ(std::system(("bash " + script).c_str()), 0);
  EXPECT_EQ(content(script + ".out"), "json;");
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run_cli({"completion", shell}).out, HasSubstr("completion words --line")) << shell;
  }
}

}  // namespace
}  // namespace c3sim::cli
