#include "study/step/model_spec.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/config_error.h"
#include "tests/config_folders.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Dtype;

double billions(std::int64_t parameters) { return static_cast<double>(parameters) * 1e-9; }

// As their papers and cards have it.
TEST(ModelSpec, HasTheParametersThatItsAuthorsCount) {
  struct Counted {
    const char* model;
    double billions, error;
  };
  for (const auto& [model, expected, error] :
       {Counted{"llama3-8b", 8.03, 0.005}, Counted{"llama3-405b", 405.85, 0.1}, Counted{"llama2-70b", 68.98, 0.01},
        Counted{"llama3-70b", 70.55, 0.01}, Counted{"qwen2-7b", 7.616, 0.005}, Counted{"mixtral-8x7b", 46.70, 0.01},
        Counted{"bert-large", 0.334, 0.003}, Counted{"gpt3-175b", 174.6, 0.1}, Counted{"t-nlg", 17.2, 0.2}}) {
    EXPECT_NEAR(billions(read_model(model, folders).parameters()), expected, error) << model;
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

template <class Read>
std::string told_by(const Read& read) {
  try {
    read();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(ModelSpec, ThatIsNotKnownHasANeighbour) {
  EXPECT_THAT(told_by([] { read_model("llama3-70", folders); }), HasSubstr("did you mean 'llama3-70b'?"));
}

ReadModel of_text(const std::string& text, const std::vector<std::string>& ignores = {}, const std::string& like = {}) {
  return read_hugging_face(text, "my.json", folders, ignores, like);
}
std::string told_of(const std::string& text, const std::vector<std::string>& ignores = {},
                    const std::string& like = {}) {
  return told_by([&] { of_text(text, ignores, like); });
}

const std::string llama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16"})";
const std::string gpt2 = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
  "vocab_size": 50257, "n_ctx": 1024, "activation_function": "gelu_new"})";

// The file with one more key, or more.
std::string with(const std::string& text, const std::string& keys) { return replaced(text, "}", ", " + keys + "}"); }

// A small file of that type, with more keys.
std::string small(const std::string& type, const std::string& more = {}) {
  const std::string text = R"({"model_type": ")" + type + R"(", "hidden_size": 512, "intermediate_size": 1024,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 1000,
    "max_position_embeddings": 8192})";
  return more.empty() ? text : with(text, more);
}

// Files, and a part of the message that each is answered with, or "none".
void expect_answers(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [text, told] : cases) {
    const std::string message = told_of(text);
    EXPECT_TRUE(told == "none" ? message == told : message.find(told) != std::string::npos)
        << text << " is answered with: " << message;
  }
}

// GPT-2 small has 124 million: 12 layers of 7.09, 39.4 of words and positions.
TEST(HuggingFace, SaysTheSameAsTheShippedModelAndTheAuthors) {
  const ModelSpec read = of_text(llama).model;
  const ModelSpec shipped = read_model("llama3-8b", folders);
  EXPECT_EQ(read.parameters(), shipped.parameters());
  EXPECT_EQ(read.kv_features(), shipped.kv_features());
  EXPECT_EQ(read.first_ffn(), 2 * 14336);
  EXPECT_NEAR(billions(of_text(gpt2).model.parameters()), 0.1244, 0.0001);
  EXPECT_EQ(of_text(gpt2).model.ffn, 4 * 768);
}

