#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

const std::vector<std::string> decode{"step",   "--model", "llama3-8b", "--layers",  "2",   "--phase",
                                      "decode", "--batch", "4",         "--context", "512", "--graph"};
const std::vector<std::string> op_by_op(decode.begin(), decode.end() - 1);

// The samples in tests/data/samples test that answers carry their questions.
TEST(StepCommand, AnswersByTheContract) {
  const nlohmann::json row = json_of(with(decode, {"--tp", "8"}))["results"][0];
  const double time = row["time_us"];
  EXPECT_NEAR(row["tokens_per_s"].get<double>(), 4.0 / (time * 1e-6), 1e-3 * 4.0 / (time * 1e-6));
  EXPECT_NEAR(row["energy_J"].get<double>(), row["power_W"].get<double>() * time * 1e-6, 1e-6);
  for (const char* key : {"compute_us", "communication_us", "exposed_us", "overlapped_us", "host_us", "idle_us"})
    EXPECT_TRUE(row[key].is_number());
  for (const char* kind : {"gemm", "attention", "norm", "elementwise", "optimizer", "embedding", "copy", "softmax",
                           "all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    EXPECT_TRUE(row["by_kind"][kind].is_number()) << kind;
  }
  EXPECT_GT(row["by_kind"]["all_reduce"], 0.0);
}

TEST(StepCommand, HasTheSameIntervalsOnAnyNumberOfThreads) {
  const std::vector<std::string> drawn = with(decode, {"--uncertainty", "20"});
  EXPECT_EQ(out_of(with(drawn, {"--jobs", "1"})), out_of(with(drawn, {"--jobs", "3"})));
}

// The written file holds the machine of the step: with a call of 10 us two layers take less than half as long.
TEST(StepCommand, WritesTheMachineThatItWasAskedOf) {
  const std::string file = testing::TempDir() + "written_step.yaml";
  const auto step = json_of(with(op_by_op, {"--set", "host.framework_call=10us", "--write", file}));
  const auto run = json_of({"run", file});
  const double time = step["results"][0]["time_us"];
  EXPECT_NEAR(run["overlap"][0]["makespan_us"].get<double>(), time, 1e-3 * time);
}

}  // namespace
}  // namespace c3sim::cli
