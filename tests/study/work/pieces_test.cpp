#include "study/work/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;

TEST(Pieces, OfAGemmAreOfItsTokensOrItsContraction) {
  const Work gemm = models::GemmShape{100, 64, 32};
  EXPECT_EQ(piece_of(gemm, {4, 1, CutAxis::tokens}), Work(models::GemmShape{100, 16, 32}));
  EXPECT_EQ(piece_of(gemm, {4, 1, CutAxis::contraction}), Work(models::GemmShape{100, 64, 8}));
  EXPECT_EQ(piece_of(gemm, {1, 0, CutAxis::tokens}), gemm);
}

TEST(Pieces, OfAKernelHaveTheirShareOfAll) {
  const Work kernel = models::ElementwiseSpec{sim::Bytes(800.0), sim::Bytes(400.0), sim::Flops(80.0)};
  EXPECT_EQ(piece_of(kernel, {4, 0, CutAxis::tokens}),
            Work(models::ElementwiseSpec{sim::Bytes(200.0), sim::Bytes(100.0), sim::Flops(20.0)}));
}

TEST(Pieces, AreRefusedWhereThereIsLessThanOneForEach) {
  EXPECT_EQ(why_uncut(models::GemmShape{8, 4, 8}, {8, 0, CutAxis::tokens}), "8 pieces cannot be had of 4 tokens (n)");
  EXPECT_EQ(why_uncut(models::GemmShape{8, 8, 4}, {8, 0, CutAxis::contraction}),
            "8 pieces cannot be had of 4 steps of the contraction (k)");
  models::CollectiveSpec gather;
  gather.bytes = sim::Bytes(32.0);
  EXPECT_EQ(why_uncut(gather, {8, 0, CutAxis::tokens}), "8 pieces cannot be had of 4 bytes for each GPU");
  EXPECT_EQ(why_uncut(gather, {4, 0, CutAxis::tokens}), "");
  const models::ElementwiseSpec kernel{sim::Bytes(4.0), sim::Bytes(7.0), {}};
  EXPECT_THAT(why_uncut(kernel, {8, 0, CutAxis::tokens}), HasSubstr("of 7 bytes"));
  EXPECT_THAT(why_uncut(DelaySpec{}, {2, 0, CutAxis::tokens}), HasSubstr("can be cut into pieces"));
  EXPECT_EQ(why_uncut(DelaySpec{}, {1, 0, CutAxis::tokens}), "");
}

// Two thirds overlap the first and the second half; a half overlaps the first two thirds, or the last two.
TEST(Pieces, NeedThoseThatTheyOverlap) {
  const Work copy = models::SdmaCopySpec{};
  const auto needed = [&](Piece piece, std::int64_t of) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < of; ++i) {
      if (needs(piece, {of, i, CutAxis::tokens}, copy)) found.push_back(i);
    }
    return found;
  };
  EXPECT_THAT(needed({3, 1, CutAxis::tokens}, 2), testing::ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 0, CutAxis::tokens}, 3), testing::ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 1, CutAxis::tokens}, 3), testing::ElementsAre(1, 2));
  EXPECT_THAT(needed({1, 0, CutAxis::tokens}, 2), testing::ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 1, CutAxis::contraction}, 2), testing::ElementsAre(0, 1)) << "cut along another axis";
}

RC_GTEST_PROP(PiecesProperty, AreTheWholeAndDifferByOneAtMost, ()) {
  const auto whole = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 1000);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t piece = piece_of(whole, count, i);
    RC_ASSERT(piece == whole / count || piece == whole / count + 1);
    sum += piece;
  }
  RC_ASSERT(sum == whole);
}

}  // namespace
}  // namespace c3sim::study
