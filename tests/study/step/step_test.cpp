#include "study/step/step.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/config/config.h"
#include "sim/config/config_error.h"
#include "study/experiment/experiment.h"
#include "study/experiment/experiment_reader.h"
#include "study/step/pipeline.h"
#include "study/step/step_carriers.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"
#include "study/work/operators.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StepQuestion decode_of(const std::string& model, int tp, std::int64_t batch) {
  StepQuestion question;
  question.model = read_model(model, folders);
  question.batch = batch;
  question.context = 1024;
  question.tp = tp;
  question.graph = true;
  return question;
}

StepQuestion training_of(const std::string& model, int layers, std::int64_t tokens) {
  StepQuestion question;
  question.model = read_model(model, folders);
  question.layers = layers;
  question.phase = Phase::train;
  question.tokens = tokens;
  question.graph = true;
  return question;
}

StepResult ask_mi300x(const StepQuestion& question, std::int64_t simulated = 4) {
  return ask(mi300x().spec, question, read_operators(folders), {}, simulated);
}

double us(sim::Time time) { return sim::to_microseconds(time); }

// Weights of a layer on one GPU and the keys and values of 8 sequences are read once, at no more than the peak of HBM;
// and no GPU takes ten times as long.
TEST(Step, OfDecodingReadsWeightsAndCache) {
  StepQuestion question = decode_of("llama3-8b", 1, 8);
  question.layers = 4;
  const double weights = 4.0 * 218.1e6 * 2.0;
  const double cache = 4.0 * 8 * 1025 * 2 * 1024 * 2.0;
  const double least = (weights + cache) / mi300x().spec.gpu.memory.hbm_rate.value() * 1e6;
  const double time = us(ask_mi300x(question).time);
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
  const auto attention = [](const StepResult& result) { return us(result.time_of(Kind::attention)); };
  const StepResult both = ask_mi300x(mixed);
  EXPECT_NEAR(attention(both), attention(ask_mi300x(prefill)) + attention(ask_mi300x(decode)), 0.02 * attention(both));
  EXPECT_EQ(both.question.new_tokens(), 544);
  EXPECT_LT(us(both.time), us(ask_mi300x(prefill).time) + us(ask_mi300x(decode).time));
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
    EXPECT_NEAR(us(ask_mi300x(question).time), us(ask_mi300x(question, 20).time),
                5e-3 * us(ask_mi300x(question, 20).time));
  }
}

TEST(Step, OfShardedTrainingFollowsFromItsPeriod) {
  StepQuestion question = training_of("llama3-8b", 10, 1024);
  question.dp = 8;
  question.shard = Shard::full;
  const StepResult all = ask_mi300x(question, 10);
  const StepResult few = ask_mi300x(question);
  EXPECT_NEAR(us(few.time), us(all.time), 0.02 * us(all.time));
  EXPECT_NEAR(us(few.exposed), us(all.exposed), 0.05 * us(all.time));
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
  EXPECT_NEAR(us(few.time), us(all.time), 0.01 * us(all.time));
  EXPECT_NEAR(us(few.exposed), us(all.exposed), 0.01 * us(all.time));
  EXPECT_NEAR(few.energy().value(), all.energy().value(), 0.01 * all.energy().value());
}

// One kernel after another: their times are the step's.
TEST(Step, OfOneGpuIsTheSumOfItsKernels) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  const StepResult result = ask_mi300x(question);
  const sim::Time sum = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  EXPECT_NEAR(us(sum), us(result.time), 1e-3 * us(result.time));
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

StepQuestion prefill_of(const std::string& model, int layers, std::int64_t tokens) {
  StepQuestion question = training_of(model, layers, tokens);
  question.phase = Phase::prefill;
  return question;
}

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

