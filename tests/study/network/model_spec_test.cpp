#include "study/network/model_spec.h"

#include <fmt/format.h>

#include <array>
#include <boost/algorithm/string.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "tests/samples.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

double billions(const ModelSpec& model) { return parameters_of(model) * 1e-9; }

// The expected counts are those of the models' papers and cards.
TEST(ModelSpec, HasTheParametersThatItsAuthorsCount) {
  struct Counted {
    const char* model;
    double billions, error;
  };
  for (const auto& [model, expected, error] :
       {Counted{"llama3-8b", 8.03, 0.005}, Counted{"llama3-405b", 405.85, 0.1}, Counted{"llama2-70b", 68.98, 0.01},
        Counted{"llama3-70b", 70.55, 0.01}, Counted{"qwen2-7b", 7.616, 0.005}, Counted{"mixtral-8x7b", 46.70, 0.01},
        Counted{"bert-large", 0.334, 0.003}, Counted{"gpt3-175b", 174.6, 0.1}, Counted{"t-nlg", 17.2, 0.2}}) {
    EXPECT_NEAR(billions(read_model(model, folders)), expected, error) << model;
  }
}

// Gemma 3 has a layer without a window after each five with one; DeepSeek-V3 has three dense layers before the others.
TEST(ModelSpec, HasLayersOfSeveralKinds) {
  const ModelSpec gemma = read_model("gemma3-27b", folders);
  ASSERT_EQ(gemma.kinds(gemma.layers).size(), 2U);
  EXPECT_EQ(gemma.kinds(gemma.layers)[0].layers, 52);
  EXPECT_EQ(gemma.kinds(gemma.layers)[0].model.window, 1024);
  EXPECT_EQ(gemma.kinds(gemma.layers)[1].prefix, "whole_");
  EXPECT_EQ(gemma.kinds(5).size(), 1U);
  const ModelSpec deepseek = read_model("deepseek-v3", folders);
  EXPECT_EQ(deepseek.kinds(deepseek.layers)[0].prefix, "dense_");
  EXPECT_EQ(deepseek.kinds(deepseek.layers)[0].layers, 3);
  EXPECT_EQ(deepseek.kinds(deepseek.layers)[1].model.experts, 256);
}

std::string file_of(const std::string& name) { return C3SIM_SOURCE_DIR "/tests/data/models/" + name; }

// Returns what decides how long a step takes, the formats that the file names, and what the reader left out.
std::string words_of(const ReadModel& read) {
  const ModelSpec& model = read.model;
  std::string words = fmt::format(
      "{}: {:.4g} billion weights in {} layers, {} heads of keys and values, {} features between products, {} experts\n"
      "of 5000 tokens {} are seen; dropout {} and {}\n",
      model.name, billions(model), model.layers, model.kv_heads, model.ffn, model.experts, model.seen(5000),
      model.dropout, model.attention_dropout);
  if (read.products) words += fmt::format("products in {}\n", to_string(*read.products));
  for (const auto& [part, format] : parts_with_formats) {
    if (read.formats.*format) words += fmt::format("{} in {}\n", part, to_string(*(read.formats.*format)));
  }
  for (const std::string& remark : read.ignored) words += "remark: " + remark + '\n';
  return words;
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  if (!list.empty()) boost::split(names, list, boost::is_any_of(","));
  return names;
}

// The first input is a config.json; one without text is a file of tests/data/models. Other inputs are the values of the
// options --ignore and --like, or the text of an architectures.json that is read instead of the shipped one.
TEST(HuggingFace, ReadsWhatIsAccepted) {
  expect_samples("architectures.samples", [](const Sample& sample) {
    const std::string& name = sample.inputs.front().first;
    const std::string& text = sample.inputs.front().second;
    const std::map<std::string, std::string> said(sample.inputs.begin() + 1, sample.inputs.end());
    const auto option = [&said](const std::string& key) {
      return said.contains(key) ? boost::trim_copy(said.at(key)) : std::string();
    };
    const std::string config = text.empty() ? content(file_of(name)) : text;
    std::vector<std::filesystem::path> configs = folders;
    if (said.contains("architectures.json"))
      configs = {written("architectures.json", option("architectures.json")).parent_path()};
    std::string words;
    const std::string fault = config_fault([&] {
      words = words_of(read_hugging_face(config, name, configs, names_in(option("--ignore")), option("--like")));
    });
    return fault.empty() ? words : fault + '\n';
  });
}

