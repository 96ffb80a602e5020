#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "study/network/step_question.h"
#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

// Returns a small step, so that many are asked in a moment; eight GPUs share out its extents evenly.
StepQuestion small_step(std::int64_t experts, const std::string& options) {
  StepQuestion question = step_of(options);
  ModelSpec& model = question.model;
  model.layers = 8;
  model.hidden = 512;
  model.heads = 16;
  model.kv_heads = 4;
  model.head_dim = 64;
  model.ffn = 1024;
  model.vocabulary = 4096;
  model.experts = experts;
  model.experts_used = experts > 0 ? 2 : 0;
  return question;
}

int drawn_power_of_two(int up_to) {
  int exponents = 0;
  while (2 << exponents <= up_to) ++exponents;
  return 1 << *rc::gen::inRange(0, exponents + 1);
}

// Returns a split over up to eight GPUs of 64 sequences of 128 tokens, or of a drawn number of sequences per replica.
StepQuestion drawn_split() {
  StepQuestion question = small_step(*rc::gen::element<std::int64_t>(0, 8), "--layers 8 --tokens 128");
  question.phase = *rc::gen::element(Phase::prefill, Phase::train);
  question.tp = drawn_power_of_two(8);
  question.dp = drawn_power_of_two(8 / question.tp);
  question.cp = drawn_power_of_two(8 / question.tp / question.dp);
  question.pp = drawn_power_of_two(8 / question.tp / question.dp / question.cp);
  if (question.model.experts > 0) question.ep = drawn_power_of_two(question.tp * question.dp);
  question.model.shared_ffn = question.model.experts > 0 ? 512 : 0;
  if (*rc::gen::arbitrary<bool>()) {
    question.model.kv_heads = question.model.heads;
    question.model.kv_rank = 128;
    question.model.rotary_dim = 16;
  }
  question.batch = 64 / question.dp;
  if (question.phase == Phase::prefill && question.pp == 1 && question.cp == 1 && *rc::gen::arbitrary<bool>()) {
    question.decoding = 8;
    question.decoding_context = 256;
    return question;
  }
  question.micro = question.pp > 1 || *rc::gen::arbitrary<bool>() ? 4 : 1;
  return question;
}

StepQuestion on_one_gpu_of(StepQuestion question) {
  question.batch *= question.dp;
  question.decoding *= question.dp;
  static_cast<Split&>(question) = {};
  return question;
}

// Returns the operations of products and attention on all GPUs, as the step's blocks state them.
double flops_of_all_gpus(const StepQuestion& question) {
  double flops = 0.0;
  for (const StepBlock& block : step_blocks(question, question.stage_layers(), step_machine())) {
    const double times =
        static_cast<double>(std::max<std::int64_t>(1, block.layers)) * block.share(question.gpus()) * question.gpus();
    for (const StepOperation& one : block.operations) {
      if (const auto* gemm = std::get_if<models::GemmShape>(&one.work)) flops += times * gemm->flops().value();
      if (const auto* shape = std::get_if<models::AttentionShape>(&one.work)) flops += times * shape->flops().value();
    }
  }
  return flops;
}

// Returns the operations that a split repeats. Each of tp GPUs has at least one head of keys and values: beyond 4
// heads, 8 GPUs multiply 2 x 64 x 512 weights by each token for 8 heads. GPUs that share out products, but not experts,
// each route all tokens. Latent attention is projected in whole by each of tp GPUs, and each of cp GPUs makes keys and
// values of all tokens.
double repeated_flops(const StepQuestion& question) {
  const ModelSpec& model = question.model;
  const double more_heads = static_cast<double>(question.tp * question.kv_heads() - model.kv_heads);
  double of_keys = more_heads * 2.0 * static_cast<double>(model.head_dim * model.hidden);
  if (model.is_latent()) {
    const std::int64_t of_head = model.head_dim - model.rotary_dim + model.values();
    of_keys = (question.tp - 1) * static_cast<double>((model.kv_rank + model.rotary_dim) * model.hidden) +
              (question.cp - 1) * static_cast<double>(model.kv_rank * model.heads * of_head);
  }
  const double of_router =
      question.ep == 1 ? (question.tp - 1) * static_cast<double>(model.experts * model.hidden) : 0.0;
  const double tokens = static_cast<double>(question.tokens_in_all(question.new_tokens()));
  const double passes = question.trains() ? 3.0 : 1.0;  // a gradient is two products
  return passes * 2.0 * tokens * 8.0 * (of_keys + of_router);
}