// Of m micro-batches, f on a stage each, the last leaves p stages after (m + p - 1) f and the p - 1 sends of one of
// them; a stage is at work for m f. Were sends free, (p - 1) / (m + p - 1) of the time were idle.
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
    const double turn = us(result.compute) / micro;
    const double send = us(result.time_of(Kind::send)) * stages / (micro * (stages - 1));
    EXPECT_NEAR(us(result.time), (micro + stages - 1) * turn + (stages - 1) * send, 0.02 * us(result.time));
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
  const double busy = us(result.compute) / micro * (micro + stages - 1);
  const double send = us(result.time_of(Kind::send)) / micro;
  EXPECT_GT(us(result.time), 0.99 * busy);
  EXPECT_LT(us(result.time), 1.01 * busy + 2.0 * send * (micro + stages - 1));
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
    const double turn = us(ask_mi300x(alone).time);
    const StepResult result = ask_mi300x(question);
    const double sends = result.operations.at("activations").count;
    EXPECT_NEAR(sends, micro / 2.0, 1e-9);  // four of each GPU of the first stage, none of the second
    const double send = us(result.time_of(Kind::send)) / sends;
    EXPECT_NEAR(us(result.time), (micro + 1) * turn + send, 0.02 * us(result.time));
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

// As many operations in pieces as in one, and as many bytes; four pieces hide communication that one exposes.
TEST(Step, InPiecesHidesWhatItGathers) {
  StepQuestion question = prefill_of("llama3-70b", 2, 8192);
  question.tp = 8;
  question.collectives = models::Backend::sdma;
  question.pieces = 1;
  const StepResult one = ask_mi300x(question);
  question.pieces = 4;
  const StepResult four = ask_mi300x(question);
  EXPECT_NEAR(four.flops.value(), one.flops.value(), 1e-9 * one.flops.value());
  EXPECT_GT(us(one.exposed), 0.9 * us(one.communication));
  EXPECT_LT(four.exposed, one.exposed);
  EXPECT_LT(four.time, one.time);
  EXPECT_NEAR(four.operations.at("up_gather_3").count, 2.0, 1e-9);
}

TEST(Step, LaunchedOpByOpWaitsForItsHost) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.layers = 4;
  question.graph = false;
  const models::PlatformSpec platform = mi300x().spec;
  const std::vector<ElementwiseOperator> operators = read_operators(folders);
  const StepResult result = ask(platform, question, operators);
  // Thirteen kernels a layer: two norms, four products, two copies, attention, two of the activation, two sums.
  const double host = 4 * 13 * us(platform.host.framework_call);
  EXPECT_GE(us(result.time), host);
  EXPECT_LT(us(result.time), host + 100.0);
  EXPECT_LT(result.compute, result.time);
  // Whenever it computes nothing its GPU waits for the host, or lies in the gap before a kernel that was launched
  // before its turn had come.
  EXPECT_EQ(result.compute + result.host + result.idle(), result.time);
  EXPECT_LT(result.idle(), 4 * 13 * platform.host.framework_gap);
  EXPECT_GE(us(result.host), host - us(result.compute) - 4 * 13 * us(platform.host.framework_gap));
  // What is computed does not depend on how it is launched.
  question.graph = true;
  const StepResult from_graph = ask(platform, question, operators);
  EXPECT_NEAR(us(result.compute), us(from_graph.compute), 1e-2 * us(from_graph.compute));
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
  const auto time = [&] { return us(ask(platform, question, read_operators(folders)).time); };
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
  EXPECT_NEAR(one.energy().value(), one.power.value() * us(one.time) * 1e-6, 1e-9);
}

// Two layers of a prompt whose products are fused with the reduce-scatter of their results.
StepQuestion fused_prefill(int tp, std::int64_t tokens) {
  StepQuestion question = decode_of("llama3-8b", tp, 1);
  question.layers = 2;
  question.phase = Phase::prefill;
  question.context = 0;
  question.tokens = tokens;
  question.collectives = {models::Backend::sdma, true};
  return question;
}

