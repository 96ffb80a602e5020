// Cost-sensitive trees, and how rules are tried on what they have not seen.
#include "study/tune/decision_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace c3sim::study {
namespace {

// Alternative 0 is right up to 10, alternative 1 beyond; of each value there are two cases of one group.
TreeCases one_threshold() {
  TreeCases cases;
  for (const double value : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    for (int twice = 0; twice < 2; ++twice) {
      cases.features.push_back({value, 3.0});
      cases.costs.push_back(value < 10.0 ? std::vector{0.0, 0.5} : std::vector{0.2, 0.0});
      cases.groups.push_back(std::to_string(value));
    }
  }
  return cases;
}

TEST(DecisionTree, SplitsMidwayWhereTheChoiceChanges) {
  const DecisionTree tree = fit_tree(one_threshold());
  ASSERT_EQ(tree.nodes().size(), 3u);
  ASSERT_TRUE(tree.nodes().front().split);
  EXPECT_EQ(tree.nodes().front().split->feature, 0u);
  // The root of 8 * 16 is 11.3; of one digit that is 10, which lies between the two.
  EXPECT_EQ(tree.nodes().front().split->threshold, 10.0);
  EXPECT_EQ(tree.nodes().front().split->low, 8.0);
  EXPECT_EQ(tree.nodes().front().split->high, 16.0);
  EXPECT_EQ(tree.choose(std::vector{9.0, 3.0}), 0u);
  EXPECT_EQ(tree.choose(std::vector{12.0, 3.0}), 1u);
}

// The root of 32 MiB times 256 MiB is 94.9e6. That of 10.2 times 10.8 is 10.496: of one and of two digits that is 10,
// which lies below both, of three 10.5. The lower one of the two is always there.
TEST(DecisionTree, HasThresholdsOfAsFewDigitsAsTellTwoCasesApart) {
  EXPECT_EQ(round_between(33554432.0, 268435456.0), 9e7);
  EXPECT_EQ(round_between(10.2, 10.8), 10.5);
  EXPECT_EQ(round_between(7.0, 7.0 + 1e-15), 7.0);
}

// Three cases lose a little by alternative 0, one loses much by alternative 1: a count of cases would choose 1.
TEST(DecisionTree, ChoosesWhatCostsLeastNotWhatIsRightMostOften) {
  TreeCases cases;
  for (int i = 0; i < 4; ++i) {
    cases.features.push_back({1.0});
    cases.costs.push_back(i < 3 ? std::vector{0.01, 0.0} : std::vector{0.0, 1.0});
    cases.groups.push_back(std::to_string(i));
  }
  EXPECT_EQ(fit_tree(cases).choose(std::vector{1.0}), 0u);
}

TEST(DecisionTree, StaysALeafWhereAllIsAlike) {
  TreeCases cases = one_threshold();
  for (std::vector<double>& costs : cases.costs) costs = {0.0, 0.1};
  const DecisionTree tree = fit_tree(cases);
  EXPECT_EQ(tree.nodes().size(), 1u);
  EXPECT_EQ(tree.nodes().front().cases, 16u);
}

// Where the threshold lies cannot be known from the other groups alone: the cases next to it are at risk, others not.
TEST(DecisionTree, IsTriedOnGroupsThatItHasNotSeen) {
  const TreeCases cases = one_threshold();
  const std::vector<std::size_t> chosen = unseen_by_tree(cases);
  ASSERT_EQ(chosen.size(), cases.features.size());
  int wrong = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) wrong += cases.costs[i][chosen[i]] > 0.0 ? 1 : 0;
  EXPECT_LE(wrong, 2);
}

// A group whose choice nobody else shares is never right: nothing of it was seen.
TEST(DecisionTree, LearnsNothingFromTheGroupThatIsHeldOut) {
  TreeCases cases;
  for (int i = 0; i < 6; ++i) {
    cases.features.push_back({static_cast<double>(1 + i / 2)});
    cases.costs.push_back(i < 2 ? std::vector{1.0, 0.0} : std::vector{0.0, 1.0});
    cases.groups.push_back(i < 2 ? "odd" : std::to_string(i));
  }
  const std::vector<std::size_t> by_tree = unseen_by_tree(cases);
  const std::vector<std::size_t> by_nearest = unseen_by_nearest(cases);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(by_tree[i], 0u);
    EXPECT_EQ(by_nearest[i], 0u);
  }
}

TEST(DecisionTree, OneGroupCannotBeHeldOut) {
  TreeCases cases = one_threshold();
  for (std::string& group : cases.groups) group = "one";
  EXPECT_TRUE(unseen_by_tree(cases).empty());
  EXPECT_TRUE(unseen_by_nearest(cases).empty());
}

}  // namespace
}  // namespace c3sim::study
