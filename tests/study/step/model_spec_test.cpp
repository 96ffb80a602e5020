#include "study/step/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config_error.h"
#include "study/step/model_remarks.h"
#include "tests/config_folders.h"

namespace c3sim::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

constexpr auto gpt2 = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
  "vocab_size": 50257, "n_ctx": 1024, "activation_function": "gelu_new"})";

// GPT-2 small has 124 million: 12 layers of 7.09, 39.4 of words and positions.
TEST(HuggingFace, ReadsGpt2) {
  const ModelSpec read = read_hugging_face(gpt2, "config.json");
  EXPECT_NEAR(static_cast<double>(read.parameters()) * 1e-6, 124.4, 0.1);
  EXPECT_EQ(read.ffn, 4 * 768);
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
  EXPECT_THAT(fault_of(llama, "{", "3, {"), HasSubstr("my.json:1:2: is no JSON from here on"));
  EXPECT_THAT(fault_of(llama, "128256,", "128256"), HasSubstr("my.json:3:"));
  EXPECT_THAT(fault_of("[1]", "1", "2"), HasSubstr("is no JSON object"));
  EXPECT_THAT(fault_of(llama, "\"model_type\": \"llama\",", ""), HasSubstr("model_type: is missing"));
  EXPECT_THAT(fault_of(llama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"),
              HasSubstr("my.json: num_key_value_heads: "));
  EXPECT_THAT(fault_of(llama, "14336", "2097152"), HasSubstr("a whole number from 1 to 1048576 is"));
}

TEST(HuggingFace, RefusesWhatContradictsItself) {
  EXPECT_THAT(fault_of(llama, "\"vocab_size\"", "\"hidden_size\": 2048, \"vocab_size\""),
              HasSubstr("hidden_size: is there twice"));
  EXPECT_THAT(fault_of(llama, "\"vocab_size\"", "\"architectures\": [\"MistralForCausalLM\"], \"vocab_size\""),
              HasSubstr("architectures: 'MistralForCausalLM' is no llama, which model_type says"));
  EXPECT_EQ(fault_of(llama, "\"vocab_size\"", "\"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\""), "none");
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"n_ctx\": 2048"),
              HasSubstr("n_ctx: 2048 tokens are not the 1024 of n_positions"));
}

ModelSpec read_with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return read_hugging_face(text, "config.json");
}

// Of a window of 4096 the 5000th token sees 4096; the file of a qwen2 has one that is not used.
TEST(HuggingFace, ReadsTheWindowThatATokenSees) {
  const std::string type = "\"model_type\": \"llama\"";
  EXPECT_EQ(read_with(llama, type, type).seen(5000), 5000);
  EXPECT_EQ(read_with(llama, type, "\"model_type\": \"mistral\"").seen(5000), 4096);
  EXPECT_EQ(read_with(llama, type, "\"model_type\": \"mistral\", \"sliding_window\": 256").seen(5000), 256);
  EXPECT_EQ(read_with(llama, type, "\"model_type\": \"mistral\", \"sliding_window\": null").window, 0);
  const std::string qwen = "\"model_type\": \"qwen2\", \"sliding_window\": 256, \"max_window_layers\": 0";
  EXPECT_EQ(read_with(llama, type, qwen + ", \"use_sliding_window\": false").window, 0);
  EXPECT_EQ(read_with(llama, type, qwen + ", \"use_sliding_window\": true").window, 256);
}

// Without grouped heads there is one of keys and values for each of the 32 of queries.
TEST(HuggingFace, HasAsManyHeadsOfKeysUnlessItSaysOtherwise) {
  EXPECT_EQ(read_with(llama, "\"num_key_value_heads\": 8, ", "").kv_heads, 32);
  EXPECT_EQ(read_with(llama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": null").kv_heads, 32);
}

TEST(HuggingFace, ReadsTheDropoutOfGpt2) {
  EXPECT_EQ(read_with(gpt2, "\"n_ctx\": 1024", "\"resid_pdrop\": 0.25").dropout, 0.25);
  EXPECT_EQ(read_with(gpt2, "\"n_ctx\": 1024", "\"attn_pdrop\": 0.25").attention_dropout, 0.25);
  EXPECT_EQ(read_hugging_face(gpt2, "config.json").dropout, 0.1);  // of class GPT2Config
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"attn_pdrop\": 1.5"), HasSubstr("attn_pdrop: 1.5 is not accepted"));
}

std::string sample_of(const std::string& name) { return C3SIM_SOURCE_DIR "/tests/data/models/" + name; }

ModelRemarks remarks_with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return remarks_of_hugging_face(text, "config.json");
}

// What is switched off, and what another architecture has without any effect, is told and not refused.
TEST(HuggingFace, IgnoresWithARemarkWhatChangesNothing) {
  const std::string qwen = sample_of("config_qwen2_use_mrope.json");
  EXPECT_EQ(read_model(qwen, folders).layers, 24);
  EXPECT_FALSE(remarks_of_model(qwen).fp8_weights);
  EXPECT_THAT(remarks_of_model(qwen).ignored, ElementsAre(HasSubstr("use_mrope: false is ignored")));
  const std::string size = "\"vocab_size\"";
  EXPECT_THAT(remarks_with(llama, size, "\"use_new_thing\": false, " + size).ignored,
              ElementsAre(AllOf(HasSubstr("use_new_thing"), HasSubstr("switched off"))));
  EXPECT_THAT(remarks_with(llama, size, "\"layer_norm_eps\": 1e-5, " + size).ignored,
              ElementsAre(HasSubstr("layer_norm_eps: 1e-05 is ignored: it changes nothing here")));
  EXPECT_THAT(fault_of(llama, size, "\"use_new_thing\": true, " + size), HasSubstr("use_new_thing: is not known"));
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"add_cross_attention\": true"),
              HasSubstr("add_cross_attention: true changes what is computed: false is accepted"));
  // Each architecture has a dropout of attention of its own name.
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"attention_dropout\": 0.5"), HasSubstr("is not known"));
}

TEST(HuggingFace, TakesWeightsOfFp8FromTheQuantizationThatItNames) {
  EXPECT_TRUE(remarks_of_model(sample_of("config_llama_fp8_quantization_config.json")).fp8_weights);
  const std::string size = "\"vocab_size\"";
  const auto with = [&size](const std::string& said) {
    return std::string("\"quantization_config\": ") + said + ", " + size;
  };
  EXPECT_FALSE(remarks_with(llama, size, with("null")).fp8_weights);
  EXPECT_TRUE(remarks_with(llama, size, with("{\"quant_method\": \"fbgemm_fp8\"}")).fp8_weights);
  EXPECT_TRUE(remarks_with(llama, size,
                           with("{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": "
                                "{\"weights\": {\"num_bits\": 8, \"type\": \"float\"}}}}"))
                  .fp8_weights);
  EXPECT_THAT(remarks_with(llama, size, with("{\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}")).ignored,
              ElementsAre(HasSubstr("scales by block are left out")));
  for (const char* const other : {"{\"quant_method\": \"gptq\", \"bits\": 4}", "{\"quant_method\": \"awq\"}", "3",
                                  "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {\"weights\": "
                                  "{\"num_bits\": 4, \"type\": \"int\"}}}}"}) {
    EXPECT_THAT(fault_of(llama, size, with(other)), HasSubstr("is not accepted: fp8 is")) << other;
  }
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
