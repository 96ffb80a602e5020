// Latin hypercube sampling: of each dimension, every one of as many equally likely strata as there are draws is drawn
// from once, and which strata meet is left to chance (McKay, Beckman and Conover, Technometrics 21 (1979) 239).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace c3sim::study {

class LatinHypercube {
 public:
  LatinHypercube(std::size_t draws, std::uint64_t seed) : draws_(draws), seed_(seed) {}

  // Numbers between 0 and 1, ends excluded, by draw. They depend on the draws, the seed and the name alone, so that a
  // dimension may join at any time and leaves the others as they are; on any machine they are the same.
  std::vector<double> dimension(std::string_view name) const;

 private:
  std::size_t draws_;
  std::uint64_t seed_;
};

// Above 0 and below 1: the middle of one of 2^52 equal parts.
double between_0_and_1(std::mt19937_64& generator);

// Puts the numbers of each column into another order, so that the normal scores of the columns correlate nearly as the
// matrix (positive definite, 1 on the diagonal) says; the numbers, and with them the strata, stay. The order is that of
// scores mixed by the Cholesky factor of the matrix, once their own correlation by chance is taken out of them (Iman
// and Conover, Communications in Statistics B11 (1982) 311). The numbers lie between 0 and 1.
void correlate(std::vector<std::vector<double>>& columns, const std::vector<std::vector<double>>& matrix);

// Of the standard normal distribution: how much lies below a value, and below which value so much (0 < share < 1) lies.
double normal_share(double value);
double normal_quantile(double share);

}  // namespace c3sim::study
