#include "study/step/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config_error.h"
#include "tests/config_folders.h"

namespace c3sim::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double billions(const std::string& name) { return static_cast<double>(read_model(name, folders).parameters()) * 1e-9; }

// As their papers and cards have it.
TEST(ModelSpec, HasTheParametersThatItsAuthorsCount) {
  EXPECT_NEAR(billions("llama3-8b"), 8.03, 0.005);
  EXPECT_NEAR(billions("llama3-70b"), 70.55, 0.01);
  EXPECT_NEAR(billions("llama3-405b"), 405.85, 0.1);
  EXPECT_NEAR(billions("llama2-70b"), 68.98, 0.01);
  EXPECT_NEAR(billions("qwen2-7b"), 7.616, 0.005);
  EXPECT_NEAR(billions("mixtral-8x7b"), 46.70, 0.01);
  EXPECT_NEAR(billions("bert-large"), 0.334, 0.003);
  EXPECT_NEAR(billions("gpt3-175b"), 174.6, 0.1);
  EXPECT_NEAR(billions("t-nlg"), 17.2, 0.2);
}

constexpr auto llama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16"})";

TEST(HuggingFace, SaysTheSameAsTheShippedModel) {
  const ModelSpec read = read_hugging_face(llama, "config.json");
  const ModelSpec shipped = read_model("llama3-8b", folders);
  EXPECT_EQ(read.parameters(), shipped.parameters());
  EXPECT_EQ(read.kv_features(), shipped.kv_features());
  EXPECT_EQ(read.first_ffn(), 2 * 14336);
}

// GPT-2 small has 124 million: 12 layers of 7.09, 39.4 of words and positions.
TEST(HuggingFace, ReadsGpt2) {
  const ModelSpec gpt2 = read_hugging_face(
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257,
          "n_ctx": 1024, "activation_function": "gelu_new"})",
      "config.json");
  EXPECT_NEAR(static_cast<double>(gpt2.parameters()) * 1e-6, 124.4, 0.1);
  EXPECT_EQ(gpt2.ffn, 4 * 768);
}

std::string fault_of(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  try {
    read_hugging_face(text, "my.json");
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(HuggingFace, SaysWhatIsWrongAndWhatWouldBeAccepted) {
  EXPECT_THAT(fault_of(llama, "\"hidden_size\": 4096,", ""),
              AllOf(HasSubstr("my.json"), HasSubstr("hidden_size: is missing")));
  EXPECT_THAT(
      fault_of(llama, "vocab_size", "vocab_sise"),
      AllOf(HasSubstr("vocab_sise: is not known; did you mean 'vocab_size'?"), HasSubstr("vocab_size: is missing")));
  EXPECT_THAT(fault_of(llama, "\"num_attention_heads\": 32", "\"num_attention_heads\": 33"),
              HasSubstr("4096 features are not 33 heads"));
  EXPECT_THAT(fault_of(llama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"),
              HasSubstr("32 heads do not share 5 heads of keys and values evenly"));
  EXPECT_THAT(fault_of(llama, "14336", "\"many\""), HasSubstr("a whole number from 1 to"));
  EXPECT_THAT(fault_of(llama, "\"silu\"", "\"tanh\""), HasSubstr("'tanh' is not accepted: silu is"));
  EXPECT_THAT(fault_of(llama, "\"llama\"", "\"lama\""), HasSubstr("did you mean 'llama'?"));
  EXPECT_THAT(fault_of(llama, "{", "["), HasSubstr("is no JSON object"));
}

TEST(ModelSpec, ThatIsNotKnownHasANeighbour) {
  try {
    read_model("llama3-70", folders);
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'llama3-70b'?"));
  }
}

}  // namespace
}  // namespace c3sim::study
