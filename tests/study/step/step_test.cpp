// Whole steps: what they take, compute and hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/config/config.h"
#include "study/experiment/experiment.h"
#include "study/experiment/experiment_reader.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"

namespace c3sim::study {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Weights of a layer on one GPU and the keys and values of 8 sequences are read once, at no more than the peak of HBM;
// and no GPU takes ten times as long.
TEST(Step, OfDecodingReadsWeightsAndCache) {
  StepQuestion question = decode_of("llama3-8b", 1, 8);
  question.layers = 4;
  const double weights = 4.0 * 218.1e6 * 2.0;
  const double cache = 4.0 * 8 * 1025 * 2 * 1024 * 2.0;
  const double least = (weights + cache) / mi300x().spec.gpu.memory.hbm_rate.value() * 1e6;
  const double time = in_us(ask_mi300x(question).time);
  EXPECT_GT(time, least);
  EXPECT_LT(time, 10.0 * least);
}

// Beside a prompt of 512 tokens, 32 sequences that decode make products of 544, and attention of both: of the prompt as
// without them, and of them as where they decode alone.
TEST(Step, DecodesBesideAPrefill) {
  StepQuestion decode = decode_of("llama3-8b", 1, 32);
  decode.layers = 4;
  StepQuestion prefill = decode;
  prefill.phase = Phase::prefill;
  prefill.batch = 1;
  prefill.tokens = 512;
  prefill.context = 0;
  StepQuestion mixed = prefill;
  mixed.decoding = 32;
  mixed.decoding_context = 1024;
  const auto attention = [](const StepResult& result) { return in_us(result.time_of(Kind::attention)); };
  const StepResult both = ask_mi300x(mixed);
  EXPECT_NEAR(attention(both), attention(ask_mi300x(prefill)) + attention(ask_mi300x(decode)), 0.02 * attention(both));
  EXPECT_EQ(both.question.new_tokens(), 544);
  EXPECT_LT(in_us(both.time), in_us(ask_mi300x(prefill).time) + in_us(ask_mi300x(decode).time));
  decode.decoding = 1;
  EXPECT_THAT(faults_of(decode, mi300x().spec), Contains(Field(&sim::Fault::where, "decoding")));
  prefill.decoding_context = 5;
  EXPECT_THAT(faults_of(prefill, mi300x().spec), Contains(Field(&sim::Fault::where, "decoding_context")));
}

// Each layer is like the one before: what four layers tell of the fifth holds for the twentieth.
TEST(Step, OfManyLayersFollowsFromTheirPeriod) {
  for (const int tp : {1, 8}) {
    StepQuestion question = decode_of("llama3-8b", tp, 4);
    question.layers = 20;
    EXPECT_NEAR(in_us(ask_mi300x(question).time), in_us(ask_mi300x(question, 20).time),
                5e-3 * in_us(ask_mi300x(question, 20).time));
  }
}

TEST(Step, FullOfShardedTrainingFollowsFromItsPeriod) {
  StepQuestion question = training_of("llama3-8b", 10, 1024);
  question.dp = 8;
  question.shard = Shard::full;
  const StepResult all = ask_mi300x(question, 10);
  const StepResult few = ask_mi300x(question);
  EXPECT_NEAR(in_us(few.time), in_us(all.time), 0.02 * in_us(all.time));
  EXPECT_NEAR(in_us(few.exposed), in_us(all.exposed), 0.05 * in_us(all.time));
}

// The host gets ahead in the forward pass and loses that in the backward one: four layers with what is before and
// behind them do not tell, layers alone do.
TEST(Step, FullWhoseHostLosesItsLeadIsSimulatedWhole) {
  StepQuestion question;
  question.model = read_model("qwen2-7b", folders);
  question.phase = Phase::train;
  question.tokens = 1024;
  question.dp = 8;
  question.shard = Shard::full;
  const StepResult all = ask_mi300x(question, question.model.layers);
  const StepResult few = ask_mi300x(question);
  EXPECT_NEAR(in_us(few.time), in_us(all.time), 0.01 * in_us(all.time));
  EXPECT_NEAR(in_us(few.exposed), in_us(all.exposed), 0.01 * in_us(all.time));
  EXPECT_NEAR(few.energy().value(), all.energy().value(), 0.01 * all.energy().value());
}

// One kernel after another: their times are the step's.
TEST(Step, OfOneGpuIsTheSumOfItsKernels) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  const StepResult result = ask_mi300x(question);
  const sim::Time sum = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  EXPECT_NEAR(in_us(sum), in_us(result.time), 1e-3 * in_us(result.time));
  EXPECT_EQ(result.communication, sim::Time(0));
}

