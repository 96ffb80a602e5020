#include <filesystem>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

constexpr auto study =
    "name: s\n"
    "model: llama3-8b\n"
    "requests: 20\n"
    "prompt: 512\n"
    "output: 16\n"
    "reuse: 1\n"
    "prefix: 384\n"
    "rate: [2, 8]\n"
    "cases:\n"
    "  - {name: again}\n"
    "  - {name: fetched, fetch: back_to_back}\n";

TEST(ServeCommand, FullServesAllThatAStudySpans) {
  const std::string file = written("serve.yaml", study);
  const nlohmann::json json = json_of({"serve", file});
  ASSERT_EQ(json["results"].size(), 4u);
  EXPECT_EQ(json["results"][0]["case"], "again");
  EXPECT_EQ(json["results"][3]["rate"], 8.0);
  EXPECT_EQ(json["results"][0]["reused_percent"], 0.0);
  EXPECT_GT(json["results"][2]["reused_percent"], 0.0);
  for (const char* key : {"ttft_mean_ms", "ttft_p50_ms", "ttft_p90_ms", "ttft_p99_ms", "tpot_p50_ms", "e2e_p99_ms",
                          "tokens_per_s", "joules_per_token", "cache_percent"}) {
    EXPECT_TRUE(json["results"][1][key].is_number()) << key;
  }
  EXPECT_EQ(json["gains"][0]["case"], "fetched");
  const std::string folder = testing::TempDir() + "served";
  std::filesystem::remove_all(folder);
  const Answer saved = run_cli({"serve", file, "--requests", "5,5", "--out", folder});
  EXPECT_EQ(saved.code, ExitCode::fine);
  EXPECT_EQ(saved.err, "");
  const std::string page = content(folder + "/page.html");
  EXPECT_THAT(page, HasSubstr("Time to the first token, 99th percentile over load"));
  EXPECT_THAT(page, testing::Not(HasSubstr("ttft_p99_ms over load")));
  // Options of the command line override the file and its cases.
  const nlohmann::json none = json_of({"serve", file, "--fetch", "none", "--rate", "2", "--requests", "5"});
  ASSERT_EQ(none["results"].size(), 2u);
  EXPECT_EQ(none["results"][0]["requests"], 5);
  EXPECT_EQ(none["results"][1]["fetched_tokens"], 0);
}

TEST(ServeCommand, FullIsAQuestionOfSweepsWithTheSameAnswers) {
  const std::string file = written("serve.yaml", "name: s\nmodel: llama3-8b\nrequests: 5\nrate: [1, 2]\n");
  const std::string sweep = written("sweep.yaml",
                                    "name: s\nask: serve\naxes: [{of: rate, values: [1, 2]}, {of: requests, value: 5}, "
                                    "{of: model, value: llama3-8b}]\n");
  const nlohmann::json served = json_of({"serve", file})["results"][1];
  const nlohmann::json swept = json_of({"sweep", sweep})["results"][1];
  for (const char* key : {"ttft_p99_ms", "energy_J", "batch_error_most_percent"}) EXPECT_EQ(served[key], swept[key]);
}

}  // namespace
}  // namespace c3sim::cli