// Attention counts whole tiles near the diagonal; parts of a sequence have other tiles there than the whole.
RC_GTEST_PROP(Split, NeitherMakesNorLosesWork, ()) {
  const StepQuestion question = drawn_split();
  RC_PRE(faults_of(question, step_machine()).empty());
  const double expected = flops_of_all_gpus(on_one_gpu_of(question)) + repeated_flops(question);
  RC_ASSERT(std::abs(flops_of_all_gpus(question) / expected - 1.0) < (question.cp > 1 ? 1e-2 : 1e-9));
}

// The test counts products alone, which parts of a sequence have as the whole sequence has.
RC_GTEST_PROP(Split, TellsWhatItRepeats, ()) {
  const StepQuestion question = drawn_split();
  RC_PRE(faults_of(question, step_machine()).empty());
  const ProductFlops products = product_flops(question, step_machine());
  const double expected = repeated_flops(question);
  RC_ASSERT(std::abs(products.repeated().value() - expected) <= 1e-9 * products.on_one.value());
  RC_ASSERT(products.some_are_repeated() == (expected > 0.0));
}

// 8 GPUs that share out products, but not experts, route each token 8 times by 8 x 512 weights, and have 8 heads of
// keys and values for 4, which is 4 x 2 x 64 x 512 weights more: for 16 x 512 tokens and 8 layers.
TEST(SplitOfAStep, SaysInNumbersWhatItRepeats) {
  const auto repeated = [&](const std::string& split) -> std::optional<double> {
    const StepQuestion question = small_step(8, "--phase prefill --layers 8 --tokens 512 --batch 16 " + split);
    const Results results = to_tables(ask_mi300x(question), step_machine());
    const NamedTable* const found = results.table("repeated");
    if (found == nullptr) return {};
    return std::get<double>(found->table.rows().at(0).at(3));
  };
  const double weights = 7.0 * 8 * 512 + 4.0 * 2 * 64 * 512;
  EXPECT_NEAR(repeated("--tp 8").value_or(0.0), 2.0 * weights * 16 * 512 * 8 / 1e12, 1e-9);
  EXPECT_EQ(repeated("--ep 4"), std::nullopt);
  EXPECT_EQ(repeated(""), std::nullopt);
}

// The utilisation is tokens a second times the operations of a token on one GPU over the peak of all GPUs.
TEST(SplitOfAStep, FullHasTheUtilisationThatItsTokensMean) {
  for (const auto& [experts, split] : {std::pair(0, "--tp 4 --dp 2"),
                                       {0, "--dp 2 --cp 2 --pp 2 --micro 4"},
                                       {0, "--tp 2 --pp 4 --micro 8"},
                                       {8, "--ep 8"},
                                       {8, "--tp 8 --ep 8"},
                                       {8, "--tp 2 --ep 4 --dp 4"},
                                       {8, "--tp 4 --ep 2 --dp 2"},
                                       {8, "--tp 2 --ep 2 --dp 2 --pp 2 --micro 4"}}) {
    StepQuestion question = small_step(experts, std::string("--phase prefill --layers 8 --tokens 512 ") + split);
    question.batch = 16 / question.dp;
    const StepResult result = ask_mi300x(question);
    const double told = result.flops.value() / sim::to_seconds(result.time).value();
    const StepQuestion one = on_one_gpu_of(question);
    const double each = flops_of_all_gpus(one) / static_cast<double>(one.new_tokens());
    EXPECT_NEAR(result.tokens_per_second() * each / question.gpus(), told, 1e-6 * told) << split;
  }
}

