// Models whose layers are of several kinds, latent attention, shared experts, and numbers in several formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "study/step/step.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;

const Platform& kinds_machine() {
  static const Platform platform = h200();
  return platform;
}

StepQuestion kinds_decode(const std::string& model, std::int64_t batch) {
  StepQuestion question;
  question.model = read_model(model, folders);
  question.batch = batch;
  question.context = 1024;
  question.graph = true;
  return question;
}

// Of all products of a step: weights that they are given, all layers together.
double weights_of_products(const StepQuestion& question) {
  double weights = 0.0;
  for (const StepBlock& block : step_blocks(question, read_operators(folders), most_layers, kinds_machine().spec)) {
    for (const StepOperation& one : block.operations) {
      const auto* const shape = std::get_if<models::GemmShape>(&one.work);
      if (shape == nullptr) continue;
      weights += static_cast<double>(std::max<std::int64_t>(1, block.layers)) *
                 static_cast<double>(shape->m * shape->k * shape->products);
    }
  }
  return weights;
}

// With so many tokens that every expert has some, a step multiplies by every weight but those of the embedding, of
// norms and of biases, which are less than a thousandth: in the absorbed form of latent attention, too.
TEST(LayerKinds, MultiplyByAllWeightsOnce) {
  for (const char* const name : {"deepseek-v3", "deepseek-v2", "kimi-k2", "glm-4.5", "gpt-oss-20b", "llama4-maverick",
                                 "qwen3-235b-a22b", "gemma3-27b", "minimax-m2"}) {
    SCOPED_TRACE(name);
    StepQuestion question = kinds_decode(name, 1 << 16);
    const ModelSpec& model = question.model;
    const auto embedding = static_cast<double>(model.tied ? 0 : model.vocabulary * model.hidden);
    const double expected = static_cast<double>(model.parameters()) - embedding;
    EXPECT_NEAR(weights_of_products(question) / expected, 1.0, 1e-3);
    if (model.is_latent()) {
      question.phase = Phase::prefill;
      question.tokens = 4096;
      question.context = 0;
      question.batch = 16;
      EXPECT_NEAR(weights_of_products(question) / expected, 1.0, 1e-3);
    }
  }
}

// A layer of Gemma 3 that sees all reads 100,000 cached tokens, one with a window 1,024: a step takes as long as its 52
// layers of one kind and 10 of the other.
TEST(LayerKinds, TakeTheTimeOfEach) {
  StepQuestion question = kinds_decode("gemma3-27b", 4);
  question.context = 100'000;
  const auto time = [](const StepQuestion& asked) {
    return sim::to_microseconds(ask(kinds_machine().spec, asked, read_operators(folders)).time);
  };
  const auto layers_of = [&](std::int64_t window, int layers) {
    StepQuestion alike = question;
    alike.model.variants.clear();
    alike.model.window = window;
    alike.layers = layers;
    return time(alike);
  };
  question.layers = 62;
  const double both = layers_of(1024, 52) + layers_of(0, 10);
  EXPECT_NEAR(time(question), both, 0.01 * both);
  EXPECT_GT(layers_of(0, 10) / 10, 1.5 * layers_of(1024, 52) / 52);
}

// 512 and 64 features of a token in each of 61 layers, in bf16 and in fp8, on each GPU, however many share out the
// heads.
TEST(LayerKinds, KeepWhatLatentAttentionCaches) {
  StepQuestion question = kinds_decode("deepseek-v3", 64);
  question.tp = 8;
  question.ep = 8;
  question.context = 4095;
  const double tokens = 64.0 * 4096;
  EXPECT_EQ(memory_of(question).cache.value(), tokens * 61 * 576 * 2);
  question.formats.cache = models::Dtype::fp8;
  EXPECT_EQ(memory_of(question).cache.value(), tokens * 61 * 576);
}

// 671 billion weights are 1.34 TB in bf16 and half in fp8: of eight GPUs of 141 GB only the latter has room.
TEST(LayerKinds, FitInAFormatThatIsSmallEnough) {
  StepQuestion question = kinds_decode("deepseek-v3", 64);
  question.tp = question.ep = 8;
  EXPECT_THAT(faults_of(question, kinds_machine().spec).front().what, HasSubstr("are needed of a GPU's"));
  question.dtype = models::Dtype::fp8;
  question.formats.activations = models::Dtype::bf16;
  const StepResult fp8 = ask(kinds_machine().spec, question, read_operators(folders));
  EXPECT_GT(fp8.operations.count("up_quantise"), 0U);
  EXPECT_EQ(fp8.operations.count("router_quantise"), 0U);
  EXPECT_GT(fp8.operations.count("latent_quantise"), 0U);
  question.kernels = Kernels::compiled;
  const StepResult fused = ask(kinds_machine().spec, question, read_operators(folders));
  EXPECT_EQ(fused.operations.count("latent_quantise"), 0U);
  EXPECT_GT(fused.operations.count("out_quantise"), 0U);
  EXPECT_GT(fused.operations.count("up_quantise"), 0U);
  question.kernels = Kernels::eager;
  question.formats = {.weights = models::Dtype::int4};
  question.dtype = models::Dtype::bf16;
  const StepResult int4 = ask(kinds_machine().spec, question, read_operators(folders));
  EXPECT_NEAR(int4.memory.weights / fp8.memory.weights, 0.515625, 0.02);
  EXPECT_LT(int4.time, fp8.time);
}

TEST(LayerKinds, HaveFormatsThatThePlatformMultiplies) {
  StepQuestion question = kinds_decode("qwen3-8b", 8);
  question.dtype = models::Dtype::int4;
  EXPECT_THAT(faults_of(question, kinds_machine().spec).front().what, HasSubstr("has no matrix rate of int4"));
  question.dtype = models::Dtype::bf16;
  question.formats.cache = models::Dtype::mxfp4;
  EXPECT_THAT(faults_of(question, kinds_machine().spec).front().what, HasSubstr("a format of weights"));
}

// One step of a prefill past the window of a model was refused; now its later tokens see the window alone.
TEST(LayerKinds, FullPrefillPastTheirWindow) {
  StepQuestion question = kinds_decode("gpt-oss-20b", 1);
  question.phase = Phase::prefill;
  question.context = 0;
  question.tokens = 8192;
  question.layers = 24;
  const double with_windows = sim::to_microseconds(ask(kinds_machine().spec, question, read_operators(folders)).time);
  question.model.variants.clear();
  question.model.window = 0;
  EXPECT_LT(with_windows, sim::to_microseconds(ask(kinds_machine().spec, question, read_operators(folders)).time));
}

// The likeliest of 128 experts has a fifth of the tokens: its rank, and all that wait for it, take longer.
TEST(LayerKinds, WaitForTheExpertsThatMostTokensChoose) {
  StepQuestion question = kinds_decode("qwen3-30b-a3b", 64);
  question.phase = Phase::prefill;
  question.tokens = 512;
  question.context = 0;
  question.layers = 2;
  question.tp = question.ep = 8;
  const auto time = [&] { return ask(kinds_machine().spec, question, read_operators(folders)).time; };
  const sim::Time even = time();
  question.routing = {.power = 1.0, .told = "power:1"};
  EXPECT_GT(time(), even);
  question.routing = {.shares = {1, 2, 3}, .told = "file"};
  EXPECT_THAT(faults_of(question, kinds_machine().spec).front().what,
              HasSubstr("has shares of 3 experts, and qwen3-30b-a3b has 128"));
}

}  // namespace
}  // namespace c3sim::study