TEST(HuggingFace, SaysWhatIsWrongAndWhatWouldBeAccepted) {
  const auto in_llama = [](const char* from, const char* to) { return replaced(llama, from, to); };
  expect_answers({
      {in_llama("\"hidden_size\": 4096,", ""), "my.json: hidden_size: is missing"},
      {in_llama("vocab_size", "vocab_sise"), "vocab_sise: is not known; did you mean 'vocab_size'?"},
      {in_llama("vocab_size", "vocab_sise"), "vocab_size: is missing"},
      {in_llama("heads\": 32", "heads\": 33"), "4096 features are not 33 heads"},
      {in_llama("heads\": 8", "heads\": 5"),
       "my.json: num_key_value_heads: 32 heads do not share 5 heads of keys and values evenly"},
      {in_llama("14336", "\"many\""), "a whole number from 1 to"},
      {in_llama("14336", "2097152"), "a whole number from 1 to 1048576 is"},
      {in_llama("\"silu\"", "\"tanh\""), "'tanh' is not accepted: silu is"},
      {in_llama("\"llama\"", "\"lama\""), "did you mean 'llama'?"},
      {in_llama("\"model_type\": \"llama\",", ""), "model_type: is missing"},
      {in_llama("{", "3, {"), "my.json:1:2: is no JSON from here on"},
      {in_llama("128256,", "128256"), "my.json:3:"},
      {"[2]", "is no JSON object"},
      // What contradicts itself.
      {with(llama, "\"hidden_size\": 2048"), "hidden_size: is there twice"},
      {with(llama, R"("architectures": ["MistralForCausalLM"])"),
       "architectures: 'MistralForCausalLM' is no llama, which model_type says"},
      {with(llama, R"("architectures": ["LlamaForCausalLM"])"), "none"},
      {replaced(gpt2, "\"n_ctx\": 1024", "\"n_ctx\": 2048"), "n_ctx: 2048 changes what is computed: 1024 is accepted"},
      // What is switched on, each architecture's dropout by a name of its own, and layers of which there is no model.
      {with(llama, "\"use_new_thing\": true"), "use_new_thing: is not known"},
      {with(gpt2, "\"add_cross_attention\": true"),
       "add_cross_attention: true changes what is computed: false is accepted"},
      {with(gpt2, "\"attention_dropout\": 0.5"), "is not known"},
      {with(gpt2, "\"attn_pdrop\": 1.5"), "attn_pdrop: 1.5 is not accepted"},
      {small("llama", R"("is_encoder_decoder": true)"), "is_encoder_decoder: true is not"},
      {small("llama", R"("mlp_intermediate_size": 8192)"), "is not known"},
      {small("qwen3", R"("use_qk_norm": true)"), "none"},
      {small("qwen3", R"("use_qk_norm": false)"), "use_qk_norm: false changes what is computed: true is accepted"},
      {small("gemma2", R"("sliding_window": 512, "sliding_window_size": 512)"), "none"},
      {small("gemma2", R"("sliding_window": 512, "sliding_window_size": 256)"),
       "sliding_window_size: 256 changes what is computed: 512 is accepted"},
      // Experts that are not there.
      {small("qwen3_moe", R"("num_experts": 0, "num_experts_per_tok": 8)"),
       "num_experts_per_tok: a token cannot use 8 of 0 experts"},
      {small("llama4_text", R"("num_local_experts": 0, "num_experts_per_tok": 1)"),
       "a token cannot use 1 of 0 experts"},
      {small("qwen3_moe", R"("shared_expert_intermediate_size": 0)"), "none"},
      {small("qwen3_moe", R"("shared_expert_intermediate_size": 512)"),
       "shared_expert_intermediate_size: 512 changes what is computed: 0 is accepted"},
      // Classes of a family, which its part of text has, too.
      {small("gemma3_text", R"("architectures": ["Gemma3ForCausalLM"])"), "none"},
      {small("gemma3_text", R"("architectures": ["Gemma3TextModel"])"), "none"},
      {small("llama4_text", R"("architectures": ["Llama4ForCausalLM"])"), "none"},
      {small("gemma3_text", R"("architectures": ["Gemma3nForCausalLM"])"), "'Gemma3nForCausalLM' is no gemma3text"},
  });
}

TEST(HuggingFace, RefusesLayersOfWhichThereIsNoModel) {
  const auto last = [](const char* type, const std::string& kind) {
    return small(type, R"("layer_types": ["full_attention", "full_attention", "full_attention", ")" + kind + "\"]");
  };
  expect_answers({
      {last("llama", "full_attention"), "none"},
      {last("gemma2", "ful_attention"), "'ful_attention' is not known; did you mean 'full_attention'?"},
      {last("llama", "linear_attention"), "'linear_attention' is not accepted, of which there is no model"},
      {last("llama", "sliding_attention"),
       "\"sliding_attention\" of layer 3 is not what is computed, attention to all tokens"},
      {last("gemma2", "sliding_attention"), "none"},
      {small("llama", R"("layer_types": ["full_attention"])"), "layer_types: 1 kinds are not those of 4 layers"},
      {small("llama", R"("layer_types": 3)"), "3 is not accepted: a list with a kind for each layer is"},
  });
}

// Of a window of 4096 the 5000th token sees 4096; the file of a qwen2 has one that is not used.
TEST(HuggingFace, ReadsTheWindowThatATokenSees) {
  const auto of = [](const std::string& type) { return of_text(replaced(llama, "\"llama\"", type)).model; };
  EXPECT_EQ(of("\"llama\"").seen(5000), 5000);
  EXPECT_EQ(of("\"mistral\"").seen(5000), 4096);
  EXPECT_EQ(of("\"mistral\", \"sliding_window\": 256").seen(5000), 256);
  EXPECT_EQ(of("\"mistral\", \"sliding_window\": null").window, 0);
  const std::string qwen = R"("qwen2", "sliding_window": 256, "max_window_layers": 0, "use_sliding_window": )";
  EXPECT_EQ(of(qwen + "false").window, 0);
  EXPECT_EQ(of(qwen + "true").window, 256);
}

