// These tests cover the experts of a layer, run by the kernels that serving frameworks have for them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

#include "models/kernels/gemm_plan.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

GemmShape experts_of(std::int64_t rows, Dtype dtype = Dtype::bf16) {
  return {.m = 5632, .n = rows, .k = 3072, .dtype = dtype, .products = 32, .of_experts = true};
}

TEST(Experts, HaveALibraryOfTheirOwnWhereThePlatformNamesOne) {
  const GemmSpec gemm = h200().gpu.gemm;
  GemmShape shape = experts_of(512);
  EXPECT_EQ(gemm.library_of(shape).name, "triton_experts");
  shape.of_experts = false;
  EXPECT_EQ(gemm.library_of(shape).name, "cublas");
  EXPECT_EQ(mi300x().gpu.gemm.library_of(experts_of(512)).name, "hipblaslt");
}

RC_GTEST_PROP(Experts, TakeAsLongAsWithTheirLibraryForAll, ()) {
  static const PlatformSpec ours = h200();
  static const PlatformSpec theirs = h200({"gpu.gemm.library=triton_experts"});
  GemmShape shape = experts_of(*rc::gen::inRange<std::int64_t>(1, 2048));
  const double asked = plan_gemm(ours.gpu, shape).efficiency;
  shape.of_experts = false;
  RC_ASSERT(plan_gemm(theirs.gpu, shape).efficiency == asked);
}

// The losses apply to the loop along k: a product of many rows slows by as much, one of few rows hardly.
TEST(Experts, ReachLessInFp8AndWithWeightsThatAreUnpacked) {
  const GpuSpec gpu = h200().gpu;
  GpuSpec plain = gpu;
  plain.gemm.experts_library->fp8_efficiency = {};
  plain.gemm.experts_library->packed_efficiency = 1.0;
  const auto longer = [&](const GemmShape& shape) {
    return plan_gemm(plain, shape).efficiency / plan_gemm(gpu, shape).efficiency;
  };
  GemmShape packed = experts_of(1024);
  packed.weights = Dtype::mxfp4;
  EXPECT_GT(longer(packed), 1.3);
  EXPECT_GT(longer(experts_of(1024, Dtype::fp8)), 1.15);
  EXPECT_DOUBLE_EQ(longer(experts_of(1024)), 1.0);
}

}  // namespace
}  // namespace c3sim::models
