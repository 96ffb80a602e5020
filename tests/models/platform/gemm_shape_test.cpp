#include "models/platform/gemm_shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace c3sim::models {
namespace {

// A multiplication and an addition are due for each of 2 * 3 * 5, and 2 B for each of 2x5 + 5x3 + 2x3 elements.
TEST(GemmShape, TakesTwoOperationsPerTripleAndMovesEachOperandAndTheResultOnce) {
  EXPECT_EQ(GemmShape({2, 3, 5}).flops(), sim::Flops(60.0));
  EXPECT_EQ(GemmShape({2, 3, 5}).compulsory_bytes(), sim::Bytes(62.0));
  // The product 2 * (2^24)^3 = 2^73 does not fit into 64 bits.
  constexpr std::int64_t largest = std::int64_t{1} << 24;
  EXPECT_EQ(GemmShape({largest, largest, largest}).flops(), sim::Flops(0x1p73));
}

TEST(GemmShapeText, ExtentsFromOneToTheLargestAreAccepted) {
  EXPECT_EQ(parse_gemm_shape("64x32x16x8").value.products, 8);
  EXPECT_EQ(parse_gemm_shape("64x32x16x8").value.flops(), 8.0 * parse_gemm_shape("64x32x16").value.flops());
  EXPECT_TRUE(parse_gemm_shape("1x1x1").ok());
  EXPECT_TRUE(parse_gemm_shape("16777216x16777216x16777216").ok());
}
RC_GTEST_PROP(GemmShapeText, WhatIsWrittenIsReadAsTheSame, ()) {
  const auto extent = rc::gen::inRange<std::int64_t>(1, (1 << 24) + 1);
  const GemmShape shape{*extent, *extent, *extent};
  const sim::Parsed<GemmShape> parsed = parse_gemm_shape(to_string(shape));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(parsed.value == shape);
}

// A weight takes half a byte and its share of a two-byte scale per 128 weights; activations stay at two bytes.
TEST(GemmShape, OfPackedWeightsReadsFewerBytes) {
  GemmShape shape{4096, 16, 8192};
  shape.weights = Dtype::int4;
  EXPECT_EQ(shape.operand_bytes().value(), (0.515625 * 4096 + 2.0 * 16) * 8192);
  EXPECT_EQ(shape.flops(), (GemmShape{4096, 16, 8192}).flops());
  EXPECT_EQ(to_string(shape), "4096x16x8192, weights int4");
  EXPECT_EQ(shape.as_forward(), (GemmShape{4096, 16, 8192}));
}

}  // namespace
}  // namespace c3sim::models