// Weights that replicas, and the replicas of experts, have alike count once, and so do the heads of keys and values
// that 8 GPUs have of 4. Weights that GPUs which share out products have in whole count for each of these GPUs. GPUs
// that route different tokens add up gradients of the router and of shared experts, so that these count once.
RC_GTEST_PROP(Split, SharesOutEveryWeight, ()) {
  StepQuestion question = drawn_split();
  question.phase = Phase::prefill;
  RC_PRE(faults_of(question, step_machine()).empty());
  const ModelSpec& model = question.model;
  double of_layer = 0.0;
  double of_gpu = 0.0;
  for (const AlikeWeights& one : alike_weights(question, layer_templates())) {
    // The entry of the other weights includes experts that have as many replicas.
    of_layer += one.count * question.stage_gpus() / one.holders;
    of_gpu += one.count;
  }
  // Two norms, the router, and of latent attention the projections to ranks and their norms.
  const double in_whole = 2.0 * 512 + (model.is_latent() ? 144.0 * 512 + 128 : 0.0) +
                          (question.ep > 1 && question.tp > 1 ? 0.0 : static_cast<double>(model.experts) * 512);
  const double once = elements_of(tensors_of_layer(on_one_gpu_of(question), layer_templates(), "weights"));
  RC_ASSERT(std::abs(of_layer / (once + (question.tp - 1) * in_whole) - 1.0) < 1e-12);
  const double weights = memory_of(question).weights.value() / 2.0;
  RC_ASSERT(std::abs(weights / (static_cast<double>(question.stage_layers()) * of_gpu) - 1.0) < 1e-12);
}

TEST(Split, SharesOutExpertsOverTheGpusThatThereAre) {
  // Elements are GPUs, GPUs per expert, replicas of an expert, and replicas: 8 ranks of 8 replicas; 8 of the GPUs that
  // share out products; 4 of 2 x 4, which leave 2 GPUs to each; 2 of 8 replicas, which have each expert four times.
  const auto shape = [](const Split& split) {
    return std::vector{split.gpus(), split.expert_tp(), split.expert_replicas(), split.replicas()};
  };
  EXPECT_THAT(shape({.ep = 8, .dp = 8}), ElementsAre(8, 1, 1, 8));
  EXPECT_THAT(shape({.tp = 8, .ep = 8}), ElementsAre(8, 1, 1, 1));
  EXPECT_THAT(shape({.tp = 2, .ep = 4, .dp = 4}), ElementsAre(8, 2, 1, 4));
  EXPECT_THAT(shape({.ep = 2, .dp = 8}), ElementsAre(8, 1, 4, 8));
  EXPECT_THAT(shape({.tp = 2, .ep = 2, .dp = 2, .cp = 2}), ElementsAre(8, 2, 2, 4));
  EXPECT_EQ((Split{.tp = 2, .ep = 8}).least_dp(), 4);
  EXPECT_EQ((Split{.tp = 8, .ep = 8}).least_dp(), 1);
  EXPECT_EQ(to_string(Split{.tp = 2, .ep = 8, .dp = 4}), "tp 2, ep 8, dp 4");
  EXPECT_EQ(to_string(Split{}), "one GPU");
}

