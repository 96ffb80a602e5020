#include "study/tune/step_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/config_error.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

StepQuestion decode_on_two() {
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = 2;
  question.batch = 8;
  question.context = 1024;
  question.tp = 2;
  question.graph = true;
  return question;
}

StepTuning tuned(const StepQuestion& question) { return tune(mi300x().spec, question, read_operators(folders)); }

// Two GPUs share out tensors, by one of five carriers (engines in two ways), or sequences, between which nothing moves,
// or layers, which kernels or engines pass on.
TEST(StepTuning, TriesEverySplitByEveryCarrier) {
  const StepTuning tuning = tuned(decode_on_two());
  EXPECT_EQ(tuning.choices.size(), 9u);
  EXPECT_EQ(std::ranges::count(tuning.choices, "pp 2", &StepChoice::split), 2);
  EXPECT_EQ(tuning.impossible, 0u);
  EXPECT_EQ(std::ranges::count(tuning.choices, "dp 2", &StepChoice::split), 1);
  for (const StepChoice& choice : tuning.choices) {
    EXPECT_EQ(choice.result.question.gpus(), 2);
    EXPECT_EQ(choice.result.question.batch * choice.result.question.dp, 8);
  }
}

TEST(StepTuning, NamesTheFastestFirstAndWhatRulesLose) {
  const StepTuning tuning = tuned(decode_on_two());
  const sim::Seconds best = sim::to_seconds(tuning.choices.front().result.time);
  for (const StepChoice& choice : tuning.choices) EXPECT_GE(sim::to_seconds(choice.result.time), best);
  ASSERT_FALSE(tuning.rules.empty());
  for (const StepRule& rule : tuning.rules) {
    const sim::Seconds time = sim::to_seconds(tuning.choices[rule.choice].result.time);
    EXPECT_NEAR(rule.regret, time / best - 1.0, 1e-12);
  }
}

// Each of the six ways of a prefill whose products are shared out, whole and in 1, 2, 4 and 8 pieces.
TEST(StepTuning, FullNamesPiecesOfAPrefill) {
  StepQuestion question = decode_on_two();
  question.phase = Phase::prefill;
  question.batch = 1;
  question.context = 0;
  question.tokens = 1024;
  const StepTuning tuning = tuned(question);
  EXPECT_EQ(std::ranges::count(tuning.choices, "tp 2", &StepChoice::split), 6 * 5);
  EXPECT_EQ(std::ranges::count(tuning.choices, "sdma, prelaunched, in 4 pieces", &StepChoice::collectives), 1);
}

// Stages have no pieces: without pieces for two stages of two GPUs, each by kernels and by engines; auto, with and
// without commands queued beforehand and the other carriers are of steps without stages.
TEST(StepTuning, FullHasNoPiecesOfStages) {
  StepQuestion question = decode_on_two();
  question.phase = Phase::prefill;
  question.context = 0;
  question.tokens = 512;
  question.pp = 2;
  question.micro = 2;
  question.pieces = 2;
  const StepTuning tuning = tuned(question);
  EXPECT_EQ(std::ranges::count(tuning.choices, "tp 2, pp 2", &StepChoice::split), 2);
}

TEST(StepTuning, OfAStepThatFitsNowhereTellsItsFaults) {
  StepQuestion question = decode_on_two();
  question.batch = 100'000;
  EXPECT_THROW(tuned(question), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