double us_of(const StepResult& result, Kind kind) { return us(result.time_of(kind)); }

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
    const double step = us(ask(platform.spec, question, operators, {}, in_whole).time);
    sim::Config config = sim::Config::from_text(experiment_text(question, platform.spec, operators), "step.yaml");
    const ExperimentMachine machine = read_machine(config);
    Testbed testbed(beside(mi300x(machine.assignments), machine.beside()).spec);
    const Experiment experiment = read_experiment(config, testbed);
    const double makespan = *measure(testbed, experiment).at("makespan_us");
    EXPECT_NEAR(makespan, step, 1e-3 * step);
  }
}

// What is computed is the same, whoever adds it up; of what is added up a part travels while it is computed.
TEST(Step, ThatFusesHidesWhatItReduces) {
  StepQuestion question = fused_prefill(8, 8192);
  const StepResult fused = ask_mi300x(question);
  question.collectives = models::Backend::sdma;
  const StepResult apart = ask_mi300x(question);
  EXPECT_DOUBLE_EQ(fused.flops.value(), apart.flops.value());
  EXPECT_EQ(us_of(fused, Kind::all_reduce), 0.0);
  EXPECT_GT(fused.overlapped(), sim::Time(0));
  EXPECT_GT(us_of(fused, Kind::reduce_scatter), us(fused.overlapped()));
  EXPECT_NEAR(us(fused.exposed + fused.overlapped()),
              us_of(fused, Kind::reduce_scatter) + us_of(fused, Kind::all_gather), 1e-3 * us(fused.communication));
  // One stream: what no kernel hides is beside the kernels, and both are the step.
  EXPECT_NEAR(us(fused.compute + fused.exposed), us(fused.time), 1e-2 * us(fused.time));
  EXPECT_EQ(fused.operations.at("down").kind, Kind::gemm);
  EXPECT_EQ(bound_of(fused.operations.at("down_reduce_scatter").limits,
                     sim::Seconds(fused.operations.at("down_reduce_scatter").time)),
            "links");
}

// Pieces that take no time to travel, to memory that adds them: of each of four fused products what comes behind its
// last wave is left, pieces that engines read, set up and hosts notice, as in tests/models/collectives/fused_gemm_test.
TEST(Step, ThatFusesWithInfiniteLinksTakesAsLongAsItsProducts) {
  const std::vector<std::string> infinite{"fabric.link_rate=100000 GB/s", "gpu.sdma.payload_rate=100000 GB/s",
                                          "gpu.sdma.bytes_in_flight=1 GiB", "gpu.memory.near_memory=hbm",
                                          "gpu.memory.update_rate=100"};
  const StepResult result = ask(mi300x(infinite).spec, fused_prefill(8, 4096), read_operators(folders));
  EXPECT_LT(us(result.exposed) - us_of(result, Kind::all_gather), 4 * 40.0);
}

// What engines and kernels do one after the other they do at once, but for what it costs to see pieces: a notice for
// each in a row.
TEST(Step, FullThatFusesIsNoSlowerThanByEnginesButForItsNotices) {
  for (const int tp : {2, 4, 8}) {
    for (const std::int64_t tokens : {1024, 4096, 16384}) {
      StepQuestion question = fused_prefill(tp, tokens);
      const double fused = us(ask_mi300x(question).time);
      question.collectives = models::Backend::sdma;
      const double notices = 4 * 8 * tp * us(mi300x().spec.gpu.memory.tracker.latency);
      EXPECT_LE(fused, us(ask_mi300x(question).time) + notices) << "tp " << tp << ", " << tokens << " tokens";
    }
  }
}

// Gradients of inputs of the products in front are added up over the GPUs, too.
TEST(Step, OfTrainingFusesItsInputGradients) {
  StepQuestion question = training_of("llama3-8b", 2, 2048);
  question.tp = 8;
  question.collectives = {models::Backend::sdma, true};
  const StepResult result = ask_mi300x(question);
  for (const char* const name : {"out", "down", "up_input_gradient", "qkv_input_gradient"}) {
    EXPECT_NEAR(result.operations.at(name + std::string("_reduce_scatter")).count, 2.0, 1e-9) << name;
  }
  EXPECT_EQ(us_of(result, Kind::all_reduce), 0.0);
}

