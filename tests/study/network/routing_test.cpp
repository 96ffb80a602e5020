#include "study/network/routing.h"

#include <cmath>

#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

// Each of 128 experts is among the 8 of one of 16 tokens unless all of them pass it by: 1 - (15/16)^16 of the experts,
// 82 of 128, are busy, though there are as many copies as experts. One token has as many experts as it uses.
TEST(Routing, LeavesExpertsWithoutTokens) {
  EXPECT_NEAR(load_of({}, 128, 8, 1, 16).busy, 128.0 * (1.0 - std::pow(15.0 / 16.0, 16)), 1e-9);
  EXPECT_NEAR(load_of({}, 128, 8, 1, 1).busy, 8.0, 1e-9);
  EXPECT_NEAR(load_of({}, 128, 8, 8, 100'000).busy, 16.0, 1e-9);
  EXPECT_EQ(load_of({}, 128, 8, 8, 16).over_even, 1.0);
}

// Eight tokens that use 8 of 128 experts have 64 copies, one for each of half of the experts: 32 on each of two ranks.
TEST(Routing, DealtGivesCopiesToAsManyExpertsAsThereAre) {
  const Routing dealt = read_routing("dealt");
  EXPECT_EQ(load_of(dealt, 128, 8, 1, 8).busy, 64.0);
  EXPECT_EQ(load_of(dealt, 128, 8, 2, 8).busy, 32.0);
  EXPECT_EQ(load_of(dealt, 128, 8, 1, 100).busy, 128.0);
  EXPECT_EQ(load_of(dealt, 128, 8, 2, 100).over_even, 1.0);
}

// The first of four experts on two ranks has half of the tokens. With the third expert, dealt to the same rank, that
// rank has 0.7 of them, 1.4 times an even load. A token that uses two experts has the likeliest once at most.
TEST(Routing, IsAsLongAsTheRankWithMostTokens) {
  const Routing routing{.shares = {5, 2, 2, 1}, .told = "file"};
  EXPECT_NEAR(load_of(routing, 4, 1, 2, 1000).over_even, 1.4, 1e-9);
  EXPECT_NEAR(load_of({.power = 1.0, .told = "power:1"}, 2, 1, 2, 1000).over_even, 2.0 * (1.0 / 1.5), 1e-9);
  EXPECT_NEAR(load_of({.shares = {9, 1, 1}}, 3, 2, 1, 1).busy, 2.0, 1e-9);
}

// Three experts of the first rank have 3/4 of the copies; the second rank reads the weights of four experts.
TEST(Routing, WaitsForTheRankThatReadsMostWeights) {
  const Routing routing{.shares = {1, 1, 1, 0, 0.25, 0.25, 0.25, 0.25}, .told = "file"};
  const RoutedLoad load = load_of(routing, 8, 1, 2, 1'000'000);
  EXPECT_NEAR(load.over_even, 1.5, 1e-9);
  EXPECT_NEAR(load.busy, 4.0, 1e-9);
}

TEST(Routing, IsReadFromWordsAndFiles) {
  EXPECT_EQ(read_routing("power:1.5").power, 1.5);
  EXPECT_TRUE(read_routing("even").shares.empty());
  const std::filesystem::path file = written("routing.txt", "# shares\n3\n1\n");
  EXPECT_EQ(read_routing(file.string()).shares, (std::vector<double>{3, 1}));
}

// A token that uses 8 of 256 experts on 8 ranks leaves a rank out with (224/256) (223/255) ... (217/249) = 0.338. A
// token that uses as many experts as there are leaves no rank out; one that uses one expert has one rank.
TEST(Routing, SendsATokenToFewerRanksThanExperts) {
  double none = 1.0;
  for (int drawn = 0; drawn < 8; ++drawn) none *= (224.0 - drawn) / (256.0 - drawn);
  EXPECT_NEAR(ranks_of_token({}, 256, 8, 8), 8.0 * (1.0 - none), 1e-9);
  EXPECT_NEAR(ranks_of_token({}, 8, 8, 8), 8.0, 1e-9);
  EXPECT_NEAR(ranks_of_token({}, 8, 1, 4), 1.0, 1e-9);
  // The token uses one of the first rank's two experts for certain, and one of the other's: both ranks.
  EXPECT_NEAR(ranks_of_token(Routing{.shares = {1, 0, 1, 0}}, 4, 2, 2), 2.0, 1e-9);
}

}  // namespace
}  // namespace c3sim::study
