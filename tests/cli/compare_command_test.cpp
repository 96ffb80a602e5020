// Tests two answers side by side: each has its own numbers, and the change is between them.

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

class CompareCommand : public InFolder {};

TEST_F(CompareCommand, TellsTheNumbersOfBothMachinesAndTheirChange) {
  const std::vector<std::string> gemm{"gemm", "--gemm", "4096x4096x4096"};
  const nlohmann::json both =
      json_of({"compare", "mi300x", "h200", "--ask", "gemm --gemm 4096x4096x4096"})["comparison"];
  ASSERT_EQ(both[0]["quantity"], "time_us");
  const double first = json_of(gemm)["results"][0]["time_us"];
  const double second = json_of(with(gemm, {"--platform", "h200"}))["results"][0]["time_us"];
  EXPECT_EQ(both[0]["first"], first);
  EXPECT_EQ(both[0]["second"], second);
  EXPECT_NEAR(both[0]["change_percent"].get<double>(), 100.0 * (second / first - 1.0), 1e-9);
}

// The rows lie in another order in the second folder, which lacks one row of the first.
TEST_F(CompareCommand, MatchesRowsOfFoldersByWhatTheyAreOf) {
  const std::vector<std::string> copy{"copy", "--from", "gpu0", "--to", "gpu1", "--bytes"};
  ASSERT_EQ(run_cli(with(copy, {"1KiB,64KiB,1MiB", "--out", path("a")})).code, ExitCode::fine);
  ASSERT_EQ(run_cli(with(copy, {"1MiB,1KiB", "--out", path("b"), "--set", "fabric.latency=0.3us"})).code,
            ExitCode::fine);
  const nlohmann::json same = json_of({"compare", path("a"), path("a")})["comparison"];
  for (const nlohmann::json& row : same) EXPECT_EQ(row["first"], row["second"]);
  const nlohmann::json shorter = json_of({"compare", path("a"), path("b")})["comparison"];
  EXPECT_EQ(3 * shorter.size(), 2 * same.size());
  for (const nlohmann::json& row : shorter) {
    if (row["quantity"] != "time_us") continue;
    EXPECT_LT(row["second"], row["first"]) << row["row"];
  }
}

}  // namespace
}  // namespace c3sim::cli
