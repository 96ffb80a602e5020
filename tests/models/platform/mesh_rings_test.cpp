#include "models/platform/mesh_rings.h"

#include <gtest/gtest.h>

namespace c3sim::models {
namespace {

// Each ring takes a link out of every GPU, of which each has gpus - 1. Over 3 GPUs there are two, one each way. Over 4
// and 6 that many rings of their own links cannot be had (Tillson 1980: the complete digraph of n nodes falls apart
// into rings but for n = 4 and n = 6), over 5 and 7 they can, and the search finds them.
TEST(RingsOfAMesh, AreAsManyAsLinksOfAGpuWhereThoseFallApartIntoRings) {
  EXPECT_EQ(rings_of_mesh(2), 1);
  EXPECT_EQ(rings_of_mesh(3), 2);
  EXPECT_EQ(rings_of_mesh(5), 4);
  EXPECT_EQ(rings_of_mesh(7), 6);
}

TEST(RingsOfAMesh, AreOneFewerWhereTheyDoNot) {
  EXPECT_EQ(rings_of_mesh(4), 2);
  EXPECT_EQ(rings_of_mesh(6), 4);
}

TEST(RingsOfAMesh, AreFoundForAnyNumberWithoutTryingAll) {
  for (int gpus = 2; gpus <= 16; ++gpus) {
    EXPECT_GE(rings_of_mesh(gpus), 1) << gpus;
    EXPECT_LE(rings_of_mesh(gpus), gpus - 1) << gpus;
  }
}

}  // namespace
}  // namespace c3sim::models
