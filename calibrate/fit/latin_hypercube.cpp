#include "calibrate/fit/latin_hypercube.h"

#include <numeric>
#include <random>

namespace c3sim::calibrate {

std::vector<std::vector<double>> latin_hypercube(std::size_t points, std::size_t dimensions, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::vector<double>> hypercube(points, std::vector<double>(dimensions));
  std::vector<std::size_t> strata(points);
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    std::iota(strata.begin(), strata.end(), std::size_t{0});
    // Fisher and Yates; std::shuffle may differ from one standard library to the next.
    for (std::size_t left = points; left > 1; --left) std::swap(strata[left - 1], strata[generator() % left]);
    for (std::size_t point = 0; point < points; ++point) {
      hypercube[point][dimension] = (static_cast<double>(strata[point]) + 0.5) / static_cast<double>(points);
    }
  }
  return hypercube;
}

}  // namespace c3sim::calibrate
