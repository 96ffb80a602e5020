// What samples come to, in one place, so that the median of two is their mean wherever one is told. None is empty.
#pragma once

#include <cstddef>
#include <optional>
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

// Where a value lies as far as draws tell, in the base unit of what it is of: nine of ten values should lie inside.
struct Interval {
  double low = 0.0;
  double high = 0.0;

  bool holds(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

// The 5th and the 95th percentile; none of fewer values than tell of them, and none of values that are all the same,
// since nothing that they follow from has a known error. The i-th least of n values, from 0, is taken to have (i + 1/2)
// / n of all below it, as the strata of a Latin hypercube have it (Hazen's rule), and between two such shares values
// are interpolated.
inline constexpr std::size_t fewest_draws = 20;
std::optional<Interval> interval_of(std::vector<double> values);
// The interval of a prediction, or one as wide as a factor exp(error) to either side of it, whichever reaches further
// at each end; as it is where the error is 0.
std::optional<Interval> at_least(std::optional<Interval> interval, double predicted, double error);

}  // namespace c3sim::study
