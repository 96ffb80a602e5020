#include "study/step/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/config_error.h"
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

ReadModel of_text(const std::string& text, const std::vector<std::string>& ignores = {}, const std::string& like = {}) {
  return read_hugging_face(text, "my.json", folders, ignores, like);
}

constexpr auto llama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16"})";

TEST(HuggingFace, SaysTheSameAsTheShippedModel) {
  const ModelSpec read = of_text(llama).model;
  const ModelSpec shipped = read_model("llama3-8b", folders);
  EXPECT_EQ(read.parameters(), shipped.parameters());
  EXPECT_EQ(read.kv_features(), shipped.kv_features());
  EXPECT_EQ(read.first_ffn(), 2 * 14336);
}

constexpr auto gpt2 = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
  "vocab_size": 50257, "n_ctx": 1024, "activation_function": "gelu_new"})";

// GPT-2 small has 124 million: 12 layers of 7.09, 39.4 of words and positions.
TEST(HuggingFace, ReadsGpt2) {
  const ModelSpec read = of_text(gpt2).model;
  EXPECT_NEAR(static_cast<double>(read.parameters()) * 1e-6, 124.4, 0.1);
  EXPECT_EQ(read.ffn, 4 * 768);
}

std::string fault_of(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  try {
    of_text(text);
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
              HasSubstr("n_ctx: 2048 changes what is computed: 1024 is accepted"));
}

ModelSpec read_with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return of_text(text).model;
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
  EXPECT_EQ(of_text(gpt2).model.dropout, 0.1);  // of class GPT2Config
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"attn_pdrop\": 1.5"), HasSubstr("attn_pdrop: 1.5 is not accepted"));
}

std::string sample_of(const std::string& name) { return C3SIM_SOURCE_DIR "/tests/data/models/" + name; }

ReadModel read_whole_with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return of_text(text);
}

// What is switched off, and what another architecture has without any effect, is told and not refused.
TEST(HuggingFace, IgnoresWithARemarkWhatChangesNothing) {
  const std::string qwen = sample_of("config_qwen2_use_mrope.json");
  const ReadModel read = read_model_file(qwen, folders);
  EXPECT_EQ(read.model.layers, 24);
  EXPECT_EQ(read.products, std::nullopt);
  EXPECT_THAT(read.ignored, ElementsAre(HasSubstr("use_mrope: false is ignored")));
  const std::string size = "\"vocab_size\"";
  EXPECT_THAT(read_whole_with(llama, size, "\"use_new_thing\": false, " + size).ignored,
              ElementsAre(AllOf(HasSubstr("use_new_thing"), HasSubstr("switched off"))));
  EXPECT_THAT(read_whole_with(llama, size, "\"layer_norm_eps\": 1e-5, " + size).ignored,
              ElementsAre(HasSubstr("layer_norm_eps: 1e-05 is ignored: it changes nothing here")));
  EXPECT_THAT(fault_of(llama, size, "\"use_new_thing\": true, " + size), HasSubstr("use_new_thing: is not known"));
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"add_cross_attention\": true"),
              HasSubstr("add_cross_attention: true changes what is computed: false is accepted"));
  // Each architecture has a dropout of attention of its own name.
  EXPECT_THAT(fault_of(gpt2, "\"n_ctx\": 1024", "\"attention_dropout\": 0.5"), HasSubstr("is not known"));
}