// Without grouped heads there is one of keys and values for each of the 32 of queries. Dropouts are of GPT2Config.
TEST(HuggingFace, ReadsWhatClassesHaveUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(of_text(replaced(llama, "\"num_key_value_heads\": 8, ", "")).model.kv_heads, 32);
  EXPECT_EQ(of_text(replaced(llama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": null")).model.kv_heads, 32);
  EXPECT_EQ(of_text(gpt2).model.dropout, 0.1);
  EXPECT_EQ(of_text(with(gpt2, "\"resid_pdrop\": 0.25")).model.dropout, 0.25);
  EXPECT_EQ(of_text(with(gpt2, "\"attn_pdrop\": 0.25")).model.attention_dropout, 0.25);
}

std::string sample_of(const std::string& name) { return C3SIM_SOURCE_DIR "/tests/data/models/" + name; }

// What is switched off, and what another architecture has without any effect, is told and not refused.
TEST(HuggingFace, IgnoresWithARemarkWhatChangesNothing) {
  const ReadModel read = read_model_file(sample_of("config_qwen2_use_mrope.json"), folders);
  EXPECT_EQ(read.model.layers, 24);
  EXPECT_EQ(read.products, std::nullopt);
  EXPECT_THAT(read.ignored, ElementsAre(HasSubstr("use_mrope: false is ignored")));
  EXPECT_THAT(of_text(with(llama, "\"use_new_thing\": false")).ignored,
              ElementsAre(AllOf(HasSubstr("use_new_thing"), HasSubstr("switched off"))));
  EXPECT_THAT(of_text(with(llama, "\"layer_norm_eps\": 1e-5")).ignored,
              ElementsAre(HasSubstr("layer_norm_eps: 1e-05 is ignored: it changes nothing here")));
}

std::string quantized(const std::string& said) { return small("llama", "\"quantization_config\": {" + said + "}"); }

const std::string int4_weights = R"("quant_method": "compressed-tensors",
    "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}})";

// Of fp8 products are computed so, between which the stream stays in bf16; weights of four bits are unpacked.
TEST(HuggingFace, TakesTheFormatFromTheQuantizationThatItNames) {
  const ReadModel whole = read_model_file(sample_of("config_llama_fp8_quantization_config.json"), folders);
  EXPECT_EQ(whole.products, Dtype::fp8);
  EXPECT_EQ(whole.formats.activations, Dtype::bf16);
  EXPECT_EQ(of_text(small("llama", "\"quantization_config\": null")).formats.weights, std::nullopt);
  for (const auto& [said, weights] :
       {std::pair<std::string, Dtype>(R"("quant_method": "fbgemm_fp8")", Dtype::fp8),
        {replaced(int4_weights, R"(4, "type": "int")", R"(8, "type": "float")"), Dtype::fp8},
        {int4_weights, Dtype::int4},
        {R"("quant_method": "gptq", "bits": 4)", Dtype::int4},
        {R"("quant_method": "awq")", Dtype::int4},
        {R"("quant_method": "mxfp4")", Dtype::mxfp4}}) {
    EXPECT_EQ(of_text(quantized(said)).formats.weights, weights) << said;
  }
  EXPECT_THAT(of_text(quantized(R"("quant_method": "fp8", "weight_block_size": [128, 128])")).ignored,
              ElementsAre(HasSubstr("scales by block are left out")));
}

TEST(HuggingFace, NamesTheQuantizationThatItRefuses) {
  const auto tensors = [](const char* format, const char* weights) {
    return quantized(fmt::format(R"("quant_method": "compressed-tensors", "format": "{}", "config_groups":
                                 {{"group_0": {{"weights": {{{}}}}}}})",
                                 format, weights));
  };
  const std::string formats = "is not accepted: fp8, mxfp4, and int4";
  expect_answers({
      {tensors("int-quantized", R"("num_bits": 8, "type": "int")"),
       "'compressed-tensors' with int-quantized, int, 8 bits is not accepted"},
      {tensors("nvfp4-pack-quantized", R"("num_bits": 4, "type": "float")"),
       "'compressed-tensors' with nvfp4-pack-quantized, float, 4 bits is not accepted"},
      {quantized(R"("quant_method": "modelopt", "quant_algo": "NVFP4")"),
       "'modelopt' with nvfp4, float, 4 bits is not accepted"},
      {quantized(R"("quant_method": "gptq", "bits": 8)"), "'gptq' with 8 bits is not"},
      {quantized(R"("quant_method": "awq", "bits": 3)"), "'awq' with 3 bits is not"},
      {quantized(R"("quant_method": "bitsandbytes", "load_in_8bit": true)"),
       "'bitsandbytes' with 8 bits is not accepted"},
      {quantized(R"("quant_method": "gptq", "bits": 3)"), formats},
      {quantized(R"("quant_method": "bitsandbytes")"), formats},
      {small("llama", "\"quantization_config\": 3"), formats},
  });
}

