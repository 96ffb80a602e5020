#include "study/tune/step_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/config_error.h"
#include "study/ask/words.h"
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

StepQuestion sharded_on_two() {
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = 2;
  question.phase = Phase::train;
  question.tokens = 1024;
  question.dp = 2;
  question.shard = Shard::full;
  question.graph = true;
  return question;
}

// Where collectives run beside products, those that hold fewer CUs, or none, are worth trying: nothing that rules
// choose is faster than what was chosen one by one, which is no slower than where it began.
TEST(StepTuning, NamesACarrierForEachCollective) {
  const StepQuestion question = sharded_on_two();
  const std::vector<ElementwiseOperator> operators = read_operators(folders);
  const StepResult start = ask(mi300x().spec, question, operators);
  const LayerTuning tuning = tune_layer(mi300x().spec, start, "dp 2", operators);
  EXPECT_LE(tuning.result.time, start.time);
  std::vector<std::string> names;
  for (const TunedCollective& one : tuning.collectives) {
    names.push_back(one.collective.name);
    EXPECT_DOUBLE_EQ(one.times, 2.0);
    EXPECT_GT(one.time, sim::Time(0));
    EXPECT_GE(one.by_rccl.value(), -1e-3) << names.back();
  }
  EXPECT_THAT(names, ::testing::ElementsAre("gather", "backward_gather", "reduce_gradients"));
  ASSERT_EQ(tuning.rules.size(), 4u);
  for (const LayerRule& rule : tuning.rules) EXPECT_GE(rule.regret, -1e-3) << rule.name;
  EXPECT_GT(tuning.rules.front().regret, 0.0);  // gathers by RCCL take CUs of products, engines none
}

// By the words that the command has, and nothing else.
TEST(StepTuning, SaysHowATunedStepIsAskedForAgain) {
  const StepQuestion question = decode_on_two();
  const StepTuning tuning = tuned(question);
  ASSERT_FALSE(tuning.layers.empty());
  const Results results = to_tables(tuning, mi300x().spec, {{"model", {"llama3-8b"}}});
  const auto table = std::ranges::find(results.tables, "tuned", &NamedTable::key);
  ASSERT_NE(table, results.tables.end());
  for (std::size_t row = 0; row < tuning.layers.size(); ++row) {
    StepWords words{tuning.layers[row].result.question, "llama3-8b"};
    const std::string command = std::get<std::string>(table->table.rows()[row].back());
    EXPECT_EQ(command, "c3sim " + command_line("step", options_of<StepWords>(), spelled(words)));
    StepWords read;
    Arguments arguments;
    read_words(read, spelled(words), arguments, nullptr);
    EXPECT_TRUE(arguments.faults().empty());
    read.model = question.model;
    EXPECT_EQ(static_cast<const StepQuestion&>(read), tuning.layers[row].result.question);
  }
}

// Each half of a layer has its pieces: both have some, or none has.
TEST(StepTuning, FullTunesThePiecesOfEachHalf) {
  StepQuestion question = decode_on_two();
  question.phase = Phase::prefill;
  question.batch = 1;
  question.context = 0;
  question.tokens = 2048;
  question.tp = 8;
  question.pieces = 1;
  question.collectives = models::Backend::sdma;
  const std::vector<ElementwiseOperator> operators = read_operators(folders);
  const StepResult start = ask(mi300x().spec, question, operators);
  const LayerTuning tuning = tune_layer(mi300x().spec, start, "tp 8", operators);
  EXPECT_LE(tuning.result.time, start.time);
  EXPECT_TRUE(tuning.result.question.pieces.has_value());
  EXPECT_EQ(std::ranges::count(tuning.rules, "all-reduces behind whole products, by rccl", &LayerRule::name), 1);
}

TEST(StepTuning, OfAStepThatFitsNowhereTellsItsFaults) {
  StepQuestion question = decode_on_two();
  question.batch = 100'000;
  EXPECT_THROW(tuned(question), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
