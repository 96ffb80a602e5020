// These tests check layers of several kinds, latent attention, shared experts and mixed number formats.
#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Dtype;

// Returns the number of weights of all matrix products of a step, over all layers.
double weights_of_products(const StepQuestion& question) {
  double weights = 0.0;
  for (const StepBlock& block : step_blocks(question, most_layers, step_machine(h200_spec()))) {
    for (const StepOperation& one : block.operations) {
      const auto* const shape = std::get_if<models::GemmShape>(&one.work);
      if (shape == nullptr) continue;
      weights += static_cast<double>(std::max<std::int64_t>(1, block.layers)) *
                 static_cast<double>(shape->m * shape->k * shape->products);
    }
  }
  return weights;
}

// With enough tokens for every expert, a step multiplies by every weight except those of the embedding, norms and
// biases, which are less than a thousandth. The absorbed form of latent attention does, too.
TEST(LayerKinds, MultiplyByAllWeightsOnce) {
  for (const std::string name : {"deepseek-v3", "deepseek-v2", "kimi-k2", "glm-4.5", "gpt-oss-20b", "llama4-maverick",
                                 "qwen3-235b-a22b", "gemma3-27b", "minimax-m2"}) {
    SCOPED_TRACE(name);
    const StepQuestion question = step_of("--phase decode --context 1024 --batch 65536 --model " + name);
    const ModelSpec& model = question.model;
    const auto embedding = static_cast<double>(model.tied ? 0 : model.vocabulary * model.hidden);
    const double expected = parameters_of(model) - embedding;
    EXPECT_NEAR(weights_of_products(question) / expected, 1.0, 1e-3);
    if (!model.is_latent()) continue;
    const StepQuestion prefill = changed(question, "--phase prefill --tokens 4096 --context 0 --batch 16");
    EXPECT_NEAR(weights_of_products(prefill) / expected, 1.0, 1e-3);
  }
}

// A global layer of Gemma 3 reads 100,000 cached tokens, one with a window reads 1,024. A step takes as long as its 52
// layers of one kind and 10 of the other.
TEST(LayerKinds, TakeTheTimeOfEach) {
  const StepQuestion question = step_of("--model gemma3-27b --phase decode --batch 4 --context 100000 --layers 62");
  const auto us_of_layers = [&](std::int64_t window, int layers) {
    StepQuestion alike = question;
    alike.model.variants.clear();
    alike.model.window = window;
    alike.layers = layers;
    return in_us(ask_on(h200_spec(), alike).time);
  };
  const double both = us_of_layers(1024, 52) + us_of_layers(0, 10);
  EXPECT_NEAR(in_us(ask_on(h200_spec(), question).time), both, 0.01 * both);
  EXPECT_GT(us_of_layers(0, 10) / 10, 1.5 * us_of_layers(1024, 52) / 52);
}

const std::string deepseek_on_eight = "--model deepseek-v3 --phase decode --batch 64 --tp 8 --ep 8 ";

// Each GPU caches 512 and 64 features of a token in each of 61 layers, in bf16 and in fp8, however many GPUs share the
// heads.
TEST(LayerKinds, KeepWhatLatentAttentionCaches) {
  StepQuestion question = step_of(deepseek_on_eight + "--context 4095");
  const double tokens = 64.0 * 4096;
  EXPECT_EQ(memory_of(question).cache.value(), tokens * 61 * 576 * 2);
  question.formats.cache = Dtype::fp8;
  EXPECT_EQ(memory_of(question).cache.value(), tokens * 61 * 576);
}

// 671 billion weights take 1.34 TB in bf16 and half of that in fp8, which alone fits on eight GPUs of 141 GB.
TEST(LayerKinds, FitInAFormatThatIsSmallEnough) {
  StepQuestion question = step_of(deepseek_on_eight + "--context 1024");
  EXPECT_THAT(faults_on(h200_spec(), question).front(), HasSubstr("are needed of a GPU's"));
  question.dtype = Dtype::fp8;
  question.formats.activations = Dtype::bf16;
  const StepResult fp8 = ask_on(h200_spec(), question);
  const StepResult fused = ask_on(h200_spec(), changed(question, "--kernels compiled"));
  for (const auto& [name, eager, compiled] :
       {std::tuple("up_quantise", true, true), {"router_quantise", false, false}, {"latent_quantise", true, false}}) {
    EXPECT_EQ(fp8.operations.contains(name), eager) << name;
    EXPECT_EQ(fused.operations.contains(name), compiled) << name;
  }
  EXPECT_TRUE(fused.operations.contains("out_quantise"));
  question.formats = {.weights = Dtype::int4};
  question.dtype = Dtype::bf16;
  const StepResult int4 = ask_on(h200_spec(), question);
  EXPECT_NEAR(int4.memory.weights / fp8.memory.weights, 0.515625, 0.02);
  EXPECT_LT(int4.time, fp8.time);
}

// gpt-oss packs the weights of its experts alone, to 17/32 bytes each; the router multiplies as activations do in any
// case. A layer's attention has 2 x 2880 x (4096 + 512) weights of products, 4096 + 1024 + 2880 biases, 64 sinks and a
// norm of 2880.
TEST(LayerKinds, KeepAttentionAsActivationsAre) {
  const StepQuestion packed =
      step_of("--model gpt-oss-20b --phase decode --context 64 --layers 2 --dtype bf16,weights=mxfp4");
  const StepQuestion apart = changed(packed, "--dtype bf16,weights=mxfp4,attention=bf16");
  for (const StepBlock& block : step_blocks(apart, 2, step_machine(h200_spec()))) {
    for (const StepOperation& one : block.operations) {
      const auto* const shape = std::get_if<models::GemmShape>(&one.work);
      if (shape != nullptr) {
        EXPECT_EQ(shape->weights.has_value(), shape->products > 1) << one.name;
      }
    }
  }
  const double weights = 2.0 * 2880 * (4096 + 512) + 4096 + 1024 + 2880 + 64 + 2880;
  const double more = (memory_of(apart).weights - memory_of(packed).weights).value();
  EXPECT_NEAR(more, 2 * weights * (2.0 - 17.0 / 32.0), 1.0);
}

// A prefill step past the window of a model was refused once; now its later tokens attend to the window only.
TEST(LayerKinds, FullPrefillPastTheirWindow) {
  const StepQuestion windows = step_of("--model gpt-oss-20b --phase prefill --tokens 8192 --layers 24");
  StepQuestion whole = windows;
  whole.model.variants.clear();
  whole.model.window = 0;
  EXPECT_LT(ask_on(h200_spec(), windows).time, ask_on(h200_spec(), whole).time);
}

// The likeliest of 128 experts gets a fifth of the tokens. Its rank and all that wait for that rank take longer.
TEST(LayerKinds, WaitForTheExpertsThatMostTokensChoose) {
  const StepQuestion question =
      step_of("--model qwen3-30b-a3b --phase prefill --batch 64 --tokens 512 --layers 2 --tp 8 --ep 8");
  EXPECT_GT(ask_on(h200_spec(), changed(question, "--routing power:1")).time, ask_on(h200_spec(), question).time);
}

}  // namespace
}  // namespace c3sim::study