// All-reduces wait for products and products for them.
TEST(Step, OfTensorParallelismHidesNothing) {
  const StepResult result = ask_mi300x(decode_of("llama3-8b", 8, 8));
  EXPECT_GT(result.communication, sim::Time(0));
  EXPECT_EQ(result.exposed, result.communication);
  EXPECT_EQ(result.overlapped(), sim::Time(0));
}

// Weights of the next layer come while this one is computed.
TEST(Step, OfShardedTrainingOverlapsItsGathers) {
  StepQuestion question = training_of("llama3-8b", 4, 8192);
  question.dp = 8;
  question.shard = Shard::full;
  const StepResult result = ask_mi300x(question);
  EXPECT_GT(result.overlapped(), result.communication / 4);
  EXPECT_GT(result.time_of(Kind::reduce_scatter), sim::Time(0));
}

// A gradient has twice the operations of its forward pass, which it follows.
TEST(Step, OfTrainingDoesThreeTimesTheOperations) {
  StepQuestion forward = training_of("bert-large", 4, 512);
  forward.forward = true;
  const StepQuestion both = training_of("bert-large", 4, 512);
  const double products = ask_mi300x(forward).flops.value();
  // Of attention 3.5 times: five products for two.
  const double attention = 4.0 * 16 * 512 * 512 * 64 * 4;
  EXPECT_NEAR(ask_mi300x(both).flops.value(), 3.0 * products + 0.5 * attention, 1e-6 * products);
}

TEST(Step, LaunchedOpByOpWaitsForItsHost) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.layers = 4;
  question.graph = false;
  const models::PlatformSpec platform = mi300x().spec;
  const std::vector<ElementwiseOperator> operators = read_operators(folders);
  const StepResult result = ask(platform, question, operators);
  // Thirteen kernels a layer: two norms, four products, two copies, attention, two of the activation, two sums.
  const double host = 4 * 13 * in_us(platform.host.framework_call);
  EXPECT_GE(in_us(result.time), host);
  EXPECT_LT(in_us(result.time), host + 100.0);
  EXPECT_LT(result.compute, result.time);
  // Whenever it computes nothing its GPU waits for the host, or lies in the gap before a kernel that was launched
  // before its turn had come.
  EXPECT_EQ(result.compute + result.host + result.idle(), result.time);
  EXPECT_LT(result.idle(), 4 * 13 * platform.host.framework_gap);
  EXPECT_GE(in_us(result.host), host - in_us(result.compute) - 4 * 13 * in_us(platform.host.framework_gap));
  // What is computed does not depend on how it is launched.
  question.graph = true;
  const StepResult from_graph = ask(platform, question, operators);
  EXPECT_NEAR(in_us(result.compute), in_us(from_graph.compute), 1e-2 * in_us(from_graph.compute));
  EXPECT_EQ(from_graph.host, sim::Time(0));
}

// Ten thousand tokens keep the GPU busy, so that the host is ahead: kernels, 11 a layer without a cache, lie apart by
// gaps.
TEST(Step, LaunchedOpByOpHasGapsBetweenItsKernels) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.phase = Phase::prefill;
  question.layers = 4;
  question.context = 0;
  question.tokens = 10000;
  question.graph = false;
  models::PlatformSpec platform = mi300x().spec;
  const auto time = [&] { return in_us(ask(platform, question, read_operators(folders)).time); };
  platform.host.framework_gap = sim::Time(0);
  const double dense = time();
  platform.host.framework_gap = sim::to_time(sim::Seconds(10e-6));
  EXPECT_NEAR(time() - dense, 10.0 * (4 * 11 - 1), 0.2 * 10.0 * 4 * 11);
}

