// These tests check what carries the collectives of a step: libraries, engines, pieces or fused products.
#include "study/step/step_carriers.h"

#include <fmt/format.h>

#include "models/collectives/algorithm.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::Backend;
using models::CollectiveKind;

// A step in pieces has the same FLOPs as a whole one. Four pieces hide communication that one piece exposes.
TEST(Step, InPiecesHidesWhatItGathers) {
  const StepQuestion question =
      step_of("--model llama3-70b --phase prefill --layers 2 --tokens 8192 --tp 8 --collectives sdma");
  const StepResult one = ask_mi300x(changed(question, "--pieces 1"));
  const StepResult four = ask_mi300x(changed(question, "--pieces 4"));
  EXPECT_NEAR(four.flops.value(), one.flops.value(), 1e-9 * one.flops.value());
  EXPECT_GT(in_us(one.exposed), 0.9 * in_us(one.communication));
  EXPECT_LT(four.exposed, one.exposed);
  EXPECT_LT(four.time, one.time);
  EXPECT_NEAR(four.operations.at("up_gather_3").count, 2.0, 1e-9);
}

// 4 tokens of 8192 features take 64 KiB in bf16, 64 tokens 1 MiB, 1024 tokens 16 MiB.
TEST(Step, AddsUpInOneShotTwoOrByTheLibraryAsTheSizeIs) {
  struct Case {
    double mib;
    int gpus;
    Backend expected;
  };
  for (const auto& [mib, gpus, expected] :
       {Case{0.0625, 8, Backend::one_shot}, Case{0.25, 8, Backend::two_shot}, Case{0.25, 4, Backend::one_shot},
        Case{0.5, 4, Backend::two_shot}, Case{8.0, 2, Backend::one_shot}, Case{8.0, 8, Backend::two_shot},
        Case{16.0, 2, Backend::rccl}}) {
    const StepQuestion question = step_of("--collectives by_size");
    const sim::Bytes bytes = mib * sim::Bytes(1 << 20);
    EXPECT_EQ(question.carrier_of("out_all_reduce", CollectiveKind::all_reduce, bytes, gpus).backend, expected)
        << mib << " MiB on " << gpus;
  }
  for (const auto& [tokens, carrier] : {std::pair("4", "one_shot"), {"64", "two_shot"}, {"1024", "rccl"}}) {
    const StepQuestion question = step_of(
        fmt::format("--model llama3-70b --phase prefill --layers 2 --tp 8 --tokens {} --collectives by_size", tokens));
    EXPECT_EQ(ask_mi300x(question).time, ask_mi300x(changed(question, fmt::format("--collectives {}", carrier))).time);
  }
}

// A carrier that is chosen for a collective by name is kept, whatever the size.
TEST(Step, AddsUpAsChosenWhateverTheSize) {
  const StepQuestion question = step_of("--collectives by_size --chosen out_all_reduce=two_shot");
  const auto of = [&](const char* name, CollectiveKind kind) {
    return question.carrier_of(name, kind, sim::Bytes(1024.0), 8).backend;
  };
  EXPECT_EQ(of("out_all_reduce", CollectiveKind::all_reduce), Backend::two_shot);
  EXPECT_EQ(of("down_all_reduce", CollectiveKind::all_reduce), Backend::one_shot);
  EXPECT_EQ(of("dispatch", CollectiveKind::all_to_all), Backend::rccl);
}

StepQuestion fused_prefill(int tp, int tokens) {
  return step_of(
      fmt::format("--model llama3-8b --phase prefill --layers 2 --collectives t3 --tp {} --tokens {}", tp, tokens));
}