// Of fp8 products are computed so, between which the stream stays in bf16; weights of four bits are unpacked.
TEST(HuggingFace, TakesTheFormatFromTheQuantizationThatItNames) {
  using models::Dtype;
  const ReadModel whole = read_model_file(sample_of("config_llama_fp8_quantization_config.json"), folders);
  EXPECT_EQ(whole.products, Dtype::fp8);
  EXPECT_EQ(whole.formats.activations, Dtype::bf16);
  const std::string size = "\"vocab_size\"";
  const auto with = [&size](const std::string& said) {
    return std::string("\"quantization_config\": ") + said + ", " + size;
  };
  const auto weights = [&](const std::string& said) {
    return read_whole_with(llama, size, with(said)).formats.weights;
  };
  EXPECT_EQ(weights("null"), std::nullopt);
  EXPECT_EQ(weights("{\"quant_method\": \"fbgemm_fp8\"}"), Dtype::fp8);
  const std::string group =
      "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": ";
  EXPECT_EQ(weights(group + "{\"num_bits\": 8, \"type\": \"float\"}}}}"), Dtype::fp8);
  EXPECT_EQ(weights(group + "{\"num_bits\": 4, \"type\": \"int\"}}}}"), Dtype::int4);
  EXPECT_EQ(weights("{\"quant_method\": \"gptq\", \"bits\": 4}"), Dtype::int4);
  EXPECT_EQ(weights("{\"quant_method\": \"awq\"}"), Dtype::int4);
  EXPECT_EQ(weights("{\"quant_method\": \"mxfp4\"}"), Dtype::mxfp4);
  EXPECT_THAT(
      read_whole_with(llama, size, with("{\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}")).ignored,
      ElementsAre(HasSubstr("scales by block are left out")));
  for (const char* const other :
       {"{\"quant_method\": \"gptq\", \"bits\": 3}", "{\"quant_method\": \"bitsandbytes\"}", "3"}) {
    EXPECT_THAT(fault_of(llama, size, with(other)), HasSubstr("is not accepted: fp8, mxfp4, and int4")) << other;
  }
}

// What is not known is refused by name unless --ignore names it; an architecture that is not known by the one whose
// keys it has, unless --like names one.
TEST(HuggingFace, ReadsWhatIsNotKnownAsItIsTold) {
  std::string text = llama;
  text.replace(text.find("\"vocab_size\""), 12, "\"new_gate\": true, \"vocab_size\"");
  EXPECT_THAT(fault_of(text, "{", "{"), AllOf(HasSubstr("new_gate: is not known"),
                                              HasSubstr("where it changes nothing, --ignore new_gate is accepted")));
  EXPECT_THAT(of_text(text, {"new_gate"}).ignored,
              ElementsAre(HasSubstr("new_gate: true is ignored, as --ignore says")));
  const std::vector<std::string> known{"hidden_size"};
  EXPECT_THROW(of_text(llama, known), sim::ConfigError);
  std::string other = llama;
  other.replace(other.find("\"llama\""), 7, "\"ours\"");
  EXPECT_THAT(fault_of(other, "{", "{"),
              AllOf(HasSubstr("'ours' is not known"), HasSubstr("by its keys it is nearest to llama: --like llama")));
  EXPECT_EQ(of_text(other, {}, "llama").model.parameters(), of_text(llama).model.parameters());
}

std::string told_of(const std::string& text, const std::vector<std::string>& ignores = {},
                    const std::string& like = {}) {
  try {
    of_text(text, ignores, like);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "none";
}

// The small llama file as another type, with more keys.
std::string small(const std::string& type, const std::string& more = {}) {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 1000, "max_position_embeddings": 8192)" +
         (more.empty() ? "" : ", ") + more + "}";
}

// Phi-3-mini-128k is published with a window of 262144 of 131072 tokens, which contradicts itself.
TEST(HuggingFace, LeavesOutAnOptionalKeyThatIsIgnored) {
  const std::string phi = small("phi3", R"("sliding_window": 16384)");
  EXPECT_THAT(told_of(phi), AllOf(HasSubstr("sliding_window: a window of 16384 tokens is longer than the 8192"),
                                  HasSubstr("--ignore sliding_window reads the file as if it were not there")));
  const ReadModel read = of_text(phi, {"sliding_window"});
  EXPECT_EQ(read.model.window, 0);
  EXPECT_THAT(read.ignored, ElementsAre(HasSubstr("sliding_window: 16384 is ignored, as --ignore says")));
  const std::string gptq = small("llama", R"("quantization_config": {"quant_method": "gptq", "bits": 3})");
  EXPECT_EQ(of_text(gptq, {"quantization_config"}).formats.weights, std::nullopt);
  for (const char* const due : {"hidden_size", "num_key_value_heads", "model_type", "vocab_size"}) {
    EXPECT_THAT(told_of(phi, {"sliding_window", due}), HasSubstr(std::string(due) + ": says what the model is")) << due;
  }
  // Which layers have experts decides the number of weights, as extents do.
  const std::string llama4 = small("llama4_text", R"("interleave_moe_layer_step": 2, "intermediate_size_mlp": 2048)");
  EXPECT_THAT(told_of(llama4, {"interleave_moe_layer_step"}), HasSubstr("cannot be left out"));
}

