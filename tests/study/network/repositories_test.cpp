#include <fstream>

#include "sim/config/config_error.h"
#include "sim/config/csv_file.h"
#include "sim/config/measurement_text.h"
#include "study/network/model_spec.h"
#include "tests/config_folders.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using Folders = std::vector<std::filesystem::path>;
std::optional<std::string> model_of_repository(const std::string& repository, const Folders& in) {
  const std::optional<HeldModel> held = held_by_repository(repository, in);
  return held ? std::optional(held->model) : std::nullopt;
}
std::string held(const std::string& repository) { return model_of_repository(repository, folders).value_or("none"); }

// A network with a longer name is another network: GLM-4.5-Air is not GLM-4.5.
TEST(Repositories, AreKnownByTheLongestBeginningOfTheirNames) {
  for (const auto& [repository, model] : {std::pair("meta-llama/Llama-3.1-70B-Instruct", "llama3-70b"),
                                          {"zai-org/GLM-4.5-FP8", "glm-4.5"},
                                          {"zai-org/GLM-4.5-Air-FP8", "glm-4.5-air"},
                                          {"MICROSOFT/PHI-4", "phi4"},
                                          {"microsoft/Phi-4-reasoning", "phi4"},
                                          {"deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"},
                                          {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama3-8b"},
                                          {"me/Qwen3-8Billion", "none"},
                                          {"me/repository", "none"}}) {
    EXPECT_EQ(held(repository), model) << repository;
  }
  for (const std::string other :
       {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B",
        "deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V2-Lite-Chat", "microsoft/Phi-4-mini-instruct",
        "microsoft/Phi-4-multimodal-instruct", "nvidia/Mistral-NeMo-Minitron-8B-Base",
        "mistralai/Mistral-Large-3-675B-Instruct-2512"}) {
    EXPECT_EQ(held(other), "none") << other;
    EXPECT_THROW(model_file(other.substr(other.find('/') + 1), folders), sim::ConfigError) << other;
  }
}

TEST(Repositories, SayTheFormatOfTheirWeights) {
  for (const auto& [repository, weights] : {std::pair("deepseek-ai/DeepSeek-R1", "fp8"),
                                            {"deepseek-ai/DeepSeek-V3-0324", "fp8"},
                                            {"openai/gpt-oss-120b", "mxfp4"},
                                            {"Qwen/Qwen3-8B", ""},
                                            {"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", ""}}) {
    EXPECT_EQ(held_by_repository(repository, folders)->weights, weights) << repository;
  }
}

// The first row names the columns and holds no model.
TEST(Repositories, HoldModelsThatThereAre) {
  const std::vector<std::string> models = model_names(folders);
  const std::string text = sim::read_measurement_text(folders.back() / "models" / "repositories.csv");
  sim::CsvLexer lexer(text);
  sim::CsvRow row;
  ASSERT_TRUE(lexer.next(row));
  while (lexer.next(row)) {
    ASSERT_EQ(row.cells.size(), 3U) << "line " << row.line;
    const std::string model(row.cells[1].text);
    EXPECT_TRUE(model.empty() || std::ranges::count(models, model) == 1) << "line " << row.line;
  }
}

TEST(Repositories, ThatAreCalledAsAFileHoldThatModel) {
  EXPECT_EQ(held("me/t-nlg"), "t-nlg");
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "repositories";
  std::filesystem::create_directories(folder / "models");
  std::ofstream(folder / "models" / "Phi-4-mini-instruct.yaml") << "name: mine\n";
  const std::vector<std::filesystem::path> with_mine{folder, folders.front()};
  EXPECT_EQ(model_of_repository("microsoft/Phi-4-mini-instruct", with_mine), "Phi-4-mini-instruct");
  EXPECT_EQ(model_of_repository("microsoft/Phi-4-mini-reasoning", with_mine), std::nullopt);
  EXPECT_EQ(model_of_repository(std::string("t-nlg.yaml\0", 11), folders), std::nullopt);
  EXPECT_EQ(model_of_repository("", folders), std::nullopt);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace c3sim::study