// Fused or not, a step computes the same, and part of what is reduced travels while its product is computed.
TEST(Step, ThatFusesHidesWhatItReduces) {
  const StepResult fused = ask_mi300x(fused_prefill(8, 8192));
  const StepResult apart = ask_mi300x(changed(fused_prefill(8, 8192), "--collectives sdma"));
  EXPECT_DOUBLE_EQ(fused.flops.value(), apart.flops.value());
  EXPECT_EQ(us_of(fused, Kind::all_reduce), 0.0);
  EXPECT_GT(fused.overlapped(), sim::Time(0));
  EXPECT_GT(us_of(fused, Kind::reduce_scatter), in_us(fused.overlapped()));
  EXPECT_NEAR(in_us(fused.exposed + fused.overlapped()),
              us_of(fused, Kind::reduce_scatter) + us_of(fused, Kind::all_gather), 1e-3 * in_us(fused.communication));
  // There is one stream: the times of kernels and of communication that no kernel hides add up to the step.
  EXPECT_NEAR(in_us(fused.compute + fused.exposed), in_us(fused.time), 1e-2 * in_us(fused.time));
  EXPECT_EQ(fused.operations.at("down").kind, Kind::gemm);
  const StepShare& reduced = fused.operations.at("down_reduce_scatter");
  EXPECT_EQ(bound_of(reduced.limits, sim::Seconds(reduced.time)), "links");
}

// Pieces take no time to travel and the memory adds them. After the last wave of each of four fused products remain the
// pieces that engines read, set up and hosts notice, as in tests/models/collectives/fused_gemm_test.
TEST(Step, ThatFusesWithInfiniteLinksTakesAsLongAsItsProducts) {
  const std::vector<std::string> infinite{"fabric.link_rate=100000 GB/s", "gpu.sdma.payload_rate=100000 GB/s",
                                          "gpu.sdma.bytes_in_flight=1 GiB", "gpu.memory.near_memory=hbm",
                                          "gpu.memory.update_rate=100"};
  const StepResult result = ask_on(mi300x(infinite).spec, fused_prefill(8, 4096));
  EXPECT_LT(in_us(result.exposed) - us_of(result, Kind::all_gather), 4 * 40.0);
}

// Fusion lets kernels and engines overlap that otherwise run one after the other. It costs no more than the notices of
// the pieces, which follow each other.
TEST(Step, FullThatFusesIsNoSlowerThanByEnginesButForItsNotices) {
  for (const int tp : {2, 4, 8}) {
    for (const int tokens : {1024, 4096, 16384}) {
      const double apart = us_on_mi300x(changed(fused_prefill(tp, tokens), "--collectives sdma"));
      const double notices = 4 * 8 * tp * in_us(mi300x_spec().gpu.memory.tracker.latency);
      EXPECT_LE(us_on_mi300x(fused_prefill(tp, tokens)), apart + notices) << "tp " << tp << ", " << tokens << " tokens";
    }
  }
}

// The input gradients of column-parallel products are reduced over the GPUs, too.
TEST(Step, OfTrainingFusesItsInputGradients) {
  const StepResult result =
      ask_mi300x(step_of("--model llama3-8b --phase train --layers 2 --tokens 2048 --tp 8 --collectives t3"));
  for (const char* const name : {"out", "down", "up_input_gradient", "qkv_input_gradient"}) {
    EXPECT_NEAR(result.operations.at(name + std::string("_reduce_scatter")).count, 2.0, 1e-9) << name;
  }
  EXPECT_EQ(us_of(result, Kind::all_reduce), 0.0);
}

const std::string decode_on_eight = "--model llama3-8b --phase decode --tp 8 --batch 8 --context 1024 --layers 4 ";

// Choosing the best carrier for each kind of collective is no slower than any one carrier for all.
TEST(Step, TakesTheBestCarrierWhereItIsAskedTo) {
  const sim::Time best = ask_mi300x(step_of(decode_on_eight + "--collectives auto")).time;
  for (const models::Algorithm& backend : models::backends()) {
    StepQuestion question = step_of(decode_on_eight);
    question.collectives = models::Backend{backend.name};
    EXPECT_LE(best, ask_mi300x(question).time) << backend.name;
  }
}

// Intervals keep chosen carriers, since each drawn machine would choose others.
TEST(Step, KeepsCarriersThatWereChosen) {
  const StepQuestion question =
      step_of(decode_on_eight + "--collectives auto --chosen out_all_reduce=sdma,down_all_reduce=sdma");
  const StepResult chosen = ask_mi300x(question);
  EXPECT_EQ(chosen.question.chosen, question.chosen);
  EXPECT_EQ(chosen.time, ask_mi300x(changed(question, "--collectives sdma")).time);
}