std::string why_not(const StepQuestion& question) {
  try {
    ask_mi300x(question);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Step, ThatCannotFuseSaysWhy) {
  EXPECT_THAT(why_not(fused_prefill(8, 1)), HasSubstr("out[0]: 1 tokens (n) do not divide into 8 shards of 1 pieces"));
  EXPECT_THAT(why_not(fused_prefill(1, 1024)), HasSubstr("--tp of at least 2 is accepted"));
  StepQuestion question = fused_prefill(8, 1024);
  question.pieces = 2;
  EXPECT_THAT(why_not(question), HasSubstr("t3 cuts what it reduces by itself"));
}

// The best of each kind is no slower than any one of them for all.
TEST(Step, TakesTheBestCarrierWhereItIsAskedTo) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.layers = 4;
  question.collectives = Carrier(std::nullopt);
  const sim::Time best = ask_mi300x(question).time;
  for (const models::BackendAbilities& backend : models::backends()) {
    question.collectives = backend.backend;
    EXPECT_LE(best, ask_mi300x(question).time) << models::to_string(backend.backend);
  }
}

// As intervals have it, whose machines would each choose others.
TEST(Step, KeepsCarriersThatWereChosen) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.layers = 4;
  question.collectives = Carrier(std::nullopt);
  question.chosen = {{"out_all_reduce", {models::Backend::sdma}}, {"down_all_reduce", {models::Backend::sdma}}};
  const StepResult chosen = ask_mi300x(question);
  EXPECT_EQ(chosen.question.chosen, question.chosen);
  question.collectives = models::Backend::sdma;
  EXPECT_EQ(chosen.time, ask_mi300x(question).time);
}

// Each collective by its own carrier: of those of a layer only that behind the attention half goes another way.
TEST(Step, CarriesEachCollectiveAsItWasChosen) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.layers = 4;
  const StepResult usual = ask_mi300x(question);
  question.chosen = {{"out_all_reduce", {models::Backend::two_shot, 16}}};
  const StepResult chosen = ask_mi300x(question);
  const auto work = [](const StepResult& result, const char* name) { return result.operations.at(name).work; };
  EXPECT_NE(work(chosen, "out_all_reduce"), work(usual, "out_all_reduce"));
  EXPECT_EQ(work(chosen, "down_all_reduce"), work(usual, "down_all_reduce"));
  EXPECT_NE(chosen.time, usual.time);
}

// Pieces of a collective, and buckets of gradients, are chosen together.
TEST(Step, NamesCollectivesWithoutTheNumbersOfTheirParts) {
  EXPECT_EQ(collective_name("out_all_reduce"), "out_all_reduce");
  EXPECT_EQ(collective_name("qkv_gather_3"), "qkv_gather");
  EXPECT_EQ(collective_name("reduce_bucket12"), "reduce_bucket");
}

StepQuestion sharded_training() {
  StepQuestion question = training_of("llama3-8b", 4, 4096);
  question.dp = 8;
  question.shard = Shard::full;
  return question;
}

double us_each(const StepResult& result, const char* name) {
  return 1e6 * result.operations.at(name).time / result.operations.at(name).count;
}

// A quarter of the channels have a quarter of the bytes under way, so that the gathers take longer, up to four times as
// long; beside them products have more CUs, but longer so.
TEST(Step, OfFewerChannelsHasSlowerCollectives) {
  StepQuestion question = sharded_training();
  const StepResult usual = ask_mi300x(question);
  const int library = mi300x().spec.rccl.channels(models::CollectiveKind::all_gather, {});
  question.channels = library / 4;
  const StepResult fewer = ask_mi300x(question);
  EXPECT_GT(us_each(fewer, "gather"), 1.5 * us_each(usual, "gather"));
  EXPECT_LT(us_each(fewer, "gather"), 4.5 * us_each(usual, "gather"));
  question.channels = library;
  EXPECT_EQ(ask_mi300x(question).time, usual.time);
}

