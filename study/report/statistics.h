// Defines statistics of samples, which must not be empty, in one place, so that all medians interpolate alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace c3sim::study {

double mean(std::span<const double> values);
double median(std::vector<double> values);

// Returns the value at a place in a sorted sample, counted from 0, interpolated between the two nearest values. Places
// beyond the ends count as the ends.
double value_at(std::span<const double> sorted, double place);

// Returns the value below which a share of the values lies: i / (n - 1) of n values lie below the i-th least, counted
// from 0, and values between two such shares are interpolated (Hyndman and Fan's type 7, as in R and NumPy).
double quantile(std::vector<double> values, double share);

// Returns how many standard deviations lie on average between the quantiles `tail` and 1 - `tail` of `count` values, as
// quantile() interpolates them, if the values are drawn from a normal distribution. The i-th least of n, counted from
// 0, is taken to lie where (i + 2/3) / (n + 1/3) of the distribution do (Hyndman and Fan's type 8). With a tail of 0
// this is, within 2 %, the factor d2 of control charts between a range and a standard deviation: 1.13 of two values.
double deviations_between(double tail, std::size_t count);

// An Interval is the 90 % interval of a value, in the base unit of the value.
struct Interval {
  double low = 0.0;
  double high = 0.0;

  bool holds(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

// Returns the 5th and the 95th percentile, or nothing for fewer than `fewest_draws` values or for equal values, which
// follow from nothing with a known error. The share of values below the i-th least of n, counted from 0, is (i + 1/2) /
// n, as with the strata of a Latin hypercube (Hazen's rule), and values between two such shares are interpolated.
inline constexpr std::size_t fewest_draws = 20;
std::optional<Interval> interval_of(std::vector<double> values);
// Returns the interval, extended to at least a factor of exp(error) to either side of the prediction. If `error` is 0,
// the interval is returned as it is.
std::optional<Interval> at_least(std::optional<Interval> interval, double predicted, double error);

}  // namespace c3sim::study
