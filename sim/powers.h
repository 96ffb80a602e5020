// power() and root() compute usual powers and roots cheaper than std::pow, with the same bits on every machine.
#pragma once

#include <cmath>

namespace c3sim::sim {

// Multiplies out whole exponents up to 8 and leaves all others to std::pow.
inline double power(double base, double exponent) {
  if (exponent > 8.0 || exponent < 0.0) return std::pow(base, exponent);
  const int factors = static_cast<int>(exponent);
  if (exponent != factors) return std::pow(base, exponent);
  double product = 1.0;
  for (int i = 0; i < factors; ++i) product *= base;
  return product;
}

// Computes the second and the fourth root as square roots and leaves all others to std::pow.
inline double root(double value, double degree) {
  if (degree == 2.0) return std::sqrt(value);
  if (degree == 4.0) return std::sqrt(std::sqrt(value));
  return std::pow(value, 1.0 / degree);
}

}  // namespace c3sim::sim
