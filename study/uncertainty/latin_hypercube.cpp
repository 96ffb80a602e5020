#include "study/uncertainty/latin_hypercube.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <numeric>
#include <utility>

namespace c3sim::study {

namespace {

// The C++ standard says which numbers this generator and its seeding give, but not what its distributions and
// std::shuffle give.
std::mt19937_64 generator_of(std::uint64_t seed, std::string_view name) {
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (const char c : name) words.push_back(static_cast<unsigned char>(c));
  std::seed_seq sequence(words.begin(), words.end());
  return std::mt19937_64(sequence);
}

// Returns the normal scores of each column.
Eigen::MatrixXd scores_of(const std::vector<std::vector<double>>& columns) {
  Eigen::MatrixXd scores(columns.front().size(), columns.size());
  for (Eigen::Index c = 0; c < scores.cols(); ++c) {
    const Eigen::Map<const Eigen::VectorXd> column(columns[static_cast<std::size_t>(c)].data(), scores.rows());
    scores.col(c) = column.unaryExpr(&normal_quantile);
  }
  return scores;
}

// Puts the numbers in the order of the scores.
void reorder(std::vector<double>& numbers, const Eigen::VectorXd& scores) {
  std::vector<Eigen::Index> order(numbers.size());
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::stable_sort(order, {}, [&scores](Eigen::Index row) { return scores(row); });
  std::ranges::sort(numbers);
  std::vector<double> reordered(numbers.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    reordered[static_cast<std::size_t>(order[rank])] = numbers[rank];
  }
  numbers = std::move(reordered);
}

}  // namespace

double between_0_and_1(std::mt19937_64& generator) { return (static_cast<double>(generator() >> 12) + 0.5) * 0x1p-52; }

std::vector<double> LatinHypercube::dimension(std::string_view name) const {
  std::mt19937_64 generator = generator_of(seed_, name);
  std::vector<double> numbers(draws_);
  for (std::size_t stratum = 0; stratum < draws_; ++stratum) {
    numbers[stratum] = (static_cast<double>(stratum) + between_0_and_1(generator)) / static_cast<double>(draws_);
  }
  // Fisher and Yates's shuffle: the remainder favours some places by less than one in 2^40.
  for (std::size_t left = draws_; left > 1; --left) std::swap(numbers[left - 1], numbers[generator() % left]);
  return numbers;
}

void correlate(std::vector<std::vector<double>>& columns, const std::vector<std::vector<double>>& matrix) {
  Eigen::MatrixXd scores = scores_of(columns);
  const Eigen::Index dimensions = scores.cols();
  Eigen::MatrixXd target(dimensions, dimensions);
  for (Eigen::Index row = 0; row < dimensions; ++row) {
    target.row(row) = Eigen::Map<const Eigen::RowVectorXd>(matrix[static_cast<std::size_t>(row)].data(), dimensions);
  }
  // With fewer draws than dimensions, chance correlation cannot be removed.
  const Eigen::LLT<Eigen::MatrixXd> by_chance(scores.transpose() * scores);
  if (by_chance.info() == Eigen::Success) {
    scores = by_chance.matrixL().solve(scores.transpose()).transpose().eval();
  }
  const Eigen::MatrixXd mixed = scores * Eigen::MatrixXd(target.llt().matrixL()).transpose();
  for (Eigen::Index c = 0; c < dimensions; ++c) reorder(columns[static_cast<std::size_t>(c)], mixed.col(c));
}

double normal_share(double value) { return boost::math::cdf(boost::math::normal(), value); }
double normal_quantile(double share) { return boost::math::quantile(boost::math::normal(), share); }

}  // namespace c3sim::study
