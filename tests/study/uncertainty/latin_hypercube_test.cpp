#include "study/uncertainty/latin_hypercube.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace c3sim::study {
namespace {

using Columns = std::vector<std::vector<double>>;

// The strata that the numbers lie in, in ascending order.
std::vector<int> strata_of(const std::vector<double>& numbers) {
  std::vector<int> strata;
  for (const double number : numbers) {
    strata.push_back(static_cast<int>(std::floor(number * static_cast<double>(numbers.size()))));
  }
  std::ranges::sort(strata);
  return strata;
}

bool is_latin(const std::vector<double>& numbers) {
  std::vector<int> each_once(numbers.size());
  std::iota(each_once.begin(), each_once.end(), 0);
  const bool inside = std::ranges::all_of(numbers, [](double number) { return 0.0 < number && number < 1.0; });
  return inside && strata_of(numbers) == each_once;
}

// Pearson's, of normal scores.
double correlation_of(const std::vector<double>& one, const std::vector<double>& other) {
  double product = 0.0;
  double square_one = 0.0;
  double square_other = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double a = normal_quantile(one[i]);
    const double b = normal_quantile(other[i]);
    product += a * b;
    square_one += a * a;
    square_other += b * b;
  }
  return product / std::sqrt(square_one * square_other);
}

RC_GTEST_PROP(LatinHypercube, DrawsOnceFromEveryStratumOfEveryDimension, ()) {
  const auto draws = *rc::gen::inRange<std::size_t>(1, 300);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto name = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(is_latin(LatinHypercube(draws, seed).dimension(name)));
}

TEST(LatinHypercube, DependsOnSeedAndNameAlone) {
  const LatinHypercube one(50, 1);
  EXPECT_EQ(one.dimension("a"), LatinHypercube(50, 1).dimension("a"));
  EXPECT_NE(one.dimension("a"), one.dimension("b"));
  EXPECT_NE(one.dimension("a"), LatinHypercube(50, 2).dimension("a"));
  EXPECT_NE(one.dimension("a"), LatinHypercube(50, 1 + (std::uint64_t{1} << 32)).dimension("a"));
}

// What std::seed_seq and std::mt19937_64 give is fixed by formulas of the standard ([rand.util.seedseq],
// [rand.eng.mers]). These numbers follow from them, written anew in another language.
TEST(LatinHypercube, IsTheSameOnEveryMachine) {
  const std::vector<double> numbers = LatinHypercube(4, 7).dimension("fabric.link_rate");
  EXPECT_THAT(numbers,
              testing::ElementsAre(0.6379731480013798, 0.19805065179186962, 0.8487246091078469, 0.4317400022013642));
}

TEST(LatinHypercube, DimensionsDoNotFollowEachOther) {
  const LatinHypercube hypercube(1000, 1);
  // Of 1000 independent pairs the correlation has a standard error of 1/sqrt(1000) = 0.032.
  EXPECT_NEAR(correlation_of(hypercube.dimension("a"), hypercube.dimension("b")), 0.0, 4 * 0.032);
}

// The method leaves what reordering by ranks makes of the scores: less than a hundredth of 400 draws.
TEST(Correlate, GivesNormalScoresTheCorrelationsAskedFor) {
  const LatinHypercube hypercube(400, 3);
  Columns columns{hypercube.dimension("a"), hypercube.dimension("b"), hypercube.dimension("c")};
  const Columns before = columns;
  correlate(columns, {{1.0, -0.8, 0.3}, {-0.8, 1.0, 0.0}, {0.3, 0.0, 1.0}});
  EXPECT_NEAR(correlation_of(columns[0], columns[1]), -0.8, 0.01);
  EXPECT_NEAR(correlation_of(columns[0], columns[2]), 0.3, 0.01);
  EXPECT_NEAR(correlation_of(columns[1], columns[2]), 0.0, 0.01);
  EXPECT_EQ(columns[0], before[0]) << "the first leads";
}

// Two that correlate nearly perfectly have nearly the same rank in every draw.
TEST(Correlate, ReachesNearlyOne) {
  const LatinHypercube hypercube(200, 3);
  Columns columns{hypercube.dimension("a"), hypercube.dimension("b")};
  correlate(columns, {{1.0, 0.9999}, {0.9999, 1.0}});
  for (std::size_t draw = 0; draw < 200; ++draw) EXPECT_NEAR(columns[0][draw], columns[1][draw], 0.03) << draw;
}

RC_GTEST_PROP(Correlate, LeavesEveryDimensionItsStrata, ()) {
  const auto draws = *rc::gen::inRange<std::size_t>(1, 60);
  const auto dimensions = *rc::gen::inRange<std::size_t>(1, 6);
  // Equal correlations of all pairs are positive definite from -1 / (dimensions - 1) to 1.
  const double correlation = *rc::gen::inRange(-15, 95) / 100.0;
  const LatinHypercube hypercube(draws, *rc::gen::arbitrary<std::uint64_t>());
  Columns columns;
  Columns matrix(dimensions, std::vector<double>(dimensions, correlation));
  for (std::size_t i = 0; i < dimensions; ++i) {
    columns.push_back(hypercube.dimension(std::to_string(i)));
    matrix[i][i] = 1.0;
  }
  const Columns before = columns;
  correlate(columns, matrix);
  for (std::size_t i = 0; i < dimensions; ++i) RC_ASSERT(std::ranges::is_permutation(columns[i], before[i]));
}

// 5 % of a normal distribution lie below -1.644854, half of it below 0.
TEST(Normal, HasItsQuantiles) {
  EXPECT_NEAR(normal_quantile(0.05), -1.644854, 1e-6);
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_share(-1.644854), 0.05, 1e-7);
}

}  // namespace
}  // namespace c3sim::study
