// What carries the collectives of a step, fused with products, in pieces or by engines.
#include "study/step/step_carriers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/step/step_questions.h"

namespace c3sim::study {
namespace {

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
  EXPECT_GT(in_us(one.exposed), 0.9 * in_us(one.communication));
  EXPECT_LT(four.exposed, one.exposed);
  EXPECT_LT(four.time, one.time);
  EXPECT_NEAR(four.operations.at("up_gather_3").count, 2.0, 1e-9);
}

// 4 tokens of 8192 features are 64 KiB in bf16, 64 are 1 MiB, 1024 are 16 MiB.
TEST(Step, AddsUpInOneShotTwoOrByTheLibraryAsTheSizeIs) {
  const auto backend = [](double mib, int gpus) {
    StepQuestion question;
    question.collectives = carrier_by_size();
    return question.carrier_of("out_all_reduce", models::CollectiveKind::all_reduce, mib * sim::Bytes(1 << 20), gpus)
        .backend;
  };
  using models::Backend;
  EXPECT_EQ(backend(0.0625, 8), Backend::one_shot);
  EXPECT_EQ(backend(0.25, 8), Backend::two_shot);
  EXPECT_EQ(backend(0.25, 4), Backend::one_shot);
  EXPECT_EQ(backend(0.5, 4), Backend::two_shot);
  EXPECT_EQ(backend(8.0, 2), Backend::one_shot);
  EXPECT_EQ(backend(8.0, 8), Backend::two_shot);
  EXPECT_EQ(backend(16.0, 2), Backend::rccl);
  const auto time = [](const Carrier& carrier, std::int64_t tokens) {
    StepQuestion question = prefill_of("llama3-70b", 2, tokens);
    question.tp = 8;
    question.collectives = carrier;
    return ask_mi300x(question).time;
  };
  EXPECT_EQ(time(carrier_by_size(), 4), time(Backend::one_shot, 4));
  EXPECT_EQ(time(carrier_by_size(), 64), time(Backend::two_shot, 64));
  EXPECT_EQ(time(carrier_by_size(), 1024), time(Backend::rccl, 1024));
}

// One that was chosen by name stays what it is.
TEST(Step, AddsUpAsChosenWhateverTheSize) {
  StepQuestion question;
  question.collectives = carrier_by_size();
  question.chosen["out_all_reduce"] = {models::Backend::two_shot};
  const auto of = [&](const char* name, models::CollectiveKind kind) {
    return question.carrier_of(name, kind, sim::Bytes(1024.0), 8).backend;
  };
  EXPECT_EQ(of("out_all_reduce", models::CollectiveKind::all_reduce), models::Backend::two_shot);
  EXPECT_EQ(of("down_all_reduce", models::CollectiveKind::all_reduce), models::Backend::one_shot);
  EXPECT_EQ(of("dispatch", models::CollectiveKind::all_to_all), models::Backend::rccl);
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
  EXPECT_GT(us_of(fused, Kind::reduce_scatter), in_us(fused.overlapped()));
  EXPECT_NEAR(in_us(fused.exposed + fused.overlapped()),
              us_of(fused, Kind::reduce_scatter) + us_of(fused, Kind::all_gather), 1e-3 * in_us(fused.communication));
  // One stream: what no kernel hides is beside the kernels, and both are the step.
  EXPECT_NEAR(in_us(fused.compute + fused.exposed), in_us(fused.time), 1e-2 * in_us(fused.time));
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
  EXPECT_LT(in_us(result.exposed) - us_of(result, Kind::all_gather), 4 * 40.0);
}

// Fused products let kernels and engines work at once that work one after the other otherwise. They lose to that no
// more than the notices of their pieces, which come one behind the other.
TEST(Step, FullThatFusesIsNoSlowerThanByEnginesButForItsNotices) {
  for (const int tp : {2, 4, 8}) {
    for (const std::int64_t tokens : {1024, 4096, 16384}) {
      StepQuestion question = fused_prefill(tp, tokens);
      const double fused = in_us(ask_mi300x(question).time);
      question.collectives = models::Backend::sdma;
      const double notices = 4 * 8 * tp * in_us(mi300x().spec.gpu.memory.tracker.latency);
      EXPECT_LE(fused, in_us(ask_mi300x(question).time) + notices) << "tp " << tp << ", " << tokens << " tokens";
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

}  // namespace
}  // namespace c3sim::study