TEST(HuggingFace, TakesTheFormatOfTheCacheFromTheQuantization) {
  const std::string int4 = int4_weights + R"(, "kv_cache_scheme": )";
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

// What is not known is refused by name unless --ignore names it; an architecture that is not known by the one whose
// keys it has, unless --like names one.
TEST(HuggingFace, ReadsWhatIsNotKnownAsItIsTold) {
  const std::string text = with(llama, "\"new_gate\": true");
  EXPECT_THAT(told_of(text), AllOf(HasSubstr("new_gate: is not known"),
                                   HasSubstr("where it changes nothing, --ignore new_gate is accepted")));
  EXPECT_THAT(of_text(text, {"new_gate"}).ignored,
              ElementsAre(HasSubstr("new_gate: true is ignored, as --ignore says")));
  EXPECT_NE(told_of(llama, {"hidden_size"}), "none");
  const std::string other = replaced(llama, "\"llama\"", "\"ours\"");
  EXPECT_THAT(told_of(other),
              AllOf(HasSubstr("'ours' is not known"), HasSubstr("by its keys it is nearest to llama: --like llama")));
  EXPECT_EQ(of_text(other, {}, "llama").model.parameters(), of_text(llama).model.parameters());
}

// Phi-3-mini-128k is published with a window of 262144 of 131072 tokens, which contradicts itself.
TEST(HuggingFace, LeavesOutAnOptionalKeyThatIsIgnored) {
  const std::string phi = small("phi3", R"("sliding_window": 16384)");
  EXPECT_THAT(told_of(phi), AllOf(HasSubstr("sliding_window: a window of 16384 tokens is longer than the 8192"),
                                  HasSubstr("--ignore sliding_window reads the file as if it were not there")));
  const ReadModel read = of_text(phi, {"sliding_window"});
  EXPECT_EQ(read.model.window, 0);
  EXPECT_THAT(read.ignored, ElementsAre(HasSubstr("sliding_window: 16384 is ignored, as --ignore says")));
  const std::string gptq = quantized(R"("quant_method": "gptq", "bits": 3)");
  EXPECT_EQ(of_text(gptq, {"quantization_config"}).formats.weights, std::nullopt);
  for (const std::string due : {"hidden_size", "num_key_value_heads", "model_type", "vocab_size"}) {
    EXPECT_THAT(told_of(phi, {"sliding_window", due}), HasSubstr(due + ": says what the model is"));
  }
  // Which layers have experts decides the number of weights, as extents do.
  const std::string llama4 = small("llama4_text", R"("interleave_moe_layer_step": 2, "intermediate_size_mlp": 2048)");
  EXPECT_THAT(told_of(llama4, {"interleave_moe_layer_step"}), HasSubstr("cannot be left out"));
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
  EXPECT_THAT(read.ignored, Contains(HasSubstr("'minimax' is read as minimax_m2")));
  EXPECT_THAT(told_of(minimax("[1, 0, 1, 1]")), HasSubstr("attn_type_list: [1,0,1,1] changes what is computed"));
  EXPECT_THAT(told_of(minimax("[1, 1]")), HasSubstr("a 1 for each of 4 layers is accepted"));
}

TEST(HuggingFace, AdvisesATypeThatHasExpertsAsTheFileDoes) {
  expect_answers({
      {small("ours"), "nearest to llama: --like llama reads it so"},
      {small("ours", R"("attention_chunk_size": 512, "attn_scale": 0.1, "floor_scale": 1)"), "nearest to llama: "},
      {small("ours", R"("num_local_experts": 8, "num_experts_per_tok": 2)"), "nearest to mixtral: "},
  });
  EXPECT_THAT(told_of(R"({"model_type": "ours", "d_model": 512, "num_blocks": 4})"),
              AllOf(HasSubstr("'ours' is not known"), Not(HasSubstr("--like"))));
  EXPECT_THAT(told_of(small("ours", R"("is_encoder_decoder": true)")), Not(HasSubstr("--like")));
  EXPECT_THAT(told_of(small("qwen3"), {}, "quen3"),
              AllOf(HasSubstr("'quen3' is not known; did you mean 'qwen3'?: llama, mistral, "),
                    HasSubstr("'qwen3', the model_type of my.json, is known and needs no --like")));
  EXPECT_THAT(told_of(small("ours"), {}, "theirs"),
              AllOf(HasSubstr("--like: 'theirs' is not known: llama, "), HasSubstr("nearest to llama")));
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
    EXPECT_NEAR(billions(read.parameters()), family.parameters, 0.01 * family.parameters);
    EXPECT_NEAR(billions(read.used_parameters()), family.used, 0.03 * family.used);
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

}  // namespace
}  // namespace c3sim::study
