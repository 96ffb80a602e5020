// What samples come to, in one place, so that the median of two is their mean wherever one is told. None is empty.
#pragma once

#include <span>
#include <vector>

namespace c3sim::study {

double mean(std::span<const double> values);
double median(std::vector<double> values);

// The value at a place among sorted ones (0: the first), interpolated between the two nearest. Places beyond
// the ends are the ends.
double value_at(std::span<const double> sorted, double place);

// The value below which a share of the values lies: the i-th least of n, from 0, has i / (n - 1) of them
// below it, and between two such shares values are interpolated (Hyndman and Fan's type 7, that of R and NumPy).
double quantile(std::vector<double> values, double share);

}  // namespace c3sim::study