TEST(HuggingFace, TakesAClassOfTheFamilyForItsPartOfText) {
  EXPECT_EQ(told_of(small("gemma3_text", R"("architectures": ["Gemma3ForCausalLM"])")), "none");
  EXPECT_EQ(told_of(small("gemma3_text", R"("architectures": ["Gemma3TextModel"])")), "none");
  EXPECT_EQ(told_of(small("llama4_text", R"("architectures": ["Llama4ForCausalLM"])")), "none");
  EXPECT_THAT(told_of(small("gemma3_text", R"("architectures": ["Gemma3nForCausalLM"])")),
              HasSubstr("'Gemma3nForCausalLM' is no gemma3text"));
}

TEST(HuggingFace, TakesKeysThatSayWhatIsComputedAnyway) {
  const auto minimax = [](const std::string& kinds) {
    return small("minimax", R"("architectures": ["MiniMaxM2ForCausalLM"], "attn_type_list": )" + kinds + R"(,
      "mlp_intermediate_size": 8192, "shared_moe_mode": "sigmoid", "layernorm_linear_attention_beta": 1.0,
      "layernorm_mlp_alpha": 1.5, "num_local_experts": 8, "num_experts_per_tok": 2)");
  };
  const ReadModel read = of_text(minimax("[1, 1, 1, 1]"));
  EXPECT_EQ(read.model.name, "minimax_m2");
  EXPECT_EQ(read.model.experts, 8);
  EXPECT_THAT(read.ignored, ::testing::Contains(HasSubstr("'minimax' is read as minimax_m2")));
  EXPECT_THAT(told_of(minimax("[1, 0, 1, 1]")), HasSubstr("attn_type_list: [1,0,1,1] changes what is computed"));
  EXPECT_THAT(told_of(minimax("[1, 1]")), HasSubstr("a 1 for each of 4 layers is accepted"));
  EXPECT_THAT(told_of(small("llama", R"("mlp_intermediate_size": 8192)")), HasSubstr("is not known"));
  EXPECT_EQ(told_of(small("qwen3", R"("use_qk_norm": true)")), "none");
  EXPECT_THAT(told_of(small("qwen3", R"("use_qk_norm": false)")),
              HasSubstr("use_qk_norm: false changes what is computed: true is accepted"));
  EXPECT_EQ(told_of(small("gemma2", R"("sliding_window": 512, "sliding_window_size": 512)")), "none");
  EXPECT_THAT(told_of(small("gemma2", R"("sliding_window": 512, "sliding_window_size": 256)")),
              HasSubstr("sliding_window_size: 256 changes what is computed: 512 is accepted"));
}

TEST(HuggingFace, AdvisesATypeThatHasExpertsAsTheFileDoes) {
  EXPECT_THAT(told_of(small("ours")), HasSubstr("nearest to llama: --like llama reads it so"));
  EXPECT_THAT(told_of(small("ours", R"("attention_chunk_size": 512, "attn_scale": 0.1, "floor_scale": 1)")),
              HasSubstr("nearest to llama: "));
  EXPECT_THAT(told_of(small("ours", R"("num_local_experts": 8, "num_experts_per_tok": 2)")),
              HasSubstr("nearest to mixtral: "));
  const std::string far = told_of(R"({"model_type": "ours", "d_model": 512, "num_blocks": 4})");
  EXPECT_THAT(far, AllOf(HasSubstr("'ours' is not known"), ::testing::Not(HasSubstr("--like"))));
  EXPECT_THAT(told_of(small("ours", R"("is_encoder_decoder": true)")), ::testing::Not(HasSubstr("--like")));
  EXPECT_THAT(told_of(small("qwen3"), {}, "quen3"),
              AllOf(HasSubstr("'quen3' is not known; did you mean 'qwen3'?: llama, mistral, "),
                    HasSubstr("'qwen3', the model_type of my.json, is known and needs no --like")));
  EXPECT_THAT(told_of(small("ours"), {}, "theirs"),
              AllOf(HasSubstr("--like: 'theirs' is not known: llama, "), HasSubstr("nearest to llama")));
}