// Ranks of experts alone imply as many replicas, with tp as many as they need; and a spelled split reads back.
TEST(Split, HasTheReplicasThatItsExpertsNeedUnlessTold) {
  const auto said = [](const std::string& options) { return static_cast<Split>(step_of(options)); };
  EXPECT_EQ(said("--ep 8"), (Split{.ep = 8, .dp = 8}));
  EXPECT_EQ(said("--ep 8 --tp 8"), (Split{.tp = 8, .ep = 8}));
  EXPECT_EQ(said("--ep 8 --tp 2"), (Split{.tp = 2, .ep = 8, .dp = 4}));
  EXPECT_EQ(said("--ep 2 --dp 8"), (Split{.ep = 2, .dp = 8}));
  EXPECT_EQ(said("--ep 8 --dp 1"), (Split{.ep = 8}));
  for (const Split& split :
       {Split{.ep = 2, .dp = 8}, {.tp = 8, .ep = 8}, {.tp = 4, .ep = 2}, {.tp = 2, .ep = 8, .dp = 4}}) {
    StepWords words, read;
    static_cast<Split&>(words) = split;
    Arguments arguments;
    read_words(read, spelled(words), arguments, nullptr);
    EXPECT_EQ(static_cast<Split>(read), split) << to_string(split);
  }
}

// Returns the bytes of each collective of a layer, by name.
std::map<std::string, double> bytes_of_collectives(const StepQuestion& question) {
  std::map<std::string, double> bytes;
  for (const StepBlock& block : step_blocks(question, 1, step_machine())) {
    for (const StepOperation& one : block.operations) {
      const auto* const spec = std::get_if<models::CollectiveSpec>(&one.work);
      if (spec != nullptr) bytes[one.name] = spec->bytes.value();
    }
  }
  return bytes;
}

std::map<std::string, double> bytes_of_step(const std::string& options) {
  return bytes_of_collectives(step_of("--phase train --tokens 1024 --graph no --model " + options));
}

// All GPUs have all weights except experts alike: gradients of 41.9 million weights of attention, 8192 of norms and
// 32,768 of the router are summed in single precision. With --ep 8 each expert is on one GPU, with --ep 4 on two.
TEST(SplitTraining, AddsUpGradientsOverWhoeverHasThemAlike) {
  const double of_attention = 4.0 * (4096.0 * (2 * 4096 + 2 * 1024) + 2 * 4096 + 8 * 4096);
  const double of_experts = 4.0 * 8 * 3 * 4096.0 * 14336;
  const auto sum_of = [](const std::map<std::string, double>& all, const std::string& prefix) {
    double sum = 0.0;
    for (const auto& [name, bytes] : all) sum += name.starts_with(prefix) ? bytes : 0.0;
    return sum;
  };
  for (const auto& [ep, of_buckets, of_their_own] : {std::tuple("8", of_attention, 0.0),
                                                     {"4", of_attention, of_experts / 4.0},
                                                     {"1", of_attention + of_experts, 0.0}}) {
    const std::string question = std::string("mixtral-8x7b --layers 1 --dp 8 --ep ") + ep;
    const std::map<std::string, double> bytes = bytes_of_step(question);
    EXPECT_NEAR(sum_of(bytes, "reduce_bucket"), of_buckets, 1.0) << ep;
    EXPECT_NEAR(sum_of(bytes, "reduce_expert"), of_their_own, of_their_own > 0.0 ? 1.0 : 0.0) << ep;
  }
  // After the last micro-batch the gradients go in one piece.
  const std::map<std::string, double> bytes =
      bytes_of_step("mixtral-8x7b --layers 1 --dp 8 --ep 4 --batch 2 --micro 2");
  EXPECT_NEAR(bytes.at("reduce_gradients"), of_attention, 1.0);
  EXPECT_NEAR(bytes.at("expert_reduce_gradients"), of_experts / 4.0, 1.0);
  // GPUs that share out products route different tokens, and have router and shared experts alike.
  const double of_router = 4.0 * 7168 * (256 + 3 * 2048);
  EXPECT_NEAR(sum_of(bytes_of_step("deepseek-v3 --layers 4 --tp 8 --ep 8"), "reduce_"), of_router, 1.0);
  // Layers without experts have none to add up.
  EXPECT_EQ(sum_of(bytes_of_step("deepseek-v2 --layers 1 --dp 8 --ep 4"), "dense_reduce_expert"), 0.0);
}

