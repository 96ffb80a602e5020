// Implements Latin hypercube sampling: each dimension has as many equally likely strata as there are draws, each
// stratum is drawn once, and strata meet at random (McKay, Beckman and Conover, Technometrics 21 (1979) 239).
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

  // Returns a number between 0 and 1, ends excluded, for each draw. The numbers depend on the draws, the seed and the
  // name alone, so that a new dimension leaves the others as they are; they are the same on any machine.
  std::vector<double> dimension(std::string_view name) const;

 private:
  std::size_t draws_;
  std::uint64_t seed_;
};

// Returns a number above 0 and below 1: the middle of one of 2^52 equal parts.
double between_0_and_1(std::mt19937_64& generator);

// Reorders each column so that the normal scores of the columns correlate nearly as the matrix (positive definite, 1 on
// the diagonal) says; the numbers, between 0 and 1, and with them the strata, stay. Scores that are freed of their
// chance correlation and mixed by the Cholesky factor of the matrix give the order (Iman and Conover, Communications in
// Statistics B11 (1982) 311).
void correlate(std::vector<std::vector<double>>& columns, const std::vector<std::vector<double>>& matrix);

// Return the share of a standard normal distribution below a value, and the value below which a share (0 to 1) lies.
double normal_share(double value);
double normal_quantile(double share);

}  // namespace c3sim::study