TEST(HuggingFace, RefusesLayersOfWhichThereIsNoModel) {
  const auto types = [](const std::string& type, const std::string& kinds) {
    return told_of(small(type, "\"layer_types\": " + kinds));
  };
  const std::string full = R"("full_attention", )";
  EXPECT_EQ(types("llama", "[" + full + full + full + R"("full_attention"])"), "none");
  EXPECT_THAT(types("llama", R"(["full_attention"])"), HasSubstr("layer_types: 1 kinds are not those of 4 layers"));
  EXPECT_THAT(types("gemma2", "[" + full + full + full + R"("ful_attention"])"),
              HasSubstr("'ful_attention' is not known; did you mean 'full_attention'?"));
  EXPECT_THAT(types("llama", "[" + full + full + full + R"("linear_attention"])"),
              HasSubstr("'linear_attention' is not accepted, of which there is no model"));
  EXPECT_THAT(types("llama", "3"), HasSubstr("3 is not accepted: a list with a kind for each layer is"));
  EXPECT_THAT(types("llama", "[" + full + full + full + R"("sliding_attention"])"),
              HasSubstr("\"sliding_attention\" of layer 3 is not what is computed, attention to all tokens"));
  EXPECT_EQ(types("gemma2", "[" + full + full + full + R"("sliding_attention"])"), "none");
  EXPECT_THAT(told_of(small("llama", R"("is_encoder_decoder": true)")), HasSubstr("is_encoder_decoder: true is not"));
}

TEST(HuggingFace, RefusesExpertsThatAreNotThere) {
  EXPECT_THAT(told_of(small("qwen3_moe", R"("num_experts": 0, "num_experts_per_tok": 8)")),
              HasSubstr("num_experts_per_tok: a token cannot use 8 of 0 experts"));
  EXPECT_THAT(told_of(small("llama4_text", R"("num_local_experts": 0, "num_experts_per_tok": 1)")),
              HasSubstr("a token cannot use 1 of 0 experts"));
  EXPECT_EQ(told_of(small("qwen3_moe", R"("shared_expert_intermediate_size": 0)")), "none");
  EXPECT_THAT(told_of(small("qwen3_moe", R"("shared_expert_intermediate_size": 512)")),
              HasSubstr("shared_expert_intermediate_size: 512 changes what is computed: 0 is accepted"));
}

std::string quantized(const std::string& said) { return small("llama", "\"quantization_config\": {" + said + "}"); }

TEST(HuggingFace, NamesTheQuantizationThatItRefuses) {
  const std::string tensors = R"("quant_method": "compressed-tensors", "format": )";
  const std::string group = R"(, "config_groups": {"group_0": {"weights": )";
  EXPECT_THAT(told_of(quantized(tensors + R"("int-quantized")" + group + R"({"num_bits": 8, "type": "int"}}})")),
              HasSubstr("'compressed-tensors' with int-quantized, int, 8 bits is not accepted"));
  EXPECT_THAT(
      told_of(quantized(tensors + R"("nvfp4-pack-quantized")" + group + R"({"num_bits": 4, "type": "float"}}})")),
      HasSubstr("'compressed-tensors' with nvfp4-pack-quantized, float, 4 bits is not accepted"));
  EXPECT_THAT(told_of(quantized(R"("quant_method": "modelopt", "quant_algo": "NVFP4")")),
              HasSubstr("'modelopt' with nvfp4, float, 4 bits is not accepted"));
  EXPECT_THAT(told_of(quantized(R"("quant_method": "gptq", "bits": 8)")), HasSubstr("'gptq' with 8 bits is not"));
  EXPECT_THAT(told_of(quantized(R"("quant_method": "awq", "bits": 3)")), HasSubstr("'awq' with 3 bits is not"));
  EXPECT_THAT(told_of(quantized(R"("quant_method": "bitsandbytes", "load_in_8bit": true)")),
              HasSubstr("'bitsandbytes' with 8 bits is not accepted"));
}