// Channels hold CUs, and engines none: while weights are gathered by 56 channels, 248 of 304 CUs are left to products.
TEST(Step, OfChannelsTakesCusFromProducts) {
  StepQuestion question = sharded_training();
  question.chosen = {{"gather", {models::Backend::sdma}}};
  const double by_engines = us_each(ask_mi300x(question), "up");
  question.chosen = {{"gather", {models::Backend::rccl}}};
  EXPECT_GT(us_each(ask_mi300x(question), "up"), by_engines);
}

// As many products of a half as it has pieces, whatever the other has.
TEST(Step, HasPiecesOfEachHalf) {
  StepQuestion question = prefill_of("llama3-8b", 2, 2048);
  question.tp = 8;
  question.pieces = 4;
  question.ffn_pieces = 2;
  const StepResult result = ask_mi300x(question);
  for (const auto& [name, pieces] : {std::pair("qkv", 4), {"out", 4}, {"up", 2}, {"down", 2}}) {
    EXPECT_TRUE(result.operations.contains(fmt::format("{}_{}", name, pieces - 1))) << name;
    EXPECT_FALSE(result.operations.contains(fmt::format("{}_{}", name, pieces))) << name;
  }
  question.pieces = 2;
  const sim::Time alike = ask_mi300x(question).time;
  question.ffn_pieces.reset();
  EXPECT_EQ(ask_mi300x(question).time, alike);
}

// What hosts of engines do for a collective is done before the step, but for a word for each and what they notice.
TEST(Step, OfQueuedCommandsIsFaster) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.layers = 4;
  question.collectives = models::Backend::sdma;
  const sim::Time each = ask_mi300x(question).time;
  question.prelaunch = true;
  EXPECT_LT(ask_mi300x(question).time, each);
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
TEST(Step, ReadsTheWeightsOfBusyExpertsAlone) {
  StepQuestion question = decode_of("mixtral-8x7b", 1, 1);
  question.layers = 1;
  question.half = Half::feed_forward;
  const double one = us(ask_mi300x(question).time);
  question.batch = 64;
  EXPECT_NEAR(us(ask_mi300x(question).time) / one, 4.0, 1.2);
}