TEST(Step, IsFasterOnMoreGpusAndDrawsNoMoreThanItsCap) {
  const StepResult one = ask_mi300x(decode_of("llama3-8b", 1, 32));
  const StepResult eight = ask_mi300x(decode_of("llama3-8b", 8, 32));
  EXPECT_LT(eight.time, one.time);
  EXPECT_LE(one.power, mi300x().spec.gpu.power.limit());
  EXPECT_NEAR(one.energy().value(), one.power.value() * in_us(one.time) * 1e-6, 1e-9);
}

TEST(Step, FullAsAnExperimentTakesAsLong) {
  StepQuestion decode = decode_of("llama3-8b", 8, 8);
  decode.layers = 3;
  StepQuestion pipeline = training_of("llama3-8b", 4, 512);
  pipeline.pp = 2;
  pipeline.micro = 2;
  pipeline.batch = 2;
  StepQuestion stages_of_two = pipeline;
  stages_of_two.tp = 2;
  StepQuestion by_engines = pipeline;
  by_engines.collectives = models::Backend::sdma;
  StepQuestion experts = prefill_of("mixtral-8x7b", 1, 512);
  experts.layers = 2;
  experts.ep = experts.dp = 4;
  StepQuestion in_pieces = prefill_of("llama3-8b", 2, 2048);
  in_pieces.tp = 8;
  in_pieces.pieces = 2;
  StepQuestion chosen = in_pieces;
  chosen.ffn_pieces = 4;
  chosen.chosen = {{"qkv_gather", {models::Backend::sdma}}, {"down_scatter", {models::Backend::rccl, 14}}};
  StepQuestion fused_training = training_of("llama3-8b", 1, 512);
  fused_training.tp = 2;
  fused_training.collectives = {models::Backend::sdma, true};
  StepQuestion sharded = training_of("llama3-8b", 6, 2048);
  sharded.tp = 2;
  sharded.dp = 4;
  sharded.shard = Shard::full;
  StepQuestion by_engines_in_stages = stages_of_two;
  by_engines_in_stages.forward = true;
  by_engines_in_stages.batch = by_engines_in_stages.micro = 4;
  by_engines_in_stages.collectives = models::Backend::sdma;
  const Platform platform = mi300x();
  const std::vector<ElementwiseOperator> operators = read_operators(folders);
  const auto with = [&](StepQuestion one, bool graph) {
    one.graph = graph;
    return one;
  };
  for (const StepQuestion& question :
       {with(decode, true), with(decode, false), with(pipeline, true), with(stages_of_two, true),
        with(by_engines, true), with(experts, true), with(in_pieces, true), with(chosen, true),
        with(fused_prefill(8, 2048), true), with(fused_prefill(4, 2048), false), training_of("llama3-8b", 2, 512),
        fused_training, with(sharded, false), with(by_engines_in_stages, false)}) {
    const double step = in_us(ask(platform.spec, question, operators, {}, in_whole).time);
    sim::Config config = sim::Config::from_text(experiment_text(question, platform.spec, operators), "step.yaml");
    const ExperimentMachine machine = read_machine(config);
    Testbed testbed(beside(mi300x(machine.assignments), machine.beside()).spec);
    const Experiment experiment = read_experiment(config, testbed);
    const double makespan = *measure(testbed, experiment).at("makespan_us");
    EXPECT_NEAR(makespan, step, 1e-3 * step);
  }
}

