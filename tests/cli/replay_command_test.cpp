// Tests c3sim replay.

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

using nlohmann::json;

const std::string sharded = std::string(C3SIM_SOURCE_DIR) +
                            "/validate/reference/h200_workloads/traces/fsdp_llama8b_2gpu_1x2048_2048_bf16.json.gz";

TEST(ReplayCommand, AnswersWithTracedReplayedAndPredictedTimes) {
  const json whole = json_of({"replay", sharded, "--collectives", "sdma"});
  EXPECT_EQ(whole["platform"], "h200");
  const json& row = whole["results"].at(0);
  EXPECT_NEAR(row["measured_us"].get<double>(), 132633.8, 0.1);  // the last end less the first begin
  EXPECT_LT(row["predicted_us"].get<double>(), row["replayed_us"].get<double>());
  for (const char* const key : {"trace", "exposed_us", "overlapped_us", "simulated_us", "without_waits_us"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
}

TEST(ReplayCommand, WithoutCommunicationExposesNone) {
  const json row = json_of({"replay", sharded, "--without", "communication"})["results"].at(0);
  EXPECT_EQ(row["exposed_us"].get<double>(), 0.0);
  EXPECT_LT(row["predicted_us"].get<double>(), row["replayed_us"].get<double>());
}

TEST(ReplayCommand, PlaysSeveralRanksAndHoldsPredictionsInIntervals) {
  const auto rank = [](int number, double duration) {
    const std::string arguments = R"("Collective name":"allreduce","In msg nelems":1048576,"Out msg nelems":1048576,)"
                                  R"("Group size":2,"dtype":"Float","grid":[24,1,1])";
    const std::string text =
        R"({"deviceProperties":[{"name":"NVIDIA H200"}],"distributedInfo":{"world_size":2,"rank":)" +
        std::to_string(number) + R"(},"traceEvents":[{"ph":"X","cat":"kernel","name":"nccl","ts":5,)" + R"("dur":)" +
        std::to_string(duration) + R"(,"args":{"device":0,"stream":7,)" + arguments + "}}]}";
    return written("rank" + std::to_string(number) + ".json", text).string();
  };
  const std::string first = rank(0, 300.0);
  const std::string second = rank(1, 50.0);
  const json whole = json_of({"replay", first, second, "--platform", "h200", "--set", "rccl.workgroup_in_flight=600 KB",
                              "--uncertainty", "20"});
  ASSERT_EQ(whole["results"].size(), 2u);
  EXPECT_NEAR(whole["collectives"].at(0)["last_us"].get<double>(), 50.0, 1e-6);
  const json& row = whole["results"].at(0);
  EXPECT_LE(row["predicted_p5_us"].get<double>(), row["predicted_us"].get<double>() * 1.05);
  EXPECT_LE(row["predicted_p5_us"].get<double>(), row["predicted_p95_us"].get<double>());
  expect_fault({"replay", first, written("copy_of_rank0.json", content(first))}, "another trace is of rank 0, too");
  const Answer twice = run_cli({"replay", first, first});
  EXPECT_EQ(twice.out, run_cli({"replay", first}).out);
  EXPECT_THAT(twice.err, HasSubstr("rank0.json: is given twice: it is read once"));
}

TEST(ReplayCommand, PlaysTheTracesThatRocprofWroteOfOneRun) {
  const std::string folder = std::string(C3SIM_SOURCE_DIR) + "/tests/data/rocprofv3/";
  const json results = json_of(
      {"replay", folder + "kernel_trace.csv", folder + "memory_copy_trace.csv", "--platform", "mi300x"})["results"];
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results.at(0)["measured_us"].get<double>(), 13000.0, 0.1);
  EXPECT_NEAR(results.at(0)["replayed_us"].get<double>(), 13000.0, 0.03 * 13000.0);
}

TEST(ReadCommand, TellsOfATraceFirstWhatItsGpuDid) {
  const json step = json_of({"read", sharded})["steps"].at(0);
  const double communication = step["exposed_us"].get<double>() + step["overlapped_us"].get<double>();
  EXPECT_NEAR(step["communication_us"].get<double>(), communication, 1e-6);
  const double whole = step["busy_us"].get<double>() + step["idle_us"].get<double>();
  EXPECT_NEAR(step["span_us"].get<double>(), whole, 1e-6);
}

}  // namespace
}  // namespace c3sim::cli