// Beside the two products, their activation (two kernels) and two exchanges a layer has a norm, the router, 15 kernels
// that choose experts and bring copies of tokens together, three that take them apart, and a sum.
TEST(Step, OfExpertsAloneHasWhatTheyDo) {
  StepQuestion question = decode_of("mixtral-8x7b", 1, 64);
  question.layers = 1;
  question.ep = question.dp = 8;
  question.half = Half::feed_forward;
  const std::size_t all = ask_mi300x(question).operations.size();
  question.half = Half::experts;
  EXPECT_EQ(ask_mi300x(question).operations.size(), 6U);
  EXPECT_EQ(all, 27U);
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
  EXPECT_NEAR(sum * 1e6, us(result.time), 1e-3 * us(result.time));
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

std::vector<sim::Fault> faults(const StepQuestion& question) { return faults_of(question, mi300x().spec); }
auto says(const char* where, const char* what) {
  return Contains(::testing::AllOf(Field(&sim::Fault::where, where), Field(&sim::Fault::what, HasSubstr(what))));
}

TEST(StepFaults, SayWhatWouldBeAccepted) {
  EXPECT_THAT(faults(decode_of("llama3-70b", 8, 8)), IsEmpty());
  EXPECT_THAT(faults(decode_of("llama3-8b", 3, 1)), says("tp", "3 GPUs do not share 32 heads evenly"));
  EXPECT_THAT(faults(decode_of("llama3-8b", 16, 1)), says("tp", "a divisor of the 8 of the node"));
  EXPECT_THAT(faults(decode_of("llama3-70b", 1, 1024)), says("batch", "GB are needed of a GPU's 206.2"));
  EXPECT_THAT(faults(decode_of("bert-large", 1, 1)), says("phase", "does not decode"));
  StepQuestion question = decode_of("llama2-70b", 8, 1);
  question.context = 5000;
  EXPECT_THAT(faults(question), says("context", "5001 tokens are more than the 4096"));
  question = decode_of("llama3-8b", 1, 1);
  question.ep = question.dp = 2;
  EXPECT_THAT(faults(question), says("ep", "has no experts"));
  question = decode_of("llama3-8b", 1, 1);
  question.cp = 2;
  EXPECT_THAT(faults(question), says("cp", "decode has no sequence to share out"));
  question = decode_of("llama3-8b", 1, 1);
  question.half = Half::attention;
  EXPECT_THAT(faults(question), says("half", "--layers is accepted"));
  question.half = Half::experts;
  EXPECT_THAT(faults(question), says("half", "llama3-8b has no experts"));
  question = decode_of("llama3-8b", 1, 6);
  question.layers = 2;
  question.pp = 4;
  EXPECT_THAT(faults(question), says("pp", "2 layers are too few for 4 stages: up to 2 are accepted"));
  question.layers.reset();
  question.micro = 4;
  EXPECT_THAT(faults(question), says("micro", "4 micro-batches do not share 6 sequences evenly"));
  question.phase = Phase::train;
  question.context = 0;
  question.dp = 2;
  question.shard = Shard::full;
  EXPECT_THAT(faults(question), says("shard", "beside --pp and --micro none is accepted"));
  question = decode_of("llama3-8b", 1, 1);
  question.dispatch = Dispatch::low_latency;
  question.overlap = Overlap::two_batches;
  EXPECT_THAT(faults(question), says("dispatch", "--ep of at least 2 is accepted"));
  EXPECT_THAT(faults(question), says("overlap", "--tp or --ep of at least 2 is accepted"));
  EXPECT_THAT(faults(question), says("batch", "two batches do not share 1 sequences evenly: 2 is accepted"));
  question.overlap = Overlap::shared_experts;
  EXPECT_THAT(faults(question), says("overlap", "a model that has some"));
  question.pp = 2;
  EXPECT_THAT(faults(question), says("overlap", "without --pp"));
  question = decode_of("llama3-8b", 1, 1);
  question.pieces = 4;
  EXPECT_THAT(faults(question), says("pieces", "--phase prefill"));
  EXPECT_THAT(faults(question), says("pieces", "--tp of at least 2"));
  EXPECT_THAT(faults(question), says("pieces", "cannot be had of 1 tokens: 4 at least"));
  question = prefill_of("llama3-8b", 4, 1024);
  question.tp = 2;
  question.pp = 2;
  question.pieces = 2;
  EXPECT_THAT(faults(question), says("pieces", "without --cp, --pp and --micro"));
  question = prefill_of("llama3-8b", 4, 1024);
  question.batch = question.micro = 2048;
  EXPECT_THAT(faults(question), says("micro", "2048 micro-batches through 1 stages are 2048 turns: up to 1024"));
  question = decode_of("llama3-8b", 1, 1);
  question.variant = models::SdmaVariant::swap;
  EXPECT_THAT(faults(question), says("variant", "swap is of engines, and rccl moves the data: --collectives sdma"));
  question.variant = models::SdmaVariant::pcpy;
  question.prelaunch = true;
  EXPECT_THAT(faults(question), says("prelaunch", "--collectives sdma is accepted"));
  question.collectives = models::Backend::sdma;
  EXPECT_THAT(faults(question), IsEmpty());
  question = training_of("llama3-8b", 4, 1024);
  question.shard = Shard::full;
  EXPECT_THAT(faults(question), says("shard", "--dp of at least 2"));
  question = decode_of("llama3-8b", 1, 1);
  question.optimizer = Optimizer::adam;
  EXPECT_THAT(faults(question), says("optimizer", "no gradients"));
}

std::vector<std::string> faults_of_chosen(const StepQuestion& question) {
  std::vector<std::string> sentences;
  for (const sim::Fault& fault : faults_of_carriers(question, mi300x().spec, read_operators(folders))) {
    sentences.push_back(fault.where + ": " + fault.what);
  }
  return sentences;
}

TEST(StepFaults, SayWhichCollectivesThereAre) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.chosen = {{"out_all_reduc", {}}, {"down_all_reduce", {models::Backend::rccl, 4000}}};
  EXPECT_THAT(
      faults_of_chosen(question),
      ElementsAre(HasSubstr("chosen: 'out_all_reduc' is no collective of this step; did you mean 'out_all_reduce'"),
                  HasSubstr("chosen: down_all_reduce=rccl/4000: 4000 channels cannot be had")));
  question.tp = 1;
  question.chosen = {{"out_all_reduce", {}}};
  EXPECT_THAT(faults_of_chosen(question), ElementsAre(HasSubstr("is no collective of this step, which has none")));
}