// Each GPU has an eighth of the tokens of every product, and the pairs of parts of a sequence see as much as any.
TEST(Step, OfASharedOutSequenceSharesOutItsOperations) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.layers = 4;
  question.phase = Phase::prefill;
  question.context = 0;
  question.tokens = 32768;
  const StepResult one = ask_mi300x(question);
  question.cp = 8;
  const StepResult eight = ask_mi300x(question);
  EXPECT_NEAR(eight.flops.value(), one.flops.value() / 8.0, 1e-3 * one.flops.value());
  EXPECT_GT(eight.time_of(Kind::all_gather), sim::Time(0));
}

// Two of eight experts are busy for one token, all of them for 64; each reads its weights once.
// A compiler fuses what lies between products and leaves these alone; of gradients nobody has measured its kernels.
TEST(Step, OfCompiledKernelsHasTheSameProductsAndFewerKernels) {
  for (const char* const model : {"llama3-8b", "qwen3-30b-a3b", "gemma2-27b", "deepseek-v3"}) {
    StepQuestion eager = decode_of(model, 8, 16);
    eager.graph = true;
    StepQuestion compiled = eager;
    compiled.kernels = Kernels::compiled;
    const StepResult fewer = ask_mi300x(compiled);
    const StepResult more = ask_mi300x(eager);
    EXPECT_LT(fewer.operations.size(), more.operations.size()) << model;
    EXPECT_LT(fewer.time, more.time) << model;
    EXPECT_EQ(fewer.time_of(Kind::attention), more.time_of(Kind::attention)) << model;
    EXPECT_NEAR(in_us(fewer.time_of(Kind::all_reduce)), in_us(more.time_of(Kind::all_reduce)),
                0.02 * in_us(more.time_of(Kind::all_reduce)))
        << model;
    compiled.phase = Phase::train;
    EXPECT_THAT(faults_of(compiled, mi300x().spec), Contains(Field(&sim::Fault::where, "kernels"))) << model;
  }
}

TEST(Step, ReadsTheWeightsOfBusyExpertsAlone) {
  StepQuestion question = decode_of("mixtral-8x7b", 1, 1);
  question.layers = 1;
  question.half = Half::feed_forward;
  const double one = in_us(ask_mi300x(question).time);
  question.batch = 64;
  EXPECT_NEAR(in_us(ask_mi300x(question).time) / one, 4.0, 1.2);
}

// Beside the two products, their activation (two kernels) and two exchanges a layer has a norm, the router, 20 kernels
// that choose experts and bring copies of tokens together, two that prepare the second product, six that take the
// copies apart, and a sum.
TEST(Step, OfExpertsAloneHasWhatTheyDo) {
  StepQuestion question = decode_of("mixtral-8x7b", 1, 64);
  question.layers = 1;
  question.ep = question.dp = 8;
  question.half = Half::feed_forward;
  const std::size_t all = ask_mi300x(question).operations.size();
  question.half = Half::experts;
  EXPECT_EQ(ask_mi300x(question).operations.size(), 6U);
  EXPECT_EQ(all, 37U);
}

// Both gradients of the products of experts, as of others.
TEST(Step, OfExpertsHasGradients) {
  StepQuestion question = training_of("mixtral-8x7b", 2, 1024);
  const double both = ask_mi300x(question).flops.value();
  question.forward = true;
  EXPECT_NEAR(both / ask_mi300x(question).flops.value(), 3.0, 0.1);
}

// The mean of board power, which the governor of the H200 holds, has the pause in it.
TEST(Step, BehindAPauseHasAHigherClock) {
  StepQuestion question = training_of("llama3-8b", 4, 4096);
  question.forward = true;
  const auto on_h200 = [](const StepQuestion& one) { return ask(h200().spec, one, read_operators(folders)); };
  const StepResult again = on_h200(question);
  question.pause = again.time;
  const StepResult rested = on_h200(question);
  EXPECT_LT(rested.time, again.time);
  EXPECT_GT(rested.time, again.time / 2);
  EXPECT_GT(rested.clock, again.clock);
  EXPECT_LE(rested.compute, rested.time);  // the pause is nobody's
}