// Eight GPUs share out products and have 8 heads of keys and values of 128 features for the 4 of Qwen3-30B-A3B, each of
// 2 x 2048 x 128 weights: two GPUs that have the same head add up its gradients, with two replicas four GPUs. Eight
// heads of LLaMA are one for each GPU, which has nobody to add them up with.
TEST(SplitTraining, AddsUpGradientsOfHeadsThatSeveralGpusHave) {
  const double of_head = 4.0 * 2 * 2048 * 128;
  for (const auto& [name, options] :
       {std::pair("keys_reduce_gradients", " --batch 2 --micro 2"), {"reduce_keys_bucket0", ""}}) {
    const std::string experts = "qwen3-30b-a3b --layers 1 --tp 8";
    EXPECT_EQ(bytes_of_step(experts + options).at(name), of_head);
    EXPECT_FALSE(bytes_of_step(std::string("qwen3-30b-a3b --layers 1 --tp 4") + options).contains(name));
    EXPECT_FALSE(bytes_of_step(std::string("llama3-8b --layers 1 --tp 8") + options).contains(name));
  }
  const StepQuestion replicas = step_of("--phase train --tokens 64 --model qwen3-30b-a3b --layers 1 --tp 4 --dp 2");
  StepQuestion few_heads = replicas;
  few_heads.model.kv_heads = 2;
  double weights = 0.0;
  for (const AlikeWeights& alike : alike_weights(few_heads, layer_templates())) {
    EXPECT_EQ(alike.holders, alike.of == "keys_" ? 4 : 2);
    weights += alike.count;
  }
  // Each GPU has one head in any case.
  EXPECT_DOUBLE_EQ(weights, elements_of(tensors_of_layer(replicas, layer_templates(), "weights")));
}

// Eight GPUs share out 1024 new tokens and 7168 cached ones, each with 2048 features of keys and values. Training keeps
// those of a GPU's own tokens, gathers all once more before their gradient, and scatters the sums of that.
TEST(SplitSequence, GathersKeysOfCachedTokens) {
  const auto bytes = bytes_of_step("llama3-8b --phase prefill --layers 1 --cp 8 --context 7168");
  EXPECT_EQ(bytes.at("keys_all_gather"), 8192.0 * 2048 * 2);
  const auto trained = bytes_of_step("llama3-8b --layers 1 --cp 8");
  for (const char* const name : {"keys_all_gather", "backward_keys_all_gather", "keys_reduce_scatter"}) {
    EXPECT_EQ(trained.at(name), 1024.0 * 2048 * 2) << name;
  }
  const auto again = bytes_of_step("llama3-8b --layers 1 --cp 8 --recompute");
  EXPECT_TRUE(again.contains("again_keys_all_gather"));
  EXPECT_FALSE(again.contains("backward_keys_all_gather"));
}

// Each of 8 GPUs projects all of 1024 tokens to ranks of 1536 and 512 and 64 features of keys, so that gradients of
// these are added up before they reach the projections; a fused product scatters those that it makes.
TEST(SplitTraining, AddsUpGradientsOfRanks) {
  const std::string options = "deepseek-v2 --layers 1 --tp 8 ";
  const std::map<std::string, double> bytes = bytes_of_step(options);
  EXPECT_EQ(bytes.at("dense_key_up_gradient_all_reduce"), 1024.0 * 576 * 2);
  EXPECT_EQ(bytes.at("dense_query_up_gradient_all_reduce"), 1024.0 * 1536 * 2);
  EXPECT_EQ(bytes_of_step(options + "--collectives t3").at("dense_key_up_gradient_all_gather"), 1024.0 * 576 * 2);
  const StepQuestion fused = step_of("--phase train --tokens 1024 --collectives t3 --model " + options);
  std::vector<std::string> scattered;
  for (const StepBlock& block : step_blocks(fused, 1, step_machine())) {
    for (const StepOperation& one : block.operations) {
      if (std::holds_alternative<models::FusedSpec>(one.work)) scattered.push_back(one.name);
    }
  }
  EXPECT_THAT(scattered, ElementsAre("dense_out", "dense_down", "dense_up_input_gradient",
                                     "dense_key_up_input_gradient", "dense_query_up_input_gradient"));
}