TEST(StepFaults, SayWhyThereAreNoSuchChannels) {
  StepQuestion question = decode_of("llama3-8b", 8, 8);
  question.layers = 1;
  question.channels = 4000;
  EXPECT_THAT(faults_of_chosen(question), ElementsAre(HasSubstr("channels: out_all_reduce: 4000 channels cannot")));
  question.tp = 1;
  EXPECT_THAT(faults_of_chosen(question), ElementsAre(HasSubstr("channels: are workgroups of kernels, and none")));
}

TEST(StepFaults, NameTheOtherPieces) {
  StepQuestion question = prefill_of("llama3-8b", 2, 2048);
  question.tp = 8;
  question.ffn_pieces = 2;
  EXPECT_THAT(why_not(question), HasSubstr("--pieces is accepted beside it"));
  question.pieces = 1;
  question.ffn_pieces = 512;
  EXPECT_THAT(why_not(question), HasSubstr("512 pieces of 8 GPUs cannot be had of 2048 tokens"));
}

// 32 layers have 2 x 1024 features of 2 bytes for each token: of 206.2 GB, 16.06 GB are weights and 3e-5 more are
// activations, and 190.1 GB over 131,072 bytes are 1.45 million tokens, the new one among them.
TEST(StepFaults, NameTheContextThatFits) {
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.model.positions = 0;
  question.context = 2'000'000;
  const auto context_that_fits = [&] {
    for (const sim::Fault& fault : faults(question)) {
      const std::size_t at = fault.what.find("--context ");
      if (fault.where == "context" && at != std::string::npos) return std::stod(fault.what.substr(at + 10));
    }
    return 0.0;
  };
  EXPECT_NEAR(context_that_fits(), (206.158e9 - 16.06e9) / 131'072.0, 2e3);
  question.context = static_cast<std::int64_t>(context_that_fits());
  EXPECT_THAT(faults(question), IsEmpty());
  question = decode_of("llama3-405b", 1, 1);
  EXPECT_THAT(faults(question), says("tp", "more GPUs that share weights are accepted (--tp), or fewer --layers"));
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

TEST(StepFaults, NameTheFormatsThatThePlatformHas) {
  models::PlatformSpec platform = mi300x().spec;
  platform.gpu.gemm.others[static_cast<std::size_t>(models::Dtype::fp8)].reset();
  StepQuestion question = decode_of("llama3-8b", 1, 1);
  question.dtype = models::Dtype::fp8;
  EXPECT_THAT(faults_of(question, platform),
              says("dtype", "no matrix rate of fp8: bf16, fp16, tf32, fp32 are accepted"));
}

}  // namespace
}  // namespace c3sim::study