TEST(Step, TellsWhatBoundsItsKinds) {
  const StepResult result = ask_mi300x(decode_of("llama3-8b", 1, 8));
  const StepShare& attention = result.operations.at("attention");
  EXPECT_EQ(bound_of(attention.limits, sim::Seconds(attention.time)), "HBM");
  EXPECT_NEAR(attention.count, 32.0, 1e-6);
  double sum = 0.0;
  for (const auto& [name, share] : result.operations) sum += share.time;
  EXPECT_NEAR(sum * 1e6, in_us(result.time), 1e-3 * in_us(result.time));
}

// 64 sequences of 4097 tokens, 80 layers of one head of 128 for keys and one for values on each of 8 GPUs.
TEST(StepMemory, HoldsWeightsAndCache) {
  StepQuestion question = decode_of("llama3-70b", 8, 64);
  question.context = 4096;
  const StepMemory memory = memory_of(question);
  EXPECT_NEAR(memory.cache.value(), 64.0 * 4097 * 80 * 2 * 128 * 2, 1.0);
  EXPECT_NEAR(memory.weights.value(), 70.55e9 * 2 / 8, 0.01e9);
  EXPECT_EQ(memory.states.value(), 0.0);
}

// 30,522 words are 7630.5 for each of four GPUs: the head has 7631 of them.
TEST(Step, FillsAVocabularyUpThatDoesNotComeOutEven) {
  StepQuestion question = decode_of("bert-large", 4, 2);
  question.phase = Phase::prefill;
  question.tokens = 128;
  question.context = 0;
  EXPECT_THAT(faults_of(question, mi300x().spec), IsEmpty());
  std::vector<std::int64_t> words;
  for (const StepBlock& block : step_blocks(question, read_operators(folders), 1, mi300x().spec)) {
    for (const StepOperation& operation : block.operations) {
      if (operation.name == "head") words.push_back(std::get<models::GemmShape>(operation.work).m);
    }
  }
  EXPECT_THAT(words, ElementsAre(7631));
}

// Of 5000 tokens a window of 4096 leaves as many keys to read and to keep.
TEST(Step, SeesItsWindowAlone) {
  StepQuestion question = decode_of("llama3-8b", 1, 8);
  question.layers = 4;
  question.context = 4095;
  const StepResult full = ask_mi300x(question);
  question.model.window = 4096;
  question.context = 4999;
  const StepResult windowed = ask_mi300x(question);
  EXPECT_EQ(windowed.time, full.time);
  EXPECT_EQ(windowed.memory.cache, full.memory.cache);
}

// 32 layers have 2 x 1024 features of 2 bytes for each token: of 206.2 GB, 16.06 GB are weights and 3e-5 more are
// activations, and 190.1 GB over 131,072 bytes are 1.45 million tokens, the new one among them.
TEST(StepFaults, NameTheContextThatFits) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.model.positions = 0;
  question.context = 2'000'000;
  const auto context_that_fits = [&] {
    for (const sim::Fault& fault : faults_of(question, mi300x().spec)) {
      const std::size_t at = fault.what.find("--context ");
      if (fault.where == "context" && at != std::string::npos) return std::stod(fault.what.substr(at + 10));
    }
    return 0.0;
  };
  EXPECT_NEAR(context_that_fits(), (206.158e9 - 16.06e9) / 131'072.0, 2e3);
  question.context = static_cast<std::int64_t>(context_that_fits());
  EXPECT_THAT(faults_of(question, mi300x().spec), IsEmpty());
}

TEST(StepFaults, NameTheFormatsThatThePlatformHas) {
  models::PlatformSpec platform = mi300x().spec;
  platform.gpu.gemm.others[static_cast<std::size_t>(models::Dtype::fp8)].reset();
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.dtype = models::Dtype::fp8;
  EXPECT_THAT(faults_of(question, platform),
              Contains(Field(&sim::Fault::what, HasSubstr("no matrix rate of fp8: bf16, fp16, tf32, fp32 are"))));
}

}  // namespace
}  // namespace c3sim::study
