// Points that spread evenly over a box: of n points, each coordinate lies once in every n-th of its range (McKay,
// Beckman and Conover, Technometrics 21, 1979).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace c3sim::calibrate {

// Of the unit box, each coordinate in the middle of its stratum. The same for the same arguments, on any machine.
std::vector<std::vector<double>> latin_hypercube(std::size_t points, std::size_t dimensions, std::uint64_t seed = 1);

}  // namespace c3sim::calibrate
