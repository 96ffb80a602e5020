// Steps whose layers are shared out to stages.
#include "study/step/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/step/step_questions.h"

namespace c3sim::study {
namespace {

// The first stage of three has two micro-batches under way before the first gradient, the last one none.
TEST(Pipeline, HasAGradientBehindEachForwardPass) {
  const auto in_words = [](int stage, bool trains) {
    std::string words;
    for (const Turn& turn : turns_of(stage, 3, 4, trains))
      words += (turn.forward ? "f" : "b") + std::to_string(turn.micro);
    return words;
  };
  EXPECT_EQ(in_words(0, true), "f0f1f2b0f3b1b2b3");
  EXPECT_EQ(in_words(2, true), "f0b0f1b1f2b2f3b3");
  EXPECT_EQ(in_words(1, false), "f0f1f2f3");
}

// Each of m micro-batches takes f on each of p stages. The last one leaves the last stage after (m + p - 1) f and p - 1
// sends; a stage is at work for m f. Were sends free, (p - 1) / (m + p - 1) of the time were idle.
TEST(Pipeline, IsIdleWhileItFillsAndEmpties) {
  constexpr int stages = 4;
  constexpr int micro = 6;
  StepQuestion question = prefill_of("llama3-8b", 2 * stages, 2048);
  question.batch = micro;
  question.pp = stages;
  question.micro = micro;
  for (const models::Backend carrier : {models::Backend::rccl, models::Backend::sdma}) {
    question.collectives = carrier;
    const StepResult result = ask_mi300x(question);
    const double turn = in_us(result.compute) / micro;
    const double send = in_us(result.time_of(Kind::send)) * stages / (micro * (stages - 1));
    EXPECT_NEAR(in_us(result.time), (micro + stages - 1) * turn + (stages - 1) * send, 0.02 * in_us(result.time));
  }
}

// With gradients the same, but that each turn of the steady state may wait for what is sent both ways.
TEST(Pipeline, OfTrainingIsIdleAsLong) {
  constexpr int stages = 2;
  constexpr int micro = 4;
  StepQuestion question = training_of("llama3-8b", 2 * stages, 2048);
  question.batch = micro;
  question.pp = stages;
  question.micro = micro;
  const StepResult result = ask_mi300x(question);
  const double busy = in_us(result.compute) / micro * (micro + stages - 1);
  const double send = in_us(result.time_of(Kind::send)) / micro;
  EXPECT_GT(in_us(result.time), 0.99 * busy);
  EXPECT_LT(in_us(result.time), 1.01 * busy + 2.0 * send * (micro + stages - 1));
}

// Two stages of four GPUs each are as long idle as two of one, and each turn takes what a step of its layers takes on
// four GPUs; every GPU sends to its like.
TEST(Pipeline, HasStagesOfSeveralGpus) {
  constexpr int micro = 4;
  StepQuestion alone = prefill_of("llama3-8b", 4, 2048);
  alone.tp = 4;
  StepQuestion question = prefill_of("llama3-8b", 8, 2048);
  question.tp = 4;
  question.pp = 2;
  question.batch = micro;
  question.micro = micro;
  for (const models::Backend carrier : {models::Backend::rccl, models::Backend::sdma}) {
    alone.collectives = question.collectives = carrier;
    const double turn = in_us(ask_mi300x(alone).time);
    const StepResult result = ask_mi300x(question);
    const double sends = result.operations.at("activations").count;
    EXPECT_NEAR(sends, micro / 2.0, 1e-9);  // four of each GPU of the first stage, none of the second
    const double send = in_us(result.time_of(Kind::send)) / sends;
    EXPECT_NEAR(in_us(result.time), (micro + 1) * turn + send, 0.02 * in_us(result.time));
  }
}

// Of a stage: a quarter of the layers, and the activations of as many micro-batches as there are stages.
TEST(Pipeline, SharesOutWeightsAndHoldsMicroBatches) {
  StepQuestion question = training_of("llama3-8b", 8, 2048);
  question.batch = 8;
  const StepMemory whole = memory_of(question);
  question.pp = 4;
  question.micro = 8;
  const StepMemory stage = memory_of(question);
  EXPECT_NEAR(stage.weights.value(), whole.weights.value() / 4.0, 1.0);
  EXPECT_NEAR(stage.activations.value(), whole.activations.value() / 4.0 * 4.0 / 8.0, 1.0);
}

}  // namespace
}  // namespace c3sim::study
