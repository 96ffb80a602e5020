#include "tune/step_tuning.h"

#include <set>

#include "sim/config/config_error.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::tune {

using namespace study;
namespace {

const std::string decode_on_two = "--model llama3-8b --phase decode --layers 2 --batch 8 --context 1024 --tp 2 ";
const std::string prefill_on_two = "--model llama3-8b --phase prefill --layers 2 --tp 2 ";

StepTuning tuned(const std::string& options) { return tune(step_machine(), step_of(options)); }

Results tables_of(const StepTuning& tuning, const std::string& options) {
  static const Platform platform = mi300x();
  return to_tables(tuning, step_of(options), platform, layer_templates(), {{"model", {"llama3-8b"}}});
}

LayerTuning tuned_layer(const StepResult& start, const std::string& split) {
  return tune_layer(step_machine(), start, split);
}

// Two GPUs share out tensors, by one of five carriers (engines in two ways) and auto; or sequences, which exchange
// nothing; or layers, whose 1, 2, 4 or 8 micro-batches kernels or engines pass on. A split that is not tried has a
// reason: decode has no sequence to share out, or compute alone takes longer than the whole step of another split.
TEST(StepTuning, FullTriesEverySplitByEveryCarrierOrSaysWhyNot) {
  const StepTuning tuning = tuned(decode_on_two);
  const auto tried = [&](const char* split) { return std::ranges::count(tuning.choices, split, &StepWay::split); };
  EXPECT_EQ(tried("tp 2"), 6);
  EXPECT_EQ(tried("dp 2"), 1);
  for (const char* const stages : {"pp 2", "pp 2, micro 2", "pp 2, micro 4", "pp 2, micro 8"}) {
    const auto untried = std::ranges::find(tuning.untried, stages, &StepWay::split);
    if (untried == tuning.untried.end()) {
      EXPECT_EQ(tried(stages), 3) << stages;
      continue;
    }
    EXPECT_EQ(tried(stages), 1) << stages;
    EXPECT_EQ(untried->collectives, "all but rccl");
    EXPECT_THAT(untried->why_not, ::testing::HasSubstr("without what it exposes by rccl it takes"));
  }
  const auto of_sequences = std::ranges::find(tuning.untried, "cp 2", &StepWay::split);
  ASSERT_NE(of_sequences, tuning.untried.end());
  EXPECT_EQ(of_sequences->why_not, "decode has no sequence to share out: 1 is accepted");
  // The fastest choice is first, and the regrets of rules are relative to the fastest choice.
  const sim::Seconds best = sim::to_seconds(tuning.choices.front().result->time);
  for (const StepWay& choice : tuning.choices) EXPECT_GE(sim::to_seconds(choice.result->time), best);
  ASSERT_FALSE(tuning.rules.empty());
  for (const StepRule& rule : tuning.rules) {
    EXPECT_NEAR(rule.regret, sim::to_seconds(rule.time) / best - 1.0, 1e-12);
  }
  for (const StepWay& choice : tuning.choices) {
    EXPECT_EQ(choice.result->question.gpus(), 2);
    EXPECT_EQ(choice.result->question.batch * choice.result->question.dp, 8);
  }
}

// Ways, and then the collectives of the best, are one count.
TEST(StepTuning, FullProgressNeverFallsAndEndsComplete) {
  std::size_t last_done = 0;
  std::size_t last_of = 0;
  const auto progress = [&](std::size_t done, std::size_t of) {
    EXPECT_LE(last_done, done);
    EXPECT_LE(last_of, of);
    EXPECT_LE(done, of);
    last_done = done;
    last_of = of;
  };
  const StepTuning tuning = tune(step_machine(), step_of(decode_on_two), progress);
  EXPECT_EQ(last_done, last_of);
  EXPECT_GT(last_done, tuning.choices.size());
}

// Splits of eight GPUs over tp, dp, cp and pp: 2^3 has 6! / (3! 3!) = 20, each with every divisor of tp x dp that
// experts can have. For tp x dp = 2^k there are (k + 1)^2 of tp, dp and ep, and 4 - k of cp and pp, in all 4 + 12 + 18
// + 16 = 50.
TEST(StepTuning, FullListsEverySplitOfExperts) {
  const StepTuning tuning = tuned("--model mixtral-8x7b --phase prefill --layers 2 --tokens 256 --ep 8");
  std::set<std::string> splits;
  const auto without_micro = [](const std::string& split) { return split.substr(0, split.find(", micro")); };
  for (const StepWay& choice : tuning.choices) {
    splits.insert(without_micro(choice.split));
    EXPECT_EQ(choice.result->question.gpus(), 8);
    EXPECT_EQ(choice.result->question.batch * choice.result->question.dp, 8);
  }
  for (const StepWay& untried : tuning.untried) {
    splits.insert(without_micro(untried.split));
    EXPECT_FALSE(untried.why_not.empty());
  }
  EXPECT_EQ(splits.size(), 50u);
  EXPECT_TRUE(splits.contains("tp 2, ep 8, dp 4"));
  EXPECT_TRUE(splits.contains("ep 2, dp 2, cp 2, pp 2"));
}

// Two replicas cannot share three sequences.
TEST(StepTuning, FullSaysWhichReplicasHaveNoSequences) {
  const StepTuning tuning = tuned(decode_on_two + "--batch 3");
  const auto untried = std::ranges::find(tuning.untried, "dp 2", &StepWay::split);
  ASSERT_NE(untried, tuning.untried.end());
  EXPECT_EQ(untried->why_not, "2 replicas do not share 3 sequences evenly");
  const Results results = tables_of(tuning, decode_on_two);
  EXPECT_NE(results.table("untried"), nullptr);
}

// At least as many micro-batches as stages fill a pipeline better than one micro-batch does.
TEST(StepTuning, FullTriesMicroBatchesOfStages) {
  const StepTuning tuning = tuned(prefill_on_two + "--batch 8 --tokens 1024");
  const auto time = [&](const char* split) {
    return std::ranges::find(tuning.choices, split, &StepWay::split)->result->time;
  };
  EXPECT_LT(time("pp 2, micro 4"), time("pp 2"));
}

// A prefill with shared out products has six carriers, each whole and in 1, 2, 4 and 8 pieces.
TEST(StepTuning, FullNamesPiecesOfAPrefill) {
  const StepTuning tuning = tuned(prefill_on_two + "--tokens 1024");
  EXPECT_EQ(std::ranges::count(tuning.choices, "tp 2", &StepWay::split), 6 * 5);
  EXPECT_EQ(std::ranges::count(tuning.choices, "sdma, prelaunched, in 4 pieces", &StepWay::collectives), 1);
}

// Stages have no pieces. The two GPUs of a stage share out products, whose collectives all carriers carry: four
// carriers, engines also with commands queued beforehand, and auto.
TEST(StepTuning, FullHasNoPiecesOfStages) {
  const StepTuning tuning = tuned(prefill_on_two + "--batch 8 --tokens 512 --pp 2 --micro 2 --pieces 2");
  EXPECT_EQ(std::ranges::count(tuning.choices, "tp 2, pp 2, micro 2", &StepWay::split), 6);
  const auto own = std::ranges::find(tuning.rules, "tp 2, pp 2, micro 2, by the best carrier", &StepRule::name);
  ASSERT_NE(own, tuning.rules.end());
  const StepResult& best = *std::ranges::find(tuning.choices, "tp 2, pp 2, micro 2", &StepWay::split)->result;
  EXPECT_EQ(own->time, best.time);
  EXPECT_LE(best.time, ask_mi300x(changed(best.question, "--collectives one_shot --prelaunch no")).time);
}

// Where collectives overlap with products, carriers that hold fewer CUs, or none, are worth trying. No rule is faster
// than the carriers chosen one by one, and these are no slower than the start.
TEST(StepTuning, FullNamesACarrierForEachCollective) {
  const StepQuestion question = step_of("--model llama3-8b --phase train --layers 2 --tokens 1024 --dp 2 --shard full");
  const StepResult start = ask_mi300x(question);
  const LayerTuning tuning = tuned_layer(start, "dp 2");
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
  for (const char* const carrier : {"--collectives rccl", "--collectives sdma"}) {
    EXPECT_GE(us_on_mi300x(changed(question, carrier)), (1.0 - 1e-3) * in_us(tuning.result.time)) << carrier;
  }
  EXPECT_GT(tuning.rules.front().regret, 0.0);  // Gathers by RCCL take CUs from products; engines take none.
}

// Reading the command gives the tuned step, by the command's own words alone.
TEST(StepTuning, FullSaysHowATunedStepIsAskedForAgain) {
  const StepTuning tuning = tuned(decode_on_two);
  ASSERT_FALSE(tuning.layers.empty());
  const Results results = tables_of(tuning, decode_on_two);
  const NamedTable* const table = results.table("tuned");
  ASSERT_NE(table, nullptr);
  for (std::size_t row = 0; row < tuning.layers.size(); ++row) {
    const std::string command = std::get<std::string>(table->table.rows()[row].back());
    EXPECT_TRUE(command.starts_with("c3sim step ")) << command;
    EXPECT_EQ(given_in(command).at("model").front(), "llama3-8b");
    EXPECT_EQ(changed({}, command), tuning.layers[row].result.question);
  }
}

// Collectives of both halves move as many bytes, but products of the feed-forward half take several times as long. In
// as many pieces as hide the attention half's collectives, these products lose more than they hide. An equal number of
// pieces in both halves is therefore slower, whatever the number.
TEST(StepTuning, FullTunesThePiecesOfEachHalf) {
  const StepResult start = ask_mi300x(
      step_of("--model llama3-70b --phase prefill --layers 2 --tokens 4096 --tp 8 --pieces 2 --collectives sdma "
              "--prelaunch"));
  const LayerTuning tuning = tuned_layer(start, "tp 8");
  EXPECT_LT(tuning.result.time, start.time);
  const StepQuestion& best = tuning.result.question;
  ASSERT_TRUE(best.pieces && best.ffn_pieces);
  EXPECT_GT(*best.pieces, *best.ffn_pieces);
  for (const int pieces : {1, 2, 4, 8}) {
    StepQuestion alike = best;
    alike.pieces = pieces;
    alike.ffn_pieces.reset();
    EXPECT_GT(ask_mi300x(alike).time, tuning.result.time) << pieces;
  }
  const auto rule = std::ranges::find(tuning.rules, "tuned carriers, as many pieces in each half", &StepRule::name);
  ASSERT_NE(rule, tuning.rules.end());
  EXPECT_GT(rule->regret, 0.0);
  EXPECT_EQ(std::ranges::count(tuning.rules, "all-reduces behind whole products, by rccl", &StepRule::name), 1);
}

TEST(StepTuning, OfAStepThatFitsNowhereTellsItsFaults) {
  EXPECT_THROW(tuned(decode_on_two + "--batch 100000"), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::tune