// Each collective has its own carrier: in a layer only the one after the attention half uses another.
TEST(Step, CarriesEachCollectiveAsItWasChosen) {
  const StepResult usual = ask_mi300x(step_of(decode_on_eight));
  const StepResult chosen = ask_mi300x(step_of(decode_on_eight + "--chosen out_all_reduce=two_shot/16"));
  EXPECT_NE(chosen.operations.at("out_all_reduce").work, usual.operations.at("out_all_reduce").work);
  EXPECT_EQ(chosen.operations.at("down_all_reduce").work, usual.operations.at("down_all_reduce").work);
  EXPECT_NE(chosen.time, usual.time);
}

// Hosts queue the commands of engines before the step; in it they only start each collective and notice its end.
TEST(Step, OfQueuedCommandsIsFaster) {
  const StepQuestion each = step_of(decode_on_eight + "--collectives sdma");
  EXPECT_LT(ask_mi300x(changed(each, "--prelaunch")).time, ask_mi300x(each).time);
}

// The pieces of a collective, and the buckets of gradients, are chosen together.
TEST(Step, NamesCollectivesWithoutTheNumbersOfTheirParts) {
  EXPECT_EQ(collective_name("out_all_reduce"), "out_all_reduce");
  EXPECT_EQ(collective_name("qkv_gather_3"), "qkv_gather");
  EXPECT_EQ(collective_name("reduce_bucket12"), "reduce_bucket");
}

const std::string sharded_training = "--model llama3-8b --phase train --layers 4 --tokens 4096 --dp 8 --shard full ";

double us_each(const StepResult& result, const char* name) {
  return 1e6 * result.operations.at(name).time / result.operations.at(name).count;
}

// A quarter of the channels have a quarter of the bytes in flight, so that gathers take up to four times as long.
// Products that overlap with gathers have more CUs, but for a longer overlap.
TEST(Step, OfFewerChannelsHasSlowerCollectives) {
  StepQuestion question = step_of(sharded_training);
  const StepResult usual = ask_mi300x(question);
  const int library = mi300x_spec().rccl.channels(CollectiveKind::all_gather, {});
  question.channels = library / 4;
  const double slower = us_each(ask_mi300x(question), "gather") / us_each(usual, "gather");
  EXPECT_GT(slower, 1.5);
  EXPECT_LT(slower, 4.5);
  question.channels = library;
  EXPECT_EQ(ask_mi300x(question).time, usual.time);
}

// Channels hold CUs and engines do not: while 56 channels gather weights, products have 248 of 304 CUs.
TEST(Step, OfChannelsTakesCusFromProducts) {
  const auto up = [](const std::string& gather) {
    return us_each(ask_mi300x(step_of(sharded_training + "--chosen gather=" + gather)), "up");
  };
  EXPECT_GT(up("rccl"), up("sdma"));
}

// Each half has as many products as it has pieces, whatever the other half has.
TEST(Step, HasPiecesOfEachHalf) {
  const std::string options = "--model llama3-8b --phase prefill --layers 2 --tokens 2048 --tp 8 ";
  const StepResult result = ask_mi300x(step_of(options + "--pieces 4 --ffn-pieces 2"));
  for (const auto& [name, pieces] : {std::pair("qkv", 4), {"out", 4}, {"up", 2}, {"down", 2}}) {
    EXPECT_TRUE(result.operations.contains(fmt::format("{}_{}", name, pieces - 1))) << name;
    EXPECT_FALSE(result.operations.contains(fmt::format("{}_{}", name, pieces))) << name;
  }
  EXPECT_EQ(ask_mi300x(step_of(options + "--pieces 2 --ffn-pieces 2")).time,
            ask_mi300x(step_of(options + "--pieces 2")).time);
}

}  // namespace
}  // namespace c3sim::study