// Returns the model with only the experts that one token uses.
ModelSpec with_used_experts(ModelSpec model) {
  model.experts = model.experts_used;
  for (LayerVariant& variant : model.variants) {
    if (variant.experts.value_or(0) > 0) variant.experts = variant.experts_used.value_or(model.experts_used);
  }
  return model;
}

struct Family {
  const char* name;
  double parameters;       // billions, as its authors state
  double used;             // billions that a token uses
  double cached_features;  // of a token, over all layers without a window
};

// The numbers are from cards and papers: Qwen3 (arXiv 2505.09388), Gemma 2 and 3 (2408.00118, 2503.19786), Phi-4
// (2412.08905), Mistral's and Llama 4's cards, gpt-oss (2508.10925: 116.8 billion, 5.1 used plus 0.58 of embedding),
// DeepSeek-V2 and -V3 (2405.04434, 2412.19437), Kimi K2 (2507.20534: 1.04 T with biases and rounding, 1,026 of its
// tensors), GLM-4.5 (2508.06471), MiniMax-M2's card (10 billion used plus 1.2 of words), Mixtral (2401.04088), Llama 3
// (2407.21783). Latent attention keeps 512 + 64 features per token and layer, others keys and values per head.
TEST(HuggingFace, ReadsTheLargestFamilies) {
  constexpr std::array families{Family{"llama3-8b", 8.03, 8.03, 32 * 2048},
                                Family{"qwen3-32b", 32.8, 32.8, 64 * 2048},
                                Family{"qwen3-235b-a22b", 235, 22, 94 * 1024},
                                Family{"gemma2-27b", 27.2, 27.2, 23 * 4096},
                                Family{"gemma3-27b", 27.0, 27.0, 10 * 4096},
                                Family{"phi4", 14.7, 14.7, 40 * 2560},
                                Family{"mistral-small-24b", 23.6, 23.6, 40 * 2048},
                                Family{"mistral-large-123b", 123, 123, 88 * 2048},
                                Family{"llama4-maverick", 400, 17.2, 12 * 2048},
                                Family{"gpt-oss-120b", 116.8, 5.7, 18 * 1024},
                                Family{"deepseek-v2", 236, 21.4, 60 * 576},
                                Family{"deepseek-v3", 671, 37.5, 61 * 576},
                                Family{"kimi-k2", 1026, 32.9, 61 * 576},
                                Family{"glm-4.5", 355, 33.6, 92 * 2048},
                                Family{"minimax-m2", 229, 11.0, 62 * 2048},
                                Family{"mixtral-8x7b", 46.7, 12.9, 32 * 2048},
                                Family{"llama3-70b", 70.6, 70.6, 80 * 2048}};
  std::ifstream file(file_of("families.json"));
  const nlohmann::ordered_json configs = nlohmann::ordered_json::parse(file);
  for (const Family& family : families) {
    SCOPED_TRACE(family.name);
    const ModelSpec read = read_hugging_face(configs.at(family.name).dump(), "config.json", folders).model;
    EXPECT_NEAR(billions(read), family.parameters, 0.01 * family.parameters);
    EXPECT_NEAR(billions(with_used_experts(read)), family.used, 0.03 * family.used);
    StepQuestion question;
    question.model = read;
    double cached = 0.0;
    for (const CachedTensor& one : cached_tensors(question, layer_templates())) {
      if (one.window == 0) cached += static_cast<double>(one.layers) * (one.of_token / size_of(question.dtype));
    }
    EXPECT_EQ(cached, family.cached_features);
    // The file of that name in configs/models says the same.
    const ModelSpec shipped = read_model(family.name, folders);
    EXPECT_EQ(billions(shipped), billions(read));
    EXPECT_EQ(billions(with_used_experts(shipped)), billions(with_used_experts(read)));
    EXPECT_EQ(shipped.kinds(shipped.layers).size(), read.kinds(read.layers).size());
  }
}

}  // namespace
}  // namespace c3sim::study