TEST(HuggingFace, TakesTheFormatOfTheCacheFromTheQuantization) {
  using models::Dtype;
  const std::string int4 = R"("quant_method": "compressed-tensors",
    "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}}, "kv_cache_scheme": )";
  const ReadModel of_int4 = of_text(quantized(int4 + R"({"num_bits": 8, "type": "float"})"));
  EXPECT_EQ(of_int4.formats.weights, Dtype::int4);
  EXPECT_EQ(of_int4.formats.cache, Dtype::fp8);
  EXPECT_EQ(of_text(quantized(int4 + "null")).formats.cache, std::nullopt);
  EXPECT_THAT(told_of(quantized(int4 + R"({"num_bits": 8, "type": "int"})")), HasSubstr("kv_cache_scheme {"));
  const std::string modelopt = R"("quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": )";
  EXPECT_EQ(of_text(quantized(modelopt + "\"FP8\"")).formats.cache, Dtype::fp8);
  EXPECT_EQ(of_text(quantized(modelopt + "\"FP8\"")).formats.activations, Dtype::bf16);
  EXPECT_EQ(of_text(quantized(modelopt + "null")).formats.cache, Dtype::bf16);
  EXPECT_THAT(told_of(quantized(modelopt + "\"NVFP4\"")), HasSubstr("kv_cache_quant_algo \"NVFP4\" is not accepted"));
  const ReadModel alone = of_text(quantized(R"("quant_method": "compressed-tensors", "config_groups": {},
    "kv_cache_scheme": {"num_bits": 8, "type": "float"})"));
  EXPECT_EQ(alone.formats.weights, std::nullopt);
  EXPECT_EQ(alone.formats.cache, Dtype::fp8);
}

struct Family {
  const char* name;
  double parameters;       // billions, as its authors have it
  double used;             // by a token
  double cached_features;  // of a token by the layers that see all, in all of these
};

// Cards and papers: Qwen3 (arXiv 2505.09388), Gemma 2 and 3 (2408.00118, 2503.19786), Phi-4 (2412.08905), Mistral's and
// Llama 4's cards, gpt-oss (2508.10925: 116.8 billion, 5.1 used beside 0.58 of embedding), DeepSeek-V2 and -V3
// (2405.04434, 2412.19437), Kimi K2 (2507.20534: 1.04 T with biases and rounding, 1,026 of its tensors), GLM-4.5
// (2508.06471), MiniMax-M2's card (10 billion used beside 1.2 of words), Mixtral (2401.04088), Llama 3 (2407.21783).
// Latent attention keeps 512 + 64 features of a token in a layer, others keys and values of each head of these.
TEST(HuggingFace, ReadsTheLargestFamilies) {
  constexpr std::array families{Family{"qwen3-32b", 32.8, 32.8, 64 * 2048},
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
  std::ifstream file(sample_of("families.json"));
  const nlohmann::ordered_json configs = nlohmann::ordered_json::parse(file);
  for (const Family& family : families) {
    SCOPED_TRACE(family.name);
    const ModelSpec read = of_text(configs.at(family.name).dump()).model;
    EXPECT_NEAR(static_cast<double>(read.parameters()) * 1e-9, family.parameters, 0.01 * family.parameters);
    EXPECT_NEAR(static_cast<double>(read.used_parameters()) * 1e-9, family.used, 0.03 * family.used);
    std::int64_t cached = 0;
    for (const LayerKind& kind : read.kinds(read.layers)) {
      if (kind.model.window == 0) cached += kind.layers * kind.model.cached_features();
    }
    EXPECT_EQ(static_cast<double>(cached), family.cached_features);
    // The file of that name in configs/models says the same.
    const ModelSpec shipped = read_model(family.name, folders);
    EXPECT_EQ(shipped.parameters(), read.parameters());
    EXPECT_EQ(shipped.used_parameters(), read.used_parameters());
    EXPECT_EQ(shipped.kinds(shipped.layers).size(), read.kinds(read.layers).size());
  }
}

// Gemma 3 has a layer that sees all behind each five with a window; DeepSeek-V3 three dense ones before the others.
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
