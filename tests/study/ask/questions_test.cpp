#include "study/ask/questions.h"

#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;

class QuestionsTest : public testing::Test {
 protected:
  Testbed testbed_{mi300x().spec};
};

TEST_F(QuestionsTest, AGemmIsAskedOnAllCusUnlessCountsAreGiven) {
  const models::GemmShape shape{1024, 1024, 1024};
  const Answer<WorkResult> all = ask(testbed_, GemmTrial{shape});
  ASSERT_THAT(all.results, SizeIs(1));
  EXPECT_EQ(all.results[0].cus, 304);
  EXPECT_EQ(all.results[0].time, testbed_.alone(shape));
  const Answer<WorkResult> fewer = ask(testbed_, Question(std::vector{GemmTrial{shape, 8}, GemmTrial{shape, 304}}));
  ASSERT_THAT(fewer.results, SizeIs(2));
  EXPECT_EQ(fewer.results[0].time, testbed_.alone(shape, first_cus(testbed_.platform(), 8)));
  EXPECT_EQ(fewer.results[1].time, all.results[0].time);
}

// An MI300X multiplies fp8 at 2614.9 TFLOP/s at most (data sheet), twice as fast as bf16, and moves half the bytes.
TEST_F(QuestionsTest, AGemmIsAskedOfAnyFormatThatThePlatformHas) {
  models::GemmShape shape{8192, 8192, 8192};
  const sim::Time of_bf16 = ask(testbed_, GemmTrial{shape}).results[0].time;
  shape.dtype = models::Dtype::fp8;
  const sim::Time of_fp8 = ask(testbed_, GemmTrial{shape}).results[0].time;
  EXPECT_LT(of_fp8, of_bf16);
  EXPECT_GT(sim::to_seconds(of_fp8).value(), shape.flops().value() / 2614.9e12);
}

TEST_F(QuestionsTest, AttentionIsAKernelOnAnyCus) {
  const models::AttentionShape shape{.batch = 64, .heads = 8, .keys = 4097, .head_dim = 128};
  const Answer<WorkResult> answer =
      ask(testbed_, Question(std::vector{KernelTrial{shape, 304}, KernelTrial{shape, 8}}));
  ASSERT_THAT(answer.results, SizeIs(2));
  EXPECT_EQ(answer.results[0].time, testbed_.alone(shape));
  EXPECT_GT(answer.results[1].time, answer.results[0].time);
}

// The links have just carried data and the caches hold other things; the collective itself is not timed.
TEST_F(QuestionsTest, AGemmIsSlowerByWhatCameBefore) {
  const models::GemmShape shape{8192, 8192, 8192};
  const auto all_reduce = collective(models::Backend::rccl, models::CollectiveKind::all_reduce, 65536_KiB);
  const auto time = [&](Before before, const models::CollectiveSpec& of) {
    return ask(testbed_, GemmTrial{.shape = shape, .before = before, .collective = of}).results.at(0).time;
  };
  const models::CollectiveSpec none = collective_of_all();
  const sim::Time loop = time(Before::loop, none);
  EXPECT_EQ(time(Before::traffic, none), testbed_.alone_by_turns(shape));
  EXPECT_GT(time(Before::traffic, none), loop * 102 / 100);
  EXPECT_GT(time(Before::collective, all_reduce), loop * 102 / 100);
  EXPECT_LT(time(Before::collective, all_reduce), loop * 106 / 100);
}

// A loop reads its 235 MB of weights from the Infinity Cache; weights that change every time come from HBM.
TEST_F(QuestionsTest, OperandsThatCachesKeepMakeAGemmOfFewTokensFaster) {
  const auto time = [&](std::optional<Operands> operands) {
    GemmTrial question{{28672, 8, 4096}};
    question.operands = operands;
    return ask(testbed_, question).results.at(0).time;
  };
  EXPECT_EQ(time(Operands::warm), time({}));
  EXPECT_GT(time(Operands::cold), time(Operands::warm) * 120 / 100);
  EXPECT_EQ(time(Operands::rotating), time(Operands::cold));
}

// Arrays of 134 MB fit the Infinity Cache of 268 MB, which delivers more than the 5.3 TB/s of HBM at its peak.
TEST_F(QuestionsTest, AStreamOfWarmArraysPassesNoMemoryBehindTheCaches) {
  const models::ElementwiseSpec spec{sim::Bytes(134e6), {}, {}};
  const auto time = [&](std::optional<Operands> operands) {
    return ask(testbed_, KernelTrial{spec, {}, operands}).results.at(0).time;
  };
  EXPECT_EQ(time(Operands::cold), time({}));
  EXPECT_EQ(time(Operands::rotating), time({}));
  EXPECT_LT(time(Operands::warm), time({}) * 80 / 100);
}

// The keys and values of 8 sequences of 4096 tokens, 8 heads of 128 in bf16, take 134 MB.
TEST_F(QuestionsTest, DecodingReadsAWarmCacheOutOfTheInfinityCache) {
  KernelTrial question{models::AttentionShape{.batch = 8, .heads = 64, .kv_heads = 8, .keys = 4096, .head_dim = 128}};
  const sim::Time cold = ask(testbed_, question).results.at(0).time;
  question.operands = Operands::warm;
  EXPECT_LT(ask(testbed_, question).results.at(0).time, cold * 90 / 100);
}

// The size is at fault exactly if some other size is possible.
TEST_F(QuestionsTest, TheSizeOfACollectiveIsAtFaultIfAnotherIsPossible) {
  for (const auto& [name, kind] : sim::choices_of<models::CollectiveKind>()) {
    for (const auto& [maker, backend] : sim::choices_of<models::Backend>()) {
      CollectiveTrial trial;
      trial.spec.kind = kind;
      trial.spec.backend = backend;
      const auto where = [&](double bytes) {
        trial.spec.bytes = sim::Bytes(bytes);
        const std::vector<sim::Fault> faults = faults_of(Question(trial), testbed_);
        return faults.empty() ? std::string() : faults.front().where;
      };
      const std::string usual = where(1 << 20);
      EXPECT_THAT(usual, ::testing::AnyOf("", "collective")) << name << " by " << maker;
      for (const double bytes : {1.0, 7.0, 1e12}) {
        EXPECT_EQ(where(bytes), usual.empty() ? "bytes" : "collective") << name << " by " << maker << " of " << bytes;
      }
    }
  }
}

TEST_F(QuestionsTest, PhasesOfACopyAddUpToItsTime) {
  const CopyTrial trial{{.bytes = 64_KiB}};
  const Answer<WorkResult> answer = ask(testbed_, trial);
  ASSERT_THAT(answer.results, SizeIs(1));
  EXPECT_EQ(answer.results[0].phases->total(), answer.results[0].time);
  EXPECT_EQ(answer.results[0].time, testbed_.alone(trial.spec));
}

}  // namespace
}  // namespace c3sim::study
