// What "Demystifying BERT" (arXiv 2104.08335) says in its abstract of a training step of BERT-large, on the MI300X.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "study/step/step.h"
#include "study/work/operators.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

StepQuestion step_of_bert(models::Dtype dtype, std::int64_t batch, Optimizer optimizer = Optimizer::lamb) {
  StepQuestion question;
  question.model = read_model("bert-large", folders);
  question.phase = Phase::train;
  question.batch = batch;
  question.tokens = 128;
  question.dtype = dtype;
  question.optimizer = optimizer;
  question.graph = true;
  return question;
}

StepResult result_of(const StepQuestion& question) { return ask(mi300x().spec, question, read_operators(folders)); }

double time_of(const StepResult& result, Kind kind) { return sim::to_microseconds(result.time_of(kind)); }

double share_of(const StepResult& result, Kind kind) {
  return time_of(result, kind) / sim::to_microseconds(result.time);
}

// All that streams through memory.
double memory_bound_share(const StepResult& result) {
  double share = 0.0;
  for (const Kind kind : {Kind::norm, Kind::elementwise, Kind::optimizer, Kind::copy, Kind::softmax, Kind::embedding}) {
    share += share_of(result, kind);
  }
  return share;
}

TEST(Bert, IsMostlyMatrixProducts) {
  const StepResult result = result_of(step_of_bert(models::Dtype::fp32, 32));
  for (const Kind kind : all_kinds) {
    if (kind == Kind::gemm) continue;
    EXPECT_LT(time_of(result, kind), time_of(result, Kind::gemm) / 2.0);
  }
  EXPECT_GT(share_of(result, Kind::gemm), 0.5);
}

TEST(Bert, IsBoundByMemoryTheMoreTheLowerItsPrecision) {
  const double single = memory_bound_share(result_of(step_of_bert(models::Dtype::fp32, 32)));
  const double half = memory_bound_share(result_of(step_of_bert(models::Dtype::bf16, 32)));
  EXPECT_GT(half, 1.5 * single);
  EXPECT_GT(half, 0.3);
}

// Of products that gradients ask for, 30522 words by 1024 features have 15 % of the tokens, the others 1024 to 4096
// features all of them.
TEST(Bert, HasProductsOfVeryDifferentIntensity) {
  double least = 1e9;
  double most = 0.0;
  const StepResult result = result_of(step_of_bert(models::Dtype::bf16, 1));
  for (const auto& node : result.graph.nodes()) {
    const auto* shape = std::get_if<models::GemmShape>(&node.operation.work);
    if (shape == nullptr) continue;
    const double intensity = shape->flops().value() / shape->compulsory_bytes().value();
    least = std::min(least, intensity);
    most = std::max(most, intensity);
  }
  EXPECT_GT(most, 3.0 * least);
}

// An optimizer has as much to do for a batch of one as for one of 32.
TEST(Bert, FullShowsItsOptimizerAtSmallBatches) {
  const double small = share_of(result_of(step_of_bert(models::Dtype::bf16, 1)), Kind::optimizer);
  const double large = share_of(result_of(step_of_bert(models::Dtype::bf16, 32)), Kind::optimizer);
  EXPECT_GT(small, 2.0 * large);
  EXPECT_GT(small, 0.15);
  const StepResult adam = result_of(step_of_bert(models::Dtype::bf16, 1, Optimizer::adam));
  EXPECT_LT(time_of(adam, Kind::optimizer), time_of(result_of(step_of_bert(models::Dtype::bf16, 1)), Kind::optimizer));
}

// Products grow with the square of the features, all that streams with them.
TEST(Bert, SpendsMoreOfLargerLayersOnProducts) {
  StepQuestion question = step_of_bert(models::Dtype::bf16, 16, Optimizer::none);
  const double usual = share_of(result_of(question), Kind::gemm);
  question.model.hidden *= 2;
  question.model.heads *= 2;
  question.model.kv_heads *= 2;
  question.model.ffn *= 2;
  EXPECT_GT(share_of(result_of(question), Kind::gemm), usual);
}

// Several micro-batches share an update.
TEST(Bert, TakesLessForATokenInLargerBatches) {
  EXPECT_GT(result_of(step_of_bert(models::Dtype::bf16, 32)).tokens_per_second(),
            1.5 * result_of(step_of_bert(models::Dtype::bf16, 4)).tokens_per_second());
}

}  // namespace
}  // namespace c3sim::study