// PyTorch closes a bucket once it has 25 MiB. In BERT's layers the two products of the feed-forward half, 4.2 million
// weights each, are one bucket of 33.6 MB, and those of attention, the rest of a layer, one of 16.8 MB. LLaMA's tensors
// of the feed-forward half and of queries and results exceed a bucket each, keys and values are one; its head, the
// first bucket, which is complete with 1 MiB, goes while layers are computed.
TEST(SplitTraining, FillsBucketsWithWholeTensors) {
  const std::map<std::string, double> of_bert = bytes_of_step("bert-large --dp 8");
  EXPECT_NEAR(of_bert.at("reduce_bucket0"), 33.55e6, 0.02e6);
  EXPECT_NEAR(of_bert.at("reduce_bucket1"), 16.83e6, 0.1e6);
  EXPECT_FALSE(of_bert.contains("reduce_bucket2"));
  EXPECT_FALSE(of_bert.contains("reduce_head"));
  const std::map<std::string, double> of_llama = bytes_of_step("llama3-8b --dp 8");
  const double of_matrix = 4.0 * 4096;
  EXPECT_NEAR(of_llama.at("reduce_bucket0"), of_matrix * 14336, 1.0);
  EXPECT_NEAR(of_llama.at("reduce_bucket3"), of_matrix * 4096, 1.0);
  EXPECT_NEAR(of_llama.at("reduce_bucket4"), of_matrix * 2048, 1.0);
  EXPECT_NEAR(of_llama.at("reduce_head"), of_matrix * 128256, 1.0);
  EXPECT_NEAR(of_llama.at("reduce_ends"), of_matrix * (128256 + 1), 1.0);
}

// GPUs exchange, for each of 1024 rows in single precision, the largest score, then the sum and the score of the right
// word, but no scores. The gradient of the head's input is a sum over all words.
TEST(SplitTraining, HasALossOfWhichNoGpuSeesAllScores) {
  const std::map<std::string, double> bytes = bytes_of_step("llama3-8b --tp 8");
  EXPECT_FALSE(bytes.contains("head_all_gather"));
  EXPECT_EQ(bytes.at("loss_maximum_all_reduce"), 1024.0 * 4);
  EXPECT_EQ(bytes.at("loss_sum_all_reduce"), 1024.0 * 8);
  EXPECT_EQ(bytes.at("head_input_all_reduce"), 1024.0 * 4096 * 2);
  EXPECT_TRUE(bytes_of_step("llama3-8b --tp 8 --phase prefill").contains("head_all_gather"));
}

// Eight GPUs that share out products and experts each route 128 of 1024 tokens, send twice 128 x 4096 x 2 bytes, and
// gather the results; two GPUs of a rank gather what comes to both.
TEST(SplitExperts, RouteAShareOfTheTokensOfGpusThatShareOutProducts) {
  const std::string options = "mixtral-8x7b --phase prefill --layers 1 ";
  std::map<std::string, double> bytes = bytes_of_step(options + "--tp 8 --ep 8");
  EXPECT_EQ(bytes.at("dispatch"), 2.0 * 128 * 4096 * 2);
  EXPECT_EQ(bytes.at("combine"), 2.0 * 128 * 4096 * 2);
  EXPECT_EQ(bytes.at("down_all_gather"), 1024.0 * 4096 * 2);
  EXPECT_FALSE(bytes.contains("dispatch_all_gather"));
  bytes = bytes_of_step(options + "--tp 2 --ep 4 --dp 4");
  EXPECT_EQ(bytes.at("dispatch"), 2.0 * 512 * 4096 * 2);
  EXPECT_EQ(bytes.at("dispatch_all_gather"), 2.0 * 1024 * 4096 * 2);
  EXPECT_EQ(bytes.at("combine_reduce_scatter"), 2.0 * 1024 * 4096 * 2);
}

}  // namespace
}  // namespace c3sim::study
